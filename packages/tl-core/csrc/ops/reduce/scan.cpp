// cumsum, cumprod, cummax, cummin, logcumsumexp and their derivatives.
#include "kernels/cpu/reduce/scan.h"

#include <algorithm>
#include <limits>

#include "iter/dtypes.h"
#include "kernels/cpu/reduce/cumulative.h"
#include "ops.h"
#include "ops/reduce/reduction.h"
#include "ops/shared/along.h"
#include "ops/shared/copy.h"
#include "ops/shared/known_values.h"
#include "ops/shared/out.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
// The same elements in reverse along the dimension.
cpu::AlongShape reversed_along(cpu::AlongShape shape, int operands, char** data) {
  for (int k = 0; k < operands; ++k) {
    data[k] += (shape.n - 1) * shape.along[k];
    shape.along[k] = -shape.along[k];
  }
  return shape;
}

void run(cpu::Scan op, const Tensor& result, const Tensor& self, int64_t dim, bool reversed) {
  if (result.is_meta() || result.numel() == 0) return;
  const AlongGeometry geometry(dim, self.dim() ? self.size(dim) : 1, {&result, &self});
  char* data[] = {result.ptr<char>(), self.ptr<char>()};
  const cpu::AlongShape shape = reversed ? reversed_along(geometry.shape(), 2, data) : geometry.shape();
  cpu::scan(op, result.dtype(), shape, data[0], data[1]);
}

template <cpu::Scan op>
Tensor scan(const Tensor& self, int64_t dim, std::optional<DType> dtype, Out out) {
  const DType type = sum_dtype(self, dtype, out);
  const int64_t d = wrap_dim(dim, self.dim());
  check_out_dtype(out, type);
  const Tensor source = to_dtype(self, type);
  const Tensor result = prepare_out(out, self.sizes(), {type, self.device()});
  check_no_partial_overlap(result, source);
  run(op, result, source, d, false);
  return result;
}

Tensor cumsum_backward(const Tensor& g, int64_t dim) {
  const Tensor result = empty(g.sizes(), {g.dtype(), g.device()});
  run(cpu::Scan::Sum, result, g, wrap_dim(dim, g.dim()), true);
  return result;
}

// The derivative with respect to the k-th factor: the product before k times the gradient's sum over the
// products of the factors after k.
Tensor cumprod_backward_at(const Tensor& g, const Tensor& self, int64_t d, int64_t k) {
  const int64_t n = self.size(d);
  const Tensor first = ops::select_int(g, d, k);
  Tensor total = first;
  if (k + 1 < n) {
    const Tensor tail = ops::conj_physical(ops::cumprod(ops::slice(self, d, k + 1, n, 1), d));
    total = ops::add(
        first, ops::sum_dim_IntList(ops::mul(ops::slice(g, d, k + 1, n, 1), tail), DimVector{d}, false));
  }
  if (k == 0) return total;
  return ops::mul(
      total, ops::conj_physical(ops::select_int(ops::cumprod(ops::slice(self, d, 0, k, 1), d), d, k - 1)));
}

// d/dx_k sum_i g_i y_i = (sum over i >= k of g_i y_i) / x_k. Where a factor is zero the quotient is
// undefined: then each factor is left out in turn, in quadratic time.
Tensor cumprod_backward(const Tensor& g, const Tensor& self, int64_t dim, const Tensor& result) {
  if (self.dim() == 0 || self.numel() == 0) return g;
  const int64_t d = wrap_dim(dim, self.dim());
  const Tensor zeros = ops::any(ops::eq(ops::detach(self), Scalar(0)));
  if (zeros.is_meta() || (has_known_values(zeros) && !ops::_local_scalar_dense(zeros).to_bool()))
    return ops::div(ops::cumsum_backward(ops::mul(g, ops::conj_physical(result)), d),
                    ops::conj_physical(self));
  std::vector<Tensor> parts;
  for (int64_t k = 0; k < self.size(d); ++k) parts.push_back(cumprod_backward_at(g, self, d, k));
  return ops::stack(parts, d);
}

// ---- cummax, cummin and logcumsumexp ----------------------------------------------------------------------

using Pair = std::tuple<Tensor, Tensor>;

// These write no other type than they read.
void check_out_like(const Tensor& self, Out out) {
  TL_CHECK(!out || out.tensor->dtype() == self.dtype(), Runtime, "expected scalar_type ",
           scalar_type_name(self.dtype()), " but found ",
           scalar_type_name(out ? out.tensor->dtype() : self.dtype()),
           ": out has another type than the input");
}

template <bool largest>
Pair cummaxmin(const Tensor& self, int64_t dim, Out out, Out out_index) {
  const char* name = largest ? "cummax" : "cummin";
  TL_CHECK(!is_complex(self.dtype()), NotImplemented, "\"", name, "_cpu\" not implemented for '",
           scalar_type_name(self.dtype()), "'");
  const int64_t d = wrap_dim(dim, self.dim());
  check_out_like(self, out);
  if (out_index)
    TL_CHECK(out_index.tensor->dtype() == DType::Int64, Runtime, name,
             "(): Expected indices to have dtype int64, but got ", dtype_name(out_index.tensor->dtype()));
  const Tensor values = prepare_out(out, self.sizes(), {self.dtype(), self.device()});
  const Tensor indices = prepare_out(out_index, self.sizes(), {DType::Int64, self.device()});
  for (const Tensor& written : {values, indices}) check_no_partial_overlap(written, self);
  if (values.is_meta() || values.numel() == 0) return {values, indices};
  const AlongGeometry geometry(d, self.dim() ? self.size(d) : 1, {&values, &indices, &self});
  cpu::cummaxmin(largest, self.dtype(), geometry.shape(), values.ptr<char>(), indices.ptr<char>(),
                 self.ptr<char>());
  return {values, indices};
}
Tensor cummaxmin_backward(const Tensor& g, const Tensor& self, const Tensor& indices, int64_t dim) {
  if (self.numel() == 0) return g;
  return ops::scatter_add(ops::zeros_like(self), dim, indices, g);
}

Tensor logcumsumexp(const Tensor& self, int64_t dim, Out out) {
  TL_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()), NotImplemented,
           "\"logcumsumexp_out_cpu\" not implemented for '", scalar_type_name(self.dtype()), "'");
  TL_CHECK(self.dtype() != DType::Complex32, NotImplemented,
           "a running logsumexp needs floating or complex numbers");
  const int64_t d = wrap_dim(dim, self.dim());
  check_out_like(self, out);
  const Tensor result = prepare_out(out, self.sizes(), {self.dtype(), self.device()});
  check_no_partial_overlap(result, self);
  if (result.is_meta() || result.numel() == 0) return result;
  const AlongGeometry geometry(d, self.dim() ? self.size(d) : 1, {&result, &self});
  cpu::logcumsumexp(self.dtype(), geometry.shape(), result.ptr<char>(), self.ptr<char>());
  return result;
}

Tensor flipped(const Tensor& t, int64_t d) {
  return ops::index_select(t, d,
                           ops::arange_start_step(Scalar(t.size(d) - 1), Scalar(-1), Scalar(-1),
                                                  {.dtype = DType::Int64, .device = t.device()}));
}
// The logarithm of what adds nothing: a finite number, because the tangents of minus infinity are nan.
double lowest(DType dtype) {
  if (dtype == DType::Float16) return -65504;
  return dtype == DType::Float64 ? std::numeric_limits<double>::lowest() : -3e38;
}

// exp(self) times the reverse cumulative sum of g / exp(result), in logarithms: either factor may overflow.
// Positive and negative gradients are summed apart, as a logarithm has no sign.
Tensor logcumsumexp_backward(const Tensor& g, const Tensor& self, const Tensor& result, int64_t dim) {
  if (self.dim() == 0 || self.numel() == 0) return g;
  for (const Tensor& t : {g, result})
    TL_CHECK(std::ranges::equal(t.sizes(), self.sizes()), Runtime, "logcumsumexp_backward(): shape ",
             t.sizes(), " is not that of the input, ", self.sizes());
  const int64_t d = wrap_dim(dim, self.dim());
  const auto reverse_sum = [&](const Tensor& log) {
    return ops::exp(ops::add(flipped(ops::logcumsumexp(flipped(log, d), d), d), self));
  };
  const Scalar log_zero(lowest(to_real(self.dtype())));
  const auto part = [&](const Tensor& mask, const Tensor& values) {
    const Tensor log = ops::log(ops::where_self(mask, values, Scalar(1.0)));
    return reverse_sum(ops::where_self(mask, ops::sub(log, result), log_zero));
  };
  if (is_complex(g.dtype())) return ops::conj_physical(part(ops::ne(g, Scalar(0)), ops::conj_physical(g)));
  const auto signed_part = [&](const Tensor& mask, const Tensor& values) {
    return part(ops::logical_and(mask, ops::ne(result, Scalar(-std::numeric_limits<double>::infinity()))),
                values);
  };
  return ops::sub(signed_part(ops::gt(g, Scalar(0)), g), signed_part(ops::lt(g, Scalar(0)), ops::neg(g)));
}
}  // namespace

TL_KERNEL(cummax, cummaxmin<true>)
TL_KERNEL(cummin, cummaxmin<false>)
TL_KERNEL(cummaxmin_backward, cummaxmin_backward)
TL_KERNEL(logcumsumexp, logcumsumexp)
TL_KERNEL(logcumsumexp_backward, logcumsumexp_backward)
TL_KERNEL(cumsum, scan<cpu::Scan::Sum>)
TL_KERNEL(cumprod, scan<cpu::Scan::Prod>)
TL_KERNEL(cumsum_backward, cumsum_backward)
TL_KERNEL(cumprod_backward, cumprod_backward)

}  // namespace tl
