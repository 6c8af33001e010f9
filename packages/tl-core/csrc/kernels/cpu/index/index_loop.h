// Carries what is written at a place over rows of places.
#pragma once

#include <algorithm>

#include "kernels/cpu/index/index.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// `moved` is the operand the places move: 0 the output, 1 the input. Write::apply writes an element,
// Write::row a row without gaps.
template <class Write, int moved>
class PlaceLoop {
 public:
  static void run(char* const* data, const int64_t* strides, int64_t n0, int64_t n1, const void* params) {
    const PlaceLoop loop{static_cast<const Places*>(params)->stride, strides, n0};
    if constexpr (requires { Write::kCopies; }) {
      if (loop.are_short_rows()) return loop.short_rows(data, n1);
    }
    for (int64_t j = 0; j < n1; ++j) {
      if (j + 1 < n1) loop.call_for_row(data[moved] + (j + 1) * strides[3 + moved]);
      loop.row(data[0] + j * strides[3], data[1] + j * strides[4], data[2] + j * strides[5]);
    }
  }

 private:
  static constexpr int64_t kPlace = sizeof(int64_t);

  PlaceLoop(int64_t step, const int64_t* strides, int64_t n) : step_(step), strides_(strides), n_(n) {}

  // What comes next is not seen by the processor where a row's places are met in any order.
  TL_INLINE void call_for_row(const char* next) const {
    const int64_t bytes = strides_[3 + moved];
    if (strides_[2] == 0 || bytes < kFewestCalled || bytes > kMostCalled) return;
    prefetch<moved == 0>(next, std::min(bytes, n_ * Write::size));
  }
  static constexpr int64_t kFewestCalled = 1024, kMostCalled = 16384;

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
    char *out = data[0], *in = data[1], *places = data[2];
    for (int64_t j = 0; j < n1; ++j, out += strides_[3], in += strides_[4], places += strides_[5]) {
      const int64_t offset = read<int64_t>(places) * step_;
      const auto row = read<Pack<int64_t, bytes / 8>>(in + (moved == 1 ? offset : 0));
      write(out + (moved == 0 ? offset : 0), row);
    }
  }
  TL_INLINE void row(char* out, char* in, const char* places) const {
    if (n_ == 0) return;
    if (strides_[2] == 0)
      one_place(out, in, read<int64_t>(places) * step_);
    else if (strides_[2] == kPlace && strides_[1 - moved] == Write::size)
      dense(out, in, places);
    else
      spaced(out, in, places);
  }
  // A row that moves as a whole.
  TL_INLINE void one_place(char* out, char* in, int64_t offset) const {
    (moved == 0 ? out : in) += offset;
    if (strides_[0] == Write::size && strides_[1] == Write::size) return Write::row(out, in, n_);
    for (int64_t i = 0; i < n_; ++i) Write::apply(out + i * strides_[0], in + i * strides_[1]);
  }
  // Only what is moved may have gaps; mostly its places are those of a line's elements.
  TL_INLINE void dense(char* out, char* in, const char* places) const {
    if (step_ == Write::size && strides_[moved] == 0)
      each_dense(out, in, places, [](int64_t place, int64_t) { return place * Write::size; });
    else
      each_dense(out, in, places, [step = step_, own = strides_[moved]](int64_t place, int64_t i) {
        return place * step + i * own;
      });
  }
  template <class F>
  TL_INLINE void each_dense(char* out, char* in, const char* places, F offset) const {
#pragma GCC unroll 4
    for (int64_t i = 0; i < n_; ++i) {
      const int64_t at = offset(read<int64_t>(places + i * kPlace), i);
      if constexpr (moved == 0)
        Write::apply(out + at, in + i * Write::size);
      else
        Write::apply(out + i * Write::size, in + at);
    }
  }
  TL_INLINE void spaced(char* out, char* in, const char* places) const {
    for (int64_t i = 0; i < n_; ++i) {
      const int64_t offset = read<int64_t>(places + i * strides_[2]) * step_;
      Write::apply(out + i * strides_[0] + (moved == 0 ? offset : 0),
                   in + i * strides_[1] + (moved == 1 ? offset : 0));
    }
  }

  int64_t step_;
  const int64_t* strides_;
  int64_t n_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
