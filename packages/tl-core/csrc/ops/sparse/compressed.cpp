// Tensors of the layouts sparse_csr, sparse_csc, sparse_bsr and sparse_bsc: what they are made of.
#include <algorithm>
#include <string_view>

#include "base/checked.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/sparse/indices.h"
#include "tensor/sparse.h"

namespace tl {

namespace {
constexpr TensorOptions kInts{DType::Int64, {}};

void check_ranks(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntSpan size,
                 Layout layout) {
  const int64_t batch = compressed.dim() - 1, block = is_blocked(layout) ? 2 : 0;
  TL_CHECK(compressed.dim() >= 1 && plain.dim() == compressed.dim(), Runtime,
           "compressed_indices and plain_indices must have the same number of dimensions, at least 1, got ",
           compressed.dim(), " and ", plain.dim());
  TL_CHECK(values.dim() >= batch + 1 + block, Runtime, "values must have dimensionality of at least ",
           batch + 1 + block, ", got ", values.dim());
  const auto dims = static_cast<int64_t>(size.size());
  TL_CHECK(dims == values.dim() - block + 1, Runtime, "size must have ", values.dim() - block + 1,
           " dimensions to fit values of shape ", values.sizes(), ", got ", size);
  for (int64_t s : size) TL_CHECK(s >= 0, Runtime, "size must not be negative, got ", size);
}

// What is stored, without a look at the indices; shapes fit each other.
Tensor sparse_compressed(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntSpan size,
                         Layout layout) {
  TL_CHECK(layout >= Layout::SparseCsr && layout <= Layout::SparseBsc, Runtime,
           "expected a sparse compressed layout, got ", layout_name(layout));
  check_ranks(compressed, plain, values, size, layout);
  TL_CHECK(compressed.device() == values.device() && plain.device() == values.device(), Runtime,
           "device of compressed_indices and plain_indices must match device of values (",
           device_name(values.device()), "), got ", device_name(compressed.device()), " and ",
           device_name(plain.device()));
  TL_CHECK(values.device().is_cpu() || values.is_meta(), NotImplemented,
           "sparse tensors exist on the CPU and on meta only");
  return of_values(sparse_tensor(size, {alias(plain), alias(values), false, alias(compressed)}, layout));
}

const SparseParts& parts_by(const char* what, const char* lines, bool by_rows, const Tensor& t) {
  const bool fits = t.is_sparse() && t.layout() != Layout::SparseCoo && is_by_rows(t.layout()) == by_rows;
  TL_CHECK(fits, Runtime, what, " expected sparse ", lines, " compressed tensor layout but got ",
           layout_name(t.layout()));
  return parts_of(*t.impl());
}

Tensor crow_indices(const Tensor& self) {
  return alias(parts_by("crow_indices", "row", true, self).compressed);
}
Tensor col_indices(const Tensor& self) { return alias(parts_by("col_indices", "row", true, self).indices); }
Tensor ccol_indices(const Tensor& self) {
  return alias(parts_by("ccol_indices", "column", false, self).compressed);
}
Tensor row_indices(const Tensor& self) {
  return alias(parts_by("row_indices", "column", false, self).indices);
}

// ---- indices ----------------------------------------------------------------------------------------------

void expect_indices(const char* op, const char* name, const Tensor& t) {
  TL_CHECK(t.dtype() == DType::Int64 || t.dtype() == DType::Int32, Runtime, op, "(): ", name,
           " must be of type int32 or int64, got ", dtype_name(t.dtype()));
  TL_CHECK(t.dim() == 1, Runtime, op, "(): ", name, " must have one dimension, got ", t.sizes());
}

// Where each line begins, of the indices of elements in any order: how many there are of each, added up.
Tensor counted_offsets(const Tensor& lines, int64_t size) {
  const Tensor out = ops::zeros(DimVector{checked_add(size, 1)}, {.dtype = DType::Int64});
  int64_t* begin = out.ptr<int64_t>();
  for (int64_t i = 0; i < lines.numel(); ++i) {
    const int64_t line = lines.ptr<int64_t>()[i];
    TL_CHECK(line >= 0 && line < size, Runtime, "_compressed_transpose(): index ", line,
             " is out of range [0, ", size, ")");
    ++begin[line + 1];
  }
  for (int64_t i = 0; i < size; ++i) begin[i + 1] += begin[i];
  return out;
}

// The first of sorted rows from `from` on that is not below `row`; steps that double until they are past it.
int64_t first_from(const int64_t* rows, int64_t n, int64_t from, int64_t row) {
  int64_t step = 1;
  while (from + step < n && rows[from + step] < row) step *= 2;
  return std::lower_bound(rows + from, rows + std::min(from + step, n), row) - rows;
}

// Where each row begins, of sorted row indices. Of others, offsets that rise all the same.
Tensor coo_to_csr(const Tensor& self, int64_t size, bool out_int32) {
  const char* name = "_convert_indices_from_coo_to_csr";
  expect_indices(name, "self", self);
  TL_CHECK(size >= 0, Runtime, name, "(): size must not be negative, got ", size);
  const Tensor rows = to_contiguous(to_dtype(self, DType::Int64));
  const int64_t *row = rows.ptr<int64_t>(), n = rows.numel();
  TL_CHECK(n == 0 || (row[0] >= 0 && row[n - 1] < size), Runtime, name,
           "(): row indices are out of range [0, ", size, "): from ", n ? row[0] : 0, " to ",
           n ? row[n - 1] : 0);
  const Tensor out = empty(DimVector{checked_add(size, 1)}, kInts);
  int64_t* begin = out.ptr<int64_t>();
  begin[0] = 0;
  for (int64_t i = 1; i < size; ++i) begin[i] = first_from(row, n, begin[i - 1], i);
  if (size) begin[size] = n;
  return out_int32 ? ops::to_dtype(out, DType::Int32) : out;
}

// The offsets as int64, rising from 0 to the number of plain indices.
Tensor checked_offsets(const char* op, const Tensor& compressed, int64_t count) {
  const Tensor offsets = to_contiguous(to_dtype(compressed, DType::Int64));
  const int64_t *p = offsets.ptr<int64_t>(), n = offsets.numel() - 1;
  TL_CHECK(n >= 0 && p[0] == 0 && p[n] == count, Runtime, op,
           "(): compressed indices must begin with 0 and end with the number of plain indices, ", count);
  bool rising = true;
  for (int64_t i = 0; i < n; ++i) rising &= p[i] <= p[i + 1];
  TL_CHECK(rising, Runtime, op, "(): compressed indices must not fall");
  return offsets;
}

Tensor csr_to_coo(const Tensor& crow, const Tensor& col, bool out_int32, bool transpose) {
  const char* name = "_convert_indices_from_csr_to_coo";
  expect_indices(name, "crow_indices", crow);
  expect_indices(name, "col_indices", col);
  const Tensor offsets = checked_offsets(name, crow, col.numel());
  const Tensor rows = empty(DimVector{col.numel()}, kInts);
  const int64_t* begin = offsets.ptr<int64_t>();
  for (int64_t i = 0; i + 1 < offsets.numel(); ++i)
    std::fill(rows.ptr<int64_t>() + begin[i], rows.ptr<int64_t>() + begin[i + 1], i);
  const Tensor columns = to_dtype(col, DType::Int64);
  const Tensor both[] = {transpose ? columns : rows, transpose ? rows : columns};
  const Tensor out = ops::stack(both, 0);
  return out_int32 ? ops::to_dtype(out, DType::Int32) : out;
}

// The same matrix by the other dimension: its offsets, its plain indices, and where each element stood. A
// counting sort, so that the elements of one line keep their order.
std::tuple<Tensor, Tensor, Tensor> compressed_transpose(const Tensor& compressed, const Tensor& plain,
                                                        int64_t lines) {
  const char* name = "_compressed_transpose";
  expect_indices(name, "compressed", compressed);
  expect_indices(name, "plain", plain);
  const Tensor offsets = checked_offsets(name, compressed, plain.numel());
  const Tensor from = to_contiguous(to_dtype(plain, DType::Int64));
  const Tensor begin = counted_offsets(from, lines), next = ops::clone(begin);
  const Tensor to = empty(from.sizes(), kInts), order = empty(from.sizes(), kInts);
  const int64_t *line = from.ptr<int64_t>(), *at = offsets.ptr<int64_t>();
  for (int64_t i = 0; i + 1 < offsets.numel(); ++i)
    for (int64_t p = at[i]; p < at[i + 1]; ++p) {
      const int64_t q = next.ptr<int64_t>()[line[p]]++;
      to.ptr<int64_t>()[q] = i;
      order.ptr<int64_t>()[q] = p;
    }
  if (compressed.dtype() == DType::Int64) return {begin, to, order};
  return {ops::to_dtype(begin, DType::Int32), ops::to_dtype(to, DType::Int32), order};
}
}  // namespace

Tensor checked_csr_offsets(const char* op, const Tensor& compressed, int64_t count) {
  expect_indices(op, "crow", compressed);
  return checked_offsets(op, compressed, count);
}

TL_KERNEL(_sparse_compressed_tensor, sparse_compressed)
TL_KERNEL(crow_indices, crow_indices)
TL_KERNEL(col_indices, col_indices)
TL_KERNEL(ccol_indices, ccol_indices)
TL_KERNEL(row_indices, row_indices)
TL_KERNEL(_convert_indices_from_coo_to_csr, coo_to_csr)
TL_KERNEL(_convert_indices_from_csr_to_coo, csr_to_coo)
TL_KERNEL(_compressed_transpose, compressed_transpose)

}  // namespace tl
