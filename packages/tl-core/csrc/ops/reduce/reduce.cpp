// Reductions: sum, mean, prod, amax, argmax, any, all, var and std, and their derivatives.
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/reduce/reduction.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/known_values.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using cpu::Reduce;
using OptDType = std::optional<DType>;
using OptDims = std::optional<IntSpan>;

uint64_t mask_of(const Tensor& t, OptDims dim) { return dim_mask(dim.value_or(IntSpan()), t.dim()); }

// The kernel's result dtype may differ from the operator's: then through a temporary.
void run_into(Reduce op, const Tensor& in, uint64_t mask, bool keepdim, const Tensor& out,
              const Tensor* second = nullptr, double param = 0) {
  if (out.is_meta() || out.numel() == 0) return;
  if (in.storage() == out.storage()) return run_into(op, ops::clone(in), mask, keepdim, out, second, param);
  const DType own = cpu::reduce_result(op, in.dtype());
  const Tensor target = own == out.dtype() ? out : empty(out.sizes(), {own, {}});
  const ReduceGeometry geometry(in, mask, target, second, keepdim, false);
  cpu::reduce(op, in.dtype(), target.ptr<char>(), second ? second->ptr<char>() : nullptr, in.ptr<char>(),
              geometry.shape(), param);
  if (!target.same(out)) copy_elements(out, target);
}

Tensor reduced(Reduce op, const char* name, const Tensor& self, OptDims dim, bool keepdim, DType in_dtype,
               DType out_dtype, Out out) {
  TL_CHECK(cpu::reduce_exists(op, in_dtype), NotImplemented, "\"", name, "_cpu\" not implemented for '",
           scalar_type_name(in_dtype), "'");
  const uint64_t mask = mask_of(self, dim);
  if (out) check_castable(out_dtype, *out);
  Tensor result = prepare_out(out, reduced_shape(self.sizes(), mask, keepdim),
                              {out ? out.tensor->dtype() : out_dtype, self.device()});
  if (!result.is_meta()) run_into(op, to_dtype(self, in_dtype), mask, keepdim, result);
  return result;
}

// The type to read: a narrower request reads the source as it is when the kernel's result already is that
// type.
DType input_dtype(Reduce op, DType self, DType wanted) {
  return cpu::reduce_exists(op, self) && cpu::reduce_result(op, self) == wanted ? self : wanted;
}

void check_requested_dtype(const char* name, OptDType dtype, Out out) {
  if (dtype) check_out_dtype(out, *dtype, cat(name, ": ").c_str());
}

Tensor sum_dim(const Tensor& self, OptDims dim, bool keepdim, OptDType dtype, Out out) {
  check_requested_dtype("sum", dtype, out);
  const DType wanted = sum_dtype(self, dtype, out);
  return reduced(Reduce::Sum, "sum", self, dim, keepdim, input_dtype(Reduce::Sum, self.dtype(), wanted),
                 wanted, out);
}
Tensor sum(const Tensor& self, OptDType dtype, Out out) {
  return sum_dim(self, std::nullopt, false, dtype, out);
}

Tensor mean_dim(const Tensor& self, OptDims dim, bool keepdim, OptDType dtype, Out out) {
  const DType type = dtype.value_or(self.dtype());
  TL_CHECK(is_floating(type) || is_complex(type), Runtime, "mean(): could not infer output dtype. ",
           dtype ? "Optional dtype must be either a floating point or complex dtype. Got: "
                 : "Input dtype must be either a floating point or complex dtype. Got: ",
           scalar_type_name(type));
  if (is_complex(type)) {
    const Tensor total = sum_dim(self, dim, keepdim, type, out);
    const int64_t count = total.numel() ? self.numel() / total.numel() : 0;
    return ops::div_(total, Scalar(static_cast<double>(count)));
  }
  check_requested_dtype("mean", dtype, out);
  return reduced(Reduce::Mean, "mean", self, dim, keepdim, type, type, out);
}
Tensor mean(const Tensor& self, OptDType dtype, Out out) {
  return mean_dim(self, std::nullopt, false, dtype, out);
}

// ---- products ---------------------------------------------------------------------------------------------

Tensor prod_over(const Tensor& self, OptDims dim, bool keepdim, OptDType dtype, Out out) {
  check_requested_dtype("prod", dtype, out);
  const DType wanted = sum_dtype(self, dtype, out);
  return reduced(Reduce::Prod, "prod", self, dim, keepdim, input_dtype(Reduce::Prod, self.dtype(), wanted),
                 wanted, out);
}
Tensor prod(const Tensor& self, OptDType dtype, Out out) {
  return prod_over(self, std::nullopt, false, dtype, out);
}
Tensor prod_dim(const Tensor& self, int64_t dim, bool keepdim, OptDType dtype, Out out) {
  const DimVector dims{dim};
  return prod_over(self, IntSpan(dims), keepdim, dtype, out);
}

bool holds_zero(const Tensor& t) {
  const Tensor zeros = ops::any(ops::eq(ops::detach(t), Scalar(0)));
  return !has_known_values(zeros) || ops::_local_scalar_dense(zeros).to_bool();
}
Tensor flipped(const Tensor& t, int64_t d) {
  return ops::index_select(t, d,
                           ops::arange_start_step(Scalar(t.size(d) - 1), Scalar(-1), Scalar(-1),
                                                  {.dtype = DType::Int64, .device = t.device()}));
}
// Exclusive cumulative product: for each element, the product of those before it.
Tensor exclusive_cumprod(const Tensor& t, int64_t d) {
  DimVector one(t.sizes());
  one[d] = 1;
  const Tensor first = ops::ones(one, {.dtype = t.dtype(), .device = t.device()});
  const Tensor rest = ops::cumprod(ops::slice(t, d, 0, t.size(d) - 1, 1), d);
  return ops::cat(std::vector<Tensor>{first, rest}, d);
}
// A factor's derivative is the product of the others: by division where none is zero.
Tensor prod_dim_backward(const Tensor& g, const Tensor& self, const Tensor& result, int64_t dim,
                         bool keepdim) {
  if (self.dim() == 0) return g;
  if (self.numel() == 0) return ops::zeros_like(self);
  const int64_t d = wrap_dim(dim, self.dim());
  const Tensor each = keepdim ? g : ops::unsqueeze(g, d);
  if (!holds_zero(self)) {
    const Tensor product = keepdim ? result : ops::unsqueeze(result, d);
    return ops::mul(each, ops::conj_physical(ops::div(product, self)));
  }
  const Tensor after = flipped(exclusive_cumprod(flipped(self, d), d), d);
  return ops::mul(each, ops::conj_physical(ops::mul(exclusive_cumprod(self, d), after)));
}
Tensor prod_backward(const Tensor& g, const Tensor& self, const Tensor& result) {
  if (self.dim() == 0) return g;
  return ops::reshape(prod_dim_backward(g, ops::reshape(self, DimVector{-1}), result, 0, false),
                      self.sizes());
}

// ---- without NaN ------------------------------------------------------------------------------------------

Tensor nansum(const Tensor& self, OptDims dim, bool keepdim, OptDType dtype, Out out) {
  TL_CHECK(!is_complex(self.dtype()), Runtime, "nansum does not support complex inputs");
  if (is_integral(self.dtype(), true))
    return out ? ops::sum_IntList_out(self, dim, keepdim, dtype, *out)
               : ops::sum_dim_IntList(self, dim, keepdim, dtype);
  if (!out) {  // most inputs hold no NaN, and then neither does the sum
    const Tensor sum = ops::sum_dim_IntList(self, dim, keepdim, dtype);
    if (sum.is_meta()) return sum;
    if (has_known_values(sum) && !ops::_local_scalar_dense(ops::any(ops::isnan(sum))).to_bool()) return sum;
  }
  const Tensor numbers = ops::masked_fill_Scalar(self, ops::isnan(self), Scalar(0));
  return out ? ops::sum_IntList_out(numbers, dim, keepdim, dtype, *out)
             : ops::sum_dim_IntList(numbers, dim, keepdim, dtype);
}
Tensor nanmean(const Tensor& self, OptDims dim, bool keepdim, OptDType dtype, Out out) {
  TL_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()), Runtime,
           "nanmean(): expected input to have floating point or complex dtype but got ",
           scalar_type_name(self.dtype()));
  const Tensor valid = ops::logical_not(ops::isnan(self));
  const Tensor numbers = ops::masked_fill_Scalar(self, ops::isnan(self), Scalar(0));
  const Tensor count = ops::sum_dim_IntList(valid, dim, keepdim);
  const Tensor total = ops::sum_dim_IntList(numbers, dim, keepdim, dtype);
  return out ? ops::div_out(total, count, *out) : ops::div(total, count);
}

Tensor not_zero(const Tensor& self) { return self.dtype() == DType::Bool ? self : ops::ne(self, Scalar(0)); }
Tensor count_nonzero_dims(const Tensor& self, IntSpan dim) {
  return ops::sum_dim_IntList(not_zero(self), dim.empty() ? OptDims() : OptDims(dim), false);
}
Tensor count_nonzero(const Tensor& self, std::optional<int64_t> dim) {
  if (!dim) return ops::sum(not_zero(self));
  return count_nonzero_dims(self, DimVector{*dim});
}

// ---- extremes ---------------------------------------------------------------------------------------------
void check_not_empty(const char* name, const Tensor& self, uint64_t mask) {
  for (int64_t d = 0; d < self.dim(); ++d)
    if (mask >> d & 1)
      TL_CHECK(self.size(d) != 0, Index, name, "(): Expected reduction dim ", d, " to have non-zero size.");
}

Tensor amax_or_min(Reduce op, const char* name, const Tensor& self, IntSpan dim, bool keepdim, Out out) {
  if (dim.empty())
    TL_CHECK(self.numel() > 0, Runtime, name,
             "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
             "reduction dim with the 'dim' argument.");
  check_not_empty(name, self, mask_of(self, dim));
  if (out)
    TL_CHECK(out.tensor->dtype() == self.dtype(), Runtime,
             "Expected the dtype for input and out to match, but got ", scalar_type_name(self.dtype()),
             " for input's dtype and ", scalar_type_name(out.tensor->dtype()), " for out's dtype.");
  return reduced(op, name, self, dim, keepdim, self.dtype(), self.dtype(), out);
}
Tensor amax(const Tensor& self, IntSpan dim, bool keepdim, Out out) {
  return amax_or_min(Reduce::Amax, "amax", self, dim, keepdim, out);
}
Tensor amin(const Tensor& self, IntSpan dim, bool keepdim, Out out) {
  return amax_or_min(Reduce::Amin, "amin", self, dim, keepdim, out);
}

Tensor extreme_of_all(Reduce op, const char* name, const Tensor& self, Out out) {
  TL_CHECK(self.numel() > 0, Runtime, name,
           "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
           "with the 'dim' argument.");
  return reduced(op, name, self, std::nullopt, false, self.dtype(), self.dtype(), out);
}
Tensor max_all(const Tensor& self, Out out) { return extreme_of_all(Reduce::Amax, "max", self, out); }
Tensor min_all(const Tensor& self, Out out) { return extreme_of_all(Reduce::Amin, "min", self, out); }

std::tuple<Tensor, Tensor> extreme_dim(bool largest, const char* name, const Tensor& self, int64_t dim,
                                       bool keepdim, Out out, Out out_index) {
  TL_CHECK(!is_complex(self.dtype()), NotImplemented, "\"", name, "_cpu\" not implemented for '",
           scalar_type_name(self.dtype()), "'");
  const uint64_t mask = uint64_t{1} << wrap_dim(dim, self.dim());
  check_not_empty(name, self, self.dim() ? mask : 0);
  check_out_dtype(out, self.dtype());
  check_out_dtype(out_index, DType::Int64);
  const DimVector shape = reduced_shape(self.sizes(), mask, keepdim);
  Tensor values = prepare_out(out, shape, {self.dtype(), self.device()});
  Tensor indices = prepare_out(out_index, shape, {DType::Int64, self.device()});
  if (!values.is_meta() && values.numel()) {
    const Tensor source = isolate(isolate(self, values), indices);
    const ReduceGeometry geometry(source, mask, values, &indices, keepdim, true);
    cpu::extreme(largest, self.dtype(), values.ptr<char>(), indices.ptr<char>(), source.ptr<char>(),
                 geometry.shape());
  }
  return {values, indices};
}
std::tuple<Tensor, Tensor> max_dim(const Tensor& self, int64_t dim, bool keepdim, Out out, Out index) {
  return extreme_dim(true, "max", self, dim, keepdim, out, index);
}
std::tuple<Tensor, Tensor> min_dim(const Tensor& self, int64_t dim, bool keepdim, Out out, Out index) {
  return extreme_dim(false, "min", self, dim, keepdim, out, index);
}

Tensor arg_extreme(bool largest, const char* name, const Tensor& self, std::optional<int64_t> dim,
                   bool keepdim, Out out) {
  TL_CHECK(!is_complex(self.dtype()) && self.dtype() != DType::Bool, NotImplemented, "\"", name,
           "_cpu\" not implemented for '", scalar_type_name(self.dtype()), "'");
  if (dim)
    check_not_empty(name, self, self.dim() ? uint64_t{1} << wrap_dim(*dim, self.dim()) : 0);
  else
    TL_CHECK(self.numel() > 0, Index, name,
             "(): Expected reduction dim to be specified for input.numel() == 0.");
  const uint64_t mask = dim ? uint64_t{1} << wrap_dim(*dim, self.dim()) : mask_of(self, std::nullopt);
  check_out_dtype(out, DType::Int64);
  Tensor indices =
      prepare_out(out, reduced_shape(self.sizes(), mask, keepdim), {DType::Int64, self.device()});
  if (!indices.is_meta() && indices.numel()) {
    const Tensor source = isolate(self, indices);
    const ReduceGeometry geometry(source, mask, Tensor(), &indices, keepdim, true);
    cpu::extreme(largest, self.dtype(), nullptr, indices.ptr<char>(), source.ptr<char>(), geometry.shape());
  }
  return indices;
}
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Out out) {
  return arg_extreme(true, "argmax", self, dim, keepdim, out);
}
Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Out out) {
  return arg_extreme(false, "argmin", self, dim, keepdim, out);
}

Tensor max_other(const Tensor& self, const Tensor& other, Out out) {
  return out ? ops::maximum_out(self, other, *out) : ops::maximum(self, other);
}
Tensor min_other(const Tensor& self, const Tensor& other, Out out) {
  return out ? ops::minimum_out(self, other, *out) : ops::minimum(self, other);
}

// "float" for float32, "long" for int64.
std::string lowercase_name(DType dtype) {
  std::string name = scalar_type_name(dtype);
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  return name;
}

// Block by block, so that the block is still in cache for the second reduction.
std::tuple<Tensor, Tensor> aminmax_of_blocks(const Tensor& self, int64_t block) {
  const int64_t n = self.numel(), item = self.itemsize(), count = (n + block - 1) / block;
  const Tensor low = empty(DimVector{count}, {self.dtype(), {}}),
               high = empty(DimVector{count}, {self.dtype(), {}});
  parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t size = std::min(block, n - i * block);
      const cpu::ReduceShape shape{0, 1, nullptr, nullptr, nullptr, nullptr, &size, &item};
      const char* in = self.ptr<char>() + i * block * item;
      cpu::reduce(Reduce::Amin, self.dtype(), low.ptr<char>() + i * item, nullptr, in, shape);
      cpu::reduce(Reduce::Amax, self.dtype(), high.ptr<char>() + i * item, nullptr, in, shape);
    }
  });
  return {ops::amin(low, IntSpan(), false), ops::amax(high, IntSpan(), false)};
}

// Both extremes along a dimension, or of all elements.
std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Out out_min,
                                   Out out_max) {
  TL_CHECK(!is_complex(self.dtype()), NotImplemented, "\"aminmax\" not implemented for '",
           scalar_type_name(self.dtype()), "'");
  DimVector dims;
  if (dim)
    dims.push_back(wrap_dim(*dim, self.dim()));
  else
    TL_CHECK(self.numel() > 0, Runtime,
             "aminmax(): cannot compute aminmax over an empty dimension as the "
             "operation has no identity.");
  check_not_empty("aminmax", self, dim && self.dim() ? mask_of(self, IntSpan(dims)) : 0);
  for (Out out : {out_min, out_max})
    TL_CHECK(!out || out.tensor->dtype() == self.dtype(), Runtime, "Expected out tensor to have dtype ",
             lowercase_name(self.dtype()), ", but got ", lowercase_name(out.tensor->dtype()), " instead");
  if (out_min) {
    const Tensor source = isolate(self, *out_min);
    return {ops::amin_out(source, dims, keepdim, *out_min), ops::amax_out(source, dims, keepdim, *out_max)};
  }
  constexpr int64_t kBlock = 1 << 16;
  if (!dim && !keepdim && has_known_values(self) && self.is_contiguous() && self.device().is_cpu() &&
      self.numel() >= 2 * kBlock)
    return aminmax_of_blocks(self, kBlock);
  return {ops::amin(self, dims, keepdim), ops::amax(self, dims, keepdim)};
}

// ---- logical ----------------------------------------------------------------------------------------------
// The result of uint8 is uint8, as in PyTorch, whose any and all are older than bool.
Tensor logical(Reduce op, const char* name, const Tensor& self, OptDims dim, bool keepdim, Out out) {
  const DType result = self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool;
  if (out)
    TL_CHECK(out.tensor->dtype() == DType::Bool || out.tensor->dtype() == DType::UInt8, Runtime, name,
             " only supports bool tensor for result, got: ", scalar_type_name(out.tensor->dtype()));
  const DType read = is_float8(self.dtype()) ? opmath_type(self.dtype()) : self.dtype();
  return reduced(op, name, self, dim, keepdim, read, result, out);
}
Tensor any_all(const Tensor& self, Out out) {
  return logical(Reduce::Any, "any", self, std::nullopt, false, out);
}
Tensor all_all(const Tensor& self, Out out) {
  return logical(Reduce::All, "all", self, std::nullopt, false, out);
}
// An empty list of dimensions reduces nothing, unlike in sum.
Tensor logical_dims(Reduce op, const char* name, const Tensor& self, OptDims dim, bool keepdim, Out out) {
  if (!dim || !dim->empty()) return logical(op, name, self, dim, keepdim, out);
  const Tensor flags =
      to_dtype(ops::ne(self, Scalar(0)), self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool);
  if (!out) return flags;
  Tensor result = prepare_out(out, self.sizes(), {out.tensor->dtype(), self.device()});
  return ops::copy_(result, flags);
}
Tensor any_dims(const Tensor& self, OptDims dim, bool keepdim, Out out) {
  return logical_dims(Reduce::Any, "any", self, dim, keepdim, out);
}
Tensor all_dims(const Tensor& self, OptDims dim, bool keepdim, Out out) {
  return logical_dims(Reduce::All, "all", self, dim, keepdim, out);
}
Tensor any_dim(const Tensor& self, int64_t dim, bool keepdim, Out out) {
  const DimVector dims{dim};
  return logical(Reduce::Any, "any", self, IntSpan(dims), keepdim, out);
}
Tensor all_dim(const Tensor& self, int64_t dim, bool keepdim, Out out) {
  const DimVector dims{dim};
  return logical(Reduce::All, "all", self, IntSpan(dims), keepdim, out);
}

// ---- variances --------------------------------------------------------------------------------------------
double correction_of(const std::optional<Scalar>& correction) {
  return correction ? correction->to_double() : 1.0;
}

void check_variance(const char* name, const Tensor& self) {
  TL_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()), Runtime, name,
           " only support floating point and complex dtypes");
}

// Nothing is left to divide by, so that the result is nan or inf.
void warn_of_freedom(const char* name, const Tensor& self, uint64_t mask, double correction) {
  double n = 1;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (mask >> d & 1) n *= static_cast<double>(self.size(d));
  if (n <= correction)
    warn(cat(
        name,
        "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor, got ",
        correction, " for ", n, " elements."));
}

Tensor variance(Reduce op, const char* name, const Tensor& self, OptDims dim,
                const std::optional<Scalar>& correction, bool keepdim, Out out) {
  check_variance(name, self);
  const double c = correction_of(correction);
  if (is_complex(self.dtype())) {
    const Tensor real = variance(Reduce::Var, name, ops::real(self), dim, correction, keepdim, {});
    const Tensor imag = variance(Reduce::Var, name, ops::imag(self), dim, correction, keepdim, {});
    Tensor total = ops::add(real, imag);
    if (op == Reduce::Std) total = ops::sqrt(total);
    return out ? ops::copy_(prepare_out(out, total.sizes(), {out.tensor->dtype(), self.device()}), total)
               : total;
  }
  const uint64_t mask = mask_of(self, dim);
  warn_of_freedom(name, self, mask, c);
  if (out) check_castable(self.dtype(), *out);
  Tensor result = prepare_out(out, reduced_shape(self.sizes(), mask, keepdim),
                              {out ? out.tensor->dtype() : self.dtype(), self.device()});
  run_into(op, self, mask, keepdim, result, nullptr, c);
  return result;
}
Tensor var(const Tensor& self, OptDims dim, const std::optional<Scalar>& correction, bool keepdim, Out out) {
  return variance(Reduce::Var, "var", self, dim, correction, keepdim, out);
}
Tensor std_(const Tensor& self, OptDims dim, const std::optional<Scalar>& correction, bool keepdim, Out out) {
  return variance(Reduce::Std, "std", self, dim, correction, keepdim, out);
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, OptDims dim, const std::optional<Scalar>& correction,
                                    bool keepdim, Out out_var, Out out_mean) {
  check_variance("var_mean", self);
  const Tensor mean = ops::mean_dim(self, dim, keepdim);  // before an output in the input's memory is written
  return {var(self, dim, correction, keepdim, out_var), copied_out(mean, out_mean)};
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, OptDims dim, const std::optional<Scalar>& correction,
                                    bool keepdim, Out out_std, Out out_mean) {
  check_variance("std_mean", self);
  const Tensor mean = ops::mean_dim(self, dim, keepdim);
  return {std_(self, dim, correction, keepdim, out_std), copied_out(mean, out_mean)};
}
template <auto f>
Tensor unbiased(const Tensor& self, bool unbiased) {
  return f(self, std::nullopt, Scalar(unbiased ? 1 : 0), false, {});
}
template <auto f>
Tensor unbiased_dim(const Tensor& self, OptDims dim, bool unbiased, bool keepdim, Out out) {
  return f(self, dim, Scalar(unbiased ? 1 : 0), keepdim, out);
}
using Moments = std::tuple<Tensor, Tensor>;
template <auto f>
Moments both_unbiased(const Tensor& self, bool unbiased) {
  return f(self, std::nullopt, Scalar(unbiased ? 1 : 0), false);
}
template <auto f>
Moments both_unbiased_dim(const Tensor& self, OptDims dim, bool unbiased, bool keepdim) {
  return f(self, dim, Scalar(unbiased ? 1 : 0), keepdim);
}
Tensor var_op(const Tensor& self, OptDims dim, const std::optional<Scalar>& c, bool keepdim, Out out) {
  return out ? ops::var_correction_out(self, dim, c, keepdim, *out)
             : ops::var_correction(self, dim, c, keepdim);
}
Tensor std_op(const Tensor& self, OptDims dim, const std::optional<Scalar>& c, bool keepdim, Out out) {
  return out ? ops::std_correction_out(self, dim, c, keepdim, *out)
             : ops::std_correction(self, dim, c, keepdim);
}

// d var / dx = 2 (x - mean) / (n - correction).
Tensor var_backward(const Tensor& g, const Tensor& self, OptDims dim, const std::optional<Scalar>& correction,
                    bool keepdim) {
  const uint64_t mask = mask_of(self, dim);
  int64_t count = 1;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (mask >> d & 1) count *= self.size(d);
  const double degrees = static_cast<double>(count) - correction_of(correction);
  const Tensor spread = ops::unsum(g, self.sizes(), dim, keepdim);
  const Tensor centered = ops::sub(self, ops::mean_dim(self, dim, true));
  if (degrees <= 0)
    return ops::mul(spread, ops::where_self(ops::eq(centered, Scalar(0)),
                                            Scalar(std::numeric_limits<double>::quiet_NaN()),
                                            Scalar(std::numeric_limits<double>::infinity())));
  return ops::mul(ops::mul(spread, Scalar(2.0 / degrees)), centered);
}
// d std = d var / (2 std), and 0 where std is 0. The quotient is finite there, so that its own derivatives
// are 0 too.
Tensor std_backward(const Tensor& g, const Tensor& result, const Tensor& self, OptDims dim,
                    const std::optional<Scalar>& correction, bool keepdim) {
  const Tensor constant = ops::eq(result, Scalar(0));
  const Tensor divisor = ops::where_self(constant, Scalar(1.0), ops::mul(result, Scalar(2)));
  const Tensor scaled = ops::where_self(constant, Scalar(0.0), ops::div(g, divisor));
  return var_backward(scaled, self, dim, correction, keepdim);
}

// Of var_mean, and with the deviation of std_mean: either gradient may be missing.
Tensor moments_backward(OptTensor grad_spread, OptTensor grad_mean, OptTensor deviation, const Tensor& self,
                        OptDims dim, const std::optional<Scalar>& correction, bool keepdim) {
  std::optional<Tensor> total;
  if (grad_spread)
    total = deviation ? std_backward(*grad_spread, *deviation, self, dim, correction, keepdim)
                      : var_backward(*grad_spread, self, dim, correction, keepdim);
  if (!grad_mean) return total ? *total : ops::zeros_like(self);
  const int64_t results = std::max<int64_t>(grad_mean->numel(), 1);
  const Tensor of_mean = ops::div(ops::unsum(*grad_mean, self.sizes(), dim, keepdim),
                                  Scalar(static_cast<double>(self.numel()) / static_cast<double>(results)));
  return total ? ops::add(*total, of_mean) : of_mean;
}

// The gradient of an extreme value, shared evenly among equal elements.
Tensor amax_backward(const Tensor& g, const Tensor& self, const Tensor& result, IntSpan dim, bool keepdim) {
  const Tensor value = ops::unsum(result, self.sizes(), dim, keepdim);
  const Tensor mask =
      to_dtype(ops::logical_or(ops::eq(self, value), ops::logical_and(ops::isnan(self), ops::isnan(value))),
               g.dtype());
  const Tensor ties = ops::sum_dim_IntList(mask, dim, true);
  return ops::mul(ops::div(ops::unsum(g, self.sizes(), dim, keepdim), ties), mask);
}

// The gradient of a value selected along a dimension is scattered to its index.
Tensor value_selecting_backward(const Tensor& g, int64_t dim, const Tensor& indices, IntSpan sizes,
                                bool keepdim) {
  const Tensor zeros = ops::zeros(sizes, {.dtype = g.dtype(), .device = g.device()});
  if (sizes.empty()) return ops::add(zeros, g);
  const Tensor spread = keepdim ? g : ops::unsqueeze(g, dim);
  const Tensor unsqueezed_indices = keepdim ? indices : ops::unsqueeze(indices, dim);
  return ops::scatter_add(zeros, dim, unsqueezed_indices, spread);
}
}  // namespace

TL_KERNEL(sum, sum)
TL_KERNEL(sum_dim_IntList, sum_dim)
TL_KERNEL(mean, mean)
TL_KERNEL(mean_dim, mean_dim)
TL_KERNEL(prod, prod)
TL_KERNEL(prod_dim_int, prod_dim)
TL_KERNEL(prod_backward, prod_backward)
TL_KERNEL(prod_dim_backward, prod_dim_backward)
TL_KERNEL(nansum, nansum)
TL_KERNEL(nanmean, nanmean)
TL_KERNEL(count_nonzero, count_nonzero)
TL_KERNEL(count_nonzero_dim_IntList, count_nonzero_dims)
TL_KERNEL(aminmax, aminmax)
TL_KERNEL(amax, amax)
TL_KERNEL(amin, amin)
TL_KERNEL(max, max_all)
TL_KERNEL(min, min_all)
TL_KERNEL(max_dim, max_dim)
TL_KERNEL(min_dim, min_dim)
TL_KERNEL(max_other, max_other)
TL_KERNEL(min_other, min_other)
TL_KERNEL(argmax, argmax)
TL_KERNEL(argmin, argmin)
TL_KERNEL(any, any_all)
TL_KERNEL(all, all_all)
TL_KERNEL(any_dim, any_dim)
TL_KERNEL(all_dim, all_dim)
TL_KERNEL(any_dims, any_dims)
TL_KERNEL(all_dims, all_dims)
TL_KERNEL(var_correction, var)
TL_KERNEL(std_correction, std_)
TL_KERNEL(var_mean_correction, var_mean)
TL_KERNEL(std_mean_correction, std_mean)
TL_KERNEL(var, unbiased<&var_op>)
TL_KERNEL(std, unbiased<&std_op>)
TL_KERNEL(var_dim, unbiased_dim<&var_op>)
TL_KERNEL(std_dim, unbiased_dim<&std_op>)
TL_KERNEL(var_mean, both_unbiased<&ops::var_mean_correction>)
TL_KERNEL(std_mean, both_unbiased<&ops::std_mean_correction>)
TL_KERNEL(var_mean_dim, both_unbiased_dim<&ops::var_mean_correction>)
TL_KERNEL(std_mean_dim, both_unbiased_dim<&ops::std_mean_correction>)
TL_KERNEL(var_backward, var_backward)
TL_KERNEL(std_backward, std_backward)
TL_KERNEL(_moments_backward, moments_backward)
TL_KERNEL(amax_backward, amax_backward)
TL_KERNEL(value_selecting_backward, value_selecting_backward)

}  // namespace tl
