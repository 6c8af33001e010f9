// isa: all
// Embedding bag: reduces rows in registers, a strip of columns at a time, with prefetch of later rows.
#include "kernels/cpu/index/embedding_bag.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/masked_load.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// What a vector of columns comes to: rows are added to it one by one.
template <class A>
struct ColumnSums {
  static constexpr int kMost = TL_ISA_LEVEL >= 4 ? 16 : 8;  // that registers hold
  Vec<A> sums = {};

  TL_INLINE void add(Vec<A> row, A factor, int64_t) { sums += row * factor; }
  TL_INLINE Vec<A> result(BagMode mode, int64_t size) const {
    return mode == BagMode::Mean && size > 0 ? sums / static_cast<A>(size) : sums;
  }
};

template <class A>
struct ColumnMaxima {
  static constexpr int kMost = ColumnSums<A>::kMost / 2;
  using Positions = Mask<Vec<A>>;
  Vec<A> maxima = {};
  Positions positions = Positions{} - 1;  // in the bag

  TL_INLINE void add(Vec<A> row, A, int64_t position) {
    const auto wins = (row > maxima) | (positions < 0);
    maxima = select<Vec<A>>(wins, row, maxima);
    positions = select<Positions>(wins, Positions{} + static_cast<Lane<Positions>>(position), positions);
  }
  TL_INLINE Vec<A> result(BagMode, int64_t) const { return maxima; }
};

template <class T>
class BagLoop {
 public:
  using A = OpMath<T>;

  BagLoop(const RowTable& t, const char* data, const Bags& bags, const char* factors, const BagResults& to)
      : table_(t),
        data_(reinterpret_cast<const T*>(data)),
        bags_(bags),
        factors_(factors),
        out_(reinterpret_cast<T*>(to.out)),
        sizes_(to.sizes),
        winners_(to.winners) {}

  void bag(int64_t b) const {
    const int64_t *first = bags_.indices + bags_.offsets[b], *last = bags_.indices + bags_.offsets[b + 1];
    sizes_[b] = last - first - std::count(first, last, bags_.skipped);
    if (bags_.mode == BagMode::Max)
      strips<ColumnMaxima<A>>(b);
    else
      strips<ColumnSums<A>>(b);
  }

 private:
  static constexpr int64_t kSize = sizeof(T), kAhead = 8;  // prefetch distance in rows
  static constexpr int kWidth = kLanes<A>;

  template <class Columns>
  void strips(int64_t b) const {
    int64_t at = 0;
    const auto left = [&](int vectors) { return table_.width - at >= vectors * kWidth; };
    for (; left(Columns::kMost); at += Columns::kMost * kWidth) strip<Columns, Columns::kMost>(b, at, kWidth);
    for (; left(4); at += 4 * kWidth) strip<Columns, 4>(b, at, kWidth);
    for (; left(1); at += kWidth) strip<Columns, 1>(b, at, kWidth);
    if (at < table_.width) strip<Columns, 1>(b, at, static_cast<int>(table_.width - at));
  }

  // Columns from `at` on; `lanes` of the last vector.
  template <class Columns, int vectors>
  void strip(int64_t b, int64_t at, int lanes) const {
    const int64_t first = bags_.offsets[b], last = bags_.offsets[b + 1], end = bags_.offsets[bags_.count];
    Columns columns[vectors];
    for (int64_t i = first; i < last; ++i) {
      if (i + kAhead < end) prefetch(row(i + kAhead, at), vectors * kWidth * kSize);
      if (bags_.indices[i] == bags_.skipped) continue;
      const T* from = row(i, at);
      const A factor = factors_ ? load_one<T>(factors_ + i * kSize) : A(1);
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v)
        columns[v].add(load_some(from + v * kWidth, lanes), factor, i - first);
    }
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) put(columns[v], b, at + v * kWidth, lanes);
  }

  template <class Columns>
  TL_INLINE void put(const Columns& columns, int64_t b, int64_t at, int lanes) const {
    store_some(out_ + b * table_.width + at, lanes, columns.result(bags_.mode, sizes_[b]));
    if constexpr (requires { columns.positions; }) {
      const int64_t* const indices = bags_.indices + bags_.offsets[b];
      int64_t* const winners = winners_ + b * table_.width + at;
      for (int l = 0; l < lanes; ++l)
        winners[l] = columns.positions[l] < 0 ? -1 : indices[columns.positions[l]];
    }
  }

  TL_INLINE const T* row(int64_t i, int64_t at) const { return data_ + bags_.indices[i] * table_.width + at; }

  const RowTable table_;
  const T* data_;
  const Bags bags_;
  const char* factors_;
  T* out_;
  int64_t *sizes_, *winners_;
};

template <class T>
void reduce(const RowTable& t, const char* data, const Bags& bags, const char* factors,
            const BagResults& to) {
  if (bags.count == 0) return;
  const BagLoop<T> loop(t, data, bags, factors, to);
  const int64_t cost = t.width * (bags.offsets[bags.count] / bags.count + 1);
  parallel_for(0, bags.count, (1 << 15) / (cost + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) loop.bag(b);
  });
}

}  // namespace

void reduce_bags(DType dtype, const RowTable& table, const char* data, const Bags& bags, const char* factors,
                 const BagResults& to) {
  switch (dtype) {
    case DType::Float16:
      return reduce<Half>(table, data, bags, factors, to);
    case DType::BFloat16:
      return reduce<BFloat16>(table, data, bags, factors, to);
    case DType::Float64:
      return reduce<double>(table, data, bags, factors, to);
    default:
      return reduce<float>(table, data, bags, factors, to);
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(void reduce_bags(DType dtype, const RowTable& table, const char* data, const Bags& bags,
                           const char* factors, const BagResults& to))

namespace tl::cpu {

void reduce_bags(DType dtype, const RowTable& table, const char* data, const Bags& bags, const char* factors,
                 const BagResults& to) {
  TL_SELECT(reduce_bags)(dtype, table, data, bags, factors, to);
}

}  // namespace tl::cpu
#endif
