// isa: all
// Searchsorted: 64 branch-free binary searches interleaved, the first steps in a sample of a long row.
#include "kernels/cpu/sort/searchsorted.h"

#include "base/parallel.h"
#include "kernels/cpu/loops/scratch.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/vec.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// As many searches go on side by side, without branches: their reads of memory overlap.
constexpr int64_t kSide = 64;

template <class T, bool right>
TL_INLINE bool goes_behind(T sorted, T wanted) {
  return right ? !(sorted > wanted) : !(sorted >= wanted);
}

// Each place goes to the last of the `length` numbers from it on that is still in front of the number sought,
// or stays.
template <class T, class Index, bool right>
TL_INLINE void halve(const T* sorted, Index length, const T* sought, Index* at) {
  while (length > 1) {
    const Index half = length / 2;
    for (int64_t i = 0; i < kSide; ++i)
      at[i] += half & -static_cast<Index>(goes_behind<T, right>(sorted[at[i] + half - 1], sought[i]));
    length -= half;
  }
}

// A long line's numbers at equal distances, side by side: the first halves of a search would meet in few
// lines of the cache, and each read another page.
constexpr int64_t kDistance = 1024, kLong = 16 * kDistance;
inline int64_t sample_size(int64_t width) { return width >= kLong ? width / kDistance : 0; }
template <class T>
void take_sample(const T* sorted, int64_t n, T* sample) {
  for (int64_t i = 0; i < n; ++i) sample[i] = sorted[i * kDistance];
}

template <class T, class Index, bool right>
void search_block(const T* sorted, Index width, const T* sample, const T* wanted, int64_t n, int64_t* out) {
  Index at[kSide] = {}, length = width;
  T sought[kSide] = {};
  for (int64_t i = 0; i < n; ++i) sought[i] = wanted[i];
  if (const auto samples = static_cast<Index>(sample_size(width))) {
    halve<T, Index, right>(sample, samples, sought, at);
    length = width - (samples - 1) * static_cast<Index>(kDistance);  // that of the last part, the longest
    for (int64_t i = 0; i < kSide; ++i) {
      const bool behind = goes_behind<T, right>(sample[at[i]], sought[i]);
      at[i] = (at[i] - static_cast<Index>(!behind & (at[i] > 0))) * static_cast<Index>(kDistance);
    }
  }
  halve<T, Index, right>(sorted, length, sought, at);
  for (int64_t i = 0; i < n; ++i)
    out[i] = at[i] + (width > 0 && goes_behind<T, right>(sorted[at[i]], sought[i]));
}

template <class T, bool right>
void search_lines(const SearchShape& s, const char* sorted, const char* wanted, int64_t* out) {
  const int64_t blocks = (s.count + kSide - 1) / kSide, samples = sample_size(s.width);
  const int64_t sorted_lines = s.one_line ? 1 : s.lines;
  Scratch<T> sample(sorted_lines * samples);
  for (int64_t l = 0; l < sorted_lines; ++l)
    take_sample(reinterpret_cast<const T*>(sorted) + l * s.width, samples, sample.data() + l * samples);
  parallel_for(0, s.lines * blocks, 64, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t line = b / blocks, first = line * s.count + b % blocks * kSide;
      const int64_t left = (line + 1) * s.count - first, n = left < kSide ? left : kSide;
      const T* from = reinterpret_cast<const T*>(sorted) + (s.one_line ? 0 : line * s.width);
      const T* of = reinterpret_cast<const T*>(wanted) + first;
      const T* some = sample.data() + (s.one_line ? 0 : line * samples);
      if (s.width < (int64_t{1} << 31))
        search_block<T, int32_t, right>(from, static_cast<int32_t>(s.width), some, of, n, out + first);
      else
        search_block<T, int64_t, right>(from, s.width, some, of, n, out + first);
    }
  });
}

}  // namespace

void search_level(DType dtype, const SearchShape& s, const char* sorted, const char* wanted, int64_t* out) {
  switch (dtype) {
#define TL_CASE(E, T)                                              \
  case DType::E:                                                   \
    return s.right ? search_lines<T, true>(s, sorted, wanted, out) \
                   : search_lines<T, false>(s, sorted, wanted, out);
    TL_CASE(Float32, float)
    TL_CASE(Float64, double)
    TL_CASE(Int32, int32_t)
    TL_CASE(Int64, int64_t)
#undef TL_CASE
    default:
      return;
  }
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(void search_level(DType dtype, const SearchShape& s, const char* sorted, const char* wanted,
                            int64_t* out);)

namespace tl::cpu {

void search_sorted(DType dtype, const SearchShape& shape, const char* sorted, const char* wanted,
                   int64_t* out) {
  TL_SELECT(search_level)(dtype, shape, sorted, wanted, out);
}

}  // namespace tl::cpu
#endif
