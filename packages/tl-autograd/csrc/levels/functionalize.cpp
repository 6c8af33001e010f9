// Functionalization: a write becomes its functional operator, whose result goes back through the view steps.
#include "levels/functionalize.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "ops.h"

namespace tl::autograd {

// ---- views ------------------------------------------------------------------------------------------------

const TlOperator* copying(const TlOperator* view) {
  const TlOperatorInfo& info = *api->op_info(view);
  std::string name = info.name;
  if (name == "reshape")
    name = "view";
  else if (!info.is_view)
    return view;
  name.insert(std::min(name.find('.'), name.size()), "_copy");
  const TlOperator* found = api->op_find(name.c_str());
  if (!found) api->error_clear();
  return found ? found : view;
}

ViewStep::ViewStep(const Rule& rule, const TlValue* args, int n_args, int source, int output, bool copies)
    : rule(rule), source(source), output(output), copies(copies), args_(static_cast<size_t>(n_args), none()) {
  for (int i = 0; i < n_args; ++i)
    if (i != source) check(api->value_own(&args[i], &args_[static_cast<size_t>(i)]));
}

ViewStep::~ViewStep() {
  for (TlValue& v : args_) api->value_release(&v);
}

std::vector<TlValue> ViewStep::with(TlTensor* t) const {
  std::vector<TlValue> args = args_;
  args[static_cast<size_t>(source)] = value(t);
  return args;
}

namespace {
// A value need not have the strides that the memory has: what is a view of the memory may be a copy of it.
const TlOperator* on_values(const TlOperator* op, bool copies) {
  static const TlOperator *view = operator_named("view"), *reshape = operator_named("reshape");
  if (copies) return copying(op);
  return op == view ? reshape : op;
}

Tensor picked(const TlValue& v, int output) {
  if (v.tag == TL_TENSOR) return Tensor::share(v.u.t);
  return Tensor::share(static_cast<TlTensor* const*>(v.u.p)[output]);
}
}  // namespace

Tensor ViewStep::applied(TlTensor* t) const {
  const std::vector<TlValue> args = with(t);
  Results made(1);
  call(on_values(rule.op, copies), args.data(), static_cast<int>(args.size()), made.data(), 1);
  return picked(made[0], output);
}

Tensor ViewStep::of_memory(TlTensor* t) const {
  const std::vector<TlValue> args = with(t);
  Results made(1);
  check(api->op_call_below(rule.op, TL_LAYER_SPARSE, args.data(), static_cast<int>(args.size()), made.data(),
                           1));
  Tensor view = picked(made[0], output);
  check(api->tensor_set_view_base(view.get(), nullptr));
  return view;
}

Tensor ViewStep::undone(TlTensor* t, TlTensor* v) const {
  if (!rule.inverse)
    fail(TL_ERROR_NOT_IMPLEMENTED,
         std::string("functionalize: a write through what ") + rule.info->name + " returned");
  const std::vector<TlValue> args = with(t);
  const auto n_args = static_cast<int>(args.size());
  FormulaInputs in{args.data(), nullptr, 0, {}, {}};
  Results views(1);
  List all;
  if (output < 0) {
    in.extra.push_back(value(v));
  } else {
    call(on_values(rule.op, copies), args.data(), n_args, views.data(), 1);
    auto* list = static_cast<TlTensor* const*>(views[0].u.p);
    for (uint32_t i = 0; i < views[0].len; ++i)
      all.push_back(value(static_cast<int>(i) == output ? v : list[i]));
    in.extra.push_back({kList, 0, {.p = &all}});
  }
  Results found(1);
  run_formula(copies ? *rule.inverse_by_copies : *rule.inverse, in, found.data(), 1);
  return picked(found[0], 0);
}

// ---- values of wrappers -----------------------------------------------------------------------------------

namespace {
std::shared_ptr<const FunctionalPosition> alone(TlTensor* value) {
  auto position = std::make_shared<FunctionalPosition>();
  position->group = std::make_shared<AliasGroup>();
  position->group->base = Tensor::share(value);
  return position;
}

std::shared_ptr<const FunctionalPosition> seen_again(const FunctionalPosition& position) {
  auto again = std::make_shared<FunctionalPosition>(position);
  again->seen = position.group->writes;
  return again;
}

std::string shape_text(const TlTensor* t) {
  std::string text = "[";
  for (int d = 0; d < api->tensor_ndim(t); ++d)
    text += (d ? ", " : "") + std::to_string(api->tensor_sizes(t)[d]);
  return text + "]";
}

// What a write may not do: change the shape, or lose what the type cannot hold.
Tensor fitted(const Rule& r, Tensor v, TlTensor* before) {
  const std::string name = r.info->name;
  const auto n = static_cast<size_t>(api->tensor_ndim(before));
  if (!same_shape(v.get(), n, api->tensor_sizes(before)))
    fail(TL_ERROR_RUNTIME, name + ": output with shape " + shape_text(before) +
                               " doesn't match the broadcast shape " + shape_text(v.get()));
  const int64_t dtype = api->tensor_dtype(before), own = api->tensor_dtype(v.get());
  if (own == dtype) return v;
  const bool fits = is_complex(dtype) || (!is_complex(own) && is_differentiable(dtype)) ||
                    (!is_differentiable(own) && TL_DTYPE_CODE(dtype) != TL_CODE_BOOL);
  if (!fits) fail(TL_ERROR_RUNTIME, name + ": the result's type can't be cast to that of the written tensor");
  return converted(v.get(), dtype, api->tensor_device(before));
}

// The wrapper's new value, and that of the memory it is a view of.
void commit(TlTensor* wrapper, const Tensor& v) {
  const FunctionalPosition& position = *entry_of(wrapper)->position;
  std::vector<Tensor> stages;
  for (size_t i = 0; i < position.steps.size(); ++i)
    stages.push_back(i == 0 ? position.group->base : position.steps[i - 1]->applied(stages.back().get()));
  Tensor whole = v;
  for (size_t i = position.steps.size(); i-- > 0;)
    whole = position.steps[i]->undone(stages[i].get(), whole.get());
  position.group->base = std::move(whole);
  ++position.group->writes;
  const auto n = static_cast<size_t>(api->tensor_ndim(v.get()));
  const bool resized = !same_shape(wrapper, n, api->tensor_sizes(v.get()));
  set_functional(wrapper, v, seen_again(position));
  if (resized) follow_value(wrapper);
  api->tensor_bump_version(wrapper);
}
}  // namespace

Tensor wrap_alone(TlTensor* value, const Level& level) {
  return wrap_functional(memory_like(value), value, level, alone(value));
}

Tensor current_value(TlTensor* wrapper) {
  const Entry& e = *entry_of(wrapper);
  const FunctionalPosition& position = *e.position;
  if (position.seen == position.group->writes) return e.value;
  Tensor now = position.group->base;
  for (const auto& step : position.steps) now = step->applied(now.get());
  set_functional(wrapper, now, seen_again(position));
  return now;
}

bool was_written(const TlTensor* wrapper) { return entry_of(wrapper)->position->group->writes > 0; }

// ---- calls ------------------------------------------------------------------------------------------------

namespace {
class FunctionalCall {
 public:
  FunctionalCall(const Rule& r, Level& level, const TlValue* args, int n_args)
      : r_(r), level_(level), args_(args), n_args_(n_args), values_(args, n_args) {
    values_.replace([&](TlTensor* t, int) {
      tensors_ = true;
      if (!wrapped_value(t, level)) return Tensor();
      any_ = true;
      return current_value(t);
    });
  }

  // A new tensor of numbers is wrapped, so that the function may write to it.
  bool passes() const {
    static const TlOperator* const lift = operator_named("lift_fresh");
    return tensors_ && !any_ && r_.op != lift;
  }
  void read(TlValue* rets, int n_rets);
  void write(TlValue* rets, int n_rets);

 private:
  void refuse_captured() const;
  void take_view(const TlOperator* view, TlValue* rets);
  bool by_functional();
  void copy();
  void on_copies();
  Tensor wrapped_result(TlTensor* value, int ret, int output) const;
  std::vector<TlTensor*> written() const;

  const Rule& r_;
  Level& level_;
  const TlValue* args_;
  int n_args_;
  Arguments values_;
  bool any_ = false, tensors_ = false;
};

// The wrapper of a result: a view stands in the group of what it is a view of.
Tensor FunctionalCall::wrapped_result(TlTensor* v, int ret, int output) const {
  const int source = aliased_argument(*r_.info, ret, false);
  TlTensor* from = source >= 0 && args_[source].tag == TL_TENSOR ? args_[source].u.t : nullptr;
  if (!from || !wrapped_value(from, level_)) return wrap_alone(v, level_);
  const FunctionalPosition& before = *entry_of(from)->position;
  auto position = std::make_shared<FunctionalPosition>(before);
  position->steps.push_back(
      std::make_shared<const ViewStep>(r_, args_, n_args_, source, output, level_.removes_views));
  Tensor memory = position->steps.back()->of_memory(memory_of(from).get());
  Tensor wrapper = wrap_functional(std::move(memory), v, level_, std::move(position));
  TlTensor* base = api->tensor_view_base(from);
  check(api->tensor_set_view_base(wrapper.get(), base ? base : from));
  return wrapper;
}

void FunctionalCall::read(TlValue* rets, int n_rets) {
  const TlOperator* op = on_values(r_.op, level_.removes_views);
  Results made(n_rets);
  call(op, values_.data(), n_args_, made.data(), n_rets);
  for (int i = 0; i < n_rets; ++i) {
    TlValue& v = made[i];
    if (v.tag == TL_TENSOR) {
      Tensor wrapper = wrapped_result(v.u.t, i, -1);
      api->value_release(&v);
      v = {TL_TENSOR, 0, {.t = wrapper.take()}};
    } else if (v.tag == TL_TENSOR_LIST) {
      auto* list = const_cast<TlTensor**>(static_cast<TlTensor* const*>(v.u.p));
      for (uint32_t k = 0; k < v.len; ++k) {
        if (!list[k]) continue;
        Tensor wrapper = wrapped_result(list[k], i, static_cast<int>(k));
        const Tensor before(std::exchange(list[k], wrapper.take()));
      }
    }
    rets[i] = std::exchange(v, none());
  }
}

std::vector<TlTensor*> FunctionalCall::written() const {
  std::vector<TlTensor*> found;
  for (int i = 0; i < n_args_; ++i)
    if (argument_info(*r_.info, i).written)
      each_tensor(&args_[i], 1, [&](TlTensor* t, int) { found.push_back(t); });
  return found;
}

void FunctionalCall::refuse_captured() const {
  for (TlTensor* t : written())
    if (!wrapped_value(t, level_))
      fail(TL_ERROR_RUNTIME, std::string("functionalize: ") + r_.info->name + " (level " +
                                 std::to_string(level_.number) +
                                 "): mutating a non-functional tensor with a functional tensor is not "
                                 "allowed. Please ensure that all of your inputs are wrapped inside of a "
                                 "functionalize() call: pass the written tensor as an argument.");
}

// Another geometry of the tensor itself: it is a view of what it was.
void FunctionalCall::take_view(const TlOperator* view, TlValue* rets) {
  const Rule& rule = rule_for(view);
  TlTensor* self = args_[0].u.t;
  Results made(1);
  call(level_.removes_views ? copying(view) : view, values_.data(), n_args_, made.data(), 1);
  auto position = std::make_shared<FunctionalPosition>(*entry_of(self)->position);
  position->steps.push_back(
      std::make_shared<const ViewStep>(rule, args_, n_args_, 0, -1, level_.removes_views));
  const Tensor memory = position->steps.back()->of_memory(memory_of(self).get());
  set_functional(self, Tensor::share(made[0].u.t), std::move(position));
  TlTensor* m = memory.get();
  check(api->tensor_assume(self, m, api->tensor_ndim(m), api->tensor_sizes(m), api->tensor_strides(m),
                           api->tensor_offset(m)));
  api->tensor_retain(self);
  rets[0] = args_[0];
}

// "fill_.Scalar" -> "fill.Scalar", where both take the same.
const TlOperator* without_underscore(const TlOperatorInfo& info) {
  std::string name = info.name;
  const size_t at = std::min(name.find("_."), name.size() - 1);
  if (name[at] != '_') return nullptr;
  name.erase(at, 1);
  const TlOperator* found = api->op_find(name.c_str());
  if (!found) {
    api->error_clear();
    return nullptr;
  }
  return api->op_info(found)->n_args == info.n_args ? found : nullptr;
}

// By the operator that returns what this one writes; false if there is none.
bool FunctionalCall::by_functional() {
  const bool own = r_.functional && r_.functional != r_.op;
  const TlOperator* op = own ? r_.functional : without_underscore(*r_.info);
  if (!op || r_.info->is_random) return false;
  const TlOperatorInfo& info = *api->op_info(op);
  Results made(info.n_rets);
  call(op, values_.data(), info.n_args, made.data(), info.n_rets);
  int next = 0;
  for (int i = 0; i < info.n_rets; ++i) {
    const std::vector<TlTensor*> to = written();
    each_tensor(&made[i], 1, [&](TlTensor* v, int) {
      TlTensor* wrapper = to[static_cast<size_t>(next++)];
      const Tensor before = current_value(wrapper);
      const bool replaces = r_.info->variant == TL_OUT && entry_of(wrapper)->position->steps.empty();
      const auto n = static_cast<size_t>(api->tensor_ndim(v));
      const bool resized = replaces && !same_shape(before.get(), n, api->tensor_sizes(v));
      commit(wrapper, resized ? Tensor::share(v) : fitted(r_, Tensor::share(v), before.get()));
    });
  }
  return true;
}

void FunctionalCall::copy() {
  static const TlOperator* expand = operator_named("expand");
  TlTensor* self = values_[0].u.t;
  TlTensor* source = values_[1].u.t;
  const auto n = static_cast<size_t>(api->tensor_ndim(self));
  Tensor v = Tensor::share(source);
  if (!same_shape(source, n, api->tensor_sizes(self)))
    v = call_one(expand, {value(source), ints(api->tensor_sizes(self), n), value(false)});
  const bool same = api->tensor_dtype(source) == api->tensor_dtype(self) &&
                    api->tensor_device(source) == api->tensor_device(self);
  v = same ? clone(v.get()) : converted(v.get(), api->tensor_dtype(self), api->tensor_device(self));
  commit(args_[0].u.t, v);
}

// On copies that nobody else sees.
void FunctionalCall::on_copies() {
  Arguments copies(values_.data(), n_args_);
  copies.replace(
      [&](TlTensor* t, int i) { return argument_info(*r_.info, i).written ? clone(t) : Tensor(); });
  Results made(api->op_info(r_.op)->n_rets);
  call(r_.op, copies.data(), n_args_, made.data(), made.n);
  for (int i = 0; i < n_args_; ++i) {
    if (!argument_info(*r_.info, i).written) continue;
    std::vector<TlTensor*> now;
    each_tensor(&copies[i], 1, [&](TlTensor* t, int) { now.push_back(t); });
    size_t next = 0;
    each_tensor(&args_[i], 1, [&](TlTensor* t, int) { commit(t, Tensor::share(now[next++])); });
  }
}

void FunctionalCall::write(TlValue* rets, int n_rets) {
  refuse_captured();
  if (const TlOperator* view = view_form(*r_.info)) return take_view(view, rets);
  static const TlOperator* zeros_like = operator_named("zeros_like");
  if (!std::strcmp(r_.info->name, "copy_"))
    copy();
  else if (!std::strcmp(r_.info->name, "zero_"))
    commit(args_[0].u.t, call_one(zeros_like, {values_[0], none(), none(), none(), none(), none()}));
  else if (!by_functional())
    on_copies();
  give_written(*r_.info, args_, rets, n_rets);
}
}  // namespace

int at_functionalize(const Rule& r, Level& level, const TlValue* args, int n_args, TlValue* rets,
                     int n_rets) {
  const Below below(level);
  FunctionalCall c(r, level, args, n_args);
  if (c.passes()) return api->op_call(r.op, args, n_args, rets, n_rets);
  if (r.writes())
    c.write(rets, n_rets);
  else
    c.read(rets, n_rets);
  return 0;
}

}  // namespace tl::autograd
