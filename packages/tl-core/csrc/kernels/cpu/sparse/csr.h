// Products of a matrix in compressed rows (CSR, BSR) with dense ones.
#pragma once

#include "base/dtype.h"

namespace tl::cpu {

// Row i has the columns columns[offsets[i]] … columns[offsets[i + 1] - 1]; offsets rise from 0 to the number
// of columns. The columns are looked at where they are used.
struct CompressedRows {
  int64_t rows, cols;
  const int64_t *offsets, *columns;

  int64_t count() const { return offsets[rows]; }
};

// Rows of elements, `stride` elements apart, each of `width` adjacent ones.
struct DenseRows {
  const char* data;
  int64_t stride, width;
};

// The element types that the kernels below compute in: float32, float64, int64, complex64, complex128. Each
// returns whether all columns are within bounds; if not, the output holds anything.

// out[rows × width] = A · b.
bool csr_mm(DType dtype, const CompressedRows& a, const char* values, const DenseRows& b, char* out);

// out[p] = the product of row i of x and row columns[p] of y, for each p of row i.
bool csr_sampled_mm(DType dtype, const CompressedRows& a, const DenseRows& x, const DenseRows& y, char* out);

// out = A · b for blocks of r × c elements: `a` counts in blocks, `b` has a.cols * c rows. float32 and
// float64.
bool bsr_mm(DType dtype, const CompressedRows& a, const char* values, int64_t r, int64_t c,
            const DenseRows& b, char* out);

}  // namespace tl::cpu
