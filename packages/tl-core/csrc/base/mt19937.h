// The Mersenne Twister MT19937 of Matsumoto and Nishimura (1998): 624 words, period 2^19937 - 1.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tl {

class Mt19937 {
 public:
  static constexpr int kWords = 624;

  explicit Mt19937(uint32_t seed) { reseed(seed); }

  void reseed(uint32_t seed);

  // Always inlined: a copy compiled for a wide instruction set must not serve other callers.
  [[gnu::always_inline]] uint32_t operator()() {
    if (left_ == 0) refill();
    --left_;
    return temper(words_[next_++]);
  }

  // The next n numbers, as n calls would return them.
  void fill(uint32_t* out, int64_t n);

  // Passes over n numbers.
  void skip(int64_t n);

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
  template <class Word>  // one or a vector of them
  [[gnu::always_inline]] static Word temper(Word y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  void refill();

  alignas(64) uint32_t words_[kWords];
  int left_;
  int next_;
};

}  // namespace tl
