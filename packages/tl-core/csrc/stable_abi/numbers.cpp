// Numbers of PyTorch's enumerations: element types, devices, layouts, formats of memory, tags. Extensions ask
// for each number by a function of its own.
#include <cstddef>

#include "stable_abi/handles.h"

namespace tl::stable {

namespace {
struct Pair {
  int32_t number;
  int64_t dtype;
};
constexpr Pair kDtypes[] = {
    {0, TL_DTYPE_OF(TL_CODE_UINT, 8)},
    {1, TL_DTYPE_OF(TL_CODE_INT, 8)},
    {2, TL_DTYPE_OF(TL_CODE_INT, 16)},
    {3, TL_DTYPE_OF(TL_CODE_INT, 32)},
    {4, TL_DTYPE_OF(TL_CODE_INT, 64)},
    {5, TL_DTYPE_OF(TL_CODE_FLOAT, 16)},
    {6, TL_DTYPE_OF(TL_CODE_FLOAT, 32)},
    {7, TL_DTYPE_OF(TL_CODE_FLOAT, 64)},
    {8, TL_DTYPE_OF(TL_CODE_COMPLEX, 32)},
    {9, TL_DTYPE_OF(TL_CODE_COMPLEX, 64)},
    {10, TL_DTYPE_OF(TL_CODE_COMPLEX, 128)},
    {11, TL_DTYPE_OF(TL_CODE_BOOL, 8)},
    {15, TL_DTYPE_OF(TL_CODE_BFLOAT, 16)},
    {23, TL_DTYPE_OF(TL_CODE_FLOAT8_E5M2, 8)},
    {24, TL_DTYPE_OF(TL_CODE_FLOAT8_E4M3FN, 8)},
    {25, TL_DTYPE_OF(TL_CODE_FLOAT8_E5M2FNUZ, 8)},
    {26, TL_DTYPE_OF(TL_CODE_FLOAT8_E4M3FNUZ, 8)},
    {27, TL_DTYPE_OF(TL_CODE_UINT, 16)},
    {28, TL_DTYPE_OF(TL_CODE_UINT, 32)},
    {29, TL_DTYPE_OF(TL_CODE_UINT, 64)},
    {44, TL_DTYPE_OF(TL_CODE_FLOAT8_E8M0FNU, 8)},
    {45, TL_DTYPE_OF(TL_CODE_FLOAT4_E2M1FN, 8)},
};
// In the order of PyTorch's numbers; -1: tl has no such layout.
constexpr int64_t kLayouts[] = {TL_STRIDED,    TL_SPARSE_COO, TL_SPARSE_CSR, -1,
                                TL_SPARSE_CSC, TL_SPARSE_BSR, TL_SPARSE_BSC, -1};
constexpr int32_t kCpu = 0, kCuda = 1, kXpu = 12, kMps = 13, kMeta = 14, kPrivateUse1 = 20;
}  // namespace

int64_t dtype_from_stable(int32_t number) {
  for (const Pair& p : kDtypes)
    if (p.number == number) return p.dtype;
  fail("tl has no element type with the number " + std::to_string(number));
}

int32_t dtype_to_stable(int64_t dtype) {
  for (const Pair& p : kDtypes)
    if (p.dtype == dtype) return p.number;
  fail("PyTorch's stable interface has no number for the element type of this tensor (code " +
       std::to_string(TL_DTYPE_CODE(dtype)) + ", " + std::to_string(TL_DTYPE_BITS(dtype)) + " bits)");
}

int64_t device_from_stable(int32_t type, int32_t index) {
  switch (type) {
    case kCpu:
      return TL_DEVICE_OF(TL_DEVICE_CPU, -1);
    case kCuda:
      return TL_DEVICE_OF(TL_DEVICE_CUDA, index);
    case kMeta:
      return TL_DEVICE_OF(TL_DEVICE_META, -1);
    case kPrivateUse1:
      return TL_DEVICE_OF(TL_DEVICE_EXTENSION, index);
    default:
      fail("tl has no device type with the number " + std::to_string(type));
  }
}

int32_t device_type_to_stable(int64_t device) {
  switch (TL_DEVICE_TYPE(device)) {
    case TL_DEVICE_CPU:
      return kCpu;
    case TL_DEVICE_CUDA:
      return kCuda;
    case TL_DEVICE_META:
      return kMeta;
    default:
      return kPrivateUse1;
  }
}

int64_t layout_from_stable(int32_t number) {
  const bool known = number >= 0 && number < static_cast<int32_t>(sizeof kLayouts / sizeof *kLayouts);
  if (!known || kLayouts[number] < 0) fail("tl has no layout with the number " + std::to_string(number));
  return kLayouts[number];
}

int32_t layout_to_stable(int64_t layout) {
  for (int32_t i = 0; i < static_cast<int32_t>(sizeof kLayouts / sizeof *kLayouts); ++i)
    if (kLayouts[i] == layout) return i;
  fail("PyTorch's stable interface has no number for the layout " + std::to_string(layout));
}

}  // namespace tl::stable

using namespace tl::stable;

#define NUMBER(name, value)                  \
  TL_STABLE int32_t name() { return value; } \
  static_assert(true, "a semicolon follows")

NUMBER(aoti_torch_device_type_cpu, kCpu);
NUMBER(aoti_torch_device_type_cuda, kCuda);
NUMBER(aoti_torch_device_type_meta, kMeta);
NUMBER(aoti_torch_device_type_xpu, kXpu);
NUMBER(aoti_torch_device_type_mps, kMps);
NUMBER(aoti_torch_device_type_privateuse1, kPrivateUse1);

NUMBER(aoti_torch_dtype_uint8, 0);
NUMBER(aoti_torch_dtype_int8, 1);
NUMBER(aoti_torch_dtype_int16, 2);
NUMBER(aoti_torch_dtype_int32, 3);
NUMBER(aoti_torch_dtype_int64, 4);
NUMBER(aoti_torch_dtype_float16, 5);
NUMBER(aoti_torch_dtype_float32, 6);
NUMBER(aoti_torch_dtype_float64, 7);
NUMBER(aoti_torch_dtype_complex32, 8);
NUMBER(aoti_torch_dtype_complex64, 9);
NUMBER(aoti_torch_dtype_complex128, 10);
NUMBER(aoti_torch_dtype_bool, 11);
NUMBER(aoti_torch_dtype_bfloat16, 15);
NUMBER(aoti_torch_dtype_float8_e5m2, 23);
NUMBER(aoti_torch_dtype_float8_e4m3fn, 24);
NUMBER(aoti_torch_dtype_float8_e5m2fnuz, 25);
NUMBER(aoti_torch_dtype_float8_e4m3fnuz, 26);
NUMBER(aoti_torch_dtype_uint16, 27);
NUMBER(aoti_torch_dtype_uint32, 28);
NUMBER(aoti_torch_dtype_uint64, 29);
NUMBER(aoti_torch_dtype_float8_e8m0fnu, 44);
NUMBER(aoti_torch_dtype_float4_e2m1fn_x2, 45);
NUMBER(torch_dtype_float8_e8m0fnu, 44);
NUMBER(torch_dtype_float4_e2m1fn_x2, 45);

NUMBER(aoti_torch_layout_strided, 0);
NUMBER(aoti_torch_layout_sparse_coo, 1);
NUMBER(aoti_torch_layout_sparse_csr, 2);
NUMBER(aoti_torch_layout__mkldnn, 3);
NUMBER(aoti_torch_layout_sparse_csc, 4);
NUMBER(aoti_torch_layout_sparse_bsr, 5);
NUMBER(aoti_torch_layout_sparse_bsc, 6);
NUMBER(aoti_torch_layout_jagged, 7);

NUMBER(aoti_torch_memory_format_contiguous_format, TL_CONTIGUOUS);
NUMBER(aoti_torch_memory_format_preserve_format, TL_PRESERVE);
NUMBER(aoti_torch_memory_format_channels_last, TL_CHANNELS_LAST);
NUMBER(aoti_torch_memory_format_channels_last_3d, TL_CHANNELS_LAST_3D);

// The order of `TAGS` in tl_core/extensions/stable_registrations.py.
NUMBER(torch_tag_core, 0);
NUMBER(torch_tag_cudagraph_unsafe, 1);
NUMBER(torch_tag_data_dependent_output, 2);
NUMBER(torch_tag_dynamic_output_shape, 3);
NUMBER(torch_tag_flexible_layout, 4);
NUMBER(torch_tag_generated, 5);
NUMBER(torch_tag_inplace_view, 6);
NUMBER(torch_tag_maybe_aliasing_or_mutating, 7);
NUMBER(torch_tag_needs_contiguous_strides, 8);
NUMBER(torch_tag_needs_exact_strides, 9);
NUMBER(torch_tag_needs_fixed_stride_order, 10);
NUMBER(torch_tag_nondeterministic_bitwise, 11);
NUMBER(torch_tag_nondeterministic_seeded, 12);
NUMBER(torch_tag_out_variant, 13);
NUMBER(torch_tag_pointwise, 14);
NUMBER(torch_tag_pt2_compliant_tag, 15);
NUMBER(torch_tag_reduction, 16);
NUMBER(torch_tag_view_copy, 17);

// The version whose functions are here: 2.13.
TL_STABLE uint64_t aoti_torch_abi_version() { return uint64_t{2} << 56 | uint64_t{13} << 48; }

TL_STABLE size_t aoti_torch_dtype_element_size(int32_t dtype) {
  size_t size = 0;
  attempt([&] { size = static_cast<size_t>(TL_DTYPE_BITS(dtype_from_stable(dtype)) + 7) / 8; });
  return size;
}
