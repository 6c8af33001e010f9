// Tensors put side by side, taken apart again, and combined with one another.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/parallel.h"
#include "dispatch/lazy_bits.h"
#include "iter/dtypes.h"
#include "iter/loop_nest.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elements.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/expect.h"
#include "tensor/geometry.h"
#include "tensor/view_origin.h"

namespace tl {

namespace {
// ---- at least so many dimensions --------------------------------------------------------------------------
Tensor atleast_1d(const Tensor& t) { return t.dim() ? t : ops::reshape(t, DimVector{1}); }
Tensor atleast_2d(const Tensor& t) {
  if (t.dim() == 0) return ops::reshape(t, DimVector{1, 1});
  return t.dim() == 1 ? ops::unsqueeze(t, 0) : t;
}
Tensor atleast_3d(const Tensor& t) {
  if (t.dim() == 0) return ops::reshape(t, DimVector{1, 1, 1});
  if (t.dim() == 1) return ops::unsqueeze(ops::unsqueeze(t, 0), -1);
  return t.dim() == 2 ? ops::unsqueeze(t, -1) : t;
}
template <auto F>
std::vector<Tensor> each(TensorList tensors) {
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (const Tensor& t : tensors) out.push_back(F(t));
  return out;
}

// ---- cat, stack -------------------------------------------------------------------------------------------
// PyTorch lets empty one-dimensional tensors join anything.
bool is_skipped(const Tensor& t) { return t.dim() == 1 && t.numel() == 0; }

DimVector cat_shape(TensorList tensors, const Tensor& first, int64_t dim) {
  DimVector shape(first.sizes());
  shape[dim] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (is_skipped(t)) continue;
    TL_CHECK(t.dim() == first.dim(), Runtime, "Tensors must have same number of dimensions: got ",
             first.dim(), " and ", t.dim());
    for (int64_t d = 0; d < t.dim(); ++d)
      TL_CHECK(d == dim || t.size(d) == first.size(d), Runtime,
               "Sizes of tensors must match except in dimension ", dim, ". Expected size ", first.size(d),
               " but got size ", t.size(d), " for tensor number ", i, " in the list.");
    shape[dim] += t.size(dim);
  }
  return shape;
}

MemoryFormat common_format(TensorList tensors, const Tensor& first) {
  if (is_skipped(first)) return MemoryFormat::Contiguous;
  for (const Tensor& t : tensors)
    if (!is_skipped(t) && preferred_format(t) == MemoryFormat::Contiguous) return MemoryFormat::Contiguous;
  return preferred_format(first);
}

Tensor piece(const Tensor& out, int64_t dim, int64_t start, int64_t length) {
  DimVector sizes(out.sizes());
  sizes[dim] = length;
  return on_storage(StoragePtr::share(out.storage()), out.dtype(), sizes, out.strides(),
                    wrapped_add(out.offset(), wrapped_mul(start, out.stride(dim))));
}

bool are_dense(TensorList tensors, const Tensor& result) {
  if (!result.is_contiguous() || !result.device().is_cpu()) return false;
  return std::ranges::all_of(
      tensors, [&](const Tensor& t) { return t.is_contiguous() && t.dtype() == result.dtype(); });
}

// Dense tensors side by side: rows begin to end, each of which holds a piece of every tensor.
void join_rows(TensorList tensors, const Tensor& result, int64_t dim, int64_t begin, int64_t end) {
  const int64_t unit = result.byte_stride(dim);  // of what one index of `dim` holds
  const int64_t period = result.size(dim) * unit;
  char* at = result.ptr<char>();
  for (const Tensor& t : tensors) {
    if (!t.numel()) continue;
    const int64_t length = t.size(dim) * unit;
    const char* from = t.ptr<char>();
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(at + i * period, from + i * length, static_cast<size_t>(length));
    at += length;
  }
}

// False where plain copies of bytes do not pay: of many elements in short pieces.
bool join_dense(TensorList tensors, const Tensor& result, int64_t dim) {
  constexpr int64_t kShort = 256, kBlock = 1 << 15;  // bytes
  const int64_t unit = result.byte_stride(dim), period = result.size(dim) * unit;
  const int64_t rows = period ? result.numel() * result.itemsize() / period : 0;
  if (result.numel() <= kGrain) {
    join_rows(tensors, result, dim, 0, rows);
    return true;
  }
  if (rows == 1 || period < kShort * static_cast<int64_t>(tensors.size())) return false;
  const int64_t block =
      std::max<int64_t>(kBlock / period, 1);  // written in one go, whatever tensors they come from
  parallel_for(0, (rows + block - 1) / block, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      join_rows(tensors, result, dim, i * block, std::min(rows, (i + 1) * block));
  });
  return true;
}

// Empty one-dimensional tensors are skipped. Dense inputs of the result's format are joined by runs of
// memory, others copied piece by piece.
Tensor cat_tensors(TensorList tensors, int64_t dim, Out out) {
  TL_CHECK(!tensors.empty(), Value, "torch.cat(): expected a non-empty list of Tensors");
  Promotion promotion;
  const Tensor* first = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TL_CHECK(tensors[i].dim() > 0, Runtime, "zero-dimensional tensor (at position ", i,
             ") cannot be concatenated");
    TL_CHECK(tensors[i].device() == tensors[0].device(), Runtime,
             "Expected all tensors to be on the same device, but found at least two devices, ",
             device_name(tensors[0].device()), " and ", device_name(tensors[i].device()), "! (cat)");
    promotion.add(tensors[i]);
    if (!first && !is_skipped(tensors[i])) first = &tensors[i];
  }
  const int64_t d = first ? wrap_dim(dim, first->dim()) : 0;
  if (!first) first = &tensors[0];
  const DimVector shape = cat_shape(tensors, *first, d);
  const DType dtype = promotion.result();
  const DimVector strides = strides_for(shape, common_format(tensors, *first));
  Tensor result;
  if (out) {
    check_castable(dtype, *out);
    for (const Tensor& t : tensors)
      TL_CHECK(!t.same(*out) && !share_elements(t, *out.tensor), Runtime,
               "unsupported operation: the input tensors cannot refer to any of the output memory locations. "
               "Found overlap in input tensor.");
    result = prepare_out(out, shape, {out.tensor->dtype(), first->device()}, strides);
  } else {
    result = empty_strided(shape, strides, {dtype, first->device()});
  }
  if (result.is_meta()) return result;
  if (are_dense(tensors, result) && join_dense(tensors, result, d)) return result;
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    if (is_skipped(t)) continue;
    copy_elements(piece(result, d, at, t.size(d)), t);
    at += t.size(d);
  }
  return result;
}

Tensor stack(TensorList tensors, int64_t dim, Out out) {
  TL_CHECK(!tensors.empty(), Runtime, "stack expects a non-empty TensorList");
  for (size_t i = 1; i < tensors.size(); ++i)
    TL_CHECK(std::ranges::equal(tensors[i].sizes(), tensors[0].sizes()), Runtime,
             "stack expects each tensor to be equal size, but got ", tensors[0].sizes(), " at entry 0 and ",
             tensors[i].sizes(), " at entry ", i);
  const int64_t d = wrap_dim(dim, tensors[0].dim() + 1);
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (const Tensor& t : tensors) {
    DimVector sizes(t.sizes()), strides(t.strides());
    sizes.insert(d, 1);
    strides.insert(d, 1);
    parts.push_back(view_of(t, sizes, strides, t.offset()));
  }
  return cat_tensors(parts, d, out);
}

std::vector<Tensor> cat_backward(const Tensor& g, IntSpan sizes, int64_t dim) {
  const int64_t d = wrap_dim(dim, g.dim());
  std::vector<Tensor> out;
  int64_t at = 0;
  for (const int64_t n : sizes) {
    out.push_back(ops::narrow(g, d, at, n));
    at += n;
  }
  return out;
}

// ---- side by side -----------------------------------------------------------------------------------------
Tensor cat_into(const std::vector<Tensor>& tensors, int64_t dim, Out out) {
  return out ? ops::cat_out(tensors, dim, *out) : ops::cat(tensors, dim);
}
Tensor hstack(TensorList tensors, Out out) {
  TL_CHECK(!tensors.empty(), Runtime, "hstack expects a non-empty TensorList");
  const std::vector<Tensor> parts = each<&atleast_1d>(tensors);
  return cat_into(parts, parts[0].dim() == 1 ? 0 : 1, out);
}
Tensor vstack(TensorList tensors, Out out) {
  TL_CHECK(!tensors.empty(), Runtime, "vstack expects a non-empty TensorList");
  return cat_into(each<&atleast_2d>(tensors), 0, out);
}
Tensor dstack(TensorList tensors, Out out) {
  TL_CHECK(!tensors.empty(), Runtime, "dstack expects a non-empty TensorList");
  return cat_into(each<&atleast_3d>(tensors), 2, out);
}
Tensor as_column(const Tensor& t) { return t.dim() <= 1 ? ops::reshape(t, DimVector{t.numel(), 1}) : t; }
Tensor column_stack(TensorList tensors, Out out) {
  TL_CHECK(!tensors.empty(), Runtime, "column_stack expects a non-empty TensorList");
  return cat_into(each<&as_column>(tensors), 1, out);
}

// A block's rows: zeros up to its first column, the block, zeros up to the last column.
Tensor widened(const Tensor& block, int64_t before, int64_t after, DType dtype) {
  auto zeros = [&](int64_t columns) {
    return ops::zeros(DimVector{block.size(0), columns}, {.dtype = dtype, .device = block.device()});
  };
  return ops::cat(std::vector<Tensor>{zeros(before), block, zeros(after)}, 1);
}

Tensor block_diag(TensorList tensors) {
  if (tensors.empty()) return ops::zeros(DimVector{1, 0});
  Promotion types;
  int64_t columns = 0, at = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    types.add(t);
    TL_CHECK(t.device() == tensors[0].device(), Runtime,
             "torch.block_diag: input tensors must all be on the same device. Input 0 is on device ",
             device_name(tensors[0].device()), " and input ", i, " is on device ", device_name(t.device()));
    TL_CHECK(t.dim() <= 2, Runtime, "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ",
             i, " has ", t.dim(), " dimensions");
    columns += t.dim() == 0 ? 1 : t.size(t.dim() - 1);
  }
  const DType dtype = types.result();
  std::vector<Tensor> rows;
  for (const Tensor& t : tensors) {
    const Tensor block = ops::to_dtype(atleast_2d(t), dtype);
    rows.push_back(widened(block, at, columns - at - block.size(1), dtype));
    at += block.size(1);
  }
  return ops::cat(rows, 0);
}

// ---- combined ---------------------------------------------------------------------------------------------
void check_grid(TensorList tensors) {
  TL_CHECK(!tensors.empty(), Runtime, "meshgrid expects a non-empty TensorList");
  for (const Tensor& t : tensors) {
    TL_CHECK(t.dim() <= 1, Runtime,
             "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: ", t.dim(), "D");
    TL_CHECK(t.dtype() == tensors[0].dtype(), Runtime,
             "torch.meshgrid expects all tensors to have the same dtype, but got ",
             dtype_name(tensors[0].dtype()), " and ", dtype_name(t.dtype()));
    TL_CHECK(t.device() == tensors[0].device(), Runtime,
             "torch.meshgrid expects all tensors to have the same device, but got ",
             device_name(tensors[0].device()), " and ", device_name(t.device()));
  }
}

std::vector<Tensor> grid(TensorList tensors) {
  check_grid(tensors);
  DimVector shape;
  for (const Tensor& t : tensors) shape.push_back(t.numel());
  checked_numel(shape);
  std::vector<Tensor> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    DimVector one(tensors.size(), 1);
    one[i] = tensors[i].numel();
    out.push_back(ops::expand(ops::view(tensors[i], one), shape));
  }
  return out;
}

std::vector<Tensor> meshgrid_indexing(TensorList tensors, std::string_view indexing) {
  TL_CHECK(indexing == "ij" || indexing == "xy", Runtime,
           "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  if (indexing == "ij" || tensors.size() < 2) return grid(tensors);
  std::vector<Tensor> swapped(tensors.begin(), tensors.end());
  std::swap(swapped[0], swapped[1]);
  std::vector<Tensor> out = grid(swapped);
  std::swap(out[0], out[1]);
  return out;
}

Tensor cartesian_prod(TensorList tensors) {
  for (const Tensor& t : tensors)
    TL_CHECK(t.dim() == 1, Runtime, "Expect a 1D vector, but got shape ", t.sizes());
  TL_CHECK(!tensors.empty(), Runtime, "cartesian_prod expects a non-empty list of tensors");
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns = grid(tensors);
  for (Tensor& t : columns) t = ops::reshape(t, DimVector{-1});
  return ops::stack(columns, 1);
}

// n choose r, or multisets of r out of n; raises when there are too many for 64 bits.
int64_t count_combinations(int64_t n, int64_t r, bool with_replacement) {
  if (n == 0 || (!with_replacement && r > n)) return 0;
  const int64_t others = with_replacement ? n - 1 : n - r, fewer = std::min(r, others);
  __int128 count = 1;
  for (int64_t i = 1; i <= fewer; ++i) {
    count = count * (static_cast<__int128>(r) + others - fewer + i) / i;
    TL_CHECK(count <= INT64_MAX / r, Runtime, "combinations(): there are too many of ", r, " out of ", n,
             " elements");
  }
  return static_cast<int64_t>(count);
}

// The next combination in lexicographic order.
void advance(std::vector<int64_t>& chosen, int64_t n, bool with_replacement) {
  const int64_t r = static_cast<int64_t>(chosen.size());
  int64_t i = r - 1;
  while (i >= 0 && chosen[i] == (with_replacement ? n - 1 : n - r + i)) --i;
  if (i < 0) return;
  ++chosen[i];
  for (int64_t k = i + 1; k < r; ++k) chosen[k] = with_replacement ? chosen[i] : chosen[k - 1] + 1;
}

Tensor combinations(const Tensor& self, int64_t r, bool with_replacement) {
  TL_CHECK(self.dim() == 1, Runtime, "Expect a 1D vector, but got shape ", self.sizes());
  TL_CHECK(r >= 0, Runtime, "Expect a non-negative number, but got ", r);
  if (r == 0) return ops::empty_memory_format(DimVector{0}, {.dtype = self.dtype(), .device = self.device()});
  const int64_t n = self.size(0), count = count_combinations(n, r, with_replacement);
  const Tensor indices = empty(DimVector{checked_numel(DimVector{count, r})}, {DType::Int64, {}});
  std::vector<int64_t> chosen(static_cast<size_t>(count ? r : 0));  // r may be beyond all memory
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = with_replacement ? 0 : static_cast<int64_t>(i);
  for (int64_t row = 0; row < count; ++row, advance(chosen, n, with_replacement))
    std::ranges::copy(chosen, indices.ptr<int64_t>() + row * r);
  const Tensor where = self.device() == indices.device() ? indices : ops::to_device(indices, self.device());
  return ops::view(ops::index_select(self, 0, where), DimVector{count, r});
}

// ---- taken apart ------------------------------------------------------------------------------------------
// Stretches from each border to the next, as slicing gives them.
std::vector<Tensor> between(const Tensor& self, IntSpan borders, int64_t dim) {
  std::vector<Tensor> out;
  int64_t start = 0;
  for (int64_t end : borders) {
    out.push_back(ops::slice(self, dim, start, end, 1));
    start = end;
  }
  out.push_back(ops::slice(self, dim, start, std::nullopt, 1));
  return out;
}

void check_splittable(const Tensor& self) {
  TL_CHECK(self.dim() > 0, Runtime,
           "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", self.dim(),
           " dims");
}

std::vector<Tensor> tensor_split_indices(const Tensor& self, IntSpan indices, int64_t dim) {
  check_splittable(self);
  return between(self, indices, wrap_dim(dim, self.dim()));
}

std::vector<Tensor> tensor_split_sections(const Tensor& self, int64_t sections, int64_t dim) {
  check_splittable(self);
  const int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
  TL_CHECK(sections > 0, Runtime, "number of sections must be larger than 0, got ", sections);
  expect_pieces(sections);
  std::vector<Tensor> out;
  int64_t start = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t end = start + n / sections + (i < n % sections);
    out.push_back(ops::slice(self, d, start, end, 1));
    start = end;
  }
  return out;
}

std::vector<Tensor> tensor_split_tensor(const Tensor& self, const Tensor& where, int64_t dim) {
  check_splittable(self);
  TL_CHECK(where.device().is_cpu(), Runtime,
           "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on ",
           device_name(where.device()));
  TL_CHECK(where.dtype() == DType::Int64, Runtime,
           "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ",
           scalar_type_name(where.dtype()));
  TL_CHECK(where.dim() <= 1, Runtime,
           "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional "
           "tensor, but "
           "got a tensor with ",
           where.dim(), " dims");
  const Tensor indices = ops::contiguous(resolved(where));
  const int64_t* at = elements_of<int64_t>("tensor_split", indices, where.numel());
  if (where.dim() == 0) return ops::tensor_split_sections(self, *at, dim);
  return ops::tensor_split_indices(self, IntSpan(at, static_cast<size_t>(indices.numel())), dim);
}

// hsplit, vsplit and dsplit: which dimension they part, and how many dimensions they need.
struct Direction {
  const char* name;
  int64_t least, dim;
};
constexpr Direction kHorizontal{"hsplit", 1, 1}, kVertical{"vsplit", 2, 0}, kDepth{"dsplit", 3, 2};

template <const Direction& way>
int64_t split_dim(const Tensor& self) {
  TL_CHECK(self.dim() >= way.least, Runtime, "torch.", way.name, " requires a tensor with at least ",
           way.least, " dimension, but got a tensor with ", self.dim(), " dimensions!");
  return std::min(way.dim, self.dim() - 1);
}
template <const Direction& way>
std::vector<Tensor> split_evenly(const Tensor& self, int64_t sections) {
  const int64_t d = split_dim<way>(self);
  TL_CHECK(sections > 0 && self.size(d) % sections == 0, Runtime, "torch.", way.name,
           " attempted to split along dimension ", d, ", but the size of the dimension ", self.size(d),
           " is not divisible by the split_size ", sections, "!");
  return ops::tensor_split_sections(self, sections, d);
}
template <const Direction& way>
std::vector<Tensor> split_at(const Tensor& self, IntSpan indices) {
  return ops::tensor_split_indices(self, indices, split_dim<way>(self));
}

// The pieces share memory, but autograd does not know it: writing one leaves the others' history alone.
std::vector<Tensor> unrelated(std::vector<Tensor> pieces) {
  for (Tensor& t : pieces) drop_base(*t.impl());
  return pieces;
}
std::vector<Tensor> unsafe_split(const Tensor& self, int64_t split_size, int64_t dim) {
  return unrelated(ops::split(self, split_size, dim));
}
std::vector<Tensor> unsafe_split_with_sizes(const Tensor& self, IntSpan split_sizes, int64_t dim) {
  return unrelated(ops::split_with_sizes(self, split_sizes, dim));
}
std::vector<Tensor> unsafe_chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  TL_CHECK(self.dim() > 0, Runtime, "chunk expects at least a 1-dimensional tensor");
  TL_CHECK(chunks > 0, Runtime, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t n = self.size(wrap_dim(dim, self.dim()));
  const int64_t size = n / chunks + (n % chunks != 0);
  expect_pieces(size == 0 ? chunks : 0);
  if (size == 0) return ops::unsafe_split_with_sizes(self, DimVector(static_cast<size_t>(chunks)), dim);
  return ops::unsafe_split(self, size, dim);
}
}  // namespace

TL_KERNEL(atleast_1d, atleast_1d)
TL_KERNEL(atleast_2d, atleast_2d)
TL_KERNEL(atleast_3d, atleast_3d)
TL_KERNEL(atleast_1d_Sequence, each<&atleast_1d>)
TL_KERNEL(atleast_2d_Sequence, each<&atleast_2d>)
TL_KERNEL(atleast_3d_Sequence, each<&atleast_3d>)
TL_KERNEL(cat_backward, cat_backward)
TL_KERNEL(cat, cat_tensors)
TL_KERNEL(stack, stack)
TL_KERNEL(hstack, hstack)
TL_KERNEL(vstack, vstack)
TL_KERNEL(dstack, dstack)
TL_KERNEL(column_stack, column_stack)
TL_KERNEL(block_diag, block_diag)
TL_KERNEL(meshgrid, grid)
TL_KERNEL(meshgrid_indexing, meshgrid_indexing)
TL_KERNEL(cartesian_prod, cartesian_prod)
TL_KERNEL(combinations, combinations)
TL_KERNEL(tensor_split_indices, tensor_split_indices)
TL_KERNEL(tensor_split_sections, tensor_split_sections)
TL_KERNEL(tensor_split_tensor_indices_or_sections, tensor_split_tensor)
TL_KERNEL(hsplit_int, split_evenly<kHorizontal>)
TL_KERNEL(hsplit_array, split_at<kHorizontal>)
TL_KERNEL(vsplit_int, split_evenly<kVertical>)
TL_KERNEL(vsplit_array, split_at<kVertical>)
TL_KERNEL(dsplit_int, split_evenly<kDepth>)
TL_KERNEL(dsplit_array, split_at<kDepth>)
TL_KERNEL(unsafe_split_Tensor, unsafe_split)
TL_KERNEL(unsafe_split_with_sizes, unsafe_split_with_sizes)
TL_KERNEL(unsafe_chunk, unsafe_chunk)

}  // namespace tl
