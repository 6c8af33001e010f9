// Plans of Fourier transforms: how a length is factored, its twiddle factors, and a cache of both.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace tl::cpu {

// One pass of the Stockham autosort algorithm: butterflies of `radix` inputs that are `m * s` apart.
struct FftPass {
  int radix;
  int64_t m, s;
  int64_t twiddles;  // where its factors begin: for each p < m the powers 1 to radix - 1 of w^p
};

// How transforms of one length are computed. Twiddle factors are pairs (re, im), rounded from double.
template <class T>
struct FftPlan {
  int64_t n = 1;
  std::vector<FftPass> passes;  // of lengths whose prime factors are small
  std::vector<T> twiddles;
  std::vector<T> roots;  // cos and sin of 2 pi k / r for each odd radix above 5, at `root_of[r]`
  int64_t root_of[32] = {};

  // Between n complex and 2 n real numbers: e^(-i pi k / n) for k up to n / 2, and a vector more.
  std::vector<T> half_roots;

  // The four-step algorithm (Bailey, FFTs in External or Hierarchical Memory, 1990): n = columns.n * rows.n.
  std::shared_ptr<const FftPlan> columns, rows;
  int64_t together = 1;  // transforms that are computed at a time, so that rows fill a vector
  std::vector<T>
      rotation;  // w^(j k): for each group of vectors of j, each k, the real then the imaginary parts
  // How many numbers of memory these need: between columns and rows of one transform, for a vector of its
  // columns or rows, and for all of some together.
  int64_t planes() const;
  int64_t column_scratch() const;
  int64_t row_scratch() const;
  int64_t step_scratch() const;

  // Bluestein's algorithm (1970), where a prime factor is large: a convolution of a smooth length.
  std::shared_ptr<const FftPlan> convolution;
  std::vector<T> chirp;     // e^(-i pi j^2 / n)
  std::vector<T> spectrum;  // of the conjugate chirp, divided by the length

  int64_t bytes() const;
};

// Whether passes and four steps serve the length: no prime factor above 31.
bool fft_is_smooth(int64_t n);
// The lanes of a vector of T at the level that runs.
template <class T>
int64_t fft_lanes();

// The plan of a length, from the cache if it is there. The cache holds the plans of the last use up to a
// fixed size.
template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n);

}  // namespace tl::cpu
