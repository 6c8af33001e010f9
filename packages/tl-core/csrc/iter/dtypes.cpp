// Type promotion over categories (bool, integer, floating, complex), and the dtypes of computation.
#include "iter/dtypes.h"

#include <iterator>

#include "tensor/default_dtype.h"

namespace tl {

namespace {
int category(DType d) { return is_complex(d) ? 3 : is_floating(d) ? 2 : d != DType::Bool; }

DType promote_ints(DType a, DType b) {
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  const bool ua = is_unsigned(a), ub = is_unsigned(b);
  if (ua == ub) return item_size(a) >= item_size(b) ? a : b;
  const DType u = ua ? a : b, s = ua ? b : a;
  if (item_size(s) > item_size(u)) return s;
  switch (item_size(u)) {  // the smallest signed type that holds both
    case 1:
      return DType::Int16;
    case 2:
      return DType::Int32;
    case 4:
      return DType::Int64;
    default:
      fail(ErrorKind::Runtime,
           "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ",
           scalar_type_name(a), " and ", scalar_type_name(b), ": no integer type holds both");
  }
}

// Types that are only stored have no common type with any other.
[[noreturn, gnu::cold]] void refuse_promotion(DType a, DType b) {
  const auto either = [=](auto is) { return is(a) || is(b); };
  if (either(is_float8))
    fail(ErrorKind::Runtime, "Promotion for Float8 Types is not supported, attempted to promote ",
         scalar_type_name(a), " and ", scalar_type_name(b));
  if (either(is_quantized))
    fail(ErrorKind::Runtime, "promote_types with quantized numbers is not handled: attempted to promote ",
         scalar_type_name(a), " and ", scalar_type_name(b));
  fail(ErrorKind::Runtime, "Promotion from ", scalar_type_name(a), " and ", scalar_type_name(b),
       " is unsupported.");
}

DType promote_floats(DType a, DType b) {
  if (is_half(a) && is_half(b)) return DType::Float32;  // neither holds the other
  return item_size(a) >= item_size(b) ? a : b;
}
}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_stored_only(a) || is_stored_only(b)) refuse_promotion(a, b);
  const int ca = category(a), cb = category(b);
  if (ca < 2 && cb < 2) return promote_ints(a, b);
  if (ca == 3 || cb == 3) {
    const DType ra = ca >= 2 ? to_real(a) : to_real(b), rb = cb >= 2 ? to_real(b) : ra;
    return to_complex(ra == rb ? ra : promote_floats(ra, rb));
  }
  if (ca < 2) return b;
  if (cb < 2) return a;
  return promote_floats(a, b);
}

DType checked_to_complex(DType d) {
  TL_CHECK((is_floating(d) && !is_stored_only(d)) || is_complex(d), Runtime,
           "Unknown Complex ScalarType for ", scalar_type_name(d));
  return to_complex(d);
}

bool can_cast(DType from, DType to) { return category(from) <= category(to); }

namespace {
// As error messages call the types, in the order of DType.
constexpr const char* kScalarTypeNames[] = {"Bool",
                                            "Byte",
                                            "Char",
                                            "Short",
                                            "Int",
                                            "Long",
                                            "UInt16",
                                            "UInt32",
                                            "UInt64",
                                            "Half",
                                            "BFloat16",
                                            "Float",
                                            "Double",
                                            "ComplexHalf",
                                            "ComplexFloat",
                                            "ComplexDouble",
                                            "Float8_e4m3fn",
                                            "Float8_e5m2",
                                            "Float8_e4m3fnuz",
                                            "Float8_e5m2fnuz",
                                            "Float8_e8m0fnu",
                                            "Float4_e2m1fn_x2",
                                            "Bits1x8",
                                            "Bits2x4",
                                            "Bits4x2",
                                            "Bits8",
                                            "Bits16",
                                            "QUInt8",
                                            "QInt8",
                                            "QInt32",
                                            "QUInt4x2",
                                            "QUInt2x4",
                                            "UInt1",
                                            "UInt2",
                                            "UInt3",
                                            "UInt4",
                                            "UInt5",
                                            "UInt6",
                                            "UInt7",
                                            "Int1",
                                            "Int2",
                                            "Int3",
                                            "Int4",
                                            "Int5",
                                            "Int6",
                                            "Int7"};
static_assert(std::size(kScalarTypeNames) == kNumStorableDTypes);
}  // namespace

const char* scalar_type_name(DType d) { return kScalarTypeNames[static_cast<int>(d)]; }

DType scalar_dtype(const Scalar& s) {
  if (s.is_bool()) return DType::Bool;
  if (s.is_int()) return DType::Int64;
  return s.is_float() ? default_dtype() : to_complex(default_dtype());
}

DType opmath_type(DType d) { return is_half(d) || is_float8(d) ? DType::Float32 : d; }
DType accumulate_type(DType d) { return is_integral(d, true) ? DType::Int64 : opmath_type(d); }
DType sum_type(DType d) { return is_integral(d, true) ? DType::Int64 : d; }
DType common_kernel_type(DType d) {
  if (is_complex(d)) return d == DType::Complex128 ? d : DType::Complex64;
  return sum_type(d);
}
DType double_precision(DType d) { return is_complex(d) ? DType::Complex128 : DType::Float64; }

DType wider_type(DType d) {
  if (is_float8(d)) return DType::Float32;
  switch (d) {
    case DType::Bool:
    case DType::UInt8:
    case DType::Int8:
    case DType::Int16:
    case DType::UInt16:
      return DType::Int32;
    case DType::Int32:
    case DType::UInt32:
      return DType::Int64;
    case DType::Float16:
    case DType::BFloat16:
      return DType::Float32;
    case DType::Float32:
      return DType::Float64;
    case DType::Complex32:
      return DType::Complex64;
    case DType::Complex64:
      return DType::Complex128;
    default:
      return d;
  }
}

void Promotion::lift(Maybe& m, DType d) { m = {m.defined ? promote(m.dtype, d) : d, true}; }

Promotion::Maybe Promotion::combine(Maybe higher, Maybe lower) {
  if (!higher.defined) return lower;
  if (!lower.defined || is_complex(higher.dtype)) return higher;
  if (is_floating(higher.dtype))
    return is_complex(lower.dtype) ? Maybe{checked_to_complex(higher.dtype), true} : higher;
  if (higher.dtype == DType::Bool || category(lower.dtype) >= 2)
    return {promote(higher.dtype, lower.dtype), true};
  return higher;
}

DType operand_type(Promote rule, DType common) {
  const bool floats = rule == Promote::Float || rule == Promote::RealFloat;
  if (floats && is_integral(common, true)) return default_dtype();
  return rule == Promote::Int && common == DType::Bool ? DType::Int64 : common;
}

DType Promotion::result() const { return combine(combine(dims_, zero_), scalar_).dtype; }

DType common_dtype(std::span<const Tensor> tensors) {
  Promotion promotion;
  for (const Tensor& t : tensors) promotion.add(t);
  return promotion.result();
}

}  // namespace tl
