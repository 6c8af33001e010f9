// Products of matrices in compressed rows, given as their parts, with dense matrices.
#include <algorithm>

#include "base/checked.h"
#include "dispatch/sparse.h"
#include "iter/dtypes.h"
#include "kernels/cpu/sparse/csr.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/sparse/indices.h"
#include "tensor/sparse.h"

namespace tl {

namespace {
// The type in which elements are multiplied and added.
DType computed_in(DType dtype) {
  if (dtype == DType::Float64 || dtype == DType::Complex64 || dtype == DType::Complex128) return dtype;
  if (dtype == DType::Complex32) return DType::Complex64;
  return is_integral(dtype, true) ? DType::Int64 : DType::Float32;
}

Tensor result_as(const Tensor& t, DType dtype) {
  if (dtype == DType::Bool) return ops::ne(t, Scalar(int64_t{0}));
  return to_dtype(t, dtype);
}

Tensor prepared(const Tensor& t, DType dtype) { return to_contiguous(to_dtype(t, dtype)); }

cpu::DenseRows rows_of(const Tensor& t) { return {t.ptr<char>(), t.size(1), t.size(1)}; }

struct Rows {
  Tensor offsets, columns;
  int64_t cols;

  Rows(const char* op, const Tensor& crow, const Tensor& col, int64_t cols) : cols(cols) {
    TL_CHECK(col.dim() == 1, Runtime, op, "(): col must have one dimension, got ", col.sizes());
    offsets = checked_csr_offsets(op, crow, col.numel());
    columns = prepared(col, DType::Int64);
  }
  cpu::CompressedRows view() const {
    return {offsets.numel() - 1, cols, offsets.ptr<int64_t>(), columns.ptr<int64_t>()};
  }
  int64_t count() const { return offsets.numel() - 1; }
};

void check_columns(const char* op, bool good, int64_t cols) {
  TL_CHECK(good, Runtime, op, "(): a column index is out of range [0, ", cols, ")");
}

void expect_matrix(const char* op, const char* name, const Tensor& t, DType dtype) {
  TL_CHECK(t.dim() == 2, Runtime, op, "(): ", name, " must be a matrix, got ", t.sizes());
  TL_CHECK(t.dtype() == dtype, Runtime, op, "(): expected ", name, " of type ", dtype_name(dtype), ", got ",
           dtype_name(t.dtype()));
}

Tensor csr_mm(const Tensor& crow, const Tensor& col, const Tensor& values, const Tensor& mat) {
  const char* name = "_csr_mm";
  expect_matrix(name, "mat", mat, values.dtype());
  const Rows rows(name, crow, col, mat.size(0));
  TL_CHECK(values.dim() == 1 && values.numel() == col.numel(), Runtime, name, "(): expected ", col.numel(),
           " values, got ", values.sizes());
  const DType type = computed_in(values.dtype());
  const Tensor b = prepared(mat, type), v = prepared(values, type);
  const Tensor out = empty(DimVector{rows.count(), mat.size(1)}, {type, {}});
  if (out.numel())
    check_columns(name, cpu::csr_mm(type, rows.view(), v.ptr<char>(), rows_of(b), out.ptr<char>()),
                  rows.cols);
  return result_as(out, values.dtype());
}

// The product of the transpose, whose rows are the columns of what is given.
Tensor csr_mm_transposed(const Tensor& crow, const Tensor& col, const Tensor& values, const Tensor& mat,
                         int64_t cols) {
  const auto [begin, to, order] = ops::_compressed_transpose(crow, col, cols);
  return csr_mm(begin, to, ops::index_select(values, 0, order), mat);
}

Tensor csr_sampled_mm(const Tensor& crow, const Tensor& col, const Tensor& mat1, const Tensor& mat2) {
  const char* name = "_csr_sampled_mm";
  expect_matrix(name, "mat1", mat1, mat1.dtype());
  expect_matrix(name, "mat2", mat2, mat1.dtype());
  TL_CHECK(mat1.size(1) == mat2.size(0), Runtime, name, "(): mat1 and mat2 shapes cannot be multiplied (",
           mat1.sizes(), " and ", mat2.sizes(), ")");
  const Rows rows(name, crow, col, mat2.size(1));
  TL_CHECK(rows.count() == mat1.size(0), Runtime, name, "(): expected ", rows.count(), " rows of mat1, got ",
           mat1.sizes());
  const DType type = computed_in(mat1.dtype());
  const Tensor x = prepared(mat1, type), y = prepared(ops::t(mat2), type);
  const Tensor out = empty(DimVector{col.numel()}, {type, {}});
  if (out.numel())
    check_columns(name, cpu::csr_sampled_mm(type, rows.view(), rows_of(x), rows_of(y), out.ptr<char>()),
                  rows.cols);
  return result_as(out, mat1.dtype());
}

Tensor bsr_mm(const Tensor& crow, const Tensor& col, const Tensor& values, const Tensor& mat) {
  const char* name = "_bsr_mm";
  expect_matrix(name, "mat", mat, values.dtype());
  TL_CHECK(values.dim() == 3 && values.size(0) == col.numel() && values.size(2) > 0 && values.size(1) > 0,
           Runtime, name, "(): expected ", col.numel(), " blocks of values, got ", values.sizes());
  const int64_t r = values.size(1), c = values.size(2);
  TL_CHECK(mat.size(0) % c == 0, Runtime, name, "(): ", mat.size(0), " rows are no whole blocks of ", c);
  TL_CHECK(is_floating(values.dtype()), NotImplemented, name, "() is not implemented for ",
           dtype_name(values.dtype()));
  const Rows rows(name, crow, col, mat.size(0) / c);
  const DType type = computed_in(values.dtype());
  const Tensor b = prepared(mat, type), v = prepared(values, type);
  const Tensor out = empty(DimVector{checked_mul(rows.count(), r), mat.size(1)}, {type, {}});
  if (out.numel())
    check_columns(name, cpu::bsr_mm(type, rows.view(), v.ptr<char>(), r, c, rows_of(b), out.ptr<char>()),
                  rows.cols);
  return result_as(out, values.dtype());
}

// ---- rules: a CSR or coalesced COO matrix times a dense matrix or vector ----------------------------------
bool is_plain_matrix(const Tensor& t) {
  if (t.dim() != 2 || !t.device().is_cpu() || !t.is_sparse()) return false;
  const SparseParts& p = parts_of(*t.impl());
  if (t.layout() == Layout::SparseCsr) return p.batch_dim() == 0;
  return t.layout() == Layout::SparseCoo && p.coalesced && p.sparse_dim() == 2;
}

bool fits(const Tensor& a, const Tensor& b, int64_t dims) {
  return is_plain_matrix(a) && !b.is_sparse() && b.device().is_cpu() && b.dim() == dims &&
         a.dtype() == b.dtype() && a.size(1) == b.size(0);
}

Tensor product(const Tensor& a, const Tensor& b) {
  const SparseParts& p = parts_of(*a.impl());
  if (p.is_compressed()) return ops::_csr_mm(p.compressed, p.indices, ops::values(a), b);
  const Tensor offsets = ops::_convert_indices_from_coo_to_csr(ops::select_int(p.indices, 0, 0), a.size(0));
  return ops::_csr_mm(offsets, ops::select_int(p.indices, 0, 1), ops::values(a), b);
}

const Tensor& tensor(const TlValue& v) { return reinterpret_cast<const Tensor&>(v.u.t); }

bool mm_rule(const TlValue* args, TlValue* rets) {
  const Tensor &a = tensor(args[0]), &b = tensor(args[1]);
  if (!fits(a, b, 2)) return false;
  rets[0] = owned(product(a, b));
  return true;
}
bool mv_rule(const TlValue* args, TlValue* rets) {
  const Tensor &a = tensor(args[0]), &b = tensor(args[1]);
  if (!fits(a, b, 1)) return false;
  rets[0] = owned(ops::squeeze_dim(product(a, ops::unsqueeze(b, 1)), 1));
  return true;
}
bool matmul_rule(const TlValue* args, TlValue* rets) { return mm_rule(args, rets) || mv_rule(args, rets); }
}  // namespace

const NativeSparseRule kNativeSparseRules[] = {
    {"mm", mm_rule}, {"mv", mv_rule}, {"matmul", matmul_rule}, {nullptr, nullptr}};

TL_KERNEL(_csr_mm, csr_mm)
TL_KERNEL(_csr_mm_transposed, csr_mm_transposed)
TL_KERNEL(_csr_sampled_mm, csr_sampled_mm)
TL_KERNEL(_bsr_mm, bsr_mm)

}  // namespace tl
