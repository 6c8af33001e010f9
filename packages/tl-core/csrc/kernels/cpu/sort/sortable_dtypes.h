// Sortable dtypes: every one but complex numbers, which operators refuse.
#pragma once

#include "base/dtype.h"

namespace tl::cpu {

// f(a null pointer to the type)
template <class F>
void with_sortable(DType dtype, F f) {
  switch (dtype) {
#define TL_CASE(E, T) \
  case DType::E:      \
    return f(static_cast<T*>(nullptr));
    TL_CASE(Bool, bool)
    TL_CASE(UInt8, uint8_t)
    TL_CASE(Int8, int8_t)
    TL_CASE(Int16, int16_t)
    TL_CASE(Int32, int32_t)
    TL_CASE(Int64, int64_t)
    TL_CASE(UInt16, uint16_t)
    TL_CASE(UInt32, uint32_t)
    TL_CASE(UInt64, uint64_t)
    TL_CASE(Float16, Half)
    TL_CASE(BFloat16, BFloat16)
    TL_CASE(Float32, float)
    TL_CASE(Float64, double)
#undef TL_CASE
    default:
      __builtin_unreachable();  // operators refuse complex numbers
  }
}

}  // namespace tl::cpu
