// The Mersenne Twister MT19937 of Matsumoto and Nishimura (1998): 624 words, period 2^19937 - 1.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tl {

class Mt19937 {
 public:
  static constexpr int kWords = 624;

  explicit Mt19937(uint32_t seed) { reseed(seed); }

  void reseed(uint32_t seed) {
    words_[0] = seed;
    for (uint32_t i = 1; i < kWords; ++i)
      words_[i] = 1812433253u * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
    left_ = 0;
    next_ = 0;
  }

  uint32_t operator()() {
    if (left_ == 0) refill();
    --left_;
    return temper(words_[next_++]);
  }

  // The next n numbers, as n calls would return them.
  void fill(uint32_t* out, int64_t n) {
    while (n > 0) {
      if (left_ == 0) refill();
      const int count = static_cast<int>(std::min<int64_t>(n, left_));
      const uint32_t* in = words_ + next_;
      for (int i = 0; i < count; ++i) out[i] = temper(in[i]);
      left_ -= count;
      next_ += count;
      out += count;
      n -= count;
    }
  }

  // Passes over n numbers.
  void skip(int64_t n) {
    while (n > 0) {
      if (left_ == 0) refill();
      const int count = static_cast<int>(std::min<int64_t>(n, left_));
      left_ -= count;
      next_ += count;
      n -= count;
    }
  }

  const uint32_t* words() const { return words_; }
  int left() const { return left_; }  // numbers until the next refill
  int next() const { return next_; }  // where the next number stands

  // False, and nothing changes, unless `left` numbers stand behind `next`.
  template <class Word>
  bool restore(const Word* words, int left, int next) {
    if (left < 0 || next < 0 || left >= kWords || next > kWords - left) return false;
    std::transform(words, words + kWords, words_, [](Word w) { return static_cast<uint32_t>(w); });
    left_ = left;
    next_ = next;
    return true;
  }

 private:
  static constexpr int kShift = 397;

  static uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  static uint32_t twist(uint32_t high, uint32_t low) {
    const uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);
    return (y >> 1) ^ (-(low & 1u) & 0x9908b0dfu);
  }

  // New words depend on ones 227 or 397 places away, so a block of up to 227 may be made at once.
  void refill() {
    constexpr int kHead = kWords - kShift;
    uint32_t* w = words_;
    for (int i = 0; i < kHead; ++i) w[i] = w[i + kShift] ^ twist(w[i], w[i + 1]);
    for (int begin = kHead; begin < kWords - 1; begin += kHead)
      make_block(w + begin, std::min(kHead, kWords - 1 - begin));
    w[kWords - 1] = w[kShift - 1] ^ twist(w[kWords - 1], w[0]);
    left_ = kWords;
    next_ = 0;
  }
  static void make_block(uint32_t* w, int n) {
    for (int i = 0; i < n; ++i) w[i] = w[i - (kWords - kShift)] ^ twist(w[i], w[i + 1]);
  }

  alignas(64) uint32_t words_[kWords];
  int left_;
  int next_;
};

}  // namespace tl
