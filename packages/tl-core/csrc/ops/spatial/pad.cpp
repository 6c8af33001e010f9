// Padding: with a number, or from the tensor itself.
#include <algorithm>

#include "base/checked.h"
#include "iter/dtypes.h"
#include "kernels/cpu/spatial/padding.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/spatial/spatial.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using cpu::ResampleWeights;

// Padding is listed from the last dimension: before, after, before, after, …
struct Widths {
  IntSpan list;
  int64_t before(int64_t from_last) const { return list[2 * from_last]; }
  int64_t after(int64_t from_last) const { return list[2 * from_last + 1]; }
  int64_t dims() const { return static_cast<int64_t>(list.size()) / 2; }
};

DimVector padded_sizes(const Tensor& self, Widths pad) {
  DimVector sizes(self.sizes());
  for (int64_t k = 0; k < pad.dims(); ++k) {
    const int64_t d = self.dim() - 1 - k;
    sizes[d] = checked_add(checked_add(sizes[d], pad.before(k)), pad.after(k));
    TL_CHECK(sizes[d] >= 0, Runtime, "The input size ", self.size(d), ", plus negative padding ",
             pad.before(k), " and ", pad.after(k),
             " resulted in a negative output size, which is invalid. Check dimension ", d, " of your input.");
  }
  return sizes;
}

Tensor constant_pad(const Tensor& self, IntSpan pad, const Scalar& value) {
  TL_CHECK(pad.size() % 2 == 0, Runtime, "Length of pad must be even but instead it equals ", pad.size());
  TL_CHECK(pad.size() / 2 <= static_cast<size_t>(self.dim()), Runtime,
           "Length of pad should be no more than twice the number of dimensions of the input. Pad length is ",
           pad.size(), " while the input has ", self.dim(), " dimensions.");
  const Widths widths{pad};
  const DimVector sizes = padded_sizes(self, widths);
  checked_numel(sizes);
  const Tensor out = ops::empty_strided(sizes, strides_for(sizes, preferred_format(self)),
                                        {.dtype = self.dtype(), .device = self.device()});
  if (std::ranges::any_of(pad, [](int64_t n) { return n > 0; })) ops::fill__Scalar(out, value);
  Tensor inside = out, source = self;
  for (int64_t k = 0; k < widths.dims(); ++k) {
    const int64_t d = self.dim() - 1 - k, before = widths.before(k), after = widths.after(k);
    if (before == 0 && after == 0) continue;
    inside = ops::slice(inside, d, std::max<int64_t>(before, 0), sizes[d] - std::max<int64_t>(after, 0), 1);
    source =
        ops::slice(source, d, std::max<int64_t>(-before, 0), self.size(d) - std::max<int64_t>(-after, 0), 1);
  }
  ops::copy_(inside, source);
  return out;
}

// ---- from the tensor itself -------------------------------------------------------------------------------
enum class Border { Reflect, Replicate, Circular };

Border border_named(std::string_view mode) {
  if (mode == "reflect") return Border::Reflect;
  if (mode == "replicate") return Border::Replicate;
  TL_CHECK(mode == "circular", NotImplemented, "Unrecognised padding mode ", mode);
  return Border::Circular;
}

// The input position that each padded position shows.
std::vector<int64_t> border_positions(Border border, int64_t n, int64_t before, int64_t after) {
  std::vector<int64_t> out;
  const int64_t low = std::max<int64_t>(-before, 0),
                high = n - std::max<int64_t>(-after, 0);  // what is not cut
  for (int64_t o = -before; o < n + after; ++o) {
    int64_t i = o;
    if (border == Border::Reflect)
      i = o < 0 ? -o : o >= n ? 2 * (n - 1) - o : o;
    else if (border == Border::Replicate)
      i = std::clamp<int64_t>(o, 0, n - 1);
    else
      i = o < low ? o + high - low : o >= high ? o - (high - low) : o;
    out.push_back(i);
  }
  return out;
}

void check_border(Border border, IntSpan sizes, Widths pad) {
  for (int64_t k = 0; k < pad.dims(); ++k) {
    const int64_t d = static_cast<int64_t>(sizes.size()) - 1 - k, n = sizes[d];
    const int64_t widest = std::max(pad.before(k), pad.after(k));
    const int64_t out = checked_add(checked_add(n, pad.before(k)), pad.after(k));
    TL_CHECK(
        std::min(pad.before(k), pad.after(k)) >= -n && (out > 0 || (border == Border::Circular && out == 0)),
        Runtime, "input (size ", n, " at dimension ", d, ") is too small for padding (", pad.before(k), ", ",
        pad.after(k), "). Calculated output size: ", out);
    if (border == Border::Reflect)
      TL_CHECK(widest < n, Runtime,
               "Argument #4: Padding size should be less than the corresponding input dimension, "
               "but got: padding (",
               pad.before(k), ", ", pad.after(k), ") at dimension ", d, " of input ", sizes);
    if (border == Border::Circular)
      TL_CHECK(widest <= n + std::min<int64_t>(pad.before(k), 0) + std::min<int64_t>(pad.after(k), 0),
               Runtime, "Padding value causes wrapping around more than once: padding (", pad.before(k), ", ",
               pad.after(k), ") at dimension ", d, " of input ", sizes);
  }
}

struct BorderPositions {
  std::vector<int64_t> from[3];
  int64_t sizes[3];

  BorderPositions(Border border, IntSpan shape, Widths pad) {
    for (int64_t a = 0; a < 3; ++a) {
      const int64_t k = 2 - a, d = static_cast<int64_t>(shape.size()) - 1 - k;
      sizes[a] = k < pad.dims() ? shape[d] : 1;
      from[a] = k < pad.dims() ? border_positions(border, sizes[a], pad.before(k), pad.after(k))
                               : std::vector<int64_t>{0};
    }
  }
};

// Each output position of an axis has its source index; the planes are gathered by the product of these.
Tensor bordered(Border border, const Tensor& self, IntSpan padding, const char* op) {
  const Widths pad{padding};
  const int64_t n = pad.dims();
  TL_CHECK(padding.size() % 2 == 0 && n >= 1 && n <= 3, Runtime, op,
           ": padding size is expected to be 2, 4 or 6, got ", padding.size());
  TL_CHECK(
      self.dim() == n + 1 || self.dim() == n + 2, Runtime, op, ": Expected ", n + 1, "D or ", n + 2,
      "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ",
      self.sizes());
  const int64_t channels = self.dim() - n - 1;
  for (int64_t d = channels + (border == Border::Circular); d < self.dim(); ++d)
    TL_CHECK(
        self.size(d) != 0, Runtime, op, ": Expected ", n + 1, "D or ", n + 2,
        "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ",
        self.sizes());
  TL_CHECK(border == Border::Circular || self.dtype() != DType::Bool, NotImplemented, "\"", op,
           "\" not implemented for 'Bool'");
  check_border(border, self.sizes(), pad);
  const MemoryFormat format = preferred_format(self);
  const DimVector sizes = padded_sizes(self, pad);
  checked_numel(sizes);
  const Tensor out = empty(sizes, {self.dtype(), self.device()});
  if (!out.is_meta() && out.numel() != 0) {
    const BorderPositions positions(border, self.sizes(), pad);
    const Tensor source = to_contiguous(self);
    int64_t planes = 1;
    for (int64_t d = 0; d < self.dim() - n; ++d) planes *= self.size(d);
    cpu::gather_border(self.itemsize(), planes, positions.sizes, positions.from, out.ptr<char>(),
                       source.ptr<char>());
  }
  return format == MemoryFormat::Contiguous ? out : ops::contiguous(out, format);
}

template <Border border, int n>
Tensor border_pad(const Tensor& self, IntSpan padding, Out out) {
  static constexpr const char* op = border == Border::Reflect ? (n == 1   ? "reflection_pad1d"
                                                                 : n == 2 ? "reflection_pad2d"
                                                                          : "reflection_pad3d")
                                                              : (n == 1   ? "replication_pad1d"
                                                                 : n == 2 ? "replication_pad2d"
                                                                          : "replication_pad3d");
  const DimVector widths = padding.size() == 1 ? DimVector(2 * n, padding[0]) : DimVector(padding);
  TL_CHECK(widths.size() == 2 * n, Runtime, op, ": padding size is expected to be ", 2 * n, ", got ",
           padding.size());
  const Tensor result = bordered(border, self, widths, op);
  return out ? delivered(result, self.dtype(), out) : result;
}
Tensor pad_circular(const Tensor& self, IntSpan pad) {
  return bordered(Border::Circular, self, pad, "_pad_circular");
}

// The border that was put around a grid of these sizes to make `g`.
Border checked_border(const Tensor& g, IntSpan sizes, IntSpan padding, std::string_view mode) {
  constexpr const char* op = "border_adjoint";
  TL_CHECK(padding.size() % 2 == 0, Runtime, op,
           "(): argument 'padding' must have two ints a dimension, got ", padding);
  const Widths pad{padding};
  const IntSpan grid = grid_of(op, sizes, pad.dims()), padded = grid_of(op, g.sizes(), pad.dims());
  const Border border = border_named(mode);
  checked_numel(sizes);
  check_border(border, sizes, pad);
  for (size_t a = 0; a < grid.size(); ++a) {
    const auto k = static_cast<int64_t>(grid.size() - 1 - a);
    TL_CHECK(padded[a] == grid[a] + pad.before(k) + pad.after(k), Runtime, op, "(): a gradient of shape ",
             g.sizes(), " does not come from shape ", sizes, " and padding ", padding);
  }
  return border;
}

// Complex numbers are two planes of real ones.
Tensor border_adjoint(const Tensor& g, IntSpan sizes, IntSpan padding, std::string_view mode) {
  const Border border = checked_border(g, sizes, padding, mode);
  if (is_complex(g.dtype())) {
    const auto part = [&](const Tensor& t) { return ops::_border_adjoint(t, sizes, padding, mode); };
    const Tensor parts[] = {part(ops::real(g)), part(ops::imag(g))};
    return ops::view_as_complex(ops::stack(parts, -1));
  }
  const Widths pad{padding};
  const IntSpan grid = sizes.last(static_cast<size_t>(pad.dims()));
  const auto maps = [&] {
    const BorderPositions positions(border, sizes, pad);
    std::vector<ResampleWeights> all;
    for (int64_t a = 3 - pad.dims(); a < 3; ++a) {
      ResampleWeights& map = all.emplace_back();
      map.inputs = positions.sizes[a];
      for (int64_t i : positions.from[a]) {
        map.tap(i);
        map.close();
      }
    }
    return all;
  };
  return to_dtype(adjoint_resampled(SpatialView(g, pad.dims()), grid, maps), g.dtype());
}

Tensor pad(const Tensor& self, IntSpan widths, std::string_view mode, std::optional<double> value) {
  TL_CHECK(widths.size() % 2 == 0, Runtime, "Padding length must be divisible by 2, got ", widths.size());
  TL_CHECK(widths.size() <= static_cast<size_t>(self.dim()) * 2, Runtime,
           "Padding length should be less than or equal "
           "to two times the input dimension but got padding length ",
           widths.size(), " and input of dimension ", self.dim());
  if (mode == "constant") return ops::constant_pad_nd(self, widths, value ? Scalar(*value) : Scalar(0));
  TL_CHECK(!value || *value == 0, Runtime, "Padding mode \"", mode, "\" doesn't take in value argument");
  const Border border = border_named(mode);
  const size_t n = widths.size() / 2;
  TL_CHECK(n >= 1 && n <= 3 &&
               (self.dim() == static_cast<int64_t>(n) + 1 || self.dim() == static_cast<int64_t>(n) + 2),
           NotImplemented,
           "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: the last ",
           "1 to 3 dimensions of an input of 1 or 2 dimensions more, got padding of length ", widths.size(),
           " and input of dimension ", self.dim());
  if (border == Border::Circular) return ops::_pad_circular(self, widths);
  const bool mirror = border == Border::Reflect;
  if (n == 1) return mirror ? ops::reflection_pad1d(self, widths) : ops::replication_pad1d(self, widths);
  if (n == 2) return mirror ? ops::reflection_pad2d(self, widths) : ops::replication_pad2d(self, widths);
  return mirror ? ops::reflection_pad3d(self, widths) : ops::replication_pad3d(self, widths);
}
}  // namespace

TL_KERNEL(constant_pad_nd, constant_pad)
TL_KERNEL(pad, pad)
TL_KERNEL(reflection_pad1d, (border_pad<Border::Reflect, 1>))
TL_KERNEL(reflection_pad2d, (border_pad<Border::Reflect, 2>))
TL_KERNEL(reflection_pad3d, (border_pad<Border::Reflect, 3>))
TL_KERNEL(replication_pad1d, (border_pad<Border::Replicate, 1>))
TL_KERNEL(replication_pad2d, (border_pad<Border::Replicate, 2>))
TL_KERNEL(replication_pad3d, (border_pad<Border::Replicate, 3>))
TL_KERNEL(_pad_circular, pad_circular)
TL_KERNEL(_border_adjoint, border_adjoint)

}  // namespace tl
