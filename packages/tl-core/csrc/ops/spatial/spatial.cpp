// Spatial operands: a tensor as planes of positions, channels inside where the format is channels last.
#include "ops/spatial/spatial.h"

#include <algorithm>

#include "base/error.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

Tensor delivered(const Tensor& result, DType dtype, Out out) {
  if (!out) return ops::to_dtype(result, dtype);
  check_castable(dtype, *out);
  const TensorOptions options{out.tensor->dtype(), result.device()};
  return ops::copy_(prepare_out(out, result.sizes(), options, result.strides()), result);
}

DimVector spread(const char* op, const char* argument, IntSpan list, int64_t n) {
  static constexpr const char* words[] = {"", "one", "two", "three"};
  TL_CHECK(list.size() == 1 || static_cast<int64_t>(list.size()) == n, Runtime, op, ": ", argument,
           " must either be a single int, or a tuple of ", words[n], " ints, got ", list.size(), " ints");
  return list.size() == 1 ? DimVector(static_cast<size_t>(n), list[0]) : DimVector(list);
}

IntSpan grid_of(const char* op, IntSpan sizes, int64_t spatial) {
  TL_CHECK(spatial >= 1 && spatial <= 3, Runtime, op, "(): expected a grid of 1 to 3 dimensions, got ",
           spatial);
  TL_CHECK(static_cast<int64_t>(sizes.size()) >= spatial, Runtime, op, "(): expected a tensor of at least ",
           spatial, " dimensions, got shape ", sizes);
  checked_numel(sizes);  // a derivative gets them as an argument
  return sizes.last(static_cast<size_t>(spatial));
}

namespace {
bool keeps_channels_last(const Tensor& t, int64_t spatial) {
  return t.dim() == spatial + 2 && preferred_format(t) != MemoryFormat::Contiguous;
}

Tensor dense(const Tensor& t, bool channels_last) {
  const Tensor typed = to_dtype(t, accumulate_type(t.dtype()));
  if (!channels_last) return to_contiguous(typed);
  if (is_channels_last(typed.sizes(), typed.strides())) return typed;
  const Tensor out =
      empty_strided(typed.sizes(), channels_last_strides(typed.sizes()), {typed.dtype(), typed.device()});
  copy_elements(out, typed);
  return out;
}
}  // namespace

SpatialView::SpatialView(const Tensor& self, int64_t spatial)
    : spatial_(spatial), channels_last_(keeps_channels_last(self, spatial)) {
  grid_of("field", self.sizes(), spatial);
  data_ = self.is_meta() ? self : dense(self, channels_last_);
}

int64_t SpatialView::positions() const {
  int64_t n = 1;
  for (int64_t a = 0; a < spatial_; ++a) n *= size(a);
  return n;
}
int64_t SpatialView::planes() const {
  int64_t n = 1;
  for (int64_t d = 0; d < data_.dim() - spatial_ - (channels_last_ ? 1 : 0); ++d) n *= data_.size(d);
  return n;
}
int64_t SpatialView::inner() const { return channels_last_ ? data_.size(1) : 1; }

DimVector SpatialView::resized(IntSpan grid) const {
  DimVector sizes(data_.sizes());
  for (int64_t a = 0; a < spatial_; ++a) sizes[sizes.size() - spatial_ + a] = grid[a];
  return sizes;
}

Tensor SpatialView::like(IntSpan grid, DType dtype) const {
  const DimVector sizes = resized(grid);
  checked_numel(sizes);
  return empty_strided(sizes, channels_last_ ? channels_last_strides(sizes) : contiguous_strides(sizes),
                       {dtype, data_.device()});
}

cpu::SeparableResample SpatialView::mapped(std::vector<cpu::ResampleWeights> maps) const {
  cpu::SeparableResample out;
  out.planes = planes();
  out.inner = inner();
  for (int64_t a = 0; a < 3; ++a) {
    const int64_t own = a - (3 - spatial_);
    out.axes[a] = own >= 0 ? std::move(maps[own]) : cpu::identity_weights(1);
  }
  return out;
}

void check_grid(const char* op, const Tensor& self, int64_t spatial, Empty allowed) {
  const int64_t n = self.dim();
  TL_CHECK(n == spatial + 1 || n == spatial + 2, Runtime, op, ": Expected ", spatial + 1, "D or ",
           spatial + 2,
           "D (batch mode) tensor with optional 0 dim batch size for input, but got: ", self.sizes());
  const int64_t channels = n - spatial - 1;
  const bool any = allowed == Empty::Channels || (allowed == Empty::First && channels == 0);
  for (int64_t d = channels + any; d < n; ++d)
    TL_CHECK(self.size(d) != 0, Runtime, op, ": Expected ", spatial + 1, "D or ", spatial + 2,
             "D (batch mode) tensor with optional 0 dim batch size for input. Expected input's non-batch "
             "dimensions "
             "to have positive length, but got: ",
             self.sizes());
}

}  // namespace tl
