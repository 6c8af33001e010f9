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

template <class T>
TL_INLINE void move_item(char* to, const char* from) {
  __builtin_memcpy(to, from, sizeof(T));
}

// What is written: to[...] = to[...] combined with from[...].
template <class T>
struct SetItem {
  static TL_INLINE void apply(char* to, const char* from) { move_item<T>(to, from); }
};
template <class T, Combine combine>
struct CombineItem {
  static TL_INLINE void apply(char* to, const char* from) {
    const Compute<T> x = load_one<T>(to), y = load_one<T>(from);
    store_one<T>(to, combined(x, y));
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

// ---- along one dimension
// --------------------------------------------------------------------------------------------------

TL_INLINE int64_t offset_along(const char* index, const AlongIndex& along) {
  const int64_t i = read<int64_t>(index);
  if (static_cast<uint64_t>(i) >= static_cast<uint64_t>(along.size)) [[unlikely]]
    raise_index(i, along.dim, along.size);
  return i * along.stride;
}

// `Indexed` is the operand the index moves: 0 the output, 1 the input.
template <class Write, int64_t item, int Indexed>
void along_loop(char* const* data, const int64_t* strides, int64_t n0, int64_t n1, const void* params) {
  const AlongIndex& along = *static_cast<const AlongIndex*>(params);
  for (int64_t j = 0; j < n1; ++j) {
    char* out = data[0] + j * strides[3];
    char* in = data[1] + j * strides[4];
    const char* index = data[2] + j * strides[5];
    if (strides[2] == 0) {  // one index for the row
      const int64_t offset = n0 > 0 ? offset_along(index, along) : 0;
      (Indexed == 0 ? out : in) += offset;
      if (strides[0] == item && strides[1] == item) {
        for (int64_t i = 0; i < n0; ++i) Write::apply(out + i * item, in + i * item);
      } else {
        for (int64_t i = 0; i < n0; ++i) Write::apply(out + i * strides[0], in + i * strides[1]);
      }
      continue;
    }
    for (int64_t i = 0; i < n0; ++i) {
      const int64_t offset = offset_along(index + i * strides[2], along);
      Write::apply(out + i * strides[0] + (Indexed == 0 ? offset : 0),
                   in + i * strides[1] + (Indexed == 1 ? offset : 0));
    }
  }
}

template <class T>
ElementwiseLoop scatter_of(Combine combine) {
  switch (combine) {
    case Combine::Set:
      return &along_loop<SetItem<T>, sizeof(T), 0>;
    case Combine::Add:
      return &along_loop<CombineItem<T, Combine::Add>, sizeof(T), 0>;
    case Combine::Multiply:
      return &along_loop<CombineItem<T, Combine::Multiply>, sizeof(T), 0>;
    case Combine::Max:
      if constexpr (!is_complex_type<T>) return &along_loop<CombineItem<T, Combine::Max>, sizeof(T), 0>;
      break;
    case Combine::Min:
      if constexpr (!is_complex_type<T>) return &along_loop<CombineItem<T, Combine::Min>, sizeof(T), 0>;
      break;
  }
  return nullptr;
}

// ---- at points
// ------------------------------------------------------------------------------------------------------------

TL_INLINE int64_t offset_at(char* const* indices, const int64_t* strides, int64_t i,
                            const PointIndex& points) {
  int64_t offset = 0;
  for (int k = 0; k < points.count; ++k) {
    int64_t at = read<int64_t>(indices[k] + i * strides[k]);
    const int64_t size = points.sizes[k];
    if (at < -size || at >= size) [[unlikely]]
      raise_index(at, points.dims[k], size);
    offset += (at < 0 ? at + size : at) * points.strides[k];
  }
  return offset;
}

template <class Write, int Indexed>
void point_loop(char* const* data, const int64_t* strides, int64_t n0, int64_t n1, const void* params) {
  const PointIndex& points = *static_cast<const PointIndex*>(params);
  const int operands = points.count + 2;
  bool one_point = true;  // a row whose indices do not change
  for (int k = 0; k < points.count; ++k) one_point &= strides[2 + k] == 0;
  char* indices[kMaxIndices];
  for (int64_t j = 0; j < n1; ++j) {
    char* out = data[0] + j * strides[operands];
    char* in = data[1] + j * strides[operands + 1];
    for (int k = 0; k < points.count; ++k) indices[k] = data[2 + k] + j * strides[operands + 2 + k];
    int64_t offset = one_point && n0 > 0 ? offset_at(indices, strides + 2, 0, points) : 0;
    for (int64_t i = 0; i < n0; ++i) {
      if (!one_point) offset = offset_at(indices, strides + 2, i, points);
      Write::apply(out + i * strides[0] + (Indexed == 0 ? offset : 0),
                   in + i * strides[1] + (Indexed == 1 ? offset : 0));
    }
  }
}

template <template <class> class Pick>
ElementwiseLoop by_size(int64_t item_size) {
  switch (item_size) {
    case 1:
      return Pick<int8_t>::loop;
    case 2:
      return Pick<int16_t>::loop;
    case 4:
      return Pick<int32_t>::loop;
    case 8:
      return Pick<int64_t>::loop;
    default:
      return Pick<Item16>::loop;
  }
}
template <class T>
struct Gather {
  static constexpr ElementwiseLoop loop = &along_loop<SetItem<T>, sizeof(T), 1>;
};
template <class T>
struct Get {
  static constexpr ElementwiseLoop loop = &point_loop<SetItem<T>, 1>;
};
template <class T>
struct Put {
  static constexpr ElementwiseLoop loop = &point_loop<SetItem<T>, 0>;
};

// ---- nonzero
// --------------------------------------------------------------------------------------------------------------

// f(row offset) for the rows along the innermost dimension, in order, with the outer dimensions' indices.
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

template <class T>
int64_t count_dtype(const Block& b) {
  const int64_t n = b.dims ? b.sizes[b.dims - 1] : 1, stride = b.dims ? b.strides[b.dims - 1] : 0;
  int64_t count = 0;
  each_row(b, [&](int64_t offset, const int64_t*) {
    const char* p = b.data + offset;
    if (stride == static_cast<int64_t>(sizeof(T))) {
      for (int64_t i = 0; i < n; ++i) count += functions::truth(load_one<T>(p + i * sizeof(T)));
    } else {
      for (int64_t i = 0; i < n; ++i) count += functions::truth(load_one<T>(p + i * stride));
    }
  });
  return count;
}

template <class T>
void nonzero_dtype(const Block& b, int64_t* out, int64_t row_stride, int64_t column_stride) {
  const int64_t n = b.dims ? b.sizes[b.dims - 1] : 1, stride = b.dims ? b.strides[b.dims - 1] : 0;
  each_row(b, [&](int64_t offset, const int64_t* index) {
    for (int64_t i = 0; i < n; ++i) {
      if (!functions::truth(load_one<T>(b.data + offset + i * stride))) continue;
      for (int d = 0; d + 1 < b.dims; ++d) out[d * column_stride] = index[d];
      if (b.dims) out[(b.dims - 1) * column_stride] = i;
      out += row_stride;
    }
  });
}

}  // namespace

ElementwiseLoop gather_loop(int64_t item_size) { return by_size<Gather>(item_size); }
ElementwiseLoop index_get_loop(int64_t item_size) { return by_size<Get>(item_size); }
ElementwiseLoop index_put_loop(int64_t item_size) { return by_size<Put>(item_size); }

#define TL_BY_DTYPE(dtype, ...)             \
  switch (dtype) { TL_ALL_DTYPES(TL_CASE) } \
  __VA_ARGS__

ElementwiseLoop scatter_loop(Combine combine, DType dtype) {
#define TL_CASE(E, T, name) \
  case DType::E:            \
    return scatter_of<T>(combine);
  TL_BY_DTYPE(dtype, return nullptr;)
#undef TL_CASE
}

ElementwiseLoop index_add_loop(DType dtype) {
#define TL_CASE(E, T, name) \
  case DType::E:            \
    return &point_loop<CombineItem<T, Combine::Add>, 0>;
  TL_BY_DTYPE(dtype, return nullptr;)
#undef TL_CASE
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
