// Quantizers of tensors: a slot with a share in the scales and zero points.
#include "tensor/quantizer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tensor/slots.h"

namespace tl {

namespace {
void release_quantizer(void* data) { QuantizerPtr::adopt(static_cast<Quantizer*>(data)); }
constexpr TlSlotType kSlotType{sizeof(TlSlotType), release_quantizer, nullptr, nullptr};
}  // namespace

QuantizerPtr per_tensor(double scale, int64_t zero_point) {
  auto quantizer = QuantizerPtr::adopt(new Quantizer);
  quantizer->scale = scale;
  quantizer->zero_point = zero_point;
  return quantizer;
}

QuantizerPtr per_channel(Tensor scales, Tensor zero_points, int64_t axis) {
  auto quantizer = QuantizerPtr::adopt(new Quantizer);
  quantizer->scales = std::move(scales);
  quantizer->zero_points = std::move(zero_points);
  quantizer->axis = axis;
  return quantizer;
}

Quantizer* quantizer_of(const TensorImpl& t) { return static_cast<Quantizer*>(get_slot(t, TL_LAYER_STORED)); }

void set_quantizer(TensorImpl& t, QuantizerPtr quantizer) {
  set_slot(t, TL_LAYER_STORED, quantizer.detach(), &kSlotType);
}

void keep_quantizer(TensorImpl& view, const TensorImpl& src) {
  Quantizer* const quantizer = quantizer_of(src);
  if (!quantizer || view.dtype != src.dtype) return;
  const bool same =
      std::ranges::equal(view.sizes(), src.sizes()) && std::ranges::equal(view.strides(), src.strides());
  TL_CHECK(same || !quantizer->is_per_channel(), NotImplemented,
           "this view of a tensor with a scale a channel isn't supported; call dequantize() before");
  set_quantizer(view, QuantizerPtr::share(quantizer));
}

DType integer_type(DType quantized) {
  return quantized == stored::QInt8 ? DType::Int8 : quantized == stored::QInt32 ? DType::Int32 : DType::UInt8;
}

Tensor integers_of(const Tensor& t) {
  Tensor integers = alias(t);
  set_slot(*integers.impl(), TL_LAYER_STORED, nullptr, nullptr);
  integers->set_dtype(integer_type(t.dtype()));
  return integers;
}

Tensor quantized(const Tensor& integers, DType dtype, QuantizerPtr quantizer) {
  TL_CHECK(is_quantized(dtype), Runtime, "expected a quantized type such as torch.quint8, but got torch.",
           dtype_name(dtype));
  TL_CHECK(integers.dtype() == integer_type(dtype), Type, "integers of torch.", dtype_name(dtype),
           " are of torch.", dtype_name(integer_type(dtype)), ", but got torch.",
           dtype_name(integers.dtype()));
  Tensor t = alias(integers);
  t->set_dtype(dtype);
  set_quantizer(*t.impl(), std::move(quantizer));
  return t;
}

}  // namespace tl
