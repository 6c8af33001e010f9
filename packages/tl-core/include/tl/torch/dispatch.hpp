// AT_DISPATCH_*: code for the element type of a tensor.
#ifndef TL_TORCH_DISPATCH_HPP
#define TL_TORCH_DISPATCH_HPP

#include <tl/torch/scalar_type.hpp>

namespace c10 {
TL_FACE {
  namespace face {
  inline ScalarType scalar_type_of(ScalarType t) { return t; }
  inline ScalarType scalar_type_of(const TensorOptions& o) { return o.dtype().toScalarType(); }
  [[noreturn, gnu::cold, gnu::noinline]] inline void refuse_dispatch(const std::string& name, ScalarType t) {
    fail<NotImplementedError>("", '"', name, "\" not implemented for '", t, "'");
  }
  }  // namespace face
}
}  // namespace c10

#define AT_PRIVATE_CASE_TYPE_USING_HINT(TYPE, HINT, ...)                   \
  case TYPE: {                                                             \
    using HINT [[maybe_unused]] = ::c10::impl::ScalarTypeToCPPTypeT<TYPE>; \
    return __VA_ARGS__();                                                  \
  }
#define AT_DISPATCH_CASE(TYPE, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(TYPE, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                        \
  [&] {                                                                            \
    const auto& tl_type = TYPE;                                                    \
    const ::c10::ScalarType tl_scalar_type = ::c10::face::scalar_type_of(tl_type); \
    switch (tl_scalar_type) {                                                      \
      __VA_ARGS__                                                                  \
      default:                                                                     \
        ::c10::face::refuse_dispatch(NAME, tl_scalar_type);                        \
    }                                                                              \
  }()
#define AT_DISPATCH_CASE_TMPL(...) __VA_ARGS__

#define TL_FACE_CASE(NAME, ...) AT_DISPATCH_CASE(::c10::ScalarType::NAME, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) \
  TL_FACE_CASE(Double, __VA_ARGS__) TL_FACE_CASE(Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...) \
  TL_FACE_CASE(ComplexDouble, __VA_ARGS__) TL_FACE_CASE(ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) \
  TL_FACE_CASE(Byte, __VA_ARGS__)            \
  TL_FACE_CASE(Char, __VA_ARGS__)            \
  TL_FACE_CASE(Int, __VA_ARGS__) TL_FACE_CASE(Long, __VA_ARGS__) TL_FACE_CASE(Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) TL_FACE_CASE(Half, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...) \
  TL_FACE_CASE(Half, __VA_ARGS__) TL_FACE_CASE(BFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_QINT_TYPES(...) \
  TL_FACE_CASE(QInt8, __VA_ARGS__) TL_FACE_CASE(QUInt8, __VA_ARGS__) TL_FACE_CASE(QInt32, __VA_ARGS__)

// For each set of types: the set alone, and with one to five further types.
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(A, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(A, B, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND3(A, B, C, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND2(A, B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND4(A, B, C, D, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND3(A, B, C, __VA_ARGS__) AT_DISPATCH_CASE(D, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND(A, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND1 AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(A, B, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(A, B, C, ...) \
  AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(A, B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(A, ...) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND(A, ...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND2(A, B, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND3(A, B, C, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND2(A, B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND4(A, B, C, D, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND3(A, B, C, __VA_ARGS__) AT_DISPATCH_CASE(D, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(A, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(A, B, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(A, B, C, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(A, B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(A, B, C, D, ...) \
  AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(A, B, C, __VA_ARGS__) AT_DISPATCH_CASE(D, __VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(A, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_TYPES_AND(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_TYPES_AND2(A, B, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(A, B, C, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_TYPES_AND3(A, B, C, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND4(A, B, C, D, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_TYPES_AND4(A, B, C, D, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES(T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(A, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(A, B, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(A, B, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3(A, B, C, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(A, B, C, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(A, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(T, N, ...) AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES_AND(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES_AND2(A, B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES_AND3(A, B, C, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND4(A, B, C, D, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES_AND4(A, B, C, D, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(A, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(A, B, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(A, B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(A, B, C, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(A, B, C, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(A, B, C, D, T, N, ...) \
  AT_DISPATCH_SWITCH(T, N, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(A, B, C, D, __VA_ARGS__))
#define AT_DISPATCH_INDEX_TYPES(T, N, ...)                                                         \
  AT_DISPATCH_SWITCH(T, N,                                                                         \
                     AT_PRIVATE_CASE_TYPE_USING_HINT(::c10::ScalarType::Int, index_t, __VA_ARGS__) \
                         AT_PRIVATE_CASE_TYPE_USING_HINT(::c10::ScalarType::Long, index_t, __VA_ARGS__))

// The newer spelling: AT_DISPATCH_V2(type, name, AT_WRAP(body), AT_EXPAND(set), types...).
#define AT_WRAP(...) __VA_ARGS__
#define AT_FLOATING_TYPES ::c10::ScalarType::Double, ::c10::ScalarType::Float
#define AT_INTEGRAL_TYPES                                                                            \
  ::c10::ScalarType::Byte, ::c10::ScalarType::Char, ::c10::ScalarType::Int, ::c10::ScalarType::Long, \
      ::c10::ScalarType::Short
#define AT_ALL_TYPES AT_INTEGRAL_TYPES, AT_FLOATING_TYPES
#define AT_COMPLEX_TYPES ::c10::ScalarType::ComplexDouble, ::c10::ScalarType::ComplexFloat
#define AT_ALL_TYPES_AND_COMPLEX AT_ALL_TYPES, AT_COMPLEX_TYPES
#define AT_EXPAND(X) X

#define AT_FLOAT8_TYPES                                                                                 \
  ::c10::ScalarType::Float8_e5m2, ::c10::ScalarType::Float8_e5m2fnuz, ::c10::ScalarType::Float8_e4m3fn, \
      ::c10::ScalarType::Float8_e4m3fnuz, ::c10::ScalarType::Float8_e8m0fnu
#define AT_BAREBONES_UNSIGNED_TYPES \
  ::c10::ScalarType::UInt16, ::c10::ScalarType::UInt32, ::c10::ScalarType::UInt64
#define AT_INTEGRAL_TYPES_V2 AT_INTEGRAL_TYPES, AT_BAREBONES_UNSIGNED_TYPES

// The body once for each type. It is wrapped again for each macro, because it may have commas.
#define TL_FACE_EACH_1(B, A) AT_DISPATCH_CASE(A, AT_WRAP(B))
#define TL_FACE_EACH_2(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_1(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_3(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_2(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_4(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_3(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_5(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_4(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_6(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_5(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_7(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_6(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_8(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_7(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_9(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_8(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_10(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_9(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_11(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_10(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_12(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_11(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_13(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_12(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_14(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_13(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_15(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_14(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_16(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_15(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_17(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_16(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_18(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_17(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_19(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_18(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_20(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_19(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_21(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_20(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_22(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_21(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_23(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_22(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH_24(B, A, ...) AT_DISPATCH_CASE(A, AT_WRAP(B)) TL_FACE_EACH_23(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_NUMBER_(E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13, E14, E15, E16, E17, E18, \
                        E19, E20, E21, E22, E23, E24, N, ...)                                            \
  N
#define TL_FACE_NUMBER(...)                                                                                  \
  TL_FACE_NUMBER_(__VA_ARGS__, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, \
                  3, 2, 1, 0)
#define TL_FACE_EACH_OF(N, B, ...) C10_CONCATENATE(TL_FACE_EACH_, N)(AT_WRAP(B), __VA_ARGS__)
#define TL_FACE_EACH(B, ...) TL_FACE_EACH_OF(TL_FACE_NUMBER(__VA_ARGS__), AT_WRAP(B), __VA_ARGS__)
#define AT_DISPATCH_V2(T, N, B, ...) AT_DISPATCH_SWITCH(T, N, TL_FACE_EACH(AT_WRAP(B), __VA_ARGS__))

#endif  // TL_TORCH_DISPATCH_HPP
