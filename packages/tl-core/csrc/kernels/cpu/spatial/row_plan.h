// How a map along dense rows is run in vectors: for each vector of outputs and each of their taps, which
// vector of inputs to load and how to permute it. A permutation of two neighbouring vectors serves every step
// up to 2 as well as expansions. Short rows are taken several at a time, so that vectors are full.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/cpu/simd/load_store.h"
#include "kernels/cpu/spatial/resample_weights.h"
#include "kernels/cpu/spatial/row_gather.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

#if TL_ISA_LEVEL >= 4
inline constexpr bool kPermutesDouble = true;
#else
inline constexpr bool kPermutesDouble = false;
#endif
template <class T>
inline constexpr bool kPermutes = TL_ISA_LEVEL >= 3 && (std::is_same_v<T, float> || kPermutesDouble);

// The lanes `which` of two vectors on end.
template <class V>
TL_INLINE V permute([[maybe_unused]] V low, [[maybe_unused]] V high, [[maybe_unused]] Mask<V> which) {
#if TL_ISA_LEVEL >= 4
  if constexpr (std::is_same_v<V, VecF>)
    return _mm512_permutex2var_ps(low, bitcast<__m512i>(which), high);
  else if constexpr (std::is_same_v<V, VecD>)
    return _mm512_permutex2var_pd(low, bitcast<__m512i>(which), high);
#elif TL_ISA_LEVEL >= 3
  if constexpr (std::is_same_v<V, VecF>) {
    const V from_low = _mm256_permutevar8x32_ps(low, bitcast<__m256i>(which));
    const V from_high = _mm256_permutevar8x32_ps(high, bitcast<__m256i>(which));
    return select<V>(which < 8, from_low, from_high);
  }
#endif
  return low;
}

template <class T>
struct RowTap {
  using V = Vec<T>;
  enum Reach : uint8_t {
    Straight,
    OneVector,
    TwoVectors,
    Far
  };  // one vector as it lies, one, two, single elements

  Reach reach;
  bool masked;       // some lanes have no such tap
  int low, high;     // how many elements of the first and the second vector there are
  int64_t first;     // the element the first vector begins with
  Mask<V> lane;      // which element of the two each lane takes; Far: its distance from `first`
  Mask<V> used;      // lanes that have this tap
  Mask<V> position;  // of the element, in its row or group of rows
  V weight;

  TL_INLINE V fetch(const T* row) const {
    constexpr int W = kLanes<T>;
    const T* from = row + first;
    if constexpr (!kPermutes<T>) return gather(from, lane);
    if (reach == Far) return gather(from, lane);
    const auto* p = reinterpret_cast<const char*>(from);
    const V a = low == W ? load<T>(p) : load_partial<T>(p, low);
    if (reach == Straight) return a;
    if (reach == OneVector) return permute(a, a, lane);
    const char* q = p + W * sizeof(T);
    return permute(a, high == W ? load<T>(q) : load_partial<T>(q, high), lane);
  }
};

template <class T>
class RowPlan {
 public:
  using Tap = RowTap<T>;
  static constexpr int W = kLanes<T>;

  // For groups of `rows` rows that follow each other; positions are counted within the group, or with
  // `restart` anew in each row. Maximum: a lane without a tap repeats its last one.
  RowPlan(const ResampleWeights& map, int64_t rows, bool restart)
      : rows_(rows), outputs_(rows * map.outputs()) {
    for (int64_t o = 0; o < outputs_; o += W) {
      block_.push_back(static_cast<int64_t>(taps_.size()));
      const int lanes = static_cast<int>(std::min<int64_t>(W, outputs_ - o));
      int64_t most = 0;
      for (int l = 0; l < lanes; ++l) most = std::max(most, count(map, o + l));
      for (int64_t k = 0; k < most; ++k) taps_.push_back(tap(map, restart, o, lanes, k));
      Vec<T> scale = broadcast<Vec<T>>(0);
      for (int l = 0; l < lanes; ++l)
        scale[l] = map.scale.empty() ? T(1) : static_cast<T>(map.scale[(o + l) % map.outputs()]);
      scale_.push_back(scale);
    }
    block_.push_back(static_cast<int64_t>(taps_.size()));
  }
  // How many rows make vectors full.
  static int64_t group(const ResampleWeights& map) {
    return map.outputs() >= 4 * W || map.outputs() == 0 ? 1 : 4 * W / map.outputs();
  }

  int64_t rows() const { return rows_; }
  int64_t outputs() const { return outputs_; }
  int64_t blocks() const { return static_cast<int64_t>(scale_.size()); }
  const Tap* begin(int64_t block) const { return taps_.data() + block_[block]; }
  const Tap* end(int64_t block) const { return taps_.data() + block_[block + 1]; }
  Vec<T> scale(int64_t block) const { return scale_[block]; }

 private:
  static int64_t count(const ResampleWeights& map, int64_t output) {
    const int64_t o = output % map.outputs();
    return map.begin[o + 1] - map.begin[o];
  }

  // The k-th tap of a vector of outputs: where it begins, and whether its lanes lie in one vector, in two, or
  // anywhere.
  Tap tap(const ResampleWeights& map, bool restart, int64_t output, int lanes, int64_t k) const {
    Tap t{};
    int64_t at[W] = {};
    int64_t low = INT64_MAX, top = 0;
    for (int l = 0; l < lanes; ++l) {
      const int64_t n = count(map, output + l), row = (output + l) / map.outputs();
      if (n == 0) continue;
      const int64_t j = map.begin[(output + l) % map.outputs()] + std::min(k, n - 1);
      at[l] = row * map.inputs + map.index[j];
      t.position[l] = static_cast<Lane<Mask<Vec<T>>>>(restart ? map.index[j] : at[l]);
      t.used[l] = k < n ? -1 : 0;
      t.weight[l] = static_cast<T>(map.weight[j]);
      low = std::min(low, at[l]);
      top = std::max(top, at[l]);
    }
    t.first = low;
    bool straight = true;
    for (int l = 0; l < lanes; ++l) {
      const bool none = count(map, output + l) == 0;
      t.lane[l] = none ? 0 : static_cast<Lane<Mask<Vec<T>>>>(at[l] - low);
      straight &= t.lane[l] == l;
      t.masked |= !t.used[l];
    }
    const int64_t there = rows_ * map.inputs - low;
    t.low = static_cast<int>(std::min<int64_t>(W, there));
    t.high = static_cast<int>(std::clamp<int64_t>(there - W, 0, W));
    t.reach = straight            ? Tap::Straight
              : top - low < W     ? Tap::OneVector
              : top - low < 2 * W ? Tap::TwoVectors
                                  : Tap::Far;
    return t;
  }

  int64_t rows_, outputs_;
  std::vector<int64_t> block_;
  std::vector<Tap> taps_;
  std::vector<Vec<T>> scale_;
};

// Plans for whole groups of rows, and for what remains of the given numbers of rows.
template <class T>
class RowPlans {
 public:
  RowPlans(const ResampleWeights& map, bool restart, const std::vector<int64_t>& row_counts)
      : map_(map),
        restart_(restart),
        group_(std::min(RowPlan<T>::group(map), *std::max_element(row_counts.begin(), row_counts.end()))),
        plans_(static_cast<size_t>(group_) + 1) {
    prepare(group_);
    for (int64_t n : row_counts)
      if (n % group_) prepare(n % group_);
  }

  // Whether that many rows are enough for a plan, which costs as much as some dozens of its uses.
  static bool pays(const ResampleWeights& map, int64_t rows) {
    constexpr int64_t kUses = 32;
    return rows / RowPlan<T>::group(map) >= kUses;
  }

  // f(plan, row) for all groups of one of these numbers of rows.
  template <class F>
  void run(int64_t rows, F f) const {
    int64_t r = 0;
    for (; r + group_ <= rows; r += group_) f(*plans_[group_], r);
    if (r < rows) f(*plans_[rows - r], r);
  }

 private:
  void prepare(int64_t rows) {
    if (!plans_[rows]) plans_[rows].emplace(map_, rows, restart_);
  }

  const ResampleWeights& map_;
  bool restart_;
  int64_t group_;
  std::vector<std::optional<RowPlan<T>>> plans_;  // by the number of rows
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
