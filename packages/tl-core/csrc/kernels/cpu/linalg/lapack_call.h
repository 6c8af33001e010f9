// What the calls of LAPACK share: type indices, the loop over a batch, workspace queries.
#pragma once

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/loops/workspace.h"

namespace tl::cpu {

using lapack::Routine;

// The index of a type in lapack::Library::routines.
inline int lapack_type(DType dtype) {
  return dtype == DType::Float32 ? 0 : dtype == DType::Float64 ? 1 : dtype == DType::Complex64 ? 2 : 3;
}

// The leading dimension of matrices with that many rows; LAPACK refuses 0.
inline int64_t leading(int64_t rows) { return std::max<int64_t>(rows, 1); }

// The workspace that a routine asked for, in elements: the real part of the first element of `work`.
inline int64_t asked_for(DType dtype, const void* work) {
  const bool single = dtype == DType::Float32 || dtype == DType::Complex64;
  const double size = single ? *static_cast<const float*>(work) : *static_cast<const double*>(work);
  return std::max<int64_t>(static_cast<int64_t>(size), 1);
}

// Runs body(begin, end) over the matrices of a batch, in chunks whose work is worth a thread.
template <class F>
void over_batch(const MatrixBatch& b, F&& body) {
  constexpr double kChunkWork = 1 << 17;  // multiplications
  const double work = static_cast<double>(b.rows) * static_cast<double>(b.columns) *
                      static_cast<double>(std::max(b.rows, b.columns));
  const int64_t grain = static_cast<int64_t>(std::clamp(kChunkWork / std::max(work, 1.0), 1.0, 4096.0));
  parallel_for(0, b.count, grain, std::forward<F>(body));
}

using Bytes = TL_ISA_NAMESPACE::Workspace<char>;

// Row numbers of one matrix as the library's integers, for those that have 64 bits.
class Pivots {
 public:
  Pivots(const lapack::Library& library, int64_t n)
      : long_(library.long_integers), buffer_(long_ ? 8 * n : 1) {}
  void* writable(int32_t* pivots) { return long_ ? static_cast<void*>(buffer_.data()) : pivots; }
  const void* readable(const int32_t* pivots, int64_t n) {
    if (!long_) return pivots;
    std::copy_n(pivots, n, reinterpret_cast<int64_t*>(buffer_.data()));
    return buffer_.data();
  }
  void store(int32_t* pivots, int64_t n) {
    if (!long_) return;
    const int64_t* from = reinterpret_cast<const int64_t*>(buffer_.data());
    for (int64_t i = 0; i < n; ++i) pivots[i] = static_cast<int32_t>(from[i]);
  }

 private:
  bool long_;
  Bytes buffer_;
};

}  // namespace tl::cpu
