// Reading and writing at positions along one dimension: gather, scatter, and what rows do the same.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "dispatch/thread_state.h"
#include "iter/checks.h"
#include "iter/dtypes.h"
#include "kernel_args.h"
#include "ops.h"
#include "ops/index/index_loops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/expanded.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"
#include "tensor/hollow.h"

namespace tl {

namespace {
using cpu::Combine;

struct Along {
  int64_t dim, size, stride;  // of the tensor that is read or written at the positions; the stride in bytes
};
Along along(const Tensor& t, int64_t dim) {
  const int64_t d = wrap_dim(dim, t.dim());
  return t.dim() ? Along{d, t.size(d), t.byte_stride(d)} : Along{0, 1, t.itemsize()};
}

// ---- checks -----------------------------------------------------------------------------------------------

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

// The positions as int64 after a look at each; expanded ones are looked at once.
Tensor checked_positions(const Tensor& index, const Along& a, ErrorKind kind) {
  const Tensor positions = to_dtype(index, DType::Int64);
  DimVector sizes(positions.sizes());
  for (int64_t d = 0; d < positions.dim(); ++d)
    if (positions.stride(d) == 0 && sizes[d] > 0) sizes[d] = 1;
  const Tensor once = to_contiguous(view_of(positions, sizes, positions.strides(), positions.offset()));
  const int64_t bad = cpu::find_out_of_bounds(once.ptr<int64_t>(), once.numel(), 0, a.size);
  if (bad < once.numel())
    fail(kind, "index ", once.ptr<int64_t>()[bad], " is out of bounds for dimension ", a.dim, " with size ",
         a.size);
  return positions;
}

// Such are looked at where they are used; the others once, before.
bool are_used_once(const Tensor& positions) {
  for (int64_t d = 0; d < positions.dim(); ++d)
    if (positions.stride(d) == 0 && positions.size(d) > 1) return false;
  return true;
}

// Values beside the index, positions in the tensor.
LoopNest nest_along(const Tensor& t, const Along& a, const Tensor& positions, void* values,
                    IntSpan value_strides) {
  LoopNest nest(positions.sizes());
  nest.add(values, value_strides, t.itemsize());
  DimVector strides(positions.sizes().size());
  for (int64_t d = 0; d < positions.dim(); ++d) strides[d] = d == a.dim || t.dim() == 0 ? 0 : t.stride(d);
  nest.add(t.data(), strides, t.itemsize());
  nest.add(positions);
  nest.plan();
  return nest;
}

// ---- reading ----------------------------------------------------------------------------------------------

Tensor gather_into(const Tensor& result, const Tensor& self, const Along& a, const Tensor& index,
                   ErrorKind kind) {
  if (result.is_meta() || result.numel() == 0) return result;
  const bool once = are_used_once(index);
  const Tensor positions = once ? to_dtype(index, DType::Int64) : checked_positions(index, a, kind);
  const LoopNest nest = nest_along(self, a, positions, result.data(), result.strides());
  if (!once)
    run_gather(nest, self.itemsize(), a.stride);
  else if (!run_gather_within(nest, self.itemsize(), a.stride, a.size))
    checked_positions(positions, a, kind);
  return result;
}

Tensor gather(const Tensor& self, int64_t dim, const Tensor& given, bool, Out out) {
  const Tensor index = out ? isolate(given, *out) : given;
  check_index_dtype("gather", index);
  const Along a = along(self, dim);
  if (index.numel()) check_index_shape("input", self, index, a.dim, true);
  check_out_dtype(out, self.dtype(), "gather(): ");
  if (out) check_apart(*out, self);
  const Tensor result = prepare_out(out, index.sizes(), {self.dtype(), self.device()});
  return gather_into(result, self, a, index, ErrorKind::Runtime);
}

// A vector of positions for whole slices, expanded to the shape of their elements.
Tensor expanded_index(const Tensor& index, int64_t d, IntSpan shape) {
  DimVector sizes(shape.size(), 1);
  if (!shape.empty()) sizes[d] = index.numel();
  return ops::expand(ops::reshape(index, sizes), shape);
}

DimVector with_size(IntSpan sizes, int64_t d, int64_t n) {
  DimVector out(sizes);
  if (!out.empty()) out[d] = n;
  return out;
}

// Nothing is read of a tensor without elements; positions must lie within it all the same.
void check_index_of_empty(const Tensor& index, const Along& a) {
  TL_CHECK(a.size > 0, Runtime, "index_select(): self indexing axis dim should be positive");
  if (index.is_meta()) return;
  const Tensor positions = to_contiguous(to_dtype(index, DType::Int64));
  const int64_t bad = cpu::find_out_of_bounds(positions.ptr<int64_t>(), positions.numel(), 0, a.size);
  TL_CHECK(bad == positions.numel(), Runtime,
           "index_select(): INDICES element is out of DATA bounds, id=", positions.ptr<int64_t>()[bad],
           " axis_dim=", a.size);
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index, Out out) {
  TL_CHECK(index.dim() <= 1, Index, "index_select(): Index is supposed to be a vector, but got ", index.dim(),
           " dimensions");
  check_index_dtype("index_select", index);
  const Along a = along(self, dim);
  if (self.dim() == 0)
    TL_CHECK(index.numel() == 1, Runtime, "index_select(): Index to scalar can have only 1 value, got ",
             index.numel(), " value(s)");
  else if (self.numel() == 0 && index.numel() != 0)
    check_index_of_empty(index, a);
  if (out)
    TL_CHECK(out.tensor->dtype() == self.dtype(), Runtime,
             "index_select(): self and result must have the same scalar type");
  if (out) check_apart(*out, self);
  const DimVector shape = with_size(self.sizes(), a.dim, index.numel());
  const Tensor indices = expanded_index(out ? isolate(index, *out) : index, a.dim, shape);
  const Tensor result = prepare_out(out, shape, {self.dtype(), self.device()});
  return gather_into(result, self, a, indices, ErrorKind::Index);
}

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim, Out out) {
  TL_CHECK(is_integral(indices.dtype(), false), Runtime,
           "take_along_dim(): dtype of indices should be Long but got ", scalar_type_name(indices.dtype()));
  if (!dim) {
    const Tensor flat = ops::reshape(self, DimVector{-1}), which = ops::reshape(indices, DimVector{-1});
    return out ? ops::gather_out(flat, 0, which, false, *out) : ops::gather(flat, 0, which);
  }
  TL_CHECK(self.dim() == indices.dim(), Runtime,
           "torch.take_along_dim(): input and indices should have the same number of dimensions, but got ",
           self.dim(), " dimensions for input, and ", indices.dim(), " dimensions for indices");
  const int64_t d = wrap_dim(*dim, self.dim()), n = self.dim() ? self.size(d) : 1;
  const Tensor wrapped = ops::where_self(ops::lt(indices, Scalar(0)), ops::add(indices, Scalar(n)), indices);
  const DimVector shape = broadcast_shapes(with_size(self.sizes(), d, 1), with_size(indices.sizes(), d, 1));
  const Tensor source = ops::expand(self, with_size(shape, d, n));
  const Tensor which = ops::expand(wrapped, with_size(shape, d, self.dim() ? indices.size(d) : 1));
  return out ? ops::gather_out(source, d, which, false, *out) : ops::gather(source, d, which);
}

// ---- writing ----------------------------------------------------------------------------------------------

void check_scatter(const char* name, const Tensor& self, int64_t dim, const Tensor& index,
                   const Tensor& src) {
  check_index_dtype(name, index);
  TL_CHECK(src.dtype() == self.dtype(), Runtime, name, "(): Expected self.dtype to be equal to src.dtype");
  const Along own = along(self, dim);
  if (index.numel() == 0) return;
  check_index_shape("self", self, index, own.dim, true);
  check_index_shape("src", src, index, own.dim, false);
}

// What a scatter writes may be neither its indices nor its values.
void check_written(Out out, const Tensor& index, const Tensor& src) {
  if (!out) return;
  check_no_internal_overlap(*out);
  check_apart(*out, index);
  check_apart(*out, src);
}

// Combines into `result` itself. A fresh one nobody sees if a place turns out to be bad; else all are known
// to be good before the first is written to.
void scatter_onto(const Tensor& result, Combine combine, int64_t dim, const Tensor& index, const Tensor& src,
                  bool fresh) {
  if (result.is_meta() || index.numel() == 0) return;
  const Along a = along(result, dim);
  const bool later = fresh && are_used_once(index);
  const Tensor apart = isolate(index, result);
  const Tensor positions =
      later ? to_dtype(apart, DType::Int64) : checked_positions(apart, a, ErrorKind::Runtime);
  const Tensor values = src.storage() == result.storage() ? ops::clone(src) : src;
  DimVector strides(index.sizes().size());
  for (int64_t d = 0; d < index.dim(); ++d) strides[d] = values.dim() ? values.stride(d) : 0;
  const LoopNest nest = nest_along(result, a, positions, values.data(), strides);
  if (!later)
    run_scatter(nest, combine, result.dtype(), a.stride);
  else if (!run_scatter_within(nest, combine, result.dtype(), a.stride, a.size))
    checked_positions(positions, a, ErrorKind::Runtime);
}

Tensor scatter_into(const char* name, Combine combine, const Tensor& self, int64_t dim, const Tensor& index,
                    const Tensor& src, Out out) {
  check_scatter(name, self, dim, index, src);
  check_written(out, index, src);
  const Tensor result = copy_to_out(self, out);
  scatter_onto(result, combine, dim, index, src, !out);
  return result;
}

Tensor number_for(const Tensor& self, const Scalar& value, const Tensor& index) {
  return ops::expand(ops::full(IntSpan{}, value, {.dtype = self.dtype(), .device = self.device()}),
                     index.sizes());
}
Combine combination_named(std::string_view reduce) {
  TL_CHECK(reduce == "add" || reduce == "multiply", Runtime,
           "reduce argument must be either add or multiply.");
  return reduce == "add" ? Combine::Add : Combine::Multiply;
}

Tensor scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Out out) {
  return scatter_into("scatter", Combine::Set, self, dim, index, src, out);
}
Tensor scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Out out) {
  return scatter_into("scatter", Combine::Set, self, dim, index, number_for(self, value, index), out);
}
Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, Out out) {
  static WarnOnce deprecated;
  deprecated(
      "The reduce argument of torch.scatter with Tensor src is deprecated in favor of torch.scatter_reduce, "
      "which has a gradient and further reductions");
  return scatter_into("scatter", combination_named(reduce), self, dim, index, src, out);
}
Tensor scatter_value_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                            std::string_view reduce, Out out) {
  return scatter_into("scatter", combination_named(reduce), self, dim, index, number_for(self, value, index),
                      out);
}
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Out out) {
  return scatter_into("scatter_add", Combine::Add, self, dim, index, src, out);
}

// The values that a scatter takes: as many as there are indices.
Tensor taken_values(const Tensor& src, const Tensor& index) {
  Tensor taken = src;
  for (int64_t d = 0; d < std::min(src.dim(), index.dim()); ++d)
    if (src.size(d) != index.size(d)) taken = ops::narrow(taken, d, 0, index.size(d));
  return taken;
}
// The gradient of all values from that of those taken: zero for the others.
Tensor with_untaken(Tensor taken, IntSpan sizes) {
  if (sizes.empty()) return ops::sum(taken);  // an index of one dimension, and a single value
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t n = taken.size(static_cast<int64_t>(d));
    if (n == sizes[d]) continue;
    DimVector wider(taken.sizes());
    wider[d] = sizes[d];
    taken = ops::slice_backward(taken, wider, static_cast<int64_t>(d), 0, n, 1);
  }
  return taken;
}

Tensor scatter_src_backward(const Tensor& g, int64_t dim, const Tensor& index, IntSpan sizes) {
  const Tensor taken = ops::gather(g, dim, index);
  TL_CHECK(sizes.empty() ? taken.dim() <= 1 : taken.sizes().size() == sizes.size(), Runtime,
           "scatter_src_backward(): an index of shape ", index.sizes(), " for values of shape ", sizes);
  return with_untaken(taken, sizes);
}

// ---- scatter_reduce ---------------------------------------------------------------------------------------

enum class Fold { Sum, Prod, Mean, Amax, Amin };
Fold fold_named(std::string_view reduce) {
  if (reduce == "sum") return Fold::Sum;
  if (reduce == "prod") return Fold::Prod;
  if (reduce == "mean") return Fold::Mean;
  if (reduce == "amax") return Fold::Amax;
  TL_CHECK(reduce == "amin", Runtime, "reduce argument must be either sum, prod, mean, amax or amin, got ",
           reduce, ".");
  return Fold::Amin;
}

Combine combination(Fold fold) {
  switch (fold) {
    case Fold::Prod:
      return Combine::Multiply;
    case Fold::Amax:
      return Combine::Max;
    case Fold::Amin:
      return Combine::Min;
    default:
      return Combine::Add;
  }
}

Scalar extreme_number(DType dtype, bool highest) {
  if (is_floating(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return Scalar(highest ? infinity : -infinity);
  }
  if (dtype == DType::Bool) return Scalar(highest ? 1 : 0);
  const int bits = static_cast<int>(8 * item_size(dtype));
  if (is_unsigned(dtype))
    return highest ? Scalar(bits == 64 ? int64_t{-1} : (int64_t{1} << bits) - 1) : Scalar(0);
  const int64_t high = static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
  return Scalar(highest ? high : -high - 1);
}

// What changes nothing when it is combined.
Scalar neutral(Fold fold, DType dtype) {
  switch (fold) {
    case Fold::Prod:
      return Scalar(1);
    case Fold::Amax:
      return extreme_number(dtype, false);
    case Fold::Amin:
      return extreme_number(dtype, true);
    default:
      return Scalar(0);
  }
}

Tensor scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                          std::string_view reduce, bool include_self, Out out) {
  const Fold fold = fold_named(reduce);
  const bool ordered = fold == Fold::Amax || fold == Fold::Amin;
  check_scatter("scatter_reduce", self, dim, index, src);
  check_written(out, index, src);
  TL_CHECK(!ordered || !is_complex(self.dtype()), NotImplemented, "\"scatter_reduce\" with reduce=\"", reduce,
           "\" not implemented for '", scalar_type_name(self.dtype()), "'");
  const Tensor result = copy_to_out(self, out);
  if (result.is_meta() || index.numel() == 0) return result;
  if (!include_self)
    scatter_onto(result, Combine::Set, dim, index, number_for(result, neutral(fold, result.dtype()), index),
                 !out);
  scatter_onto(result, combination(fold), dim, index, src, !out);
  if (fold != Fold::Mean) return result;
  const Tensor count = include_self ? ops::ones_like(result) : ops::zeros_like(result);
  scatter_onto(count, Combine::Add, dim, index, number_for(result, Scalar(1), index), true);
  ops::masked_fill__Scalar(count, ops::eq(count, Scalar(0)), Scalar(1));
  if (is_integral(result.dtype(), true))
    return ops::div__Tensor_mode(result, count, std::string_view("floor"));
  return ops::div_(result, count);
}

using Pair = std::tuple<Tensor, Tensor>;

// How a pass of positions reads and adds: so that slices and single elements share their derivatives.
struct At {
  int64_t dim;
  const Tensor& index;
  Tensor read(const Tensor& t) const { return ops::gather(t, dim, index); }
  Tensor add(const Tensor& t, const Tensor& values) const { return ops::scatter_add(t, dim, index, values); }
};

Pair mean_backward(const Tensor& g, const Tensor& src, const At& at, bool include_self) {
  Tensor count = at.add(include_self ? ops::ones_like(g) : ops::zeros_like(g), ops::ones_like(src));
  count = ops::masked_fill_Scalar(count, ops::eq(count, Scalar(0)), Scalar(1));
  const Tensor each = ops::div(g, count);
  return {each, at.read(each)};
}

Pair extreme_backward(const Tensor& g, const Tensor& self, const Tensor& src, const Tensor& result,
                      const At& at) {
  const Tensor own = to_dtype(ops::eq(self, result), g.dtype());
  const Tensor theirs = to_dtype(ops::eq(src, at.read(result)), g.dtype());
  const Tensor each = ops::div(g, at.add(own, theirs));
  return {ops::mul(own, each), ops::mul(theirs, at.read(each))};
}

// The product without either of two zeros is nowhere in what follows: their second derivative would be lost.
void check_twice_differentiable(const Tensor& src, const Tensor& zero, const Tensor& zeros) {
  const bool recorded = src->bits.load(std::memory_order_relaxed) >> TL_LAYER_AUTOGRAD & 1;
  if (!recorded || !grad_enabled()) return;
  const Tensor several = ops::any(ops::logical_and(zero, ops::ne(zeros, Scalar(1))));
  TL_CHECK(
      !load_scalar(several.dtype(), several.data()).to_bool(), Runtime,
      "Double backward is unsupported for a product of several elements of src that are 0 and go to the same "
      "element of self");
}

// A factor's derivative is the product of the others; where it is the only zero, that has to be made anew.
Pair prod_backward(const Tensor& g, const Tensor& self, const Tensor& src, const Tensor& result, const At& at,
                   bool include_self) {
  const auto product = [&](const Tensor& first, const Tensor& factors) {
    return ops::scatter_reduce_two(first, at.dim, at.index, factors, "prod", include_self);
  };
  const Tensor own = ops::masked_fill_Scalar(self, ops::eq(self, Scalar(0)), Scalar(1));
  const Tensor for_self = ops::mul(g, ops::conj_physical(ops::div(product(own, src), own)));
  const Tensor zero = ops::eq(src, Scalar(0));
  const Tensor zeros = at.read(at.add(ops::zeros_like(self), to_dtype(zero, self.dtype())));
  check_twice_differentiable(src, zero, zeros);
  const Tensor only = ops::logical_and(zero, ops::eq(zeros, Scalar(1)));
  const Tensor without = product(self, ops::masked_fill_Scalar(src, only, Scalar(1)));
  const Tensor others = ops::div(at.read(result), ops::masked_fill_Scalar(src, zero, Scalar(1)));
  const Tensor rest = ops::where_self(only, at.read(without), others);
  return {for_self, ops::mul(at.read(g), ops::conj_physical(rest))};
}

Pair scatter_reduce_backward(const ScatterReduceBackwardArgs& a) {
  const auto& [g, self, dim, index, src, reduce, include_self, result] = a;
  const Fold fold = fold_named(reduce);
  if (index.numel() == 0) return {g, ops::zeros_like(src)};
  const At at{dim, index};
  const Tensor taken = taken_values(src, index);
  Pair grads;
  if (fold == Fold::Sum)
    grads = {g, at.read(g)};
  else if (fold == Fold::Mean)
    grads = mean_backward(g, taken, at, include_self);
  else if (fold == Fold::Prod)
    grads = prod_backward(g, self, taken, result, at, include_self);
  else
    grads = extreme_backward(g, self, taken, result, at);
  std::get<1>(grads) = with_untaken(std::get<1>(grads), src.sizes());
  if (!include_self) std::get<0>(grads) = ops::scatter_value(std::get<0>(grads), dim, index, Scalar(0));
  return grads;
}

// ---- whole slices -----------------------------------------------------------------------------------------

// Of index_copy and index_add: one slice of the source for each index, all other sizes equal.
void check_slices(const char* name, const Tensor& self, int64_t d, const Tensor& index,
                  const Tensor& source) {
  TL_CHECK(index.dim() <= 1, Index, name, "(): Index should have dimension 1 or 0 (got ", index.dim(), ")");
  TL_CHECK(index.numel() == 0 || index.dtype() == DType::Int64 || index.dtype() == DType::Int32, Runtime,
           name, "(): Expected dtype int32/int64 for index");
  TL_CHECK(self.dtype() == source.dtype(), Runtime, name,
           "(): self and source expected to have the same dtype, but got (self) ",
           scalar_type_name(self.dtype()), " and (source) ", scalar_type_name(source.dtype()));
  TL_CHECK(source.dim() == 0 || self.dim() == 0 || source.dim() == self.dim() ||
               std::string_view(name) != "index_copy",
           Index, name,
           "(): When source and destination are not scalars, their dimensionality must match. Source "
           "dimensionality (",
           source.dim(), "), destination dimensionality (", self.dim(), ")");
  const int64_t n = source.dim() ? source.size(std::min(d, source.dim() - 1)) : 1;
  if (index.numel() != n)
    fail(std::string_view(name) == "index_copy" ? ErrorKind::Index : ErrorKind::Runtime, name,
         "(): Number of indices (", index.numel(), ") should be equal to source.size(dim) (", n, ")");
  const auto others = [&](const Tensor& t) {
    DimVector sizes(t.sizes());
    if (d < t.dim()) sizes.erase(static_cast<size_t>(d));
    return sizes;
  };
  TL_CHECK(std::ranges::equal(others(self), others(source)), Runtime, name,
           "(): source tensor shape must match self tensor shape, excluding the specified dimension. Got "
           "self.shape = ",
           self.sizes(), " source.shape = ", source.sizes());
}

// The source in the shape of the slices, and positions for each of its elements.
struct Slices {
  int64_t dim;
  Tensor index, source;
  Slices(const char* name, const Tensor& self, int64_t d, const Tensor& at, const Tensor& from)
      : dim(wrap_dim(d, self.dim())) {
    check_slices(name, self, dim, at, from);
    const DimVector shape = with_size(self.sizes(), dim, at.numel());
    source = from.dim() == self.dim() ? from : ops::reshape(from, shape);
    index = expanded_index(at, dim, shape);
  }
};

// `written`, `fresh` and `given` are the in-place, the plain and the out= form of a scatter.
template <class Written, class Fresh, class Given>
Tensor in_form(const Tensor& self, Out out, Written written, Fresh fresh, Given given) {
  if (!out) return fresh();
  return out.tensor->same(self) ? written() : given(*out);
}

Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha, Out out) {
  check_written(out, index, source);
  const Slices s("index_add", self, dim, index, source);
  const bool one = alpha.is_int() && alpha.to_int() == 1;
  const Tensor values = one ? s.source : ops::to_dtype(ops::mul(s.source, alpha), self.dtype());
  return in_form(
      self, out, [&] { return ops::scatter_add_(self, s.dim, s.index, values); },
      [&] { return ops::scatter_add(self, s.dim, s.index, values); },
      [&](const Tensor& o) { return ops::scatter_add_out(self, s.dim, s.index, values, o); });
}
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Out out) {
  check_written(out, index, source);
  const Slices s("index_copy", self, dim, index, source);
  // Fakes come here too: it is made of others, which see them.
  if (!self.is_meta() && !is_hollow(index)) checked_positions(index, along(self, s.dim), ErrorKind::Index);
  return in_form(
      self, out, [&] { return ops::scatter__src(self, s.dim, s.index, s.source); },
      [&] { return ops::scatter_src(self, s.dim, s.index, s.source); },
      [&](const Tensor& o) { return ops::scatter_src_out(self, s.dim, s.index, s.source, o); });
}
Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce, bool include_self, Out out) {
  TL_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin", Runtime,
           "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", reduce, ".");
  const Slices s("index_reduce", self, dim, index, source);
  return in_form(
      self, out,
      [&] { return ops::scatter_reduce__two(self, s.dim, s.index, s.source, reduce, include_self); },
      [&] { return ops::scatter_reduce_two(self, s.dim, s.index, s.source, reduce, include_self); },
      [&](const Tensor& o) {
        return ops::scatter_reduce_two_out(self, s.dim, s.index, s.source, reduce, include_self, o);
      });
}

Tensor fill_index(const Tensor& self, int64_t d, const Tensor& index) {
  TL_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, Index,
           "index_fill_(): Expected dtype int64 for index.");
  TL_CHECK(index.dim() <= 1, Index, "Index has to be a vector/scalar");
  const int64_t n = self.dim() ? self.size(d) : 1;
  const Tensor wrapped = ops::where_self(ops::lt(index, Scalar(0)), ops::add(index, Scalar(n)), index);
  return expanded_index(wrapped, d, with_size(self.sizes(), d, index.numel()));
}
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Out out) {
  TL_CHECK(!value.is_complex() || is_complex(self.dtype()), Runtime,
           "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  const int64_t d = wrap_dim(dim, self.dim());
  if (out) check_apart(*out, index);
  const Tensor which = fill_index(self, d, index);
  if (out && out.tensor->same(self) && is_expanded(self)) {
    warn_expanded("index_fill_", "tensor[indices] = scalar");
    const Tensor mask =
        ops::scatter_value(ops::zeros_like(self, {.dtype = DType::Bool}), d, which, Scalar(true));
    return fill_expanded(self, mask,
                         ops::scalar_tensor(value, {.dtype = self.dtype(), .device = self.device()}));
  }
  return in_form(
      self, out, [&] { return ops::scatter__value(self, d, which, value); },
      [&] { return ops::scatter_value(self, d, which, value); },
      [&](const Tensor& o) { return ops::scatter_value_out(self, d, which, value, o); });
}
Tensor index_fill_tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value, Out out) {
  TL_CHECK(value.dim() == 0, Runtime,
           "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.dim(),
           " dimension(s).");
  // By a mask, so that a position given twice has one share in the value's derivative.
  const Tensor nowhere = ops::zeros_like(self, {.dtype = DType::Bool});
  const Tensor mask = index_fill(nowhere, dim, index, Scalar(true), {});
  return in_form(
      self, out, [&] { return ops::masked_fill_(self, mask, value); },
      [&] { return ops::masked_fill(self, mask, value); },
      [&](const Tensor& o) { return ops::masked_fill_Tensor_out(self, mask, value, o); });
}

// ---- repeating --------------------------------------------------------------------------------------------

Tensor repeated_indices(const Tensor& repeats, std::optional<int64_t> output_size) {
  TL_CHECK(repeats.dim() == 1, Runtime, "repeat_interleave only accept 1D vector as repeat");
  TL_CHECK(repeats.dtype() == DType::Int64 || repeats.dtype() == DType::Int32, Runtime,
           "repeats has to be Long or Int tensor");
  const Tensor counts = to_contiguous(to_dtype(repeats, DType::Int64));
  const int64_t n = counts.numel(), *times = counts.ptr<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    TL_CHECK(times[i] >= 0, Runtime, "repeats can not be negative");
    TL_CHECK(!__builtin_add_overflow(total, times[i], &total), Runtime,
             "repeat_interleave: too many elements");
  }
  TL_CHECK(!output_size || *output_size == total, Runtime,
           "allocated size does not match required size: output_size is ", output_size.value_or(0),
           ", the repeats add up to ", total);
  const Tensor out = empty(DimVector{total}, {DType::Int64, repeats.device()});
  int64_t* to = out.ptr<int64_t>();
  for (int64_t i = 0; i < n; ++i) to = std::fill_n(to, times[i], i);
  return to_dtype(out, repeats.dtype());
}
Tensor repeat_interleave_by(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
                            std::optional<int64_t> output_size) {
  const Tensor input = dim ? self : ops::reshape(self, DimVector{-1});
  const int64_t d = wrap_dim(dim.value_or(0), input.dim()), n = input.dim() ? input.size(d) : 1;
  TL_CHECK(repeats.dim() <= 1, Runtime, "repeats must be 0-dim or 1-dim tensor");
  TL_CHECK(repeats.dim() == 0 || repeats.size(0) == 1 || repeats.size(0) == n, Runtime,
           "repeats must have the same size as input along dim, but got repeats.size(0) = ",
           repeats.dim() ? repeats.size(0) : 1, " and input.size(", d, ") = ", n);
  const Tensor times = ops::expand(ops::reshape(repeats, DimVector{-1}), DimVector{n});
  return ops::index_select(input, d, ops::repeat_interleave(times, output_size));
}
Tensor repeat_interleave_int(const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
                             std::optional<int64_t> output_size) {
  TL_CHECK(repeats >= 0, Runtime, "Repeats must be non-negative");
  const Tensor input = dim ? self : ops::reshape(self, DimVector{-1});
  const int64_t d = wrap_dim(dim.value_or(0), input.dim()), n = input.dim() ? input.size(d) : 1,
                total = checked_mul(n, repeats);
  TL_CHECK(!output_size || *output_size == total, Runtime,
           "repeat_interleave: Invalid output_size, expected ", total, " but got ", output_size.value_or(0));
  const Tensor one = input.dim() ? input : ops::unsqueeze(input, 0);
  DimVector wide(one.sizes()), shape(one.sizes());
  wide.insert(static_cast<size_t>(d) + 1, repeats);
  shape[d] = total;
  return ops::reshape(ops::clone(ops::expand(ops::unsqueeze(one, d + 1), wide), MemoryFormat::Contiguous),
                      shape);
}
}  // namespace

TL_KERNEL(gather, gather)
TL_KERNEL(index_select, index_select)
TL_KERNEL(take_along_dim, take_along_dim)
TL_KERNEL(scatter_src, scatter_src)
TL_KERNEL(scatter_value, scatter_value)
TL_KERNEL(scatter_add, scatter_add)
TL_KERNEL(scatter_reduce, scatter_reduce)
TL_KERNEL(scatter_value_reduce, scatter_value_reduce)
TL_KERNEL(scatter_src_backward, scatter_src_backward)
TL_KERNEL(scatter_reduce_two, scatter_reduce_two)
TL_KERNEL(scatter_reduce_backward, scatter_reduce_backward)
TL_KERNEL(index_add, index_add)
TL_KERNEL(index_copy, index_copy)
TL_KERNEL(index_reduce, index_reduce)
TL_KERNEL(index_fill_int_Scalar, index_fill)
TL_KERNEL(index_fill_int_Tensor, index_fill_tensor)
TL_KERNEL(repeat_interleave_Tensor, repeated_indices)
TL_KERNEL(repeat_interleave_self_Tensor, repeat_interleave_by)
TL_KERNEL(repeat_interleave_self_int, repeat_interleave_int)

}  // namespace tl
