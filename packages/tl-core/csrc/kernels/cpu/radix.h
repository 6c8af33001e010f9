// Sorting the numbers of a line by their keys.
#pragma once

#include <algorithm>
#include <bit>

#include "base/parallel.h"
#include "kernels/cpu/keys.h"
#include "kernels/cpu/scratch.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// What is sorted: 32 bits of a key above the element's number in its line. No two are equal, so every way of
// sorting gives the same, stable, order.
using Entry = uint64_t;
inline constexpr int64_t kMaxEntries = int64_t{1} << 32;

TL_INLINE Entry entry(uint32_t key, int64_t number) {
  return Entry{key} << 32 | static_cast<uint32_t>(number);
}
TL_INLINE int64_t number_of(Entry e) { return static_cast<int64_t>(e & 0xffffffffu); }

// By digits, the lowest first. A long line is cut into chunks, one a thread at a time.
class RadixSort {
 public:
  static constexpr int kMinWidth = 6, kMaxWidth = 11;
  static constexpr int64_t kChunk = 1 << 16, kMaxChunks = 16;

  // Sorts by the `bits` above bit 32; the result is in the array returned, one of the two.
  static Entry* run(Entry* entries, Entry* spare, int64_t n, int bits) {
    // Counting takes longer than moving where there are more buckets than entries.
    const int widest =
        std::clamp(static_cast<int>(std::bit_width(static_cast<uint64_t>(n))), kMinWidth, kMaxWidth);
    const int passes = (bits + widest - 1) / widest;
    for (int pass = 0, done = 0; pass < passes; ++pass) {
      const int width = (bits - done + passes - pass - 1) / (passes - pass);
      if (RadixSort(n, 32 + done, width).pass(entries, spare)) std::swap(entries, spare);
      done += width;
    }
    return entries;
  }

 private:
  RadixSort(int64_t n, int shift, int width)
      : n_(n),
        shift_(shift),
        buckets_(int64_t{1} << width),
        chunk_(chunk_size(n)),
        chunks_((n + chunk_ - 1) / chunk_),
        counts_(chunks_ * buckets_) {}

  static int64_t chunk_size(int64_t n) {
    const bool alone = n < 2 * kChunk || num_threads() == 1;
    return alone ? n : std::max(kChunk, (n + kMaxChunks - 1) / kMaxChunks);
  }

  // By value: what is written while digits are read could otherwise be the sort itself.
  struct Digit {
    int shift;
    uint64_t mask;
    TL_INLINE uint64_t operator()(Entry e) const { return (e >> shift) & mask; }
  };
  Digit digit() const { return {shift_, static_cast<uint64_t>(buckets_) - 1}; }
  uint32_t* counts(int64_t chunk) { return counts_.data() + chunk * buckets_; }

  // False if all digits are equal: then nothing was moved.
  bool pass(const Entry* from, Entry* to) {
    each_chunk([&](int64_t chunk, int64_t begin, int64_t end) { count(counts(chunk), from, begin, end); });
    if (!make_places()) return false;
    each_chunk([&](int64_t chunk, int64_t begin, int64_t end) {
      uint32_t* places = counts(chunk);
      const Digit of = digit();
      for (int64_t i = begin; i < end; ++i) to[places[of(from[i])]++] = from[i];
    });
    return true;
  }

  template <class F>
  void each_chunk(F f) {
    parallel_for(0, chunks_, 1, [&](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c) f(c, c * chunk_, std::min(n_, (c + 1) * chunk_));
    });
  }

  void count(uint32_t* counts, const Entry* from, int64_t begin, int64_t end) {
    std::fill_n(counts, buckets_, 0u);
    const Digit of = digit();
    for (int64_t i = begin; i < end; ++i) ++counts[of(from[i])];
  }

  // Counts become the places where each chunk's entries of a digit begin.
  bool make_places() {
    uint32_t place = 0;
    for (int64_t b = 0; b < buckets_; ++b) {
      const uint32_t before = place;
      for (int64_t c = 0; c < chunks_; ++c) {
        const uint32_t n = counts(c)[b];
        counts(c)[b] = place;
        place += n;
      }
      if (place - before == static_cast<uint32_t>(n_)) return false;
    }
    return true;
  }

  int64_t n_;
  int shift_;
  int64_t buckets_, chunk_, chunks_;
  Scratch<uint32_t> counts_;
};

template <class K>
struct KeyRange {
  K low = ~K{}, high = 0;
  K used = 0;  // the bits in which some differ
};
template <class K>
KeyRange<K> range_of(const K* keys, int64_t n) {
  KeyRange<K> range;
  for (int64_t i = 0; i < n; ++i) {
    range.low = keys[i] < range.low ? keys[i] : range.low;
    range.high = keys[i] > range.high ? keys[i] : range.high;
    range.used |= keys[i] ^ keys[0];
  }
  return range;
}

// How an entry holds its key: the distance from the lowest one, without the low bits that none has, or only
// the upper part of that.
template <class K>
struct Coding {
  K low = 0;
  int shift = 0;
  bool whole = true;

  TL_INLINE K key(const K* keys, Entry e) const {
    return whole ? low + (static_cast<K>(e >> 32) << shift) : keys[number_of(e)];
  }
};

// The order of a line's keys: entries whose numbers are those of the elements in their order.
template <class K>
class LineOrder {
 public:
  static constexpr int64_t kFew = 40;  // sorted by comparisons

  explicit LineOrder(int64_t n) : memory_(2 * n) {}

  const Entry* sort(const K* keys, int64_t n) {
    Entry *entries = memory_.data(), *spare = entries + n;
    const auto [low, high, used] = range_of(keys, n);
    const int shift = used == 0 ? 0 : std::countr_zero(used);
    const int bits = std::bit_width(static_cast<K>((high - low) >> shift));
    const int drop = bits > 32 ? bits - 32 : 0;
    coding_ = {low, shift, drop == 0};
    for (int64_t i = 0, by = shift + drop; i < n; ++i)
      entries[i] = entry(static_cast<uint32_t>((keys[i] - low) >> by), i);
    if (n <= kFew)
      std::sort(entries, entries + n);
    else
      entries = RadixSort::run(entries, spare, n, bits - drop);
    if (drop) finish(keys, entries, n);
    return entries;
  }

  const Coding<K>& coding() const { return coding_; }

 private:
  // Entries that agree in the bits they hold, by the keys they stand for.
  void finish(const K* keys, Entry* entries, int64_t n) {
    const auto before = [&](Entry a, Entry b) {
      const K x = keys[number_of(a)], y = keys[number_of(b)];
      return x != y ? x < y : a < b;
    };
    for (int64_t i = 0; i < n;) {
      int64_t end = i + 1;
      while (end < n && entries[end] >> 32 == entries[i] >> 32) ++end;
      if (end - i > 1) std::sort(entries + i, entries + end, before);
      i = end;
    }
  }

  Coding<K> coding_;
  Scratch<Entry> memory_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
