// Quantized tensors: integers of an element type such as `quint8`, and a quantizer in the slot of the layer
// `stored`, which maps them to numbers.
#pragma once

#include "base/intrusive.h"
#include "tensor/tensor.h"

namespace tl {

// Scales and zero points. Tensors share one, and nobody changes it.
struct Quantizer {
  std::atomic<int32_t> refs{1};
  double scale = 1;
  int64_t zero_point = 0;
  Tensor scales = {}, zero_points = {};  // of the slices along `axis`; none: one scale for all elements
  int64_t axis = 0;

  bool is_per_channel() const { return static_cast<bool>(scales); }
  void destroy() { delete this; }
};
using QuantizerPtr = IntrusivePtr<Quantizer>;

QuantizerPtr per_tensor(double scale, int64_t zero_point);
QuantizerPtr per_channel(Tensor scales, Tensor zero_points, int64_t axis);

Quantizer* quantizer_of(const TensorImpl& t);  // null: the tensor isn't quantized
inline bool has_quantizer(const Tensor& t) { return is_quantized(t.dtype()) && quantizer_of(*t.impl()); }
void set_quantizer(TensorImpl& t, QuantizerPtr quantizer);
// Of a view: one scale fits each of them. Raises for the scales of channels, unless the geometry is the same.
void keep_quantizer(TensorImpl& view, const TensorImpl& src);

// The type of the integers of a quantized type.
DType integer_type(DType quantized);
// The integers of a quantized tensor, as a plain tensor on its memory.
Tensor integers_of(const Tensor& t);
// A quantized tensor on the memory of its integers.
Tensor quantized(const Tensor& integers, DType dtype, QuantizerPtr quantizer);

}  // namespace tl
