// The few operators that the engine itself calls.
#pragma once

#include "core.h"

namespace tl::autograd {

const TlOperator* operator_named(const char* name);
Tensor call_one(const TlOperator* op, std::initializer_list<TlValue> args);  // of an operator with one result

Tensor added(const TlValue& a, const TlValue& b);
Tensor sum(const Tensor& a, const Tensor& b);  // either may be sparse
Tensor multiplied(const TlValue& a, const TlValue& b);
Tensor negated(TlTensor* t);
Tensor inverted(TlTensor* t);
void add_into(TlTensor* to, TlTensor* t);
void copy_into(TlTensor* to, TlTensor* from);
void fill_zero(TlTensor* t);
Tensor clone(TlTensor* t);
Tensor clone_contiguous(TlTensor* t);
Tensor empty_like(TlTensor* t);
Tensor ones_like(TlTensor* t);
Tensor same_elements(TlTensor* t);  // a view of the same shape
Tensor empty_strided(size_t ndim, const int64_t* sizes, const int64_t* strides, int64_t dtype,
                     int64_t device);
Tensor as_strided(TlTensor* t, size_t ndim, const int64_t* sizes, const int64_t* strides, int64_t offset);
Tensor conj_view(TlTensor* t);
Tensor neg_view(TlTensor* t);
Tensor view_as_real(TlTensor* t);
Tensor view_as_complex(TlTensor* t);
Tensor sum_to_size(TlTensor* t, size_t ndim, const int64_t* sizes);
Tensor converted(TlTensor* t, int64_t dtype, int64_t device);  // complex to real takes the real part

bool is_sparse(const TlTensor* t);
bool holds_nan(TlTensor* t);
bool same_shape(const TlTensor* t, size_t ndim, const int64_t* sizes);
// Whether a tensor of these sizes may have been broadcast to the shape of `t`.
bool broadcasts_to(size_t ndim, const int64_t* sizes, const TlTensor* t);
bool solely_owned(TlTensor* t);  // the handle is the only one, and nobody shares the storage

}  // namespace tl::autograd
