// Products of floats with weights of 8 and 4 bits: checks and conversions.
#include "kernels/cpu/gemm/weight_only.h"

#include <algorithm>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"

namespace tl {

namespace {

void check_floats(const char* name, const Tensor& a) {
  TL_CHECK(a.dtype() == DType::Float32 || a.dtype() == DType::Float16 || a.dtype() == DType::BFloat16,
           Runtime, name, " : expect A to be either 32-bit or 16-bit float tensor, got ",
           scalar_type_name(a.dtype()));
  TL_CHECK(a.dim() == 2, Runtime, name, " : expect A to be 2D tensor, got ", a.dim(), " dimensions");
}

// Dense and of float32.
Tensor floats(const Tensor& t) { return to_contiguous(to_dtype(t, DType::Float32)); }

Tensor int8_mm(const Tensor& self, const Tensor& mat2, const Tensor& scales) {
  constexpr const char* kName = "_weight_int8pack_mm_cpu";
  check_floats(kName, self);
  TL_CHECK(mat2.dtype() == DType::Int8, Runtime, kName, " : expect B to be int8 tensor, got ",
           scalar_type_name(mat2.dtype()));
  TL_CHECK(mat2.dim() == 2 && mat2.size(1) == self.size(1), Runtime, kName,
           " : expect B.size(1) == ", self.size(1), ", got B of shape ", mat2.sizes());
  const int64_t m = self.size(0), n = mat2.size(0), k = self.size(1);
  TL_CHECK(scales.dim() == 1 && scales.size(0) == n, Runtime, kName,
           " : expect scales to be 1d tensor with size ", n, ", got the shape ", scales.sizes());
  TL_CHECK(scales.dtype() == self.dtype(), Runtime, "expected scalar type ", scalar_type_name(self.dtype()),
           " but found ", scalar_type_name(scales.dtype()));
  const Tensor c = empty(DimVector{m, n}, {DType::Float32, self.device()});
  if (!c.is_meta() && c.numel()) {
    const Tensor a = floats(self), w = to_contiguous(mat2), s = floats(scales);
    cpu::multiply_int8_weight({m, n, k, a.ptr<float>(), w.ptr<int8_t>(), s.ptr<float>(), c.ptr<float>()});
  }
  return to_dtype(c, self.dtype());
}

Tensor pack_int4(const Tensor& self, int64_t) {
  constexpr const char* kName = "_convert_weight_to_int4pack_cpu";
  TL_CHECK(self.dtype() == DType::Int32, Runtime, kName, " : expect weight to be kInt, got ",
           scalar_type_name(self.dtype()));
  TL_CHECK(self.dim() == 2, Runtime, kName, " : expect weight to be 2D tensor, got ", self.dim(),
           " dimensions");
  TL_CHECK(self.size(0) % 16 == 0, Runtime, kName, " : expect N to be dividable by 16, got ", self.size(0));
  TL_CHECK(self.size(1) % 2 == 0, Runtime, kName, " : expect K to be dividable by 2, got ", self.size(1));
  const Tensor packed = empty(DimVector{self.size(0), self.size(1) / 2}, {DType::UInt8, self.device()});
  if (!packed.is_meta() && packed.numel())
    cpu::pack_int4(to_contiguous(self).ptr<int32_t>(), self.size(0), self.size(1), packed.ptr<uint8_t>());
  return packed;
}

void check_int4(const Tensor& self, const Tensor& mat2, int64_t group, const Tensor& factors) {
  constexpr const char* kName = "_weight_int4pack_mm_cpu";
  check_floats(kName, self);
  const int64_t n = mat2.dim() == 2 ? mat2.size(0) : 0, k = self.size(1);
  TL_CHECK(mat2.dtype() == DType::UInt8, Runtime, kName, " : expect B to be uint8 tensor, got ",
           scalar_type_name(mat2.dtype()));
  TL_CHECK(mat2.dim() == 2 && mat2.size(1) * 2 == k && n % 16 == 0, Runtime, kName,
           " : expect B.size(1) to be K/2 and B.size(0) a multiple of 16, got B of shape ", mat2.sizes(),
           " for K = ", k);
  TL_CHECK(group == 32 || group == 64 || group == 128 || group == 256, Runtime, kName,
           ": expect qGroupSize to be 32, 64, 128 or 256, got ", group);
  TL_CHECK(k % group == 0, Runtime, kName, ": expect K to be divisible by qGroupSize, got K:", k,
           ", qGroupSize:", group);
  TL_CHECK(std::ranges::equal(factors.sizes(), DimVector{k / group, n, 2}), Runtime, kName,
           ": expect qScaleAndZeros to be 3d tensor with sizes [", k / group, ", ", n, ", 2], got ",
           factors.sizes());
  TL_CHECK(factors.dtype() == self.dtype(), Runtime, "expected scalar type ", scalar_type_name(self.dtype()),
           " but found ", scalar_type_name(factors.dtype()));
}

Tensor int4_mm(const Tensor& self, const Tensor& mat2, int64_t group, const Tensor& factors) {
  check_int4(self, mat2, group, factors);
  const int64_t m = self.size(0), n = mat2.size(0), k = self.size(1);
  const Tensor c = empty(DimVector{m, n}, {DType::Float32, self.device()});
  if (!c.is_meta() && c.numel()) {
    const Tensor a = floats(self), w = to_contiguous(mat2), s = floats(factors);
    cpu::multiply_int4_weight(
        {m, n, k, group, a.ptr<float>(), w.ptr<uint8_t>(), s.ptr<float>(), c.ptr<float>()});
  }
  return to_dtype(c, self.dtype());
}

}  // namespace

TL_KERNEL(_weight_int8pack_mm, int8_mm)
TL_KERNEL(_convert_weight_to_int4pack_for_cpu, pack_int4)
TL_KERNEL(_weight_int4pack_mm_for_cpu, int4_mm)

}  // namespace tl
