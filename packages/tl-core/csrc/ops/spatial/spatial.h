// Tensors whose last one to three dimensions are a grid: [batch, channels, (depth, height,) width], or
// without the batch. What pooling, interpolation and sampling share.
#pragma once

#include "dispatch/operator.h"
#include "kernels/cpu/spatial/resample.h"
#include "ops/shared/copy.h"
#include "tensor/scalar.h"

namespace tl {

// The result in its type, in the layout it has, or copied into out=.
Tensor delivered(const Tensor& result, DType dtype, Out out);
// A list of one, or of `n`; raises naming the argument.
DimVector spread(const char* op, const char* argument, IntSpan list, int64_t n);
// The last one to three of a tensor's sizes; raises for another number of them, or if there are not as many.
IntSpan grid_of(const char* op, IntSpan sizes, int64_t spatial);

class SpatialView {
 public:
  // Dense, in the type that is computed in; channels_last is kept. Raises without as many dimensions.
  SpatialView(const Tensor& self, int64_t spatial);

  const Tensor& data() const { return data_; }
  int64_t spatial() const { return spatial_; }
  int64_t size(int64_t axis) const { return data_.size(data_.dim() - spatial_ + axis); }  // of a grid's axis
  int64_t positions() const;                                                              // of the grid
  int64_t planes() const;  // slices that are one after another in memory
  int64_t inner() const;   // elements that stand at one position of a slice
  bool channels_last() const { return channels_last_; }

  // Shape and layout of this with another grid.
  DimVector resized(IntSpan grid) const;
  Tensor like(IntSpan grid, DType dtype) const;
  // With one map for each axis of the grid.
  cpu::SeparableResample mapped(std::vector<cpu::ResampleWeights> maps) const;

 private:
  Tensor data_;
  int64_t spatial_;
  bool channels_last_;
};

// Which dimensions of a grid may be empty: its batch; the first, be it the batch or the channels; or both.
enum class Empty { Batch, First, Channels };
// Raises unless `self` is a grid with channels, with or without a batch, and no other dimension is empty.
void check_grid(const char* op, const Tensor& self, int64_t spatial, Empty allowed = Empty::Batch);
// The data through one map an axis, to a grid of these sizes. The maps are made after the result, whose size
// may be refused.
template <class F>
Tensor resampled(const SpatialView& field, IntSpan grid, F maps) {
  const Tensor out = field.like(grid, field.data().dtype());
  if (out.is_meta() || out.numel() == 0) return out;
  if (field.data().numel() == 0)
    fill(out, 0);  // no element leads to any of these
  else
    cpu::resample(out.dtype(), field.mapped(maps()), out.ptr<char>(), field.data().ptr<char>());
  return out;
}
// Through the adjoints of maps from that grid.
template <class F>
Tensor adjoint_resampled(const SpatialView& field, IntSpan grid, F maps) {
  return resampled(field, grid, [&] {
    std::vector<cpu::ResampleWeights> adjoints = maps();
    for (cpu::ResampleWeights& map : adjoints) map = cpu::transposed(map);
    return adjoints;
  });
}

}  // namespace tl
