// Shape arithmetic: strides of formats, broadcasting, views by merging contiguous dimensions, overlap tests.
#include "tensor/geometry.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace tl {

DimVector contiguous_strides(IntSpan sizes) {
  DimVector strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    // Only strides of a tensor without elements wrap around.
    (void)__builtin_mul_overflow(step, std::max<int64_t>(sizes[d], 1), &step);
  }
  return strides;
}

DimVector channels_last_strides(IntSpan sizes) {
  const size_t n = sizes.size();
  TL_CHECK(n == 4 || n == 5, Runtime, "required rank ", n == 5 ? 5 : 4,
           " tensor to use channels_last format");
  DimVector strides(n);
  int64_t step = 1;
  strides[1] = step;
  step *= std::max<int64_t>(sizes[1], 1);
  for (size_t d = n - 1; d >= 2; --d) {
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  strides[0] = step;
  return strides;
}

DimVector strides_for(IntSpan sizes, MemoryFormat format) {
  const size_t rank = format == MemoryFormat::ChannelsLast3d ? 5 : 4;
  if (format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d) {
    TL_CHECK(sizes.size() == rank, Runtime, "required rank ", rank, " tensor to use ",
             rank == 4 ? "channels_last" : "channels_last_3d", " format");
    return channels_last_strides(sizes);
  }
  return contiguous_strides(sizes);
}

bool is_contiguous(IntSpan sizes, IntSpan strides) {
  uint64_t step = 1;  // wraps only where another size is zero
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 0) return true;
    if (sizes[d] != 1 && static_cast<uint64_t>(strides[d]) != step) {
      return std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
    }
    step *= static_cast<uint64_t>(sizes[d]);
  }
  return true;
}

bool is_channels_last(IntSpan sizes, IntSpan strides) {
  if (sizes.size() != 4 && sizes.size() != 5) return false;
  int64_t step = 1;
  auto fits = [&](size_t d) {
    const bool ok = sizes[d] == 1 || strides[d] == step;
    step *= std::max<int64_t>(sizes[d], 1);
    return ok;
  };
  if (!fits(1)) return false;
  for (size_t d = sizes.size() - 1; d >= 2; --d)
    if (!fits(d)) return false;
  return fits(0);
}

namespace {
bool is_ordered_channels_last(IntSpan sizes, IntSpan strides) {
  if ((sizes.size() != 4 && sizes.size() != 5) || strides[1] == 0) return false;
  int64_t least = 0;
  auto follows = [&](size_t d) {
    if (sizes[d] == 0 || strides[d] < least) return false;
    least = wrapped_mul(strides[d], sizes[d]);
    return true;
  };
  if (!follows(1)) return false;
  for (size_t d = sizes.size() - 1; d >= 2; --d)
    if (!follows(d)) return false;
  return least != strides[1] &&
         follows(0);  // of one element an image either order holds: it counts as contiguous
}
}  // namespace

MemoryFormat preferred_format(const Tensor& t) {
  if (t.is_contiguous() || !is_ordered_channels_last(t.sizes(), t.strides())) return MemoryFormat::Contiguous;
  return t.dim() == 5 ? MemoryFormat::ChannelsLast3d : MemoryFormat::ChannelsLast;
}

namespace {
// Dimensions longer than one, the slowest first.
DimVector by_stride(IntSpan sizes, IntSpan strides) {
  DimVector order;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != 1) order.push_back(static_cast<int64_t>(d));
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return strides[a] > strides[b]; });
  return order;
}
}  // namespace

bool is_dense(IntSpan sizes, IntSpan strides) {
  if (is_contiguous(sizes, strides)) return true;  // also without elements
  DimVector order = by_stride(sizes, strides);
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (strides[order[i]] != step) return false;
    step *= sizes[order[i]];
  }
  return true;
}

bool may_overlap(IntSpan sizes, IntSpan strides) {
  if (is_contiguous(sizes, strides)) return false;
  DimVector order = by_stride(sizes, strides);
  int64_t reach = 0;
  for (size_t i = order.size(); i-- > 0;) {
    const int64_t d = order[i];
    if (sizes[d] == 0) return false;
    if (strides[d] <= reach) return true;
    reach += (sizes[d] - 1) * strides[d];
  }
  return false;
}

DimVector preserved_strides(IntSpan sizes, IntSpan strides) {
  if (is_dense(sizes, strides) && !may_overlap(sizes, strides)) return DimVector(strides);
  // Insertion sort with zero strides compared as "don't care", so that expanded dimensions keep their places.
  const int n = static_cast<int>(sizes.size());
  DimVector perm(n);
  std::iota(perm.begin(), perm.end(), 0);
  std::reverse(perm.begin(), perm.end());
  auto slower = [&](int64_t a, int64_t b) {
    if (strides[a] == 0 || strides[b] == 0) return 0;
    if (strides[a] != strides[b]) return strides[a] < strides[b] ? -1 : 1;
    return sizes[a] > sizes[b] ? 1 : 0;
  };
  for (int i = 1; i < n; ++i) {
    int j = i;
    for (int k = i - 1; k >= 0; --k) {
      const int order = slower(perm[k], perm[j]);
      if (order > 0) {
        std::swap(perm[k], perm[j]);
        j = k;
      } else if (order < 0) {
        break;
      }
    }
  }
  DimVector out(n);
  int64_t step = 1;
  for (int64_t d : perm) {
    out[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return out;
}

DimVector broadcast_shapes(IntSpan a, IntSpan b) {
  const size_t n = std::max(a.size(), b.size());
  DimVector out(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    TL_CHECK(x == y || x == 1 || y == 1, Runtime, "The size of tensor a (", x,
             ") must match the size of tensor b (", y, ") at non-singleton dimension ", n - 1 - i,
             ": the shapes are ", a, " and ", b);
    out[n - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

// The size given as -1 is what remains of the number of elements; products are checked for overflow.
DimVector infer_size(IntSpan sizes, int64_t numel) {
  DimVector out(sizes);
  int64_t known = 1;
  int unknown = -1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1) {
      TL_CHECK(unknown < 0, Runtime, "only one dimension can be inferred, got shape ", sizes);
      unknown = static_cast<int>(d);
    } else {
      TL_CHECK(sizes[d] >= 0, Runtime, "invalid shape dimension ", sizes[d], " at index ", d, " of shape ",
               sizes);
      TL_CHECK(!__builtin_mul_overflow(known, sizes[d], &known), Runtime, "shape '", sizes, "' is too large");
    }
  }
  if (unknown >= 0) {
    TL_CHECK(known != 0 || numel != 0, Runtime, "cannot reshape tensor of 0 elements into shape ", sizes,
             " because the unspecified dimension size -1 can be any value and is ambiguous");
    TL_CHECK(known != 0, Runtime, "shape '", sizes, "' is invalid for input of size ", numel);
    TL_CHECK(!(known == 0 && numel == 0), Runtime, "cannot reshape tensor of 0 elements into shape ", sizes,
             " because the unspecified dimension size -1 can be any value and is ambiguous");
    TL_CHECK(numel % known == 0, Runtime, "shape '", sizes, "' is invalid for input of size ", numel);
    out[unknown] = numel / known;
  } else {
    TL_CHECK(known == numel, Runtime, "shape '", sizes, "' is invalid for input of size ", numel);
  }
  return out;
}

bool view_strides(IntSpan sizes, IntSpan strides, IntSpan new_sizes, DimVector& out) {
  out.resize(new_sizes.size());
  const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  if (empty && std::ranges::equal(sizes, new_sizes)) {
    out = DimVector(strides);
    return true;
  }
  if (empty || sizes.empty()) {
    out = contiguous_strides(new_sizes);
    return true;
  }
  // Walk both shapes from the back, chunk by chunk of old dimensions that lie in one piece.
  int64_t view_d = static_cast<int64_t>(new_sizes.size()) - 1;
  int64_t chunk_stride = strides.back();
  int64_t chunk = 1, viewed = 1;
  for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; --d) {
    chunk *= sizes[d];
    const bool ends = d == 0 || (sizes[d - 1] != 1 && strides[d - 1] != chunk * chunk_stride);
    if (!ends) continue;
    while (view_d >= 0 && (viewed < chunk || new_sizes[view_d] == 1)) {
      out[view_d] = viewed * chunk_stride;
      viewed *= new_sizes[view_d];
      --view_d;
    }
    if (viewed != chunk) return false;
    if (d > 0) {
      chunk_stride = strides[d - 1];
      chunk = viewed = 1;
    }
  }
  return view_d == -1;
}

int64_t wrap_dim(int64_t dim, int64_t ndim, bool scalar_has_one) {
  const int64_t n = ndim == 0 && scalar_has_one ? 1 : ndim;
  TL_CHECK(n > 0, Index, "Dimension specified as ", dim, " but tensor has no dimensions");
  TL_CHECK(dim >= -n && dim < n, Index, "Dimension out of range (expected to be in range of [", -n, ", ",
           n - 1, "], but got ", dim, ")");
  return dim < 0 ? dim + n : dim;
}

uint64_t dim_mask(IntSpan dims, int64_t ndim, bool empty_is_all) {
  if (dims.empty() && empty_is_all) return ndim == 0 ? 0 : (~uint64_t{0} >> (64 - ndim));
  uint64_t mask = 0;
  for (int64_t d : dims) {
    const uint64_t bit = uint64_t{1} << wrap_dim(d, ndim);
    TL_CHECK(!(mask & bit), Runtime, "dim ", wrap_dim(d, ndim),
             " appears multiple times in the list of dims");
    mask |= bit;
  }
  return mask;
}

int64_t span_bytes(IntSpan sizes, IntSpan strides, int64_t itemsize) {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last += (sizes[d] - 1) * strides[d];
  }
  return (last + 1) * itemsize;
}

// The last element's position is offset + sum of (size - 1) * stride: it must not overflow, and lie within
// the storage.
void check_reach(size_t storage_bytes, int64_t itemsize, IntSpan sizes, IntSpan strides, int64_t offset) {
  TL_CHECK(sizes.size() == strides.size(), Runtime, "mismatch in length of strides and shape: size ", sizes,
           ", stride ", strides);
  checked_numel(sizes);
  for (int64_t s : strides)
    TL_CHECK(s >= 0, Runtime,
             "as_strided: Negative strides are not supported at the moment, got strides: ", strides);
  TL_CHECK(offset >= 0, Runtime, "Tensor: invalid storage offset ", offset);
  int64_t last = offset;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return;
    int64_t reach;
    const bool fits = !__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) &&
                      !__builtin_add_overflow(last, reach, &last);
    TL_CHECK(fits, Runtime, "Storage size calculation overflowed with sizes=", sizes,
             " and strides=", strides);
  }
  int64_t bytes;
  const bool fits =
      !__builtin_add_overflow(last, 1, &last) && !__builtin_mul_overflow(last, itemsize, &bytes);
  TL_CHECK(fits, Runtime, "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
  TL_CHECK(static_cast<size_t>(bytes) <= storage_bytes, Runtime, "setStorage: sizes ", sizes, ", strides ",
           strides, ", storage offset ", offset, ", and itemsize ", itemsize, " requiring a storage size of ",
           bytes, " are out of bounds for storage of size ", storage_bytes);
}

}  // namespace tl
