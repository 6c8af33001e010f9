// Carries what is written at a index over rows of indices.
#pragma once

#include <algorithm>

#include "kernels/cpu/index/index.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// `moved` is the operand the indices move: 0 the output, 1 the input. Write::apply writes an element,
// Write::row a row without gaps.
template <class Write, int moved>
class IndexLoop {
 public:
  static void run(char* const* data, const int64_t* strides, int64_t n0, int64_t n1, const void* params) {
    const IndexLoop loop{static_cast<const IndexParams*>(params)->stride, strides, n0};
    if constexpr (requires { Write::kCopies; }) {
      if (loop.are_short_rows()) return loop.short_rows(data, n1);
    }
    for (int64_t j = 0; j < n1; ++j) {
      if (j + 1 < n1) loop.prefetch_row(data[moved] + (j + 1) * strides[3 + moved]);
      loop.row(data[0] + j * strides[3], data[1] + j * strides[4], data[2] + j * strides[5]);
    }
  }

 private:
  static constexpr int64_t kIndexBytes = sizeof(int64_t);

  IndexLoop(int64_t step, const int64_t* strides, int64_t n) : step_(step), strides_(strides), n_(n) {}

  // What comes next is not seen by the processor where a row's indices are met in any order.
  TL_INLINE void prefetch_row(const char* next) const {
    const int64_t bytes = strides_[3 + moved];
    if (strides_[2] == 0 || bytes < kMinPrefetchBytes || bytes > kMaxPrefetchBytes) return;
    prefetch<moved == 0>(next, std::min(bytes, n_ * Write::size));
  }
  static constexpr int64_t kMinPrefetchBytes = 1024, kMaxPrefetchBytes = 16384;

  // Rows of a few bytes are copied as one item.
  bool are_short_rows() const {
    const int64_t bytes = n_ * Write::size;
    return strides_[2] == 0 && strides_[0] == Write::size && strides_[1] == Write::size &&
           (bytes == 8 || bytes == 16 || bytes == 32);
  }
  void short_rows(char* const* data, int64_t n1) const {
    switch (n_ * Write::size) {
      case 8:
        return short_rows<8>(data, n1);
      case 16:
        return short_rows<16>(data, n1);
      default:
        return short_rows<32>(data, n1);
    }
  }
  template <int64_t bytes>
  void short_rows(char* const* data, int64_t n1) const {
    char *out = data[0], *in = data[1], *indices = data[2];
    for (int64_t j = 0; j < n1; ++j, out += strides_[3], in += strides_[4], indices += strides_[5]) {
      const int64_t offset = read<int64_t>(indices) * step_;
      const auto row = read<Pack<int64_t, bytes / 8>>(in + (moved == 1 ? offset : 0));
      write(out + (moved == 0 ? offset : 0), row);
    }
  }
  TL_INLINE void row(char* out, char* in, const char* indices) const {
    if (n_ == 0) return;
    if (strides_[2] == 0)
      one_index(out, in, read<int64_t>(indices) * step_);
    else if (strides_[2] == kIndexBytes && strides_[1 - moved] == Write::size)
      dense(out, in, indices);
    else
      spaced(out, in, indices);
  }
  // A row that moves as a whole.
  TL_INLINE void one_index(char* out, char* in, int64_t offset) const {
    (moved == 0 ? out : in) += offset;
    if (strides_[0] == Write::size && strides_[1] == Write::size) return Write::row(out, in, n_);
    for (int64_t i = 0; i < n_; ++i) Write::apply(out + i * strides_[0], in + i * strides_[1]);
  }
  // Only what is moved may have gaps; mostly its indices are those of a line's elements.
  TL_INLINE void dense(char* out, char* in, const char* indices) const {
    if (step_ == Write::size && strides_[moved] == 0)
      each_dense(out, in, indices, [](int64_t index, int64_t) { return index * Write::size; });
    else
      each_dense(out, in, indices, [step = step_, own = strides_[moved]](int64_t index, int64_t i) {
        return index * step + i * own;
      });
  }
  template <class F>
  TL_INLINE void each_dense(char* out, char* in, const char* indices, F offset) const {
#pragma GCC unroll 4
    for (int64_t i = 0; i < n_; ++i) {
      const int64_t at = offset(read<int64_t>(indices + i * kIndexBytes), i);
      if constexpr (moved == 0)
        Write::apply(out + at, in + i * Write::size);
      else
        Write::apply(out + i * Write::size, in + at);
    }
  }
  TL_INLINE void spaced(char* out, char* in, const char* indices) const {
    for (int64_t i = 0; i < n_; ++i) {
      const int64_t offset = read<int64_t>(indices + i * strides_[2]) * step_;
      Write::apply(out + i * strides_[0] + (moved == 0 ? offset : 0),
                   in + i * strides_[1] + (moved == 1 ? offset : 0));
    }
  }

  int64_t step_;
  const int64_t* strides_;
  int64_t n_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
