// Radix sort: a parallel MSD partition into buckets that fit the cache, then LSD passes in each bucket.
#include "kernels/cpu/sort/radix_sort.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/parallel.h"
#include "kernels/cpu/loops/copy.h"
#include "kernels/cpu/loops/scratch.h"
#include "kernels/cpu/sort/load_keys.h"

namespace tl::cpu {

namespace {

using namespace base;

// A line as it comes, each key numbered by its place.
template <class K>
struct Line {
  const K* keys;
  TL_INLINE K key(int64_t i) const { return keys[i]; }
  TL_INLINE IndexedKey<K> operator[](int64_t i) const { return {keys[i], static_cast<uint32_t>(i)}; }
};
template <class K>
struct Part {
  const IndexedKey<K>* items;
  TL_INLINE K key(int64_t i) const { return items[i].key; }
  TL_INLINE IndexedKey<K> operator[](int64_t i) const { return items[i]; }
};

// 2^bits keys, from `low` on.
template <class K>
struct Interval {
  K low;
  int bits;
};

template <class K>
KeyRange<K> range_in(Part<K> part, int64_t n) {
  KeyRange<K> range{part.key(0), part.key(0)};
  for (int64_t i = 1; i < n; ++i) {
    const K key = part.key(i);
    range.low = key < range.low ? key : range.low;
    range.high = key > range.high ? key : range.high;
  }
  return range;
}
template <class K>
Interval<K> interval_of(KeyRange<K> range) {
  return {range.low, static_cast<int>(std::bit_width(static_cast<K>(range.high - range.low)))};
}

// Counts become the places where what was counted begins.
inline void exclusive_prefix_sum(uint32_t* counts, int64_t n) {
  uint32_t position = 0;
  for (int64_t i = 0; i < n; ++i) position += std::exchange(counts[i], position);
}

// Items that fit the cache, in up to two passes by the upper bits of their keys, the lower digit first. Words
// stand for them meanwhile: these bits above the item's place.
template <class K>
class LsdRadixSort {
 public:
  using Item = IndexedKey<K>;
  static constexpr int64_t kMost = 1 << 15;

  explicit LsdRadixSort(int64_t n) : words_(n), moved_(n), sorted_(n) {}

  template <class From>
  [[gnu::noinline]] const Item* run(From from, int64_t n, Interval<K> keys) {
    if (n <= kFew) return compare(from, n);
    const int index_bits = std::bit_width(static_cast<uint64_t>(n - 1));
    const int widest = std::clamp(index_bits - 1, kMinWidth, kMaxWidth);
    const int bits = std::min({keys.bits, 2 * widest, 32 - index_bits}), rest = keys.bits - bits;
    const int low_bits = bits <= widest ? 0 : (bits + 1) / 2;
    for (int64_t i = 0; i < n; ++i) words_[i] = static_cast<uint32_t>((from.key(i) - keys.low) >> rest);
    count(n, low_bits, bits);
    if (low_bits == 0) {
      for (int64_t i = 0; i < n; ++i) sorted_[high_[words_[i]]++] = from[i];
    } else {
      const uint32_t low_mask = (1u << low_bits) - 1, index_mask = (1u << index_bits) - 1;
      for (int64_t i = 0; i < n; ++i)
        moved_[low_[words_[i] & low_mask]++] = words_[i] << index_bits | static_cast<uint32_t>(i);
      for (int64_t i = 0; i < n; ++i)
        sorted_[high_[moved_[i] >> index_bits >> low_bits]++] = from[moved_[i] & index_mask];
    }
    if (rest) finish(n, keys.low, rest);
    return sorted_.data();
  }

 private:
  static constexpr int kMinWidth = 6, kMaxWidth = 10;
  static constexpr int64_t kFew = 24;

  template <class From>
  const Item* compare(From from, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const Item item = from[i];
      int64_t at = i;
      for (; at > 0 && item.key < sorted_[at - 1].key; --at) sorted_[at] = sorted_[at - 1];
      sorted_[at] = item;
    }
    return sorted_.data();
  }

  void count(int64_t n, int low_bits, int bits) {
    const int64_t low_digits = int64_t{1} << low_bits, high_digits = int64_t{1} << (bits - low_bits);
    std::fill_n(low_, low_digits, 0u);
    std::fill_n(high_, high_digits, 0u);
    for (int64_t i = 0; i < n; ++i) {
      ++low_[words_[i] & (low_digits - 1)];
      ++high_[words_[i] >> low_bits];
    }
    exclusive_prefix_sum(low_, low_digits);
    exclusive_prefix_sum(high_, high_digits);
  }

  // Where items are out of order, all that agree in the sorted bits are sorted by the rest.
  void finish(int64_t n, K low, int rest) {
    const auto upper = [&](int64_t i) { return (sorted_[i].key - low) >> rest; };
    for (int64_t i = 1; i < n; ++i) {
      if (sorted_[i].key >= sorted_[i - 1].key) continue;
      int64_t begin = i - 1, end = i + 1;
      while (begin > 0 && upper(begin - 1) == upper(i)) --begin;
      while (end < n && upper(end) == upper(i)) ++end;
      const Part<K> part{sorted_.data() + begin};
      LsdRadixSort few(end - begin);
      const Item* items = few.run(part, end - begin, interval_of(range_in(part, end - begin)));
      std::copy_n(items, end - begin, sorted_.data() + begin);
      i = end - 1;
    }
  }

  Scratch<uint32_t> words_, moved_;
  Scratch<Item> sorted_;
  uint32_t low_[1 << kMaxWidth], high_[1 << kMaxWidth];
};

constexpr int64_t kMostBuckets = 256;

// Items on their way to buckets: gathered in lines that go to memory whole.
template <class Item>
class WriteCombiningBuffers {
 public:
  static constexpr int64_t kBytes = 256, kItems = kBytes / sizeof(Item);

  // begins: where in `to` each bucket's items go
  WriteCombiningBuffers(Item* to, const int64_t* begins, int64_t buckets, bool far)
      : far_(far), buckets_(buckets), memory_((buckets + 1) * kItems) {
    char* memory = reinterpret_cast<char*>(memory_.data());
    lines_ = reinterpret_cast<Item*>(memory + -reinterpret_cast<uintptr_t>(memory) % kBytes);
    for (int64_t b = 0; b < buckets; ++b) {
      to_[b] = to + begins[b] / kItems * kItems;
      first_[b] = next_[b] = line(b) + begins[b] % kItems;
    }
  }

  TL_INLINE void put(int64_t bucket, Item item) {
    Item* next = next_[bucket];
    *next++ = item;
    next_[bucket] = next;
    if (reinterpret_cast<uintptr_t>(next) % kBytes == 0) send(bucket);
  }
  void end() {
    for (int64_t b = 0; b < buckets_; ++b) send(b);
    if (far_) end_streams();
  }

 private:
  Item* line(int64_t bucket) { return lines_ + bucket * kItems; }

  [[gnu::noinline]] void send(int64_t bucket) {
    const Item* first = first_[bucket];
    char* to = reinterpret_cast<char*>(to_[bucket] + (first - line(bucket)));
    const int64_t bytes = (next_[bucket] - first) * static_cast<int64_t>(sizeof(Item));
    if (far_)
      stream_copy(to, reinterpret_cast<const char*>(first), bytes);
    else
      __builtin_memcpy(to, first, static_cast<size_t>(bytes));
    to_[bucket] += kItems;
    first_[bucket] = next_[bucket] = line(bucket);
  }

  bool far_;
  int64_t buckets_;
  Scratch<Item> memory_;
  Item* lines_;
  Item *next_[kMostBuckets], *first_[kMostBuckets], *to_[kMostBuckets];
};

// Many items: moved into buckets of about as many each, by the upper bits of their keys. They are cut into
// chunks, one a thread at a time.
template <class K, class From>
class MsdPartition {
 public:
  using Item = IndexedKey<K>;
  struct Bucket {
    int64_t begin, end;
    Interval<K> keys;
  };

  MsdPartition(From from, int64_t n, Interval<K> keys)
      : from_(from),
        n_(n),
        low_(keys.low),
        shift_(std::max(keys.bits - kWidth, 0)),
        bins_(int64_t{1} << (keys.bits - shift_)),
        chunk_(chunk_size(n)),
        chunks_((n + chunk_ - 1) / chunk_),
        counts_(chunks_ * bins_),
        begins_(chunks_ * kMostBuckets) {}

  void run(Item* to) {
    each_chunk([&](int64_t chunk, int64_t begin, int64_t end) { count(counts(chunk), begin, end); });
    merge_digits_into_buckets();
    each_chunk([&](int64_t chunk, int64_t begin, int64_t end) {
      WriteCombiningBuffers<Item> lines(to, begins(chunk), found_,
                                        n_ * static_cast<int64_t>(sizeof(Item)) >= kFar);
      move(lines, begin, end);
      lines.end();
    });
  }

  int64_t buckets() const { return found_; }
  const Bucket& bucket(int64_t i) const { return buckets_[i]; }

 private:
  static constexpr int kWidth = 13;
  static constexpr int64_t kChunk = 1 << 16, kMaxChunks = 16;
  static constexpr int64_t kAtOnce = 1024;  // digits, so that they are found by vectors
  static constexpr int64_t kFar = 1 << 20;  // bytes that go around the caches

  static int64_t chunk_size(int64_t n) {
    const bool alone = n < 2 * kChunk || num_threads() == 1;
    return alone ? n : std::max(kChunk, (n + kMaxChunks - 1) / kMaxChunks);
  }
  uint32_t* counts(int64_t chunk) { return counts_.data() + chunk * bins_; }
  int64_t* begins(int64_t chunk) { return begins_.data() + chunk * kMostBuckets; }

  template <class F>
  void each_chunk(F f) {
    parallel_for(0, chunks_, 1, [&](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c) f(c, c * chunk_, std::min(n_, (c + 1) * chunk_));
    });
  }

  // f(an item's number, its digit)
  template <class F>
  TL_INLINE void each_digit(int64_t begin, int64_t end, F f) const {
    uint32_t digits[kAtOnce];
    const From from = from_;
    const K low = low_;
    const int shift = shift_;
    for (int64_t at = begin; at < end; at += kAtOnce) {
      const int64_t n = std::min(kAtOnce, end - at);
      for (int64_t i = 0; i < n; ++i) digits[i] = static_cast<uint32_t>((from.key(at + i) - low) >> shift);
      for (int64_t i = 0; i < n; ++i) f(at + i, digits[i]);
    }
  }

  void count(uint32_t* counts, int64_t begin, int64_t end) const {
    std::fill_n(counts, bins_, 0u);
    each_digit(begin, end, [=](int64_t, uint32_t digit) { ++counts[digit]; });
  }
  void move(WriteCombiningBuffers<Item>& lines, int64_t begin, int64_t end) const {
    const uint8_t* bucket_of = bucket_of_;
    const From from = from_;
    each_digit(begin, end, [&](int64_t i, uint32_t digit) { lines.put(bucket_of[digit], from[i]); });
  }

  // Digits that are neighbours share a bucket while they are few: any two buckets together have more than
  // `most` items, so there are less than 2 n / most + 1 of them.
  void merge_digits_into_buckets() {
    const int64_t most = bins_ <= kMostBuckets ? 0 : std::max(n_ / (kMostBuckets / 2 - 1), kFewest);
    int64_t first = 0, last = 0, begin = 0, end = 0;
    const auto close = [&] {
      const int width = std::bit_width(static_cast<uint64_t>(last - first));
      buckets_[found_++] = {begin, end, {low_ + (static_cast<K>(first) << shift_), shift_ + width}};
    };
    std::fill_n(begins_.data(), chunks_ * kMostBuckets, 0);
    for (int64_t bin = 0; bin < bins_; ++bin) {
      int64_t n = 0;
      for (int64_t c = 0; c < chunks_; ++c) n += counts(c)[bin];
      if (n == 0) continue;
      if (end - begin + n > most && end > begin) {
        close();
        first = bin, begin = end;
      }
      for (int64_t c = 0; c < chunks_; ++c) begins(c)[found_] += counts(c)[bin];
      bucket_of_[bin] = static_cast<uint8_t>(found_);
      last = bin, end += n;
    }
    close();
    for (int64_t b = 0; b < found_; ++b) {
      int64_t begin = buckets_[b].begin;
      for (int64_t c = 0; c < chunks_; ++c) begin += std::exchange(begins(c)[b], begin);
    }
  }
  static constexpr int64_t kFewest = 4096;

  From from_;
  int64_t n_;
  K low_;
  int shift_;
  int64_t bins_, chunk_, chunks_;
  Scratch<uint32_t> counts_;
  Scratch<int64_t> begins_;
  uint8_t bucket_of_[1 << kWidth];
  Bucket buckets_[kMostBuckets];
  int64_t found_ = 0;
};

// By the most significant digits into buckets; large ones recursively by the next digits, small ones by LSD
// radix sort in the cache, in parallel over buckets.
template <class K, class From>
void msd_radix_sort(From from, int64_t n, KeyRange<K> range, int64_t position, SortedRunSink<K> sink) {
  constexpr int64_t kMost = LsdRadixSort<K>::kMost;
  Scratch<IndexedKey<K>> memory(n);
  IndexedKey<K>* items = memory.data();
  MsdPartition<K, From> partition(from, n, interval_of(range));
  partition.run(items);
  for (int64_t b = 0; b < partition.buckets(); ++b) {
    const auto [begin, end, keys] = partition.bucket(b);
    if (end - begin <= kMost || keys.bits == 0) continue;
    const Part<K> part{items + begin};
    const KeyRange<K> inner = range_in(part, end - begin);
    if (inner.low == inner.high)
      sink(position + begin, part.items, end - begin);
    else
      msd_radix_sort(part, end - begin, inner, position + begin, sink);
  }
  parallel_for(0, partition.buckets(), 1, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      const auto [begin, end, keys] = partition.bucket(b);
      const Part<K> part{items + begin};
      if (keys.bits == 0) {
        sink(position + begin, part.items, end - begin);
      } else if (end - begin <= kMost) {
        LsdRadixSort<K> small(end - begin);
        sink(position + begin, small.run(part, end - begin, keys), end - begin);
      }
    }
  });
}

// Where all keys are equal.
template <class K>
void take_line(Line<K> line, int64_t n, SortedRunSink<K> sink) {
  constexpr int64_t kAtOnce = 1024;
  IndexedKey<K> items[kAtOnce];
  for (int64_t begin = 0; begin < n; begin += kAtOnce) {
    const int64_t count = std::min(kAtOnce, n - begin);
    for (int64_t i = 0; i < count; ++i) items[i] = line[begin + i];
    sink(begin, items, count);
  }
}

template <class K>
void sort_line(const K* keys, int64_t n, SortedRunSink<K> sink) {
  const Line<K> line{keys};
  const KeyRange<K> range = range_of(keys, n);
  if (range.low == range.high) return take_line(line, n, sink);
  if (n > LsdRadixSort<K>::kMost) return msd_radix_sort(line, n, range, 0, sink);
  LsdRadixSort<K> small(n);
  sink(0, small.run(line, n, interval_of(range)), n);
}

}  // namespace

void sort_keys(const uint32_t* keys, int64_t n, SortedRunSink<uint32_t> sink) { sort_line(keys, n, sink); }
void sort_keys(const uint64_t* keys, int64_t n, SortedRunSink<uint64_t> sink) { sort_line(keys, n, sink); }

}  // namespace tl::cpu
