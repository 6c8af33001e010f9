// Elements of what another operator has returned. A handler or kernel in Python may have made that: of any
// size and type, or without memory.
#pragma once

#include "base/error.h"
#include "tensor/hollow.h"
#include "tensor/tensor.h"

namespace tl {

template <class T>
inline constexpr DType dtype_read_as = DType::Bool;
template <>
inline constexpr DType dtype_read_as<int32_t> = DType::Int32;
template <>
inline constexpr DType dtype_read_as<int64_t> = DType::Int64;

// The first of `n` elements in a row; raises unless `t` has them in its memory.
template <class T>
const T* elements_of(const char* name, const Tensor& t, int64_t n) {
  constexpr DType wanted = dtype_read_as<T>;
  TL_CHECK(t.dtype() == wanted && t.numel() == n && t.is_contiguous() && !t.is_sparse(), Runtime, name,
           "(): expected ", n, " contiguous elements of type ", dtype_name(wanted),
           " from the operators that it is made of, got a tensor of type ", dtype_name(t.dtype()),
           " and shape ", t.sizes(), ": a handler in Python returned it");
  TL_CHECK(n == 0 || (t.device().is_cpu() && !is_hollow(t) && t.data()), Runtime, name,
           "(): the elements of a tensor are asked for that has no memory of its own, made by ",
           "_make_wrapper_subclass or a FakeTensorMode");
  return t.ptr<T>();
}

}  // namespace tl
