// isa: all
// Gather and index_put by copy, and the bounds check of indices.
#include "kernels/cpu/index/index.h"
#include "kernels/cpu/index/index_loop.h"
#include "kernels/cpu/loops/item_sizes.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// Two pieces that may overlap cover any length between one and two of them.
template <class Piece>
TL_INLINE void copy_ends(char* to, const char* from, int64_t bytes) {
  const Piece first = read<Piece>(from), last = read<Piece>(from + bytes - sizeof(Piece));
  write(to, first);
  write(to + bytes - sizeof(Piece), last);
}

// Short rows are not worth a call.
template <int64_t size>
TL_INLINE void copy_row(char* to, const char* from, int64_t bytes) {
  if (bytes > 64)
    __builtin_memcpy(to, from, static_cast<size_t>(bytes));
  else if (bytes >= 32)
    copy_ends<Pack<int64_t, 4>>(to, from, bytes);
  else if (bytes >= 16)
    copy_ends<Pack<int64_t, 2>>(to, from, bytes);
  else if (bytes >= 8)
    copy_ends<int64_t>(to, from, bytes);
  else
    for (int64_t i = 0; i < bytes; i += size) __builtin_memcpy(to + i, from + i, size);
}

template <class T>
struct SetItem {
  static constexpr bool kCopies = true;
  static constexpr int64_t size = sizeof(T);
  static TL_INLINE void apply(char* to, const char* from) { __builtin_memcpy(to, from, sizeof(T)); }
  static TL_INLINE void row(char* to, const char* from, int64_t n) { copy_row<size>(to, from, n * size); }
};

}  // namespace

ElementwiseLoop gather_loop(int64_t item_size) {
  return by_size(item_size, []<class T>(T*) -> ElementwiseLoop { return &IndexLoop<SetItem<T>, 1>::run; });
}
ElementwiseLoop set_loop(int64_t item_size) {
  return by_size(item_size, []<class T>(T*) -> ElementwiseLoop { return &IndexLoop<SetItem<T>, 0>::run; });
}

int64_t find_out_of_bounds(const int64_t* indices, int64_t n, int64_t low, int64_t high) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  constexpr int64_t kBlock = 512;
  int64_t begin = 0;
  for (; begin < n; begin += kBlock) {
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    uint64_t outside = 0;
    for (int64_t i = begin; i < end; ++i)
      outside |=
          static_cast<uint64_t>(static_cast<uint64_t>(indices[i]) - static_cast<uint64_t>(low) >= range);
    if (outside) break;
  }
  while (begin < n && indices[begin] >= low && indices[begin] < high) ++begin;
  return begin < n ? begin : n;
}

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(ElementwiseLoop gather_loop(int64_t item_size); ElementwiseLoop set_loop(int64_t item_size);
          int64_t find_out_of_bounds(const int64_t* indices, int64_t n, int64_t low, int64_t high))

namespace tl::cpu {

ElementwiseLoop gather_loop(int64_t item_size) { return TL_SELECT(gather_loop)(item_size); }
ElementwiseLoop set_loop(int64_t item_size) { return TL_SELECT(set_loop)(item_size); }
int64_t find_out_of_bounds(const int64_t* indices, int64_t n, int64_t low, int64_t high) {
  return TL_SELECT(find_out_of_bounds)(indices, n, low, high);
}

}  // namespace tl::cpu
#endif
