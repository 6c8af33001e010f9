// isa: all
// Strided copies by element size; blocks whose two strides are exchanged are transposed in registers.
#include "kernels/cpu/loops/copy.h"

#include "kernels/cpu/loops/item_sizes.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/load_store.h"
#include "kernels/cpu/simd/transpose.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// ---- transposing ------------------------------------------------------------------------------------------

// Other sizes: eight by eight through the stack.
template <class T>
struct SmallTranspose {
  static constexpr int kSide = 8;
  static TL_INLINE void transpose(char* out, int64_t out_stride, const char* in, int64_t in_stride) {
    T tile[kSide][kSide];
    for (int i = 0; i < kSide; ++i) __builtin_memcpy(tile[i], in + i * in_stride, sizeof tile[i]);
    for (int j = 0; j < kSide; ++j) {
      T row[kSide];
      for (int i = 0; i < kSide; ++i) row[i] = tile[i][j];
      __builtin_memcpy(out + j * out_stride, row, sizeof row);
    }
  }
};

// Elements that are lanes of a vector are transposed in registers.
template <class T>
using TransposeOf = std::conditional_t<std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>,
                                       RegisterTranspose<T>, SmallTranspose<T>>;

template <class T>
TL_INLINE void copy_elements(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) __builtin_memcpy(out + i * out_stride, in + i * in_stride, sizeof(T));
}

// out[j][i] = in[i][j] for i < n0, j < n1; both inner sides are dense. Bands of the output, as wide as a few
// cache lines of the input, are filled square by square.
template <class T>
void transpose_copy(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t n0,
                    int64_t n1) {
  using S = TransposeOf<T>;
  constexpr int64_t kSide = S::kSide, size = sizeof(T), kBand = 64 / size > kSide ? 64 / size : kSide;
  for (int64_t band = 0; band < n1; band += kBand) {
    const int64_t end = band + kBand < n1 ? band + kBand : n1;
    int64_t i = 0;
    for (; i + kSide <= n0; i += kSide) {
      int64_t j = band;
      for (; j + kSide <= end; j += kSide) {
        S::transpose(out + j * out_stride + i * size, out_stride, in + i * in_stride + j * size, in_stride);
      }
      for (; j < end; ++j)
        copy_elements<T>(out + j * out_stride + i * size, size, in + i * in_stride + j * size, in_stride,
                         kSide);
    }
    for (int64_t j = band; j < end; ++j) {
      copy_elements<T>(out + j * out_stride + i * size, size, in + i * in_stride + j * size, in_stride,
                       n0 - i);
    }
  }
}

// ---- rows -------------------------------------------------------------------------------------------------

template <class T>
TL_INLINE void fill_row(char* out, int64_t stride, T value, int64_t n) {
  if (stride == static_cast<int64_t>(sizeof(T))) {
    for (int64_t i = 0; i < n; ++i) write(out + i * sizeof(T), value);
  } else {
    for (int64_t i = 0; i < n; ++i) write(out + i * stride, value);
  }
}

// Short rows are not worth a call.
template <class T>
TL_INLINE void copy_dense(char* out, const char* in, int64_t n) {
  if (n > 32) {
    __builtin_memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) write(out + i * sizeof(T), read<T>(in + i * sizeof(T)));
}

template <class T>
void copy(char* const* data, const int64_t* strides, int64_t n0, int64_t n1, const void*) {
  constexpr int64_t size = sizeof(T);
  const bool dense = strides[0] == size && strides[1] == size;
  if (strides[0] == size && !dense && strides[3] == size && n0 > 1 && n1 > 1) {
    return transpose_copy<T>(data[0], strides[2], data[1], strides[1], n0, n1);
  }
  for (int64_t j = 0; j < n1; ++j) {
    char* out = data[0] + j * strides[2];
    const char* in = data[1] + j * strides[3];
    if (dense)
      copy_dense<T>(out, in, n0);
    else if (strides[1] == 0 && n0 > 0)
      fill_row<T>(out, strides[0], read<T>(in), n0);
    else if (strides[0] == size && strides[1] == -size)
      copy_elements<T>(out, size, in, -size, n0);  // with strides that the compiler knows
    else if (strides[0] == size && strides[1] == 2 * size)
      copy_elements<T>(out, size, in, 2 * size, n0);
    else
      copy_elements<T>(out, strides[0], in, strides[1], n0);
  }
}

template <class T>
void fill(char* const* data, const int64_t* strides, int64_t n0, int64_t n1, const void* params) {
  const T value = read<T>(static_cast<const char*>(params));
  for (int64_t j = 0; j < n1; ++j) fill_row<T>(data[0] + j * strides[1], strides[0], value, n0);
}

TL_INLINE void stream_line(char* to, const char* from) {
#if TL_ISA_LEVEL >= 4
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), read<__m512i>(from));
#elif TL_ISA_LEVEL >= 3
  for (int k = 0; k < 64; k += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + k), read<__m256i>(from + k));
#elif defined(__SSE2__)
  for (int k = 0; k < 64; k += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + k), read<__m128i>(from + k));
#else
  __builtin_memcpy(to, from, 64);
#endif
}

}  // namespace

void stream_copy(char* to, const char* from, int64_t bytes) {
  constexpr int64_t kLine = 64;
  const int64_t before = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(to) % kLine);
  int64_t i = before < bytes ? before : bytes;
  __builtin_memcpy(to, from, static_cast<size_t>(i));
  for (; i + kLine <= bytes; i += kLine) stream_line(to + i, from + i);
  __builtin_memcpy(to + i, from + i, static_cast<size_t>(bytes - i));
}

// By the logarithm of the item size.
extern const ElementwiseLoop copies[5] = {&copy<int8_t>, &copy<int16_t>, &copy<int32_t>, &copy<int64_t>,
                                          &copy<Item16>};
extern const ElementwiseLoop fills[5] = {&fill<int8_t>, &fill<int16_t>, &fill<int32_t>, &fill<int64_t>,
                                         &fill<Item16>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const ElementwiseLoop copies[5]; extern const ElementwiseLoop fills[5];
          void stream_copy(char* to, const char* from, int64_t bytes))

namespace tl::cpu {

ElementwiseLoop copy_loop(int64_t item_size) {
  return TL_SELECT(copies)[__builtin_ctzll(static_cast<uint64_t>(item_size))];
}
ElementwiseLoop fill_loop(int64_t item_size) {
  return TL_SELECT(fills)[__builtin_ctzll(static_cast<uint64_t>(item_size))];
}

void stream_copy(char* to, const char* from, int64_t bytes) { TL_SELECT(stream_copy)(to, from, bytes); }
void end_streams() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace tl::cpu
#endif
