// Running sums and products.
#include "kernels/cpu/scan.h"

#include "iter/promotion.h"
#include "ops.h"
#include "ops/along.h"
#include "ops/copy.h"
#include "ops/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
DType scan_dtype(const Tensor& self, std::optional<DType> dtype, Out out) {
  if (dtype) return *dtype;
  if (out) return out.tensor->dtype();
  return is_integral(self.dtype(), true) ? DType::Int64 : self.dtype();
}

// The same elements, the dimension read from its end.
cpu::AlongShape from_end(cpu::AlongShape shape, int operands, char** data) {
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
  const cpu::AlongShape shape = reversed ? from_end(geometry.shape(), 2, data) : geometry.shape();
  cpu::scan(op, result.dtype(), shape, data[0], data[1]);
}

template <cpu::Scan op>
Tensor scan(const Tensor& self, int64_t dim, std::optional<DType> dtype, Out out) {
  const DType type = scan_dtype(self, dtype, out);
  const int64_t d = wrap_dim(dim, self.dim());
  if (out)
    TL_CHECK(out.tensor->dtype() == type, Runtime, "Expected out tensor to have dtype ", dtype_name(type),
             ", but got ", dtype_name(out.tensor->dtype()), " instead");
  const Tensor source = to_dtype(self, type);
  const Tensor result = prepare_out(out, self.sizes(), {type, self.device()});
  run(op, result, source, d, false);
  return result;
}

Tensor cumsum_backward(const Tensor& g, int64_t dim) {
  const Tensor result = empty(g.sizes(), {g.dtype(), g.device()});
  run(cpu::Scan::Sum, result, g, wrap_dim(dim, g.dim()), true);
  return result;
}

// Without the k-th factor, the running product is that before k times that of the factors behind k.
Tensor without_factor(const Tensor& g, const Tensor& self, int64_t d, int64_t k) {
  const int64_t n = self.size(d);
  const Tensor first = ops::select_int(g, d, k);
  Tensor total = first;
  if (k + 1 < n) {
    const Tensor behind = ops::conj_physical(ops::cumprod(ops::slice(self, d, k + 1, n, 1), d));
    total = ops::add(
        first, ops::sum_dim_IntList(ops::mul(ops::slice(g, d, k + 1, n, 1), behind), DimVector{d}, false));
  }
  if (k == 0) return total;
  return ops::mul(
      total, ops::conj_physical(ops::select_int(ops::cumprod(ops::slice(self, d, 0, k, 1), d), d, k - 1)));
}

// Dividing the products by a factor is quick but says nothing where the factor is zero: then each is left out
// in its turn.
Tensor cumprod_backward(const Tensor& g, const Tensor& self, int64_t dim, const Tensor& result) {
  if (self.dim() == 0 || self.numel() == 0) return g;
  const int64_t d = wrap_dim(dim, self.dim());
  const Tensor zeros = ops::any(ops::eq(ops::detach(self), Scalar(0)));
  if (zeros.is_meta() || !ops::_local_scalar_dense(zeros).to_bool())
    return ops::div(ops::cumsum_backward(ops::mul(g, ops::conj_physical(result)), d),
                    ops::conj_physical(self));
  std::vector<Tensor> parts;
  for (int64_t k = 0; k < self.size(d); ++k) parts.push_back(without_factor(g, self, d, k));
  return ops::stack(parts, d);
}
}  // namespace

TL_KERNEL(cumsum, scan<cpu::Scan::Sum>)
TL_KERNEL(cumprod, scan<cpu::Scan::Prod>)
TL_KERNEL(cumsum_backward, cumsum_backward)
TL_KERNEL(cumprod_backward, cumprod_backward)

}  // namespace tl
