// The elementwise plan: promotion, broadcasting, checks, allocation and staging; a fast path for dense
// operands.
#include "ops/shared/elementwise.h"

#include <algorithm>
#include <atomic>

#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "iter/elementwise_plan.h"
#include "iter/loop_nest.h"
#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/loops/find_zero.h"
#include "kernels/cpu/loops/staging.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/loop_recorder.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
constexpr int kMaxInputs = ElementwisePlan::kMaxInputs;

struct Params {
  alignas(16) char bytes[4 * 16];
};

void check_alpha(const Scalar& alpha, DType common) {
  TL_CHECK(!alpha.is_bool() || common == DType::Bool, Runtime,
           "Boolean alpha only supported for Boolean results.");
  TL_CHECK(is_floating(common) || is_complex(common) || alpha.is_integral(), Runtime,
           "For integral input tensors, argument alpha must not be a floating point number.");
  TL_CHECK(is_complex(common) || !alpha.is_complex(), Runtime,
           "For non-complex input tensors, argument alpha must not be a complex number.");
}

Scalar rounded(const Scalar& s, DType dtype) {
  alignas(16) char bytes[16];
  s.store(dtype, bytes);
  return load_scalar(dtype, bytes);
}

// Whether the parameters are numbers of a program. Private operators get those that others made, in double.
bool takes_numbers(const ElementwiseDef& def) { return def.name[0] != '_'; }

void store_params(const ElementwiseDef& def, const TlValue* values, DType common, DType computed,
                  Params& out) {
  if (def.n_params == 0) return;
  const DType d = opmath_type(computed);
  for (int i = 0; i < def.n_params; ++i) {
    Scalar s = Scalar::from(values[i]);
    const bool typed = def.typed >> i & 1;
    if (def.alpha && values[i].tag != TL_INT) [[unlikely]]
      check_alpha(s, common);
    if (typed || takes_numbers(def) || is_integral(common, false))
      s.check_fits(typed ? common : opmath_type(common));
    if (typed && is_half(common)) s = rounded(s, common);
    s.store(d, out.bytes + i * item_size(d));
  }
}

bool is_number(const TlValue& v) { return v.tag != TL_TENSOR; }

// Whether the last input is a number that halves take as it is.
bool has_exact_number(const ElementwiseDef& def, const TlValue* args, DType common) {
  return def.exact_number != ExactNumber::None && is_half(common) && is_number(args[def.n_inputs - 1]);
}

// Numbers in the place of tensors. Beyond a float's range `where` takes them for infinities, as PyTorch does.
void check_numbers(const ElementwiseDef& def, const TlValue* args, DType common) {
  if (!def.in_range || (def.condition && !is_integral(common, false))) return;
  for (int i = 1; i < def.n_inputs; ++i)
    if (is_number(args[i])) Scalar::from(args[i]).check_fits(common);
}

// ---- integer division -------------------------------------------------------------------------------------

bool any_zero(const Tensor& divisor) {
  const int64_t size = divisor.itemsize();
  if (divisor.is_contiguous() && divisor.numel() <= kGrain)
    return cpu::has_zero(divisor.ptr<char>(), size, divisor.numel(), size);
  LoopNest nest(divisor.sizes());
  nest.add(divisor);
  nest.plan();
  std::atomic<bool> found = false;
  nest.run([&](char* const* data, const int64_t* strides, int64_t n0, int64_t n1) {
    for (int64_t i = 0; i < n1; ++i)
      if (cpu::has_zero(data[0] + i * strides[1], strides[0], n0, size)) found = true;
  });
  return found;
}

// Before a result is written: an integer has no infinity to stand for the quotient.
void check_divisor(const TlValue& divisor, DType common) {
  bool zero;
  if (divisor.tag == TL_TENSOR) {
    zero = any_zero(to_dtype(Unbox<Tensor>::get(divisor), common));
  } else {
    alignas(16) char number[16] = {};
    Scalar::from(divisor).store(common, number);
    zero = cpu::has_zero(number, 0, 1, item_size(common));
  }
  TL_CHECK(!zero, Runtime, "ZeroDivisionError");
}

bool divides_integers(const ElementwiseDef& def, DType common) {
  return def.divides && is_integral(common, true);
}

// ---- the fast path: one dtype, one dense shape, nothing to convert ----------------------------------------
struct Fast {
  const TensorImpl* first = nullptr;
  DType common = DType::Bool;
  bool exact_number = false;
  cpu::ElementwiseLoop loop = nullptr;
};

// A scalar that does not change the tensor's category.
bool scalar_fits(const TlValue& v, DType d) {
  return v.tag == TL_BOOL || (v.tag == TL_INT && d != DType::Bool) ||
         (v.tag == TL_FLOAT && (is_floating(d) || is_complex(d)));
}

// Few sizes: a call of memcmp would take longer.
bool same_shape(const TensorImpl& a, const TensorImpl& b) {
  if (a.ndim != b.ndim) return false;
  for (int d = 0; d < a.ndim; ++d)
    if (a.dims[d] != b.dims[d]) return false;
  return true;
}

// A condition is bool, whatever the type of the others.
bool is_condition(const ElementwiseDef& def, int i) { return def.condition && i == 0; }
bool wants_floats(const ElementwiseDef& def) {
  return def.promote == Promote::Float || def.promote == Promote::RealFloat;
}

bool fast_case(const ElementwiseDef& def, const TlValue* args, Fast& out) {
  bool typed = false;
  for (int i = 0; i < def.n_inputs; ++i) {
    if (args[i].tag != TL_TENSOR) continue;
    const auto& t = *reinterpret_cast<const TensorImpl*>(args[i].u.t);
    if (!t.has(TensorImpl::Contiguous) || !t.device.is_cpu()) return false;
    if (out.first && !same_shape(*out.first, t)) return false;
    out.first = &t;
    if (is_condition(def, i)) {
      if (t.dtype != DType::Bool) return false;
      continue;
    }
    if (typed && t.dtype != out.common) return false;
    out.common = t.dtype;
    typed = true;
  }
  if (!typed || is_stored_only(out.common) || (wants_floats(def) && out.common < DType::Float16))
    return false;
  if (out.first->numel >= cpu::kStreamedBytes / 16) return false;  // the result may have to be streamed
  if (def.promote == Promote::Int && out.common == DType::Bool) return false;
  for (int i = 0; i < def.n_inputs; ++i)
    if (is_number(args[i]) && (is_condition(def, i) || !scalar_fits(args[i], out.common))) return false;
  out.exact_number = has_exact_number(def, args, out.common);
  out.loop = (out.exact_number ? def.number_loops : def.loops)[out.common];
  return out.loop != nullptr;
}

// One as the parameter of each type's loop: alpha as it nearly always is.
struct Ones {
  Params of[kNumDTypes];

  Ones() {
    for (int i = 0; i < kNumDTypes; ++i) {
      const DType d = opmath_type(static_cast<DType>(i));
      Scalar(1).store(d, of[i].bytes);
    }
  }
};

bool is_one(const TlValue& v) { return v.tag == TL_INT && v.u.i == 1; }

const Params& params_of(const ElementwiseDef& def, const TlValue* values, DType common, Params& buffer) {
  static const Ones ones;
  if (def.alpha && def.n_params == 1 && is_one(values[0])) return ones.of[static_cast<int>(common)];
  store_params(def, values, common, common, buffer);
  return buffer;
}

Tensor run_fast(const ElementwiseDef& def, const TlValue* args, const Fast& fast) {
  if (divides_integers(def, fast.common) && fast.first->numel) [[unlikely]]
    check_divisor(args[def.n_inputs - 1], fast.common);
  check_numbers(def, args, fast.common);
  Params buffer;
  const Params& params = params_of(def, args + def.n_inputs, fast.common, buffer);
  const DType out_dtype = def.output(fast.common);
  Tensor out = empty(fast.first->sizes(), {out_dtype, {}});
  char* data[1 + kMaxInputs] = {};
  int64_t strides[2 * (1 + kMaxInputs)] = {};
  alignas(16) char scalars[kMaxInputs][16];
  data[0] = static_cast<char*>(out.data());
  strides[0] = item_size(out_dtype);
  for (int i = 0; i < def.n_inputs; ++i) {
    if (args[i].tag == TL_TENSOR) {
      data[i + 1] = static_cast<char*>(reinterpret_cast<TensorImpl*>(args[i].u.t)->data());
      strides[i + 1] = item_size(is_condition(def, i) ? DType::Bool : fast.common);
    } else {
      const bool exact = fast.exact_number && i == def.n_inputs - 1;
      Scalar::from(args[i]).store(exact ? DType::Float32 : fast.common, scalars[i]);
      data[i + 1] = scalars[i];
    }
  }
  if (fast.first->numel <= kGrain) {
    fast.loop(data, strides, fast.first->numel, 1, params.bytes);
    return out;
  }
  parallel_for(0, fast.first->numel, kGrain, [&](int64_t begin, int64_t end) {
    char* at[1 + kMaxInputs];
    for (int k = 0; k <= kMaxInputs; ++k) at[k] = data[k] + begin * strides[k];  // all: no loop remains
    fast.loop(at, strides, end - begin, 1, params.bytes);
  });
  return out;
}

// ---- the general path -------------------------------------------------------------------------------------
class Plan : ElementwisePlan {
 public:
  Plan(const ElementwiseDef& def, const TlValue* args, Out out) : def_(def), args_(args), out_arg_(out) {}

  Tensor run() {
    choose_types();
    choose_shape();
    if (divides_integers(def_, common_) && device_.is_cpu() && checked_numel(shape_))
      check_divisor(args_[def_.n_inputs - 1], common_);
    choose_out();
    if (out_.is_meta()) {
      if (LoopRecorder* recorder = loop_recorder()) record(*recorder);
      return out_;
    }
    if (!out_.numel()) return out_;
    if (out_arg_ && computed_ != common_ && out_.dtype() != def_.output(common_))
      return compute_and_convert();
    compute();
    return out_;
  }

 private:
  bool is_tensor(int i) const { return args_[i].tag == TL_TENSOR; }
  const Tensor& tensor(int i) const { return Unbox<Tensor>::get(args_[i]); }

  // Whether halves take the last input as it is: a number, or a tensor that counts as one.
  bool last_is_exact() const {
    const int last = def_.n_inputs - 1;
    if (!is_tensor(last)) return has_exact_number(def_, args_, common_);
    return def_.exact_number != ExactNumber::None && is_half(common_) && tensor(last).dim() == 0 &&
           tensor(last).dtype() != common_;
  }
  bool is_exact(int i) const { return exact_number_ && i == def_.n_inputs - 1; }

  void choose_types() {
    Promotion promotion;
    for (int i = def_.condition ? 1 : 0; i < def_.n_inputs; ++i) promotion.add(args_[i]);
    common_ = operand_type(def_.promote, promotion.result());
    computed_ = def_.computes_in(common_);
    exact_number_ = last_is_exact();
    loop_ = exact_number_ ? def_.number_loops[common_] : def_.loops[computed_];
    if (!loop_) loop_ = def_.loops[computed_ = DType::Float32];
    check_numbers(def_, args_, common_);
    store_params(def_, args_ + def_.n_inputs, common_, computed_, params_);
    if (!def_.condition || !is_tensor(0)) return;
    const DType d = tensor(0).dtype();
    TL_CHECK(d == DType::Bool || d == DType::UInt8, Runtime, def_.name,
             " expected condition to be a boolean tensor, but got a tensor with dtype ", scalar_type_name(d));
    static WarnOnce bytes;
    if (d == DType::UInt8)
      bytes(
          "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a "
          "future version of PyTorch. Use a boolean condition instead.");
  }

  void choose_shape() {
    for (int i = 0; i < def_.n_inputs; ++i)
      if (is_tensor(i)) add_operand(tensor(i), def_.name);
  }

  void choose_out() {
    const DType result = def_.output(common_);
    if (!out_arg_) {
      out_ = empty_strided(shape_, output_strides(), {result, device_});
      return;
    }
    check_castable(result, *out_arg_);
    for (int i = 0; i < def_.n_inputs; ++i)
      if (is_tensor(i) && tensor(i).same(*out_arg_))
        TL_CHECK(std::ranges::equal(out_arg_.tensor->sizes(), shape_), Runtime, "output with shape ",
                 out_arg_.tensor->sizes(), " doesn't match the broadcast shape ", shape_);
    const bool resized = !std::ranges::equal(out_arg_.tensor->sizes(), shape_);
    const DimVector strides = resized ? output_strides() : DimVector{};
    out_ = prepare_out(out_arg_, shape_, {out_arg_.tensor->dtype(), device_}, strides);
    for (int i = 0; i < def_.n_inputs; ++i)
      if (is_tensor(i)) check_no_partial_overlap(out_, tensor(i));
  }

  // From the wide type in which it is computed a result goes to its own first, which may round or wrap it.
  Tensor compute_and_convert() {
    const Tensor out = out_;
    out_ = empty_strided(shape_, output_strides(), {def_.output(common_), device_});
    compute();
    copy_elements(out, out_);
    return out;
  }

  void compute() {
    LoopNest nest(shape_);
    staging_.loop = loop_;
    staging_.operands = 1 + def_.n_inputs;
    nest.add(out_);
    stage(0, out_.dtype(), def_.output(computed_));
    for (int i = 0; i < def_.n_inputs; ++i) add_input(nest, i);
    nest.plan();
    staging_.streams = !out_arg_ && nest.numel() >= cpu::kStreamedBytes / out_.itemsize();
    if (!any_cast_ && !staging_.streams) {
      nest.run([&](char* const* d, const int64_t* s, int64_t n0, int64_t n1) {
        loop_(d, s, n0, n1, params_.bytes);
      });
    } else {
      nest.run([&](char* const* d, const int64_t* s, int64_t n0, int64_t n1) {
        cpu::run_staged(staging_, d, s, n0, n1, params_.bytes);
      });
    }
  }

  // The type in which the loop reads an input, and that of a number before it.
  DType read_as(int i) const {
    return is_condition(def_, i) ? DType::Bool : is_exact(i) ? DType::Float32 : computed_;
  }
  DType number_type(int i) const {
    return is_condition(def_, i) ? DType::Bool : is_exact(i) ? DType::Float32 : common_;
  }

  // On meta: what `compute` would run. Left out is what reads elements first, or writes to an argument.
  void record(LoopRecorder& recorder) {
    TlLoop loop{};
    loop.name = def_.name;
    loop.run = loop_;
    loop.n_inputs = def_.n_inputs;
    static_assert(sizeof params_.bytes == sizeof loop.params && kMaxInputs == TL_LOOP_INPUTS);
    std::memcpy(loop.params, params_.bytes, sizeof loop.params);
    bool runs = !out_arg_ && !divides_integers(def_, common_);
    runs &= describe(loop.operands[0], def_.output(computed_), out_.dtype(), true);
    const Tensor* inputs[kMaxInputs] = {};
    for (int i = 0; i < def_.n_inputs && runs; ++i) {
      TlLoopOperand& operand = loop.operands[i + 1];
      if (is_tensor(i)) inputs[i] = &tensor(i);
      runs &= !is_tensor(i) || !is_wrapped(i);
      runs &= describe(operand, read_as(i), is_tensor(i) ? tensor(i).dtype() : number_type(i), false);
      if (!is_tensor(i)) Scalar::from(args_[i]).store(number_type(i), operand.number);
    }
    runs ? recorder.note(loop, out_, inputs) : recorder.refuse();
  }

  static bool describe(TlLoopOperand& operand, DType in_loop, DType in_memory, bool is_out) {
    operand.dtype = dtype_to_abi(in_memory);
    operand.loop_dtype = dtype_to_abi(in_loop);
    if (in_loop == in_memory) return true;
    operand.convert = is_out ? cpu::cast_loop(in_memory, in_loop) : cpu::cast_loop(in_loop, in_memory);
    return operand.convert != nullptr;
  }

  void add_input(LoopNest& nest, int i) {
    const DType needs = read_as(i);
    DType has = number_type(i);
    if (is_tensor(i)) {
      const Tensor& t = input(i);
      has = t.dtype();
      nest.add_broadcast(t);
    } else {
      Scalar::from(args_[i]).store(has, scalars_[i]);
      nest.add_number(scalars_[i]);
    }
    stage(i + 1, has, needs);
  }

  // Where the loop computes in a wider type, the common one comes first: it may round or wrap an element.
  bool is_wrapped(int i) const {
    const Tensor& t = tensor(i);
    if (computed_ == common_ || is_exact(i) || is_condition(def_, i) || t.dtype() == common_) return false;
    return t.dim() == 0 || !is_integral(t.dtype(), true) || !is_integral(common_, true);
  }
  const Tensor& input(int i) {
    return is_wrapped(i) ? converted_[i] = to_dtype(tensor(i), common_) : tensor(i);
  }

  void stage(int operand, DType has, DType needs) {
    staging_.items[operand] = item_size(needs);
    if (has == needs) return;
    staging_.converts[operand] = operand == 0 ? cpu::cast_loop(has, needs) : cpu::cast_loop(needs, has);
    any_cast_ = true;
  }

  const ElementwiseDef& def_;
  const TlValue* args_;
  Out out_arg_;
  DType common_ = DType::Bool, computed_ = DType::Bool;
  bool exact_number_ = false;
  cpu::ElementwiseLoop loop_ = nullptr;
  Params params_;
  Tensor out_, converted_[kMaxInputs];
  cpu::Staging staging_{};
  bool any_cast_ = false;
  alignas(16) char scalars_[kMaxInputs][16];
};
}  // namespace

DType ElementwiseDef::computes_in(DType common) const {
  if (dtypes >> static_cast<int>(common) & 1) {
    DType d = is_stored_only(common) ? wider_type(common) : common;
    while (!loops[d]) d = wider_type(d);
    return d;
  }
  fail(ErrorKind::NotImplemented, "\"", name, "_cpu\" not implemented for '", scalar_type_name(common), "'");
}

Tensor run_elementwise(const ElementwiseDef& def, const TlValue* args, Out out) {
  if (def.check) def.check(def, args, out);
  if (def.exact_number == ExactNumber::Either && is_number(args[0]) && !is_number(args[1])) [[unlikely]] {
    const TlValue swapped[] = {args[1], args[0]};
    return run_elementwise(def, swapped, out);
  }
  Fast fast;
  if (!out && fast_case(def, args, fast)) [[likely]]
    return run_fast(def, args, fast);
  return Plan(def, args, out).run();
}

int kernel_elementwise(void* ctx, const TlValue* args, int, TlValue* rets, int) noexcept {
  try {
    const Out out = Out::of(args, rets[0]);
    rets[0] = owned(run_elementwise(*static_cast<ElementwiseDef*>(ctx), args, out));
    return 0;
  } catch (...) {
    set_pending_from_current_exception();
    return -1;
  }
}

}  // namespace tl
