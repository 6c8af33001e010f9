// div with rounding modes, clamp, masked_fill, tril and triu: operators that choose among elementwise loops.
#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "elementwise_defs.h"
#include "iter/dtypes.h"
#include "iter/loop_nest.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/expanded.h"
#include "ops/shared/loop_recorder.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
const ElementwiseDef& division(std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) return kElementwise_div_div;
  TL_CHECK(*rounding_mode == "trunc" || *rounding_mode == "floor", Runtime,
           "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *rounding_mode,
           "'");
  return *rounding_mode == "trunc" ? kElementwise_div_trunc__div_trunc
                                   : kElementwise_floor_divide_floor_divide;
}
Tensor div_mode(const Operand& self, const Operand& other, std::optional<std::string_view> rounding_mode,
                Out out) {
  const TlValue args[] = {self.value(), other.value()};
  return run_elementwise(division(rounding_mode), args, out);
}

Tensor true_divide(const Operand& self, const Operand& other, Out out) {
  if (out && self.is_tensor() && out.tensor->same(self.tensor())) return ops::div_(self.tensor(), other);
  return out ? ops::div_out(self, other, *out) : ops::div(self, other);
}

Tensor conj_physical(const Tensor& self, Out out) {
  if (is_complex(self.dtype())) {
    if (out && out.tensor->same(self)) return ops::copy_(self, ops::_conj_physical(self));
    return out ? ops::_conj_physical_out(self, *out) : ops::_conj_physical(self);
  }
  if (!out || out.tensor->same(self)) return self;
  return ops::copy_(prepare_out(out, self.sizes(), {out.tensor->dtype(), self.device()}), self);
}
// ---- bounds -----------------------------------------------------------------------------------------------
using OptOperand = std::optional<Operand>;

Tensor clamp_operands(const Tensor& self, const OptOperand& min, const OptOperand& max, Out out) {
  TL_CHECK(min || max, Runtime, "torch.clamp: At least one of 'min' or 'max' must not be None");
  if (min && max) {
    const TlValue args[] = {value(self), min->value(), max->value()};
    return run_elementwise(kElementwise_clamp_tensor__clamp, args, out);
  }
  const TlValue args[] = {value(self), (min ? *min : *max).value()};
  return run_elementwise(min ? kElementwise_maximum_clamp_min : kElementwise_minimum_clamp_max, args, out);
}
template <class T>
OptOperand operand(const T& bound) {
  return bound ? OptOperand(Operand(*bound)) : std::nullopt;
}

Tensor clamp(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max,
             Out out) {
  return clamp_operands(self, operand(min), operand(max), out);
}
Tensor clamp_tensor(const Tensor& self, OptTensor min, OptTensor max, Out out) {
  return clamp_operands(self, operand(min), operand(max), out);
}

Tensor clamp_backward(const Tensor& g, const Tensor& self, const OptOperand& min, const OptOperand& max) {
  if (!min && !max) return g;
  Tensor inside = min ? ops::ge(self, *min) : ops::le(self, *max);
  if (min && max) inside = ops::logical_and(inside, ops::le(self, *max));
  return ops::where_self(inside, g, Scalar(0));
}
Tensor clamp_backward_bound(const Tensor& g, const Tensor& self, OptTensor min, OptTensor max, bool upper) {
  TL_CHECK(upper ? max : min, Runtime,
           "clamp_backward_bound: the bound whose gradient is asked for is missing");
  Tensor taken = upper ? ops::gt(self, *max) : ops::lt(self, *min);
  if (min && max)
    taken =
        upper ? ops::logical_or(taken, ops::lt(*max, *min)) : ops::logical_and(taken, ops::lt(*min, *max));
  return ops::where_self(taken, g, Scalar(0));
}

Tensor atan2_derivative(const Tensor& part, const Tensor& self, const Tensor& other) {
  const Tensor square = ops::add(ops::mul(self, self), ops::mul(other, other));
  return ops::where_self(ops::eq(square, Scalar(0)), Scalar(0.0), ops::div(part, square));
}

// ---- masks ------------------------------------------------------------------------------------------------
Tensor masked_fill_operand(const Tensor& self, const Tensor& mask, const Tensor& number, Out out) {
  TL_CHECK(mask.dtype() == DType::Bool, Runtime,
           "masked_fill only supports boolean masks, but got mask with dtype ", dtype_name(mask.dtype()));
  if (out && out.tensor->same(self) && is_expanded(self)) {
    warn_expanded("masked_fill_", "tensor[mask] = scalar");
    return fill_expanded(self, mask, number);
  }
  const TlValue args[] = {value(mask), value(number), value(self)};
  return run_elementwise(kElementwise_where_where, args, out);
}
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& number, Out out) {
  if (number.is_complex())
    TL_CHECK(is_complex(self.dtype()), Runtime, "value cannot be converted to type ",
             scalar_type_name(self.dtype()), " without overflow: it is complex");
  if (self.dtype() != DType::Bool) number.check_fits(self.dtype());
  return masked_fill_operand(
      self, mask, ops::scalar_tensor(number, {.dtype = self.dtype(), .device = self.device()}), out);
}
Tensor masked_fill_tensor(const Tensor& self, const Tensor& mask, const Tensor& number, Out out) {
  TL_CHECK(number.dim() == 0, Runtime,
           "masked_fill only supports a 0-dimensional value tensor, but got tensor with ", number.dim(),
           " dimension(s).");
  if (promote(number.dtype(), self.dtype()) == self.dtype())
    return masked_fill_operand(self, mask, to_dtype(number, self.dtype()), out);
  // Whether the type has the number, depends on its value.
  if (!number.is_meta()) return masked_fill(self, mask, ops::_local_scalar_dense(number), out);
  if (LoopRecorder* recorder = loop_recorder()) recorder->refuse();
  return masked_fill_operand(self, mask, to_dtype(number, self.dtype()), out);
}

// Dense matrices of m by n up to the diagonal, from -m to n, or from it on; zeros elsewhere. `out` may be
// `in`.
template <bool lower>
void copy_triangle(const Tensor& out, const Tensor& in, int64_t m, int64_t n, int64_t diagonal) {
  const int64_t item = in.itemsize(), bytes = n * item, start = diagonal + lower;
  parallel_for(0, m && n ? in.numel() / n : 0, kGrain / (n + 1) + 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      char* const to = out.ptr<char>() + i * bytes;
      const char* const from = in.ptr<char>() + i * bytes;
      const int64_t edge = std::clamp<int64_t>(i % m + start, 0, n) * item;
      const int64_t begin = lower ? 0 : edge, end = lower ? edge : bytes;
      std::memset(to, 0, static_cast<size_t>(begin));
      if (to != from) std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
      std::memset(to + end, 0, static_cast<size_t>(bytes - end));
    }
  });
}

// Mask of the elements of an m by n matrix on or below the diagonal.
Tensor lower_mask(int64_t m, int64_t n, int64_t diagonal, Device device) {
  const Tensor rows = ops::unsqueeze(ops::arange(m, {.dtype = DType::Int64, .device = device}), 1);
  return ops::le(ops::arange(n, {.dtype = DType::Int64, .device = device}), ops::add(rows, Scalar(diagonal)));
}
template <bool lower>
Tensor triangle(const Tensor& self, int64_t diagonal, Out out) {
  const int64_t n = self.dim();
  TL_CHECK(n >= 2, Runtime, lower ? "tril" : "triu", ": input tensor must have at least 2 dimensions, got ",
           n);
  const Tensor result = out ? prepare_out(out, self.sizes(), {out.tensor->dtype(), self.device()})
                            : empty(self.sizes(), {self.dtype(), self.device()});
  const int64_t rows = self.size(n - 2), columns = self.size(n - 1);
  diagonal = std::clamp(diagonal, -rows, columns);
  if (self.device().is_cpu() && self.dtype() == result.dtype() && self.is_contiguous() &&
      result.is_contiguous() && (!out || result.same(self) || result.storage() != self.storage())) {
    copy_triangle<lower>(result, self, rows, columns, diagonal);
    return result;
  }
  const Tensor low = lower_mask(rows, columns, lower ? diagonal : diagonal - 1, self.device());
  const Scalar zero(false);
  const TlValue args[] = {value(low), lower ? value(self) : zero.value(), lower ? zero.value() : value(self)};
  return run_elementwise(kElementwise_where_where, args, Out{&result});
}
}  // namespace

TL_KERNEL(clamp, clamp)
TL_KERNEL(clamp_Tensor, clamp_tensor)
TL_KERNEL(clamp_backward, clamp_backward)
TL_KERNEL(clamp_backward_bound, clamp_backward_bound)
TL_KERNEL(atan2_derivative, atan2_derivative)
TL_KERNEL(masked_fill_Scalar, masked_fill)
TL_KERNEL(masked_fill_Tensor, masked_fill_tensor)
TL_KERNEL(tril, triangle<true>)
TL_KERNEL(triu, triangle<false>)
TL_KERNEL(div_Tensor_mode, div_mode)
TL_KERNEL(true_divide_Tensor, true_divide)
TL_KERNEL(conj_physical, conj_physical)

}  // namespace tl
