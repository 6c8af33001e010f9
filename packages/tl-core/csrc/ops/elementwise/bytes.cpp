// Quantized bytes element by element: to bytes, from bytes, their sum and product.
#include "ops/elementwise/bytes.h"

#include <algorithm>
#include <cmath>

#include "iter/dtypes.h"
#include "kernel_args.h"
#include "kernels/cpu/elementwise/bytes.h"
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

void check_alike(const Tensor& self, const Tensor& other) {
  check_bytes(self, "self");
  TL_CHECK(other.dtype() == self.dtype(), Runtime, "other must be of the type of self, ",
           scalar_type_name(self.dtype()), ", got ", scalar_type_name(other.dtype()));
  TL_CHECK(std::ranges::equal(other.sizes(), self.sizes()), Runtime, "other must have the shape of self, ",
           self.sizes(), ", got ", other.sizes());
}

struct PairOfBytes {
  const Tensor &self, &other;
  cpu::ByteScale of_self, of_other, to;
  bool relu;
};

Tensor combined(const PairOfBytes& a, void (*combine)(const cpu::AddedBytes&)) {
  const bool is_signed = a.self.dtype() == DType::Int8;
  const Tensor result = ops::empty_like(a.self);
  if (!result.is_meta() && result.numel()) {
    const Tensor x = laid_out(a.self, result), y = laid_out(a.other, result);
    const int32_t low = a.relu ? a.to.zero_point : is_signed ? -128 : 0;
    combine({result.numel(), x.ptr<uint8_t>(), y.ptr<uint8_t>(), a.of_self, a.of_other, a.to, low, is_signed,
             result.ptr<uint8_t>()});
  }
  return result;
}

Tensor add(const AddBytesArgs& a) {
  check_alike(a.self, a.other);
  const bool is_signed = a.self.dtype() == DType::Int8;
  return combined({a.self, a.other, checked("self_", a.self_scale, a.self_zero_point, is_signed),
                   checked("other_", a.other_scale, a.other_zero_point, is_signed),
                   checked("", a.scale, a.zero_point, is_signed), a.relu},
                  cpu::add_bytes);
}

cpu::ByteScale byte_scale(double scale, int64_t zero_point) {
  return {static_cast<float>(scale), static_cast<int32_t>(zero_point)};
}

void clamp_into(const Tensor& out, const Tensor& x, int64_t low) {
  const bool is_signed = x.dtype() == DType::Int8;
  if (!out.is_meta() && out.numel())
    cpu::clamp_min_bytes(
        {out.numel(), x.ptr<uint8_t>(), static_cast<int32_t>(low), is_signed, out.ptr<uint8_t>()});
}

}  // namespace

Tensor requantized_bytes(const Tensor& x, double scale, int64_t zero_point, bool is_signed) {
  TL_CHECK(x.dtype() == DType::Float32, Runtime, "expected numbers of type Float, got ",
           scalar_type_name(x.dtype()));
  const Tensor result = ops::empty_like(x, {is_signed ? DType::Int8 : DType::UInt8, {}, {}, {}});
  if (!result.is_meta() && result.numel()) {
    const Tensor dense = laid_out(x, result);
    cpu::requantize_bytes({result.numel(), dense.ptr<float>(), byte_scale(scale, zero_point), is_signed,
                           result.ptr<uint8_t>()});
  }
  return result;
}

Tensor multiplied_bytes(const ByteOperand& x, const ByteOperand& y, double scale, int64_t zero_point,
                        bool relu) {
  check_alike(x.integers, y.integers);
  return combined({x.integers, y.integers, byte_scale(x.scale, x.zero_point),
                   byte_scale(y.scale, y.zero_point), byte_scale(scale, zero_point), relu},
                  cpu::multiply_bytes);
}

Tensor clamped_bytes(const Tensor& integers, int64_t low) {
  const Tensor result = ops::empty_like(integers);
  clamp_into(result, laid_out(integers, result), low);
  return result;
}

Tensor look_up_bytes(const Tensor& integers, const Tensor& table) {
  check_bytes(integers, "integers");
  check_bytes(table, "table");
  TL_CHECK(table.numel() == 256 && table.is_contiguous(), Runtime, "table must have 256 bytes, got ",
           table.sizes());
  const Tensor result = ops::empty_like(integers, {table.dtype(), {}, {}, {}});
  if (!result.is_meta() && result.numel()) {
    const Tensor x = laid_out(integers, result);
    cpu::look_up_bytes({result.numel(), x.ptr<uint8_t>(), table.ptr<uint8_t>(), result.ptr<uint8_t>()});
  }
  return result;
}

void clamp_min_bytes_(const Tensor& integers, int64_t low) {
  const Tensor result = ops::empty_like(integers);  // dense, with the strides of a dense tensor
  if (std::ranges::equal(result.strides(), integers.strides()))
    clamp_into(integers, integers, low);
  else
    ops::copy_(integers, clamped_bytes(integers, low));
}

TL_KERNEL(_quantize_bytes, quantize)
TL_KERNEL(_dequantize_bytes, dequantize)
TL_KERNEL(_add_bytes, add)

}  // namespace tl
