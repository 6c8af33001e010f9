// Tensors of the layout sparse_coo: what they are made of, and the rows that take them.
#include "tensor/sparse.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/copy.h"

namespace tl {

namespace {
constexpr TensorOptions kInts{DType::Int64, {}};

const SparseParts& expected_parts(const char* what, const Tensor& t) {
  TL_CHECK(t.is_sparse(), Runtime, what, " expected sparse coordinate tensor layout but got Strided");
  return parts_of(*t.impl());
}
const SparseParts& parts(const Tensor& t) { return parts_of(*t.impl()); }

DimVector sized(int64_t first, IntSpan rest) {
  DimVector sizes{first};
  for (int64_t s : rest) sizes.push_back(s);
  return sizes;
}

// ---- places -----------------------------------------------------------------------------------------------

Tensor row(const SparseParts& p, int64_t dim) { return ops::select_int(p.indices, 0, dim); }

std::vector<Tensor> rows(const SparseParts& p) {
  std::vector<Tensor> all;
  for (int64_t d = 0; d < p.sparse_dim(); ++d) all.push_back(row(p, d));
  return all;
}

// The number of each element's place, counted through the sparse dimensions in C order.
Tensor places(const SparseParts& p, IntSpan sizes) {
  if (p.sparse_dim() == 1) return row(p, 0);
  const Tensor out = ops::zeros(DimVector{p.count()}, DType::Int64);
  int64_t step = 1;
  for (int64_t d = p.sparse_dim() - 1; d >= 0; --d) {
    const int64_t* index = p.indices.ptr<int64_t>() + d * p.count();
    int64_t* place = out.ptr<int64_t>();
    for (int64_t i = 0; i < p.count(); ++i) place[i] = wrapped_add(place[i], wrapped_mul(index[i], step));
    step = checked_mul(step, std::max<int64_t>(sizes[d], 1));
  }
  return out;
}

// Values added up at `to`, in order; of bool, whether any is true.
Tensor gathered(const Tensor& values, const Tensor& to, int64_t n) {
  if (values.dtype() == DType::Bool)
    return ops::ne(gathered(to_dtype(values, DType::Int64), to, n), Scalar(int64_t{0}));
  return ops::index_add_(ops::zeros(sized(n, values.sizes().subspan(1)), values.dtype()), 0, to, values);
}

Tensor coalesce(const Tensor& self) {
  const SparseParts& p = expected_parts("coalesce", self);
  if (p.coalesced) return self;
  if (p.count() < 2) return sparse_tensor(self.sizes(), {p.indices, p.values, true});
  const auto [found, to, counts] = ops::_unique2(places(p, self.sizes()), true, true, false);
  const Tensor first = empty(found.sizes(), kInts);
  for (int64_t i = p.count() - 1; i >= 0; --i) first.ptr<int64_t>()[to.ptr<int64_t>()[i]] = i;
  return sparse_tensor(self.sizes(),
                       {ops::index_select(p.indices, 1, first), gathered(p.values, to, found.numel()), true});
}

// ---- making and taking apart ------------------------------------------------------------------------------

void check_shapes(const Tensor& indices, const Tensor& values, IntSpan size) {
  TL_CHECK(indices.dim() == 2, Runtime, "indices must be sparse_dim x nnz, but got: ", indices.sizes());
  TL_CHECK(values.dim() > 0 && values.size(0) == indices.size(1), Runtime,
           "indices and values must have same nnz, but got nnz from indices: ", indices.size(1),
           ", nnz from values: ", values.dim() > 0 ? values.size(0) : 0);
  const int64_t sparse = indices.size(0), dense = values.dim() - 1;
  const auto dims = static_cast<int64_t>(size.size());
  TL_CHECK(dims == sparse + dense, Runtime,
           "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = ", dims,
           ", sparse_dim = ", sparse, ", dense_dim = ", dense);
  const DimVector fit = sized(indices.size(1), size.subspan(static_cast<size_t>(sparse)));
  TL_CHECK(std::ranges::equal(values.sizes(), fit), Runtime, "values has incorrect size, expected ", fit,
           ", got ", values.sizes());
}

Tensor sparse_coo(const Tensor& indices, const Tensor& values, IntSpan size, bool coalesced) {
  TL_CHECK(values.device().is_cpu() && indices.device().is_cpu(), NotImplemented,
           "tensors of the layout torch.sparse_coo exist on the CPU only");
  check_shapes(indices, values, size);
  const Tensor places = to_contiguous(to_dtype(indices, DType::Int64));
  return sparse_tensor(size, {alias(places), alias(values), coalesced || values.size(0) < 2});
}

Tensor indices_as_they_are(const Tensor& self) { return alias(expected_parts("_indices", self).indices); }
Tensor values_as_they_are(const Tensor& self) { return alias(expected_parts("_values", self).values); }
const SparseParts& coalesced_parts(const char* what, const Tensor& self) {
  const SparseParts& p = expected_parts(what, self);
  TL_CHECK(p.coalesced, Runtime, "Cannot get ", what,
           " on an uncoalesced tensor, please call .coalesce() first");
  return p;
}
Tensor indices(const Tensor& self) { return alias(coalesced_parts("indices", self).indices); }
Tensor values(const Tensor& self) { return alias(coalesced_parts("values", self).values); }
int64_t nnz(const Tensor& self) { return expected_parts("_nnz", self).count(); }
bool is_coalesced(const Tensor& self) { return expected_parts("is_coalesced", self).coalesced; }
Tensor mark_coalesced(const Tensor& self, bool coalesced) {
  const SparseParts& p = expected_parts("_coalesced_", self);
  set_parts(*self.impl(), {p.indices, p.values, coalesced});
  return self;
}
int64_t sparse_dim(const Tensor& self) { return self.is_sparse() ? parts(self).sparse_dim() : 0; }
int64_t dense_dim(const Tensor& self) { return self.dim() - sparse_dim(self); }

// ---- between the layouts ----------------------------------------------------------------------------------

// dense += values at their places.
void add_at(const Tensor& dense, const SparseParts& p, const Scalar& alpha) {
  TL_CHECK(can_cast(p.values.dtype(), dense.dtype()), Runtime, "result type ",
           scalar_type_name(p.values.dtype()), " can't be cast to the desired output type ",
           scalar_type_name(dense.dtype()));
  const Tensor values = to_dtype(p.values, dense.dtype());
  if (p.sparse_dim() == 1)
    ops::index_add_(dense, 0, row(p, 0), values, alpha);
  else if (p.sparse_dim() == 0)
    ops::add_(dense, ops::sum_dim_IntList(values, DimVector{0}, false, dense.dtype()), alpha);
  else
    ops::index_put_(dense, rows(p), ops::mul(values, alpha), true);
}

Tensor all_elements(const Tensor& self) {
  if (!self.is_sparse()) return self;
  const SparseParts& p = parts(self);
  const bool boolean = self.dtype() == DType::Bool;  // true and true is true
  const Tensor out = ops::zeros(self.sizes(), boolean ? DType::Int64 : self.dtype());
  add_at(out, p, Scalar(int64_t{1}));
  return boolean ? ops::ne(out, Scalar(int64_t{0})) : out;
}

Tensor to_dense(const Tensor& self, std::optional<DType> dtype, std::optional<bool>) {
  const Tensor dense = self.is_sparse() ? ops::_to_dense(self) : self;
  return ops::to_dtype(dense, dtype.value_or(dense.dtype()));
}

// The elements of a dense tensor at the places.
Tensor elements_at(const Tensor& dense, const SparseParts& p) {
  if (p.sparse_dim() == 1) return ops::index_select(dense, 0, row(p, 0));
  if (p.sparse_dim() > 1) return ops::index(dense, rows(p));
  return ops::clone(ops::expand(ops::unsqueeze(dense, 0), sized(p.count(), dense.sizes())));
}

Tensor sparse_mask(const Tensor& self, const Tensor& mask) {
  const SparseParts& p = expected_parts("sparse_mask", mask);
  TL_CHECK(std::ranges::equal(self.sizes(), mask.sizes()), Runtime,
           "sparse_mask(): operands have incompatible sizes; self has size ", self.sizes(),
           " but mask has size ", mask.sizes());
  const Tensor dense = all_elements(self);
  return sparse_tensor(mask.sizes(), {p.indices, elements_at(dense, p), p.coalesced});
}

Tensor to_sparse(const Tensor& self, std::optional<int64_t> dims, std::optional<Layout> layout) {
  TL_CHECK(!layout || *layout == Layout::SparseCoo, NotImplemented,
           "to_sparse(): of the sparse layouts, there is torch.sparse_coo only");
  const int64_t n = dims.value_or(self.is_sparse() ? sparse_dim(self) : self.dim());
  if (self.is_sparse()) {
    TL_CHECK(n == sparse_dim(self), Runtime,
             "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is "
             "not supported");
    return self;
  }
  TL_CHECK(n >= 0 && n <= self.dim(), Runtime, "dense_to_sparse: sparse_dim argument must be in [0,",
           self.dim(), "] range, but ", n, " is given");
  TL_CHECK(n > 0 || self.dim() == 0, Runtime,
           "dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0");
  Tensor kept = ops::ne(self, Scalar(int64_t{0}));
  if (n < self.dim()) {
    DimVector rest(self.sizes().first(static_cast<size_t>(n)));
    rest.push_back(-1);
    kept = ops::any_dim(ops::reshape(kept, rest), -1);
  }
  const Tensor found = to_contiguous(ops::t(ops::nonzero(kept)));
  const SparseParts at{found, {}, true};
  return ops::_sparse_coo_tensor(found, elements_at(self, at), self.sizes(), true);
}

// ---- rows that take them ----------------------------------------------------------------------------------

// `out` in place of what was made; `made` itself without one.
Tensor written(Out out, const Tensor& made) {
  if (!out) return made;
  TL_CHECK(out.tensor->is_sparse(), NotImplemented, "a sparse result cannot be written to a dense tensor");
  TL_CHECK(std::ranges::equal(out.tensor->sizes(), made.sizes()), Runtime, "output with shape ",
           out.tensor->sizes(), " doesn't match the broadcast shape ", made.sizes());
  const SparseParts& p = parts(made);
  TL_CHECK(can_cast(made.dtype(), out.tensor->dtype()), Runtime, "result type ",
           scalar_type_name(made.dtype()), " can't be cast to the desired output type ",
           scalar_type_name(out.tensor->dtype()));
  set_parts(*out.tensor->impl(), {p.indices, to_dtype(p.values, out.tensor->dtype()), p.coalesced});
  return *out;
}

// Both in the order of their places, what is at one place in one element: coalesced if both are.
Tensor merged(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  TL_CHECK(std::ranges::equal(a.sizes(), b.sizes()), Runtime,
           "add: expected sizes of 'self' and 'other' to match, but ", a.sizes(), " != ", b.sizes());
  const SparseParts &p = parts(a), &q = parts(b);
  TL_CHECK(p.sparse_dim() == q.sparse_dim(), Runtime,
           "add: expected 'self' and 'other' to have same number of sparse dimensions, but ", p.sparse_dim(),
           " != ", q.sparse_dim());
  const Tensor at_p = to_contiguous(places(p, a.sizes())), at_q = to_contiguous(places(q, b.sizes()));
  const Tensor to_p = empty(at_p.sizes(), kInts), to_q = empty(at_q.sizes(), kInts);
  const int64_t *x = at_p.ptr<int64_t>(), *y = at_q.ptr<int64_t>();
  int64_t i = 0, j = 0, n = 0;
  for (; i < p.count() || j < q.count(); ++n) {
    const bool left = j == q.count() || (i < p.count() && x[i] <= y[j]);
    const bool right = i == p.count() || (j < q.count() && y[j] <= x[i]);
    // Both are decided before either moves on.
    if (left) to_p.ptr<int64_t>()[i++] = n;
    if (right) to_q.ptr<int64_t>()[j++] = n;
  }
  const DType type = promote(a.dtype(), b.dtype());
  const Tensor indices = empty(DimVector{p.sparse_dim(), n}, kInts);
  ops::index_copy_(indices, 1, to_p, p.indices);
  ops::index_copy_(indices, 1, to_q, q.indices);
  const Tensor sums = ops::zeros(sized(n, p.values.sizes().subspan(1)), type);
  ops::index_copy_(sums, 0, to_p, to_dtype(p.values, type));
  ops::index_add_(sums, 0, to_q, to_dtype(q.values, type), alpha);
  return sparse_tensor(a.sizes(), {indices, sums, p.coalesced && q.coalesced});
}

Tensor add(const Operand& self, const Operand& other, const Scalar& alpha, Out out) {
  TL_CHECK(
      self.is_tensor() && other.is_tensor() && (other.tensor().is_sparse() || !self.tensor().is_sparse()),
      Runtime, "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
  const Tensor &a = self.tensor(), &b = other.tensor();
  if (a.is_sparse()) return written(out, merged(a, b, alpha));
  TL_CHECK(b.is_sparse(), NotImplemented, "a dense sum cannot be written to a sparse tensor");
  TL_CHECK(std::ranges::equal(a.sizes(), b.sizes()), Runtime,
           "add: expected 'self' and 'other' to have same size, but self has size ", a.sizes(),
           " while other has size ", b.sizes(),
           " (FYI: dense-sparse addition does not currently support broadcasting)");
  if (out && out.tensor->same(a)) {
    add_at(a, parts(b), alpha);
    return a;
  }
  TL_CHECK(!out, NotImplemented, "add(dense, sparse, out=…) is not implemented");
  const Tensor sum = ops::_to_copy(a, promote(a.dtype(), b.dtype()));
  add_at(sum, parts(b), alpha);
  return sum;
}

Tensor sub(const Operand& self, const Operand& other, const Scalar& alpha, Out out) {
  if (!other.is_tensor()) return add(self, other, alpha, out);
  const Tensor turned = ops::neg(other.tensor());
  return add(self, turned, alpha, out);
}

std::string type_name(const Tensor& t) {
  return std::string(t.is_sparse() ? "torch.sparse." : "torch.") + scalar_type_name(t.dtype()) + "Tensor";
}

Tensor copy_(const Tensor& self, const Tensor& src, bool) {
  TL_CHECK(self.is_sparse() && src.is_sparse(), Runtime,
           "copy_() between dense and sparse Tensors is not implemented! Found self type = ", type_name(self),
           " and src type = ", type_name(src));
  return written({&self}, ops::_to_copy(src, self.dtype()));
}

Tensor clone(const Tensor& self, std::optional<MemoryFormat>) {
  const SparseParts& p = parts(self);
  return sparse_tensor(self.sizes(), {ops::clone(p.indices), ops::clone(p.values), p.coalesced});
}
Tensor detach(const Tensor& self) { return alias(self); }

Tensor to_copy(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
               std::optional<Device> device, std::optional<bool>, bool, std::optional<MemoryFormat>) {
  TL_CHECK(!layout || *layout == Layout::SparseCoo, NotImplemented, "to(layout=…) keeps the layout");
  TL_CHECK(!device || device->is_cpu(), NotImplemented,
           "tensors of the layout torch.sparse_coo exist on the CPU only");
  const SparseParts& p = parts(self);
  return sparse_tensor(self.sizes(), {ops::clone(p.indices), ops::_to_copy(p.values, dtype), p.coalesced});
}

SparseParts without_elements(const SparseParts& p, DType dtype) {
  return {empty(DimVector{p.sparse_dim(), 0}, kInts),
          empty(sized(0, p.values.sizes().subspan(1)), {dtype, {}}), true};
}
Tensor zeros_like(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                  std::optional<Device> device, std::optional<bool>, std::optional<MemoryFormat>) {
  if (layout == Layout::Strided)
    return ops::zeros(self.sizes(), dtype.value_or(self.dtype()), std::nullopt,
                      device.value_or(self.device()));
  return sparse_tensor(self.sizes(), without_elements(parts(self), dtype.value_or(self.dtype())));
}
Tensor zero_(const Tensor& self) {
  set_parts(*self.impl(), without_elements(parts(self), self.dtype()));
  return self;
}

Tensor sum(const Tensor& self, std::optional<DType> dtype) { return ops::sum(parts(self).values, dtype); }

// Two of the sparse dimensions exchanged.
Tensor transpose(const Tensor& self, int64_t a, int64_t b) {
  const SparseParts& p = parts(self);
  TL_CHECK(a >= -self.dim() && a < self.dim() && b >= -self.dim() && b < self.dim(), Index,
           "Dimension out of range (expected to be in range of [", -self.dim(), ", ", self.dim() - 1, "])");
  if (a < 0) a += self.dim();
  if (b < 0) b += self.dim();
  TL_CHECK(std::max(a, b) < p.sparse_dim(), NotImplemented,
           "transpose: of a sparse tensor, only sparse dimensions can be exchanged");
  DimVector sizes(self.sizes()), order(static_cast<size_t>(p.sparse_dim()));
  std::swap(sizes[a], sizes[b]);
  const Tensor indices = ops::clone(p.indices);
  ops::copy_(ops::select_int(indices, 0, a), row(p, b));
  ops::copy_(ops::select_int(indices, 0, b), row(p, a));
  return sparse_tensor(sizes, {indices, p.values, a == b && p.coalesced});
}
Tensor t(const Tensor& self) {
  TL_CHECK(self.dim() <= 2, Runtime, "t() expects a tensor with <= 2 dimensions, but self is ", self.dim(),
           "D");
  return self.dim() == 2 ? transpose(self, 0, 1) : alias(self);
}

Tensor mm(const Tensor& self, const Tensor& mat2, Out out) {
  if (!self.is_sparse() && !out) return ops::t(ops::mm(ops::t(mat2), ops::t(self)));
  TL_CHECK(self.is_sparse() && !mat2.is_sparse() && !out, NotImplemented,
           "mm: of sparse matrices, there are products with one dense matrix only, and none with out=");
  TL_CHECK(self.dim() == 2 && mat2.dim() == 2 && sparse_dim(self) == 2 && self.size(1) == mat2.size(0),
           Runtime, "mm: mat1 and mat2 shapes cannot be multiplied (", self.sizes(), " and ", mat2.sizes(),
           ")");
  TL_CHECK(self.dtype() == mat2.dtype(), Runtime,
           "expected m1 and m2 to have the same dtype, but got: ", dtype_name(self.dtype()),
           " != ", dtype_name(mat2.dtype()));
  const SparseParts& p = parts(self);
  const Tensor terms = ops::mul(ops::index_select(mat2, 0, row(p, 1)), ops::unsqueeze(p.values, 1));
  return ops::index_add_(ops::zeros(DimVector{self.size(0), mat2.size(1)}, self.dtype()), 0, row(p, 0),
                         terms);
}

Tensor matmul(const Tensor& self, const Tensor& other, Out out) {
  TL_CHECK(
      !out && self.dim() == 2 && other.dim() <= 2 && other.dim() > 0, NotImplemented,
      "matmul: of sparse tensors, there are products of a matrix with a matrix or a vector only, and none "
      "with out=");
  if (other.dim() == 2) return ops::mm(self, other);
  return ops::squeeze_dim(ops::mm(self, ops::unsqueeze(other, 1)), 1);
}

// The same operator on the values alone: for what is linear in them.
void on_values(const Operator& op, const TlValue* args, int n_args, TlValue* rets) {
  TL_CHECK(op.info.variant != TL_OUT, NotImplemented, op.info.name,
           " is not implemented for the layout torch.sparse_coo");
  std::vector<TlValue> given(args, args + n_args);
  const Tensor* self = nullptr;
  for (TlValue& v : given) {
    if (v.tag != TL_TENSOR) continue;
    const Tensor& t = reinterpret_cast<const Tensor&>(v.u.t);
    TL_CHECK(t.is_sparse() ? !self : t.dim() == 0, NotImplemented, "'", op.info.name,
             "' takes a tensor of the layout torch.sparse_coo and numbers only");
    if (!t.is_sparse()) continue;
    self = &reinterpret_cast<const Tensor&>(args[&v - given.data()].u.t);
    v = value(parts(t).values);
  }
  TlValue made[1] = {};
  if (call(*op.info.functional, given.data(), n_args, made, 1) != 0) throw_pending();
  const SparseParts& p = parts(*self);
  const Tensor result =
      sparse_tensor(self->sizes(), {p.indices, TakeResult<Tensor>::take(made[0]), p.coalesced});
  rets[0] = owned(written({op.info.variant == TL_INPLACE ? self : nullptr}, result));
}

// A number divided by zeros that aren't stored would be lost.
void check_dividend(const TlValue* args) {
  TL_CHECK(args[0].tag == TL_TENSOR && reinterpret_cast<const Tensor&>(args[0].u.t).is_sparse(),
           NotImplemented, "Sparse division requires a sparse dividend");
}

}  // namespace

int kernel_sparse_values(void* ctx, const TlValue* args, int n_args, TlValue* rets, int) noexcept {
  return guarded([&] { on_values(*static_cast<const Operator*>(ctx), args, n_args, rets); });
}
int kernel_sparse_quotient(void* ctx, const TlValue* args, int n_args, TlValue* rets, int) noexcept {
  return guarded([&] {
    check_dividend(args);
    on_values(*static_cast<const Operator*>(ctx), args, n_args, rets);
  });
}

TL_KERNEL(_sparse_coo_tensor, sparse_coo)
TL_KERNEL(_indices, indices_as_they_are)
TL_KERNEL(_values, values_as_they_are)
TL_KERNEL(indices, indices)
TL_KERNEL(values, values)
TL_KERNEL(_nnz, nnz)
TL_KERNEL(is_coalesced, is_coalesced)
TL_KERNEL(_coalesced_, mark_coalesced)
TL_KERNEL(coalesce, coalesce)
TL_KERNEL(sparse_dim, sparse_dim)
TL_KERNEL(dense_dim, dense_dim)
TL_KERNEL(_to_dense, all_elements)
TL_KERNEL(to_dense, to_dense)
TL_KERNEL(sparse_mask, sparse_mask)
TL_KERNEL(to_sparse, to_sparse)
TL_KERNEL(sparse_add, add)
TL_KERNEL(sparse_sub, sub)
TL_KERNEL(sparse_copy_, copy_)
TL_KERNEL(sparse_clone, clone)
TL_KERNEL(sparse_detach, detach)
TL_KERNEL(sparse_to_copy, to_copy)
TL_KERNEL(sparse_zeros_like, zeros_like)
TL_KERNEL(sparse_zero_, zero_)
TL_KERNEL(sparse_sum, sum)
TL_KERNEL(sparse_transpose, transpose)
TL_KERNEL(sparse_t, t)
TL_KERNEL(sparse_mm, mm)
TL_KERNEL(sparse_matmul, matmul)

}  // namespace tl
