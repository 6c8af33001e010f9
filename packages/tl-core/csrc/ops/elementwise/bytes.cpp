// Quantized bytes element by element: to bytes, from bytes, and their sum.
#include "kernels/cpu/elementwise/bytes.h"

#include <algorithm>
#include <cmath>

#include "iter/dtypes.h"
#include "kernel_args.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "tensor/geometry.h"

namespace tl {

namespace {

void check_bytes(const Tensor& t, const char* name) {
  TL_CHECK(t.dtype() == DType::UInt8 || t.dtype() == DType::Int8, Runtime, name,
           " must be of type Byte or Char, got ", scalar_type_name(t.dtype()));
}

cpu::ByteScale checked(const char* name, double scale, int64_t zero_point, bool is_signed) {
  TL_CHECK(scale > 0 && std::isfinite(scale), Runtime, name, "scale must be positive and finite, got ",
           scale);
  const int64_t low = is_signed ? -128 : 0, high = low + 255;
  TL_CHECK(zero_point >= low && zero_point <= high, Runtime, name, "zero_point must be from ", low, " to ",
           high, ", got ", zero_point);
  return {static_cast<float>(scale), static_cast<int32_t>(zero_point)};
}

// The elements of a tensor, in memory as those of `like` are.
Tensor laid_out(const Tensor& t, const Tensor& like) {
  if (std::ranges::equal(t.strides(), like.strides())) return t;
  const Tensor copy = ops::empty_like(like, {t.dtype(), {}, {}, {}});
  copy_elements(copy, t);
  return copy;
}

Tensor quantize(const Tensor& self, double scale, int64_t zero_point, bool is_signed) {
  TL_CHECK(self.dtype() == DType::Float32, Runtime, "self must be of type Float, got ",
           scalar_type_name(self.dtype()));
  const cpu::ByteScale to = checked("", scale, zero_point, is_signed);
  const Tensor result = ops::empty_like(self, {is_signed ? DType::Int8 : DType::UInt8, {}, {}, {}});
  if (!result.is_meta() && result.numel()) {
    const Tensor x = laid_out(self, result);
    cpu::quantize_bytes({result.numel(), x.ptr<float>(), to, is_signed, result.ptr<uint8_t>()});
  }
  return result;
}

Tensor dequantize(const Tensor& self, double scale, int64_t zero_point) {
  check_bytes(self, "self");
  const bool is_signed = self.dtype() == DType::Int8;
  const cpu::ByteScale of = checked("", scale, zero_point, is_signed);
  const Tensor result = ops::empty_like(self, {DType::Float32, {}, {}, {}});
  if (!result.is_meta() && result.numel()) {
    const Tensor x = laid_out(self, result);
    cpu::dequantize_bytes({result.numel(), x.ptr<uint8_t>(), of, is_signed, result.ptr<float>()});
  }
  return result;
}

Tensor add(const AddBytesArgs& a) {
  check_bytes(a.self, "self");
  TL_CHECK(a.other.dtype() == a.self.dtype(), Runtime, "other must be of the type of self, ",
           scalar_type_name(a.self.dtype()), ", got ", scalar_type_name(a.other.dtype()));
  TL_CHECK(std::ranges::equal(a.other.sizes(), a.self.sizes()), Runtime,
           "other must have the shape of self, ", a.self.sizes(), ", got ", a.other.sizes());
  const bool is_signed = a.self.dtype() == DType::Int8;
  const cpu::ByteScale of_self = checked("self_", a.self_scale, a.self_zero_point, is_signed),
                       of_other = checked("other_", a.other_scale, a.other_zero_point, is_signed),
                       to = checked("", a.scale, a.zero_point, is_signed);
  const Tensor result = ops::empty_like(a.self);
  if (!result.is_meta() && result.numel()) {
    const Tensor x = laid_out(a.self, result), y = laid_out(a.other, result);
    const int32_t low = a.relu ? to.zero_point : is_signed ? -128 : 0;
    cpu::add_bytes({result.numel(), x.ptr<uint8_t>(), y.ptr<uint8_t>(), of_self, of_other, to, low, is_signed,
                    result.ptr<uint8_t>()});
  }
  return result;
}

}  // namespace

TL_KERNEL(_quantize_bytes, quantize)
TL_KERNEL(_dequantize_bytes, dequantize)
TL_KERNEL(_add_bytes, add)

}  // namespace tl
