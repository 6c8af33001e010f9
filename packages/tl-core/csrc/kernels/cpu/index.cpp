#include "kernels/cpu/index.h"

#include "kernels/cpu/convert.h"
#include "kernels/cpu/functions/binary.h"
#include "kernels/cpu/memory.h"
#include "kernels/cpu/strides.h"

namespace tl::cpu {

namespace {

using namespace base;

struct alignas(8) Item16 {
  uint64_t words[2];
};

// ---- what is written: to[...] = to[...] combined with from[...]
// --------------------------------------------

template <class T>
struct SetItem {
  static constexpr int64_t size = sizeof(T);
  static TL_INLINE void apply(char* to, const char* from) { __builtin_memcpy(to, from, sizeof(T)); }
  static TL_INLINE void row(char* to, const char* from, int64_t n) {
    __builtin_memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
  }
};
template <class T, Combine combine>
struct CombineItem {
  static constexpr int64_t size = sizeof(T);
  static TL_INLINE void apply(char* to, const char* from) {
    const Compute<T> x = load_one<T>(to), y = load_one<T>(from);
    store_one<T>(to, combined(x, y));
  }
  static TL_INLINE void row(char* to, const char* from, int64_t n) {
    for (int64_t i = 0; i < n; ++i) apply(to + i * size, from + i * size);
  }
  template <class A>
  static TL_INLINE A combined(A x, A y) {
    if constexpr (combine == Combine::Add)
      return plus(x, y);
    else if constexpr (combine == Combine::Multiply)
      return times(x, y);
    else if constexpr (combine == Combine::Max)
      return functions::maximum::apply(x, y, static_cast<const int*>(nullptr));
    else
      return functions::minimum::apply(x, y, static_cast<const int*>(nullptr));
  }
};

// `moved` is the operand the places move: 0 the output, 1 the input.
template <class Write, int moved>
void place_loop(char* const* data, const int64_t* strides, int64_t n0, int64_t n1, const void* params) {
  const int64_t step = static_cast<const Places*>(params)->stride;
  const int64_t out_step = strides[0], in_step = strides[1];
  for (int64_t j = 0; j < n1; ++j) {
    char* out = data[0] + j * strides[3];
    char* in = data[1] + j * strides[4];
    const char* places = data[2] + j * strides[5];
    if (strides[2] == 0 && n0 > 0) {
      (moved == 0 ? out : in) += read<int64_t>(places) * step;
      if (out_step == Write::size && in_step == Write::size) {
        Write::row(out, in, n0);
      } else {
        for (int64_t i = 0; i < n0; ++i) Write::apply(out + i * out_step, in + i * in_step);
      }
      continue;
    }
    for (int64_t i = 0; i < n0; ++i) {
      const int64_t offset = read<int64_t>(places + i * strides[2]) * step;
      Write::apply(out + i * out_step + (moved == 0 ? offset : 0),
                   in + i * in_step + (moved == 1 ? offset : 0));
    }
  }
}

// f(a null pointer to a type of that size)
template <class F>
auto by_size(int64_t item_size, F f) {
  switch (item_size) {
    case 1:
      return f(static_cast<int8_t*>(nullptr));
    case 2:
      return f(static_cast<int16_t*>(nullptr));
    case 4:
      return f(static_cast<int32_t*>(nullptr));
    case 8:
      return f(static_cast<int64_t*>(nullptr));
    default:
      return f(static_cast<Item16*>(nullptr));
  }
}

template <class T, Combine combine>
constexpr ElementwiseLoop combine_entry() {
  if constexpr (is_complex_type<T> && (combine == Combine::Max || combine == Combine::Min))
    return nullptr;
  else
    return &place_loop<CombineItem<T, combine>, 0>;
}

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

// The places in [begin, end) of a row whose elements aren't zero; returns how many. No branch for each.
constexpr int64_t kPlaces = 256;
template <class T>
int64_t places_in(const char* row, int64_t stride, int64_t begin, int64_t end, int64_t* places) {
  int64_t m = 0;
  for (int64_t i = begin; i < end; ++i) {
    places[m] = i;
    m += functions::truth(load_one<T>(row + i * stride));
  }
  return m;
}

template <class T>
void nonzero_dtype(const Block& b, int64_t* out, int64_t row_stride, int64_t column_stride) {
  const Rows rows(b);
  each_row(b, [&](int64_t offset, const int64_t* index) {
    for (int64_t begin = 0; begin < rows.n; begin += kPlaces) {
      int64_t places[kPlaces];
      const int64_t end = begin + kPlaces < rows.n ? begin + kPlaces : rows.n;
      const int64_t m = places_in<T>(b.data + offset, rows.stride, begin, end, places);
      for (int d = 0; d + 1 < b.dims; ++d) {
        for (int64_t i = 0; i < m; ++i) out[d * column_stride + i * row_stride] = index[d];
      }
      int64_t* last = out + (b.dims - 1) * column_stride;
      if (row_stride == 1 && b.dims > 0) {
        __builtin_memcpy(last, places, static_cast<size_t>(m) * sizeof(int64_t));
      } else if (b.dims > 0) {
        for (int64_t i = 0; i < m; ++i) last[i * row_stride] = places[i];
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
    T kept[kMaskBlock];
    int64_t m = 0;
    for (int64_t i = begin; i < end; ++i) {
      kept[m] = read<T>(in + i * sizeof(T));
      m += mask[i] != 0;
    }
    __builtin_memcpy(out, kept, static_cast<size_t>(m) * sizeof(T));
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

ElementwiseLoop gather_loop(int64_t item_size) {
  return by_size(item_size, []<class T>(T*) -> ElementwiseLoop { return &place_loop<SetItem<T>, 1>; });
}

#define TL_BY_DTYPE(dtype, ...)             \
  switch (dtype) { TL_ALL_DTYPES(TL_CASE) } \
  __VA_ARGS__

ElementwiseLoop scatter_loop(Combine combine, DType dtype) {
  if (combine == Combine::Set)
    return by_size(item_size(dtype),
                   []<class T>(T*) -> ElementwiseLoop { return &place_loop<SetItem<T>, 0>; });
#define TL_CASE(E, T, name)                                                      \
  case DType::E: {                                                               \
    static constexpr ElementwiseLoop loops[] = {                                 \
        combine_entry<T, Combine::Add>(), combine_entry<T, Combine::Multiply>(), \
        combine_entry<T, Combine::Max>(), combine_entry<T, Combine::Min>()};     \
    return loops[static_cast<int>(combine) - static_cast<int>(Combine::Add)];    \
  }
  TL_BY_DTYPE(dtype, return nullptr;)
#undef TL_CASE
}

int64_t find_outside(const int64_t* places, int64_t n, int64_t low, int64_t high) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  constexpr int64_t kBlock = 512;
  int64_t begin = 0;
  for (; begin < n; begin += kBlock) {
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    uint64_t outside = 0;
    for (int64_t i = begin; i < end; ++i)
      outside |=
          static_cast<uint64_t>(static_cast<uint64_t>(places[i]) - static_cast<uint64_t>(low) >= range);
    if (outside) break;
  }
  while (begin < n && places[begin] >= low && places[begin] < high) ++begin;
  return begin < n ? begin : n;
}

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
