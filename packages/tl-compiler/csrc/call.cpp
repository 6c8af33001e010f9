// The operators whose kernels work row by row, and their calls on meta, which tell the results' geometry.
#include "call.h"

#include <algorithm>
#include <string_view>

namespace tl::compiler {

namespace {
struct RowOperator {
  std::string_view name;
  Call::Form form;
};
using Form = Call::Form;
constexpr RowOperator kRowOperators[] = {
    {"sum", Form::Reduces},
    {"sum.dim_IntList", Form::Reduces},
    {"mean", Form::Reduces},
    {"mean.dim", Form::Reduces},
    {"amax", Form::Reduces},
    {"amin", Form::Reduces},
    {"max.dim", Form::Reduces},
    {"min.dim", Form::Reduces},
    {"argmax", Form::Reduces},
    {"argmin", Form::Reduces},
    {"prod", Form::Reduces},
    {"prod.dim_int", Form::Reduces},
    {"any.dim", Form::Reduces},
    {"all.dim", Form::Reduces},
    {"var.correction", Form::Reduces},
    {"std.correction", Form::Reduces},
    {"var_mean.correction", Form::Reduces},
    {"std_mean.correction", Form::Reduces},
    {"logsumexp", Form::Reduces},
    {"linalg_vector_norm", Form::Reduces},
    {"_softmax", Form::Maps},
    {"_log_softmax", Form::Maps},
    {"_softmax_backward_data", Form::Maps},
    {"_log_softmax_backward_data", Form::Maps},
    {"slice_backward", Form::Whole},
    {"select_backward", Form::Whole},
};

const RowOperator* row_operator(const TlOperator* op) {
  const std::string_view name = api->op_info(op)->name;
  const auto at = std::ranges::find(kRowOperators, name, &RowOperator::name);
  return at == std::end(kRowOperators) ? nullptr : at;
}

// A variance of too few elements warns: one of two, or of more with a larger correction.
bool is_variance(std::string_view name) { return name.starts_with("var") || name.starts_with("std"); }
bool has_small_correction(const TlValue* args, int n_args) {
  if (n_args < 3) return false;
  return args[2].tag == TL_NONE || (args[2].tag == TL_INT && args[2].u.i <= 1);
}

int64_t meta() { return TL_DEVICE_OF(TL_DEVICE_META, -1); }

// A tensor with the geometry of another, without elements.
Tensor shadow(TlTensor* t) {
  const int64_t bytes = std::max<int64_t>(api->tensor_storage_bytes(t), 1);
  const int64_t n = bytes / item_bytes(api->tensor_dtype(t));
  const Tensor whole = owned(api->tensor_empty(1, &n, api->tensor_dtype(t), meta()));
  return owned(api->tensor_alias_as(whole.get(), api->tensor_ndim(t), api->tensor_sizes(t),
                                    api->tensor_strides(t), api->tensor_offset(t)));
}

bool is_floating(TlTensor* t) {
  const int code = TL_DTYPE_CODE(api->tensor_dtype(t));
  return code == TL_CODE_FLOAT || code == TL_CODE_BFLOAT;
}
}  // namespace

// ---- the call ---------------------------------------------------------------------------------------------

Call::Call(const TlOperator* op, Form form, const TlValue* values, int n_args) : op(op), form(form) {
  args.resize(static_cast<size_t>(n_args));
  for (int i = 0; i < n_args; ++i) {
    if (values[i].tag == TL_TENSOR)
      tensors.push_back(i);
    else
      check(api->value_own(&values[i], &args[i]));
  }
}
Call::~Call() {
  for (TlValue& v : args) api->value_release(&v);
}

std::vector<Tensor> Call::run(const Tensor* inputs) const {
  constexpr int kMost = 3;
  const int n_rets = api->op_info(op)->n_rets;
  std::vector<TlValue> whole(args);
  for (size_t i = 0; i < tensors.size(); ++i) whole[tensors[i]] = {TL_TENSOR, 0, {.t = inputs[i].get()}};
  TlValue rets[kMost] = {};
  check(api->op_call_below(op, TL_LAYER_DEFER, whole.data(), static_cast<int>(whole.size()), rets, n_rets));
  std::vector<Tensor> out;
  for (int i = 0; i < n_rets; ++i) out.emplace_back(rets[i].u.t);
  return out;
}

const TlValue* Call::arg(const char* name) const {
  const TlOperatorInfo& info = *api->op_info(op);
  for (int i = 0; i < info.n_args && i < static_cast<int>(args.size()); ++i)
    if (std::string_view(argument_info(info, i).name) == name) return &args[i];
  return nullptr;
}

void Call::put(const char* name, const TlValue& v) {
  if (auto* at = const_cast<TlValue*>(arg(name))) {
    TlValue copy{};
    check(api->value_own(&v, &copy));
    api->value_release(at);
    *at = copy;
  }
}

std::shared_ptr<const Call> Call::over_matrix() const {
  const auto out = std::make_shared<Call>(op, form, args.data(), static_cast<int>(args.size()));
  out->tensors = tensors;
  const int64_t last = 1;
  const TlValue* dim = arg("dim");
  if (dim && dim->tag == TL_INT) out->put("dim", {TL_INT, 0, {.i = last}});
  if (dim && dim->tag != TL_INT) out->put("dim", {TL_INT_LIST, 1, {.p = &last}});
  out->put("keepdim", {TL_BOOL, 0, {.i = 0}});
  return out;
}

int64_t Call::row_of(const Geometry& g) const {
  if (!g.is_row_major() || g.ndim == 0 || form == Form::Whole) return 0;
  uint64_t mask = 0;
  const TlValue* dim = arg("dim");
  if (!dim || (dim->tag != TL_INT && dim->tag != TL_INT_LIST)) return 0;
  const auto* dims = dim->tag == TL_INT ? &dim->u.i : static_cast<const int64_t*>(dim->u.p);
  for (uint32_t i = 0; i < (dim->tag == TL_INT ? 1 : dim->len); ++i)
    mask |= uint64_t{1} << (dims[i] < 0 ? dims[i] + g.ndim : dims[i]);
  int64_t columns = 1;
  int d = g.ndim;
  while (d > 0 && mask >> (d - 1) & 1) columns *= g.sizes[--d];
  while (d-- > 0)
    if (mask >> d & 1 && g.sizes[d] > 1) return 0;
  return columns;
}

// ---- its steps --------------------------------------------------------------------------------------------

bool is_callable(const TlOperator* op) { return row_operator(op); }

namespace {
bool describe_inputs(Step& step, const TlValue* args, int n_args) {
  for (int i = 0; i < n_args; ++i) {
    if (args[i].tag != TL_TENSOR) continue;
    if (step.n_inputs == TL_LOOP_INPUTS || !is_floating(args[i].u.t)) return false;
    Operand& o = step.inputs[step.n_inputs++];
    o.kind = Operand::Input;
    o.index = i;
    o.dtype = o.in_loop = api->tensor_dtype(args[i].u.t);
    o.geometry = geometry_of(args[i].u.t);
  }
  return step.n_inputs > 0;
}

void describe_result(Operand& o, TlTensor* t) {
  o.kind = Operand::Step;
  o.dtype = o.in_loop = api->tensor_dtype(t);
  o.geometry = geometry_of(t);
}

bool shares_storage(TlTensor* t, const std::vector<Tensor>& others) {
  return std::ranges::any_of(others, [&](const Tensor& other) {
    return api->tensor_storage_id(other.get()) == api->tensor_storage_id(t);
  });
}

std::vector<Step> steps_of_results(const Step& first, const std::vector<Tensor>& results,
                                   const std::vector<Tensor>& shadows) {
  std::vector<Step> out;
  for (size_t i = 0; i < results.size(); ++i) {
    TlTensor* const t = results[i].get();
    if (!t || shares_storage(t, shadows) || api->tensor_offset(t) || api->tensor_numel(t) == 0) return {};
    Step& step = out.emplace_back();
    if (i == 0) step = first;
    step.result = static_cast<int>(i);
    step.result_of = i == 0 ? -1 : 0;
    step.name = first.name;
    describe_result(step.out, t);
  }
  return out;
}

bool reduces_enough(const Step& input, const std::vector<Step>& steps) {
  return std::ranges::all_of(
      steps, [&](const Step& s) { return input.inputs[0].geometry.numel() >= 2 * s.out.geometry.numel(); });
}
}  // namespace

std::vector<Step> call_steps(const TlOperator* op, const TlValue* args, int n_args, int n_rets) {
  Step first;
  if (!describe_inputs(first, args, n_args)) return {};
  const RowOperator& entry = *row_operator(op);
  const auto call = std::make_shared<Call>(op, entry.form, args, n_args);
  if (is_variance(entry.name) && !has_small_correction(args, n_args)) return {};
  std::vector<Tensor> shadows;
  for (int i : call->tensors) {
    if (api->tensor_ndim(args[i].u.t) > kMaxDims) return {};
    shadows.push_back(shadow(args[i].u.t));
  }
  std::vector<Tensor> results;
  try {
    results = call->run(shadows.data());
  } catch (const Pending&) {
    api->error_clear();  // the call raises it itself
    return {};
  }
  if (static_cast<int>(results.size()) != n_rets) return {};
  first.call = call;
  first.name = entry.name.data();
  std::vector<Step> steps = steps_of_results(first, results, shadows);
  if (is_variance(entry.name) && !reduces_enough(first, steps)) return {};
  return steps;
}

Geometry geometry_of(TlTensor* t) {
  Geometry g;
  g.ndim = api->tensor_ndim(t);
  std::copy_n(api->tensor_sizes(t), g.ndim, g.sizes);
  std::copy_n(api->tensor_strides(t), g.ndim, g.strides);
  g.offset = api->tensor_offset(t);
  return g;
}

}  // namespace tl::compiler
