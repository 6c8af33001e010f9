// MT19937 by vectors: 624 words at once, each made from those 1 and 397 further on, tempered when read.
#include "base/mt19937.h"

#include <cstring>

namespace tl {
namespace {

constexpr int kShift = 397;
constexpr int kGap = Mt19937::kWords - kShift;  // a new word needs the one made 227 before it

using Words = uint32_t __attribute__((vector_size(16)));
constexpr int kLanes = 4;

Words load(const uint32_t* p) {
  Words w;
  std::memcpy(&w, p, sizeof w);
  return w;
}
void store(uint32_t* p, Words w) { std::memcpy(p, &w, sizeof w); }

template <class W>
W twist(W high, W low, W shifted) {
  const W y = (high & 0x80000000u) | (low & 0x7fffffffu);
  return shifted ^ (y >> 1) ^ (-(low & 1u) & 0x9908b0dfu);
}

// Makes words [begin, end) anew from those `distance` away.
void make(uint32_t* words, int begin, int end, int distance) {
  int i = begin;
  for (; i + kLanes <= end; i += kLanes)
    store(words + i, twist(load(words + i), load(words + i + 1), load(words + i + distance)));
  for (; i < end; ++i) words[i] = twist(words[i], words[i + 1], words[i + distance]);
}

}  // namespace

void Mt19937::reseed(uint32_t seed) {
  words_[0] = seed;
  for (uint32_t i = 1; i < kWords; ++i) words_[i] = 1812433253u * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
  left_ = 0;
  next_ = 0;
}

void Mt19937::refill() {
  make(words_, 0, kGap, kShift);
  make(words_, kGap, kWords - 1, -kGap);
  words_[kWords - 1] = twist(words_[kWords - 1], words_[0], words_[kShift - 1]);
  left_ = kWords;
  next_ = 0;
}

void Mt19937::fill(uint32_t* out, int64_t n) {
  while (n > 0) {
    if (left_ == 0) refill();
    const int count = static_cast<int>(std::min<int64_t>(n, left_));
    int i = 0;
    for (; i + kLanes <= count; i += kLanes) store(out + i, temper(load(words_ + next_ + i)));
    for (; i < count; ++i) out[i] = temper(words_[next_ + i]);
    left_ -= count;
    next_ += count;
    out += count;
    n -= count;
  }
}

void Mt19937::skip(int64_t n) {
  while (n > 0) {
    if (left_ == 0) refill();
    const int count = static_cast<int>(std::min<int64_t>(n, left_));
    left_ -= count;
    next_ += count;
    n -= count;
  }
}

}  // namespace tl
