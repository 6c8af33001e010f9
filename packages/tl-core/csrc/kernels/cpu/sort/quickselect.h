// Quickselect with a sampled interval (Floyd & Rivest 1975) and radix select; the k smallest keys for topk.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/cpu/loops/scratch.h"
#include "kernels/cpu/sort/radix_keys.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

inline constexpr int64_t kKeyBlock = 64;

// The first place of a key that is there.
template <class K>
int64_t find_key(const K* keys, int64_t n, K wanted) {
  int64_t i = 0;
  for (; i + kKeyBlock <= n; i += kKeyBlock) {
    K found = 0;
    for (int64_t k = 0; k < kKeyBlock; ++k) found |= static_cast<K>(keys[i + k] == wanted);
    if (found) break;
  }
  while (i < n && keys[i] != wanted) ++i;
  return i;
}

// Narrows a long line to the keys between two that a sample says stand close around the wanted rank.
template <class K>
class SampleBounds {
 public:
  static constexpr int64_t kSample = 2048, kMargin = 64;

  SampleBounds(const K* keys, int64_t n, int64_t rank) {
    Scratch<K> sample(kSample);
    const int64_t step = n / kSample;
    for (int64_t i = 0; i < kSample; ++i) sample[i] = keys[i * step + i % step];
    const int64_t about = static_cast<int64_t>(static_cast<double>(rank) / static_cast<double>(n) * kSample);
    low_ = about < kMargin ? 0 : nth(sample, about - kMargin);
    high_ = about + kMargin >= kSample ? ~K{} : nth(sample, about + kMargin);
  }

  // The keys between the two, ends included, into `kept`; returns how many are below.
  int64_t narrow(const K* keys, int64_t n, K* candidates, int64_t& count) const {
    const K width = high_ - low_;
    int64_t below = 0, m = 0;
    for (int64_t i = 0; i < n; ++i) {
      candidates[m] = keys[i];
      m += static_cast<K>(keys[i] - low_) <= width;
      below += keys[i] < low_;
    }
    count = m;
    return below;
  }

 private:
  static K nth(Scratch<K>& sample, int64_t i) {
    std::nth_element(sample.data(), sample.data() + i, sample.data() + kSample);
    return sample[i];
  }

  K low_, high_;
};

// Narrows keys to those that share a digit with the wanted one, until few are left or all are equal.
template <class K>
K radix_select(K* keys, int64_t n, int64_t rank) {
  constexpr int kWidth = 8;
  constexpr int64_t kFew = 24;
  while (n > kFew) {
    K low = ~K{}, high = 0;
    for (int64_t i = 0; i < n; ++i) {
      low = keys[i] < low ? keys[i] : low;
      high = keys[i] > high ? keys[i] : high;
    }
    if (low == high) return low;
    const int bits = std::bit_width(static_cast<K>(high - low)), shift = bits > kWidth ? bits - kWidth : 0;
    int64_t counts[1 << kWidth] = {};
    for (int64_t i = 0; i < n; ++i) ++counts[(keys[i] - low) >> shift];
    K digit = 0;
    for (; rank >= counts[digit]; ++digit) rank -= counts[digit];
    int64_t candidates = 0;
    for (int64_t i = 0; i < n; ++i) {
      const K key = keys[i];
      keys[candidates] = key;
      candidates += (key - low) >> shift == digit;
    }
    n = candidates;
  }
  std::nth_element(keys, keys + rank, keys + n);
  return keys[rank];
}

// The key that stands at a rank of the order.
template <class K>
K quickselect(const K* keys, int64_t n, int64_t rank) {
  Scratch<K> candidates(n + 1);
  int64_t count = n, below = 0;
  if (n >= 8 * SampleBounds<K>::kSample)
    below = SampleBounds<K>(keys, n, rank).narrow(keys, n, candidates.data(), count);
  if (rank < below || rank >= below + count || count == n) {  // all, or the sample misled
    std::copy_n(keys, n, candidates.data());
    count = n, below = 0;
  }
  return radix_select(candidates.data(), count, rank - below);
}

// The lowest keys of a line, equal ones in the order of their places.
template <class K>
class SmallestK {
 public:
  struct Item {
    K key;
    int64_t index;
    bool operator<(const Item& o) const { return key != o.key ? key < o.key : index < o.index; }
  };

  explicit SmallestK(int64_t count) : count_(count), room_(2 * count + 4 * kKeyBlock), items_(room_) {}

  // read(first, n, keys): a part of the line, which is taken piece by piece as it comes from memory.
  template <class F>
  const Item* find(int64_t n, F read) {
    K keys[kPiece];
    const int64_t first = count_ <= kFew ? count_ : std::min(n, room_ - kKeyBlock);
    for (int64_t begin = 0; begin < n; begin += kPiece) {
      const int64_t count = std::min(kPiece, n - begin);
      read(begin, count, keys);
      int64_t used = 0;
      for (; used < count && begin + used < first; ++used) items_[held_++] = {keys[used], begin + used};
      if (used > 0 && held_ == first) settle();
      take(keys, begin, used, count);
    }
    if (count_ > kFew) std::sort(items_.data(), items_.data() + held_);
    return items_.data();
  }

 private:
  static constexpr int64_t kPiece = 2048;

  // After the first items there is a limit.
  void settle() {
    if (count_ > kFew) return prune();
    std::sort(items_.data(), items_.data() + count_);
    limit_ = items_[count_ - 1].key;
  }

  void take(const K* keys, int64_t index, int64_t begin, int64_t end) {
    const bool few = count_ <= kFew;
    const int64_t step = few ? kKeyBlock / 4 : kKeyBlock;
    for (int64_t i = begin; i < end; i += step) {
      const int64_t n = std::min(step, end - i);
      if (any_below(keys + i, n)) few ? insert(keys + i, index + i, n) : add(keys + i, index + i, n);
    }
  }
  static constexpr int64_t kFew = 32;  // are kept in order all the time

  bool any_below(const K* keys, int64_t n) const {
    K found = 0;
    for (int64_t i = 0; i < n; ++i) found |= static_cast<K>(keys[i] < limit_);
    return found;
  }

  void insert(const K* keys, int64_t index, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if (keys[i] >= limit_) continue;
      int64_t at = count_ - 1;
      for (; at > 0 && items_[at - 1].key > keys[i]; --at) items_[at] = items_[at - 1];
      items_[at] = {keys[i], index + i};
      limit_ = items_[count_ - 1].key;
    }
  }

  void add(const K* keys, int64_t index, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      items_[held_] = {keys[i], index + i};
      held_ += keys[i] < limit_;
    }
    if (held_ > room_ - kKeyBlock) prune();
  }

  // Drops what is not among the lowest; from then on only keys below the highest of them are taken.
  void prune() {
    if (held_ <= count_) return;
    Item* last = items_.data() + count_ - 1;
    std::nth_element(items_.data(), last, items_.data() + held_);
    limit_ = last->key;
    held_ = count_;
  }

  int64_t count_, room_, held_ = 0;
  K limit_ = ~K{};
  Scratch<Item> items_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
