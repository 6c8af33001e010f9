// Nonzero elements, counted and listed; elements compressed and spread by masks (masked_select,
// masked_scatter).
#include "kernels/cpu/index/index.h"

#include "kernels/cpu/elementwise/binary.h"
#include "kernels/cpu/loops/item_sizes.h"
#include "kernels/cpu/loops/strided.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu {

namespace {

using namespace base;

// ---- positions of what isn't zero -------------------------------------------------------------------------

// f(row offset, the outer dimensions' indices) for the rows along the innermost dimension, in order.
template <class F>
void each_row(const Block& b, F f) {
  int64_t index[kMaxDims] = {};
  int64_t offset = 0;
  for (int d = 0; d < b.dims; ++d) {
    if (b.sizes[d] == 0) return;
  }
  for (;;) {
    f(offset, index);
    int d = b.dims - 2;
    for (; d >= 0; --d) {
      offset += b.strides[d];
      if (++index[d] < b.sizes[d]) break;
      offset -= b.strides[d] * b.sizes[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

struct Rows {
  int64_t n, stride;
  explicit Rows(const Block& b)
      : n(b.dims ? b.sizes[b.dims - 1] : 1), stride(b.dims ? b.strides[b.dims - 1] : 0) {}
};

template <class T>
int64_t count_dtype(const Block& b) {
  const Rows rows(b);
  int64_t count = 0;
  each_row(b, [&](int64_t offset, const int64_t*) {
    const char* p = b.data + offset;
    for (int64_t begin = 0; begin < rows.n; begin += 1 << 15) {  // small counts make wider vectors
      const int64_t end = begin + (1 << 15) < rows.n ? begin + (1 << 15) : rows.n;
      uint32_t some = 0;
      if (rows.stride == static_cast<int64_t>(sizeof(T))) {
        for (int64_t i = begin; i < end; ++i) some += functions::truth(load_one<T>(p + i * sizeof(T)));
      } else {
        for (int64_t i = begin; i < end; ++i) some += functions::truth(load_one<T>(p + i * rows.stride));
      }
      count += some;
    }
  });
  return count;
}

// The indices in [begin, end) of a row whose elements aren't zero; returns how many. No branch for each.
constexpr int64_t kIndexBlock = 256;
template <class T>
int64_t indices_in(const char* row, int64_t stride, int64_t begin, int64_t end, int64_t* indices) {
  int64_t m = 0;
  for (int64_t i = begin; i < end; ++i) {
    indices[m] = i;
    m += functions::truth(load_one<T>(row + i * stride));
  }
  return m;
}

template <class T>
void nonzero_dtype(const Block& b, int64_t* out, int64_t row_stride, int64_t column_stride) {
  const Rows rows(b);
  each_row(b, [&](int64_t offset, const int64_t* index) {
    for (int64_t begin = 0; begin < rows.n; begin += kIndexBlock) {
      int64_t indices[kIndexBlock];
      const int64_t end = begin + kIndexBlock < rows.n ? begin + kIndexBlock : rows.n;
      const int64_t m = indices_in<T>(b.data + offset, rows.stride, begin, end, indices);
      for (int d = 0; d + 1 < b.dims; ++d) {
        for (int64_t i = 0; i < m; ++i) out[d * column_stride + i * row_stride] = index[d];
      }
      int64_t* last = out + (b.dims - 1) * column_stride;
      if (row_stride == 1 && b.dims > 0) {
        __builtin_memcpy(last, indices, static_cast<size_t>(m) * sizeof(int64_t));
      } else if (b.dims > 0) {
        for (int64_t i = 0; i < m; ++i) last[i * row_stride] = indices[i];
      }
      out += m * row_stride;
    }
  });
}

// ---- masks ------------------------------------------------------------------------------------------------

constexpr int64_t kMaskBlock = 256;

template <class T>
void compress_items(char* out, const char* in, const char* mask, int64_t n) {
  for (int64_t begin = 0; begin < n; begin += kMaskBlock) {
    const int64_t end = begin + kMaskBlock < n ? begin + kMaskBlock : n;
    T chosen[kMaskBlock];
    int64_t m = 0;
    for (int64_t i = begin; i < end; ++i) {
      chosen[m] = read<T>(in + i * sizeof(T));
      m += mask[i] != 0;
    }
    __builtin_memcpy(out, chosen, static_cast<size_t>(m) * sizeof(T));
    out += m * sizeof(T);
  }
}

template <class T>
void spread_items(char* out, const char* in, const char* mask, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (mask[i] == 0) continue;
    write<T>(out + i * sizeof(T), read<T>(in));
    in += sizeof(T);
  }
}

}  // namespace

#define TL_BY_DTYPE(dtype, ...)             \
  switch (dtype) { TL_ALL_DTYPES(TL_CASE) } \
  __VA_ARGS__

int64_t count_true(const char* mask, int64_t n) {
  const int64_t sizes[] = {n}, strides[] = {1};
  return count_dtype<bool>({mask, 1, sizes, strides});
}

void compress(int64_t item_size, char* out, const char* in, const char* mask, int64_t n) {
  by_size(item_size, [&]<class T>(T*) { compress_items<T>(out, in, mask, n); });
}
void spread(int64_t item_size, char* out, const char* in, const char* mask, int64_t n) {
  by_size(item_size, [&]<class T>(T*) { spread_items<T>(out, in, mask, n); });
}

int64_t count_nonzero(DType dtype, const Block& block) {
#define TL_CASE(E, T, name) \
  case DType::E:            \
    return count_dtype<T>(block);
  TL_BY_DTYPE(dtype, return 0;)
#undef TL_CASE
}

void nonzero(DType dtype, const Block& block, int64_t* out, int64_t row_stride, int64_t column_stride) {
#define TL_CASE(E, T, name) \
  case DType::E:            \
    return nonzero_dtype<T>(block, out, row_stride, column_stride);
  TL_BY_DTYPE(dtype, )
#undef TL_CASE
}

}  // namespace tl::cpu
