// Reading and writing through tensors of positions.
#include "kernels/cpu/index.h"

#include <algorithm>
#include <cstring>

#include "iter/loop_nest.h"
#include "iter/promotion.h"
#include "kernels/cpu/loop.h"
#include "ops.h"
#include "ops/copy.h"
#include "ops/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

// One int64 tensor a dimension, or nothing where the dimension is taken whole; masks are spelled out as
// positions.
std::vector<Tensor> spelled_out(const Tensor& self, TensorList indices) {
  std::vector<Tensor> out;
  for (const Tensor& index : indices) {
    if (!index) {
      out.emplace_back();
    } else if (is_mask(index)) {
      for (int64_t d = 0; d < index.dim(); ++d) {
        const int64_t at = static_cast<int64_t>(out.size()) + d;
        TL_CHECK(at < self.dim() && self.size(at) == index.size(d), Index, "The shape of the mask ",
                 index.sizes(), " at index ", d, " does not match the shape of the indexed tensor ",
                 self.sizes(), " at index ", at);
      }
      const Tensor places = ops::nonzero(index);
      for (int64_t d = 0; d < index.dim(); ++d) out.push_back(ops::select_int(places, 1, d));
    } else {
      TL_CHECK(is_integral(index.dtype(), false), Index,
               "tensors used as indices must be long, int, byte or bool tensors");
      out.push_back(to_dtype(index, DType::Int64));
    }
  }
  TL_CHECK(static_cast<int64_t>(out.size()) <= self.dim(), Index, "too many indices for tensor of dimension ",
           self.dim(), " (got ", out.size(), ")");
  while (static_cast<int64_t>(out.size()) < self.dim()) out.emplace_back();
  return out;
}

// Where an index reads or writes: byte offsets for the indexed dimensions, plain strides for the others.
struct Places {
  DimVector shape;         // of the result
  DimVector rest_strides;  // the tensor's, zero in the dimensions that the offsets cover
  Tensor offsets;          // bytes, broadcast to the covered dimensions
  DimVector offset_strides;
};

class Planner {
 public:
  Planner(const Tensor& self, TensorList indices) : self_(self), indices_(spelled_out(self, indices)) {
    for (const Tensor& i : indices_)
      if (i) broadcast_ = first_ ? DimVector(i.sizes()) : broadcast(i), first_ = false;
  }

  Places plan() const {
    Places p;
    p.offsets = self_.is_meta() ? Tensor() : byte_offsets();
    const size_t at = adjacent() ? first_indexed() : 0;
    DimVector rest, rest_strides;
    for (size_t d = 0; d < indices_.size(); ++d) {
      if (indices_[d]) continue;
      rest.push_back(self_.size(static_cast<int64_t>(d)));
      rest_strides.push_back(self_.stride(static_cast<int64_t>(d)));
    }
    const DimVector dense = contiguous_strides(broadcast_);
    auto put_rest = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) add(p, rest[i], rest_strides[i], 0);
    };
    put_rest(0, at);
    for (size_t i = 0; i < broadcast_.size(); ++i) add(p, broadcast_[i], 0, dense[i]);
    put_rest(at, rest.size());
    return p;
  }

 private:
  static void add(Places& p, int64_t size, int64_t stride, int64_t offset_stride) {
    p.shape.push_back(size);
    p.rest_strides.push_back(stride);
    p.offset_strides.push_back(offset_stride);
  }

  DimVector broadcast(const Tensor& next) const {
    try {
      return broadcast_shapes(broadcast_, next.sizes());
    } catch (const Error&) {
      std::string shapes;
      for (const Tensor& i : indices_)
        if (i) shapes += cat(shapes.empty() ? "" : ", ", i.sizes());
      fail(ErrorKind::Index, "shape mismatch: indexing tensors could not be broadcast together with shapes ",
           shapes);
    }
  }

  bool adjacent() const {
    int runs = 0;
    for (size_t d = 0; d < indices_.size(); ++d) runs += indices_[d] && (d == 0 || !indices_[d - 1]);
    return runs <= 1;
  }
  size_t first_indexed() const {
    size_t d = 0;
    while (d < indices_.size() && !indices_[d]) ++d;
    return d;
  }

  Tensor byte_offsets() const {
    Tensor total = empty(broadcast_, {DType::Int64, {}});
    fill_elements(total, 0);
    for (size_t d = 0; d < indices_.size(); ++d)
      if (indices_[d]) add_offsets(total, static_cast<int64_t>(d));
    return total;
  }

  void add_offsets(const Tensor& total, int64_t d) const {
    const int64_t n = self_.size(d), step = self_.stride(d) * self_.itemsize();
    LoopNest nest(total.sizes());
    nest.add(total);
    nest.add_broadcast(indices_[d]);
    nest.plan();
    nest.run([&](char* const* data, const int64_t* s, int64_t n0, int64_t n1) {
      for (int64_t j = 0; j < n1; ++j)
        for (int64_t i = 0; i < n0; ++i) {
          int64_t at = *reinterpret_cast<const int64_t*>(data[1] + i * s[1] + j * s[3]);
          TL_CHECK(at >= -n && at < n, Index, "index ", at, " is out of bounds for dimension ", d,
                   " with size ", n);
          if (at < 0) at += n;
          *reinterpret_cast<int64_t*>(data[0] + i * s[0] + j * s[2]) += at * step;
        }
    });
  }

  const Tensor& self_;
  std::vector<Tensor> indices_;
  DimVector broadcast_;
  bool first_ = true;
};

LoopNest nest_over(const Places& p, const Tensor& self, const Tensor& values, IntSpan value_strides) {
  LoopNest nest(p.shape);
  nest.add(values.data(), value_strides, values.itemsize());
  nest.add(self.data(), p.rest_strides, self.itemsize());
  nest.add(p.offsets.data(), p.offset_strides, sizeof(int64_t));
  nest.plan();
  return nest;
}

// f(address of the value, address in the tensor) for every place.
template <class F>
void each_place(char* const* data, const int64_t* s, int64_t n0, int64_t n1, F f) {
  for (int64_t j = 0; j < n1; ++j) {
    char *value = data[0] + j * s[3], *base = data[1] + j * s[4];
    const char* offset = data[2] + j * s[5];
    for (int64_t i = 0; i < n0; ++i)
      f(value + i * s[0], base + i * s[1] + *reinterpret_cast<const int64_t*>(offset + i * s[2]));
  }
}

template <class F>
void with_size(int64_t size, F f) {
  switch (size) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Complex128{});
  }
}

Tensor index(const Tensor& self, TensorList indices, Out out) {
  const Places p = Planner(self, indices).plan();
  if (out)
    TL_CHECK(out.tensor->dtype() == self.dtype(), Runtime,
             "index: self and out must have the same dtype, got ", scalar_type_name(self.dtype()), " and ",
             scalar_type_name(out.tensor->dtype()));
  Tensor result = prepare_out(out, p.shape, {self.dtype(), self.device()});
  if (result.is_meta() || result.numel() == 0) return result;
  const LoopNest nest = nest_over(p, self, result, result.strides());
  with_size(self.itemsize(), [&](auto item) {
    using T = decltype(item);
    nest.run([](char* const* d, const int64_t* s, int64_t n0, int64_t n1) {
      each_place(d, s, n0, n1, [](char* to, const char* from) { std::memcpy(to, from, sizeof(T)); });
    });
  });
  return result;
}

template <class T>
T negative(T a) {
  if constexpr (std::is_floating_point_v<T>)
    return -a;
  else
    return T(-static_cast<float>(a));
}
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else if constexpr (requires { a.re; })
    return {plus(a.re, b.re), plus(a.im, b.im)};
  else
    return T(static_cast<float>(a) + static_cast<float>(b));
}

template <class T>
T times(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a && b;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else if constexpr (requires { a.re; })
    return {plus(times(a.re, b.re), negative(times(a.im, b.im))), plus(times(a.re, b.im), times(a.im, b.re))};
  else
    return T(static_cast<float>(a) * static_cast<float>(b));
}
struct Plus {
  template <class T>
  static T apply(T a, T b) {
    return plus(a, b);
  }
};
struct Times {
  template <class T>
  static T apply(T a, T b) {
    return times(a, b);
  }
};

// Combines in the order of the elements on one thread: the sum at a place visited twice is always the same.
template <class Combine>
void accumulate(const LoopNest& nest, DType dtype) {
  switch (dtype) {
#define TL_ACCUMULATE(E, T, name)                                                         \
  case DType::E:                                                                          \
    nest.run_serial([](char* const* d, const int64_t* s, int64_t n0, int64_t n1) {        \
      each_place(d, s, n0, n1, [](const char* from, char* to) {                           \
        *reinterpret_cast<T*>(to) =                                                       \
            Combine::apply(*reinterpret_cast<T*>(to), *reinterpret_cast<const T*>(from)); \
      });                                                                                 \
    });                                                                                   \
    return;
    TL_ALL_DTYPES(TL_ACCUMULATE)
#undef TL_ACCUMULATE
  }
}

Tensor index_put_(const Tensor& self, TensorList indices, const Tensor& values, bool add) {
  TL_CHECK(values.dtype() == self.dtype() || values.dim() == 0, Index,
           "Index put requires the source and destination dtypes match, got ", scalar_type_name(self.dtype()),
           " for the destination and ", scalar_type_name(values.dtype()), " for the source.");
  check_no_internal_overlap(self);
  const Places p = Planner(self, indices).plan();
  Tensor source = to_dtype(values, self.dtype());
  while (source.dim() > static_cast<int64_t>(p.shape.size()) && source.size(0) == 1)
    source = ops::squeeze_dim(source, 0);
  const DimVector shape = [&] {
    try {
      return broadcast_shapes(p.shape, source.sizes());
    } catch (const Error&) {
      fail(ErrorKind::Runtime, "shape mismatch: value tensor of shape ", source.sizes(),
           " cannot be broadcast to indexing result of shape ", p.shape);
    }
  }();
  TL_CHECK(std::ranges::equal(shape, p.shape), Runtime, "shape mismatch: value tensor of shape ",
           source.sizes(), " cannot be broadcast to indexing result of shape ", p.shape);
  if (self.is_meta() || checked_numel(p.shape) == 0) return self;
  if (source.storage() == self.storage()) source = ops::clone(source);
  DimVector strides(p.shape.size());
  const size_t missing = p.shape.size() - static_cast<size_t>(source.dim());
  for (int64_t d = 0; d < source.dim(); ++d)
    if (source.size(d) != 1) strides[missing + d] = source.stride(d);
  const LoopNest nest = nest_over(p, self, source, strides);
  if (add) {
    accumulate<Plus>(nest, self.dtype());
    return self;
  }
  with_size(self.itemsize(), [&](auto item) {
    using T = decltype(item);
    nest.run_serial([](char* const* d, const int64_t* s, int64_t n0, int64_t n1) {
      each_place(d, s, n0, n1, [](const char* from, char* to) { std::memcpy(to, from, sizeof(T)); });
    });
  });
  return self;
}

Tensor index_put(const Tensor& self, TensorList indices, const Tensor& values, bool add) {
  return ops::index_put_(ops::clone(self), indices, values, add);
}

Tensor index_backward(const Tensor& g, IntSpan sizes, TensorList indices) {
  return ops::index_put_(ops::zeros(sizes, g.dtype(), std::nullopt, g.device()), indices, g, true);
}

// A fresh result lies column by column: so its columns, which as_tuple gives, are dense.
Tensor nonzero(const Tensor& self, Out out) {
  if (out)
    TL_CHECK(out.tensor->dtype() == DType::Int64, Runtime,
             "nonzero: Expected out tensor to have scalar type Long, but got ",
             scalar_type_name(out.tensor->dtype()));
  DimVector strides(self.strides());
  for (auto& stride : strides) stride *= self.itemsize();
  const cpu::Block block{self.ptr<char>(), static_cast<int>(self.dim()), self.sizes().data(), strides.data()};
  const DimVector sizes{cpu::count_nonzero(self.dtype(), block), self.dim()};
  const TensorOptions options{DType::Int64, self.device()};
  const Tensor result =
      out ? prepare_out(out, sizes, options) : empty_strided(sizes, DimVector{1, sizes[0]}, options);
  if (result.numel())
    cpu::nonzero(self.dtype(), block, result.ptr<int64_t>(), result.stride(0), result.stride(1));
  return result;
}
std::vector<Tensor> nonzero_numpy(const Tensor& self) {
  return ops::unbind_int(ops::nonzero(self.dim() ? self : ops::unsqueeze(self, 0)), 1);
}

// ---- along one dimension
// ------------------------------------------------------------------------------------------------- Byte
// offsets of the positions along a dimension, in the index's shape.
Tensor offsets_along(const Tensor& index, int64_t n, int64_t step, int64_t dim) {
  Tensor out = empty(index.sizes(), {DType::Int64, {}});
  LoopNest nest(out.sizes());
  nest.add(out);
  nest.add(index);
  nest.plan();
  nest.run([&](char* const* data, const int64_t* s, int64_t n0, int64_t n1) {
    for (int64_t j = 0; j < n1; ++j)
      for (int64_t i = 0; i < n0; ++i) {
        const int64_t at = *reinterpret_cast<const int64_t*>(data[1] + i * s[1] + j * s[3]);
        TL_CHECK(at < n && at >= 0, Runtime, "index ", at, " is out of bounds for dimension ", dim,
                 " with size ", n);
        *reinterpret_cast<int64_t*>(data[0] + i * s[0] + j * s[2]) = at * step;
      }
  });
  return out;
}

struct Along {
  int64_t dim, size, stride;  // of the tensor that is read or written at the positions
};
Along along(const Tensor& t, int64_t dim) {
  const int64_t d = wrap_dim(dim, t.dim());
  return t.dim() ? Along{d, t.size(d), t.stride(d)} : Along{0, 1, 1};
}

void check_index_dtype(const char* name, const Tensor& index) {
  TL_CHECK(index.numel() == 0 || index.dtype() == DType::Int64 || index.dtype() == DType::Int32, Runtime,
           name, "(): Expected dtype int32/int64 for index, got ", scalar_type_name(index.dtype()));
}

// The index may be smaller than the tensors in every dimension but the one it speaks of.
void check_index_shape(const char* name, const Tensor& t, const Tensor& index, int64_t dim, bool except_dim) {
  TL_CHECK(std::max<int64_t>(t.dim(), 1) == std::max<int64_t>(index.dim(), 1), Runtime,
           "Index tensor must have the same number of dimensions as ", name, " tensor");
  for (int64_t d = 0; d < index.dim(); ++d)
    TL_CHECK((except_dim && d == dim) || index.size(d) <= (t.dim() ? t.size(d) : 1), Runtime,
             "Size does not match at dimension ", d, " expected index ", index.sizes(),
             " to be no larger than ", name, " ", t.sizes(),
             except_dim ? cat(" apart from dimension ", dim) : std::string());
}

// Values beside the index, positions in the tensor.
LoopNest nest_along(const Tensor& t, const Along& a, const Tensor& index, const Tensor& offsets, void* values,
                    IntSpan value_strides, int64_t value_size) {
  LoopNest nest(index.sizes());
  nest.add(values, value_strides, value_size);
  DimVector strides(index.sizes().size());
  for (int64_t d = 0; d < index.dim(); ++d) strides[d] = d == a.dim || t.dim() == 0 ? 0 : t.stride(d);
  nest.add(t.data(), strides, t.itemsize());
  nest.add(offsets);
  nest.plan();
  return nest;
}

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool, Out out) {
  check_index_dtype("gather", index);
  const Along a = along(self, dim);
  if (index.numel()) check_index_shape("input", self, index, a.dim, true);
  if (out)
    TL_CHECK(out.tensor->dtype() == self.dtype(), Runtime, "gather(): Expected out tensor to have dtype ",
             dtype_name(self.dtype()), ", but got ", dtype_name(out.tensor->dtype()), " instead");
  Tensor result = prepare_out(out, index.sizes(), {self.dtype(), self.device()});
  if (result.is_meta() || result.numel() == 0) return result;
  const Tensor offsets =
      offsets_along(to_dtype(index, DType::Int64), a.size, a.stride * self.itemsize(), a.dim);
  const LoopNest nest = nest_along(self, a, index, offsets, result.data(), result.strides(), self.itemsize());
  with_size(self.itemsize(), [&](auto item) {
    using T = decltype(item);
    nest.run([](char* const* d, const int64_t* s, int64_t n0, int64_t n1) {
      each_place(d, s, n0, n1, [](char* to, const char* from) { std::memcpy(to, from, sizeof(T)); });
    });
  });
  return result;
}

// The copy a scatter writes into.
Tensor scattered_copy(const Tensor& self, Out out) {
  if (!out) return ops::clone(self);
  if (out.tensor->same(self)) {
    check_no_internal_overlap(self);
    return self;
  }
  Tensor result = prepare_out(out, self.sizes(), {out.tensor->dtype(), self.device()});
  return ops::copy_(result, self);
}

enum class Scatter { Write, Add, Multiply };

Tensor scatter_into(const char* name, Scatter how, const Tensor& self, int64_t dim, const Tensor& index,
                    const Tensor& src, Out out) {
  check_index_dtype(name, index);
  TL_CHECK(src.dtype() == self.dtype(), Runtime, name, "(): Expected self.dtype to be equal to src.dtype");
  const Along own = along(self, dim);
  if (index.numel()) {
    check_index_shape("self", self, index, own.dim, true);
    check_index_shape("src", src, index, own.dim, false);
  }
  const Tensor result = scattered_copy(self, out);
  if (result.is_meta() || index.numel() == 0) return result;
  const Along a = along(result, dim);
  const Tensor offsets =
      offsets_along(to_dtype(index, DType::Int64), a.size, a.stride * result.itemsize(), a.dim);
  DimVector strides(index.sizes().size());
  for (int64_t d = 0; d < index.dim(); ++d) strides[d] = src.dim() ? src.stride(d) : 0;
  const LoopNest nest = nest_along(result, a, index, offsets, src.data(), strides, src.itemsize());
  if (how != Scatter::Write) {
    how == Scatter::Add ? accumulate<Plus>(nest, result.dtype()) : accumulate<Times>(nest, result.dtype());
    return result;
  }
  with_size(result.itemsize(), [&](auto item) {
    using T = decltype(item);
    nest.run_serial([](char* const* d, const int64_t* s, int64_t n0, int64_t n1) {
      each_place(d, s, n0, n1, [](const char* from, char* to) { std::memcpy(to, from, sizeof(T)); });
    });
  });
  return result;
}
Tensor scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Out out) {
  return scatter_into("scatter", Scatter::Write, self, dim, index, src, out);
}
Tensor scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Out out) {
  const Tensor number = ops::full(IntSpan{}, value, self.dtype(), std::nullopt, self.device());
  return scatter_into("scatter", Scatter::Write, self, dim, index, ops::expand(number, index.sizes()), out);
}
Scatter reduction_named(std::string_view reduce) {
  TL_CHECK(reduce == "add" || reduce == "multiply", Runtime,
           "reduce argument must be either add or multiply.");
  return reduce == "add" ? Scatter::Add : Scatter::Multiply;
}
Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, Out out) {
  return scatter_into("scatter", reduction_named(reduce), self, dim, index, src, out);
}
Tensor scatter_value_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                            std::string_view reduce, Out out) {
  const Tensor number = ops::full(IntSpan{}, value, self.dtype(), std::nullopt, self.device());
  return scatter_into("scatter", reduction_named(reduce), self, dim, index,
                      ops::expand(number, index.sizes()), out);
}
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Out out) {
  return scatter_into("scatter_add", Scatter::Add, self, dim, index, src, out);
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index, Out out) {
  TL_CHECK(index.dim() <= 1, Index, "index_select(): Index is supposed to be a vector, but got ", index.dim(),
           " dimensions");
  check_index_dtype("index_select", index);
  const int64_t d = wrap_dim(dim, self.dim());
  DimVector shape(self.sizes());
  if (self.dim())
    shape[d] = index.numel();
  else
    TL_CHECK(index.numel() == 1, Index, "index_select(): Index to scalar can have only 1 value, got ",
             index.numel(), " value(s)");
  if (out)
    TL_CHECK(out.tensor->dtype() == self.dtype(), Runtime,
             "index_select(): self and result must have the same scalar type");
  const Tensor result = prepare_out(out, shape, {self.dtype(), self.device()});
  DimVector sizes(shape.size(), 1), strides(shape.size());
  if (self.dim()) {
    sizes[d] = index.numel();
    strides[d] = index.dim() ? index.stride(0) : 0;
  }
  const Tensor spread = ops::expand(
      on_storage(StoragePtr::share(index.storage()), index.dtype(), sizes, strides, index.offset()), shape);
  return gather(self, dim, spread, false, Out{&result});
}
}  // namespace

TL_KERNEL(gather, gather)
TL_KERNEL(scatter_src, scatter_src)
TL_KERNEL(scatter_value, scatter_value)
TL_KERNEL(scatter_add, scatter_add)
TL_KERNEL(scatter_reduce, scatter_reduce)
TL_KERNEL(scatter_value_reduce, scatter_value_reduce)
TL_KERNEL(nonzero_numpy, nonzero_numpy)
TL_KERNEL(where, nonzero_numpy)
TL_KERNEL(index_select, index_select)
TL_KERNEL(index_Tensor, index)
TL_KERNEL(index_put_, index_put_)
TL_KERNEL(index_put, index_put)
TL_KERNEL(index_backward, index_backward)
TL_KERNEL(nonzero, nonzero)

}  // namespace tl
