// Weights of a convolution as the packed left operand of its GEMM: K goes over channels and taps.
#pragma once

#include <cstring>

#include "base/parallel.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/gemm/micro_kernel.h"
#include "kernels/cpu/loops/workspace.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Depth in equal blocks, none deeper than a tile's.
template <class T>
struct Depth {
  int64_t total, blocks, block;

  explicit Depth(int64_t k)
      : total(k), blocks(ceil_div(k, Tile<T>::kDepth)), block(blocks ? ceil_div(k, blocks) : 0) {}
  int64_t begin(int64_t b) const { return b * block; }
  int64_t size(int64_t b) const { return std::min(block, total - b * block); }
};

template <class T>
const T* at(const char* data, int64_t offset) {
  return reinterpret_cast<const T*>(data) + offset;
}

// Whether a row of the weights is dense, channel by channel, tap by tap.
inline bool is_in_order(const Convolution& c) {
  int64_t step = 1;
  for (int d = kConvolutionAxes - 1; d >= 0; --d) {
    const int64_t taps = c.axis[d].taps;
    if (taps > 1 && c.weight.tap[d] != step) return false;
    step *= taps;
  }
  return c.channels == 1 || c.weight.channel == step;
}

// Rows of the weights in a block of depth.
template <class T>
struct WeightRows {
  const T* data;
  int64_t row, step;
};

// The weights by group, block of depth and tile of rows: packed once, or where they are if they serve a few
// panels only, or in the copy that the convolution's packing holds.
template <class T>
class Weight {
 public:
  using S = Tile<T>;

  Weight(const ConvolutionGeometry& g, Depth<T> depth)
      : c_(g.c),
        depth_(depth),
        tiles_(ceil_div(g.c.rows, S::kRows)),
        in_order_(is_in_order(g.c)),
        copy_(find_copy()),
        unpacked_(!copy_ && in_order_ && g.c.batch * g.positions() <= kFewPanels * S::kCols),
        data_(unpacked_ || copy_ ? 0 : size()) {
    if (!unpacked_ && !copy_) pack_all(data_.data());
  }

  WeightRows<T> rows(int64_t group, int64_t block, int64_t row) const {
    if (!unpacked_) return {data(group, block, row / S::kRows), 1, S::kRows};
    return {first(group, row) + depth_.begin(block), c_.weight.row, 1};
  }
  const MicroKernel<T>* micros(int vectors) const {
    return unpacked_ ? loose_micros(T{}, vectors) : packed_micros(T{}, vectors);
  }

 private:
  static constexpr int64_t kFewPanels = 4;

  int64_t size() const { return c_.groups * tiles_ * S::kRows * depth_.total + kLanes<T>; }

  // The copy that earlier calls with this weight have left, or null.
  const T* find_copy() const {
    if (!c_.packing) return nullptr;
    const char* copy = c_.packing->form(Packing::Product, static_cast<size_t>(size()) * sizeof(T),
                                        [&](char* to) { pack_all(reinterpret_cast<T*>(to)); });
    return reinterpret_cast<const T*>(copy);
  }

  void pack_all(T* to) const {
    const int64_t grain = (1 << 14) / (S::kRows * depth_.total + 1) + 1,
                  taps = depth_.total / std::max<int64_t>(c_.channels, 1);
    parallel_for(0, c_.groups * tiles_, grain, [&](int64_t begin, int64_t end) {
      Workspace<T> rows(S::kRows * depth_.total + kLanes<T>);
      for (int64_t i = begin; i < end; ++i) pack(to, taps, i / tiles_, i % tiles_, rows.data());
    });
  }

  const T* first(int64_t group, int64_t row) const {
    return at<T>(c_.weight.data, group * c_.weight.group + row * c_.weight.row);
  }
  int64_t offset(int64_t group, int64_t block, int64_t tile) const {
    const int64_t before = group * tiles_ * depth_.total + depth_.begin(block) * tiles_;
    return (before + tile * depth_.size(block)) * S::kRows;
  }
  const T* data(int64_t group, int64_t block, int64_t tile) const {
    return (copy_ ? copy_ : data_.data()) + offset(group, block, tile);
  }

  void pack(T* to, int64_t taps, int64_t group, int64_t tile, T* rows) const {
    const int64_t row = tile * S::kRows;
    const int n = static_cast<int>(std::min<int64_t>(S::kRows, c_.rows - row));
    const T* w = first(group, row);
    if (in_order_)
      pack_rows<T>(rows, {w, c_.weight.row, 1}, n, depth_.total);
    else
      gather_rows(w, taps, n, rows);
    for (int64_t block = 0; block < depth_.blocks; ++block)
      std::memcpy(to + offset(group, block, tile), rows + depth_.begin(block) * S::kRows,
                  sizeof(T) * static_cast<size_t>(depth_.size(block) * S::kRows));
  }

  // Rows as if the weight lay channel by channel, tap by tap.
  void gather_rows(const T* w, int64_t taps, int n, T* rows) const {
    const bool narrow = n <= kLanes<T>;
    for (int64_t t = 0; t < taps; ++t) {
      const Tap tap(c_, t);
      const T* from = w;
      for (int d = 0; d < kConvolutionAxes; ++d) from += tap.t[d] * c_.weight.tap[d];
      for (int64_t k = 0; k < c_.channels; ++k, from += c_.weight.channel) {
        T* to = rows + (k * taps + t) * S::kRows;
        for (int i = n; i < S::kRows; ++i) to[i] = 0;
        if (narrow)
          store_partial<T>(reinterpret_cast<char*>(to), n,
                           load_strided<T>(reinterpret_cast<const char*>(from),
                                           c_.weight.row * static_cast<int64_t>(sizeof(T)), n));
        else
          for (int i = 0; i < n; ++i) to[i] = from[i * c_.weight.row];
      }
    }
  }

  const Convolution& c_;
  Depth<T> depth_;
  int64_t tiles_;
  bool in_order_;
  const T* copy_;
  bool unpacked_;
  Workspace<T> data_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
