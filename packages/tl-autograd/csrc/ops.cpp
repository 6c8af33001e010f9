// Typed calls of the operators that the engine needs; each is looked up by name once.
#include "ops.h"

#include <algorithm>

#include "derivative.h"

namespace tl::autograd {

const TlOperator* operator_named(const char* name) {
  const TlOperator* op = api->op_find(name);
  if (!op) throw Pending();
  return op;
}

Tensor call_one(const TlOperator* op, std::initializer_list<TlValue> args) {
  TlValue ret = none();
  check(api->op_call(op, args.begin(), static_cast<int>(args.size()), &ret, 1));
  return Tensor(ret.tag == TL_TENSOR ? ret.u.t : nullptr);
}

Tensor added(const TlValue& a, const TlValue& b) {
  static const TlOperator* op = operator_named("add.Tensor");
  return call_one(op, {a, b, value(int64_t{1})});
}

Tensor sum(const Tensor& a, const Tensor& b) {
  // To a dense tensor, a sparse one can be added.
  return is_sparse(a.get()) ? added(value(b), value(a)) : added(value(a), value(b));
}

Tensor multiplied(const TlValue& a, const TlValue& b) {
  static const TlOperator* op = operator_named("mul.Tensor");
  return call_one(op, {a, b});
}

Tensor negated(TlTensor* t) {
  static const TlOperator* op = operator_named("neg");
  return call_one(op, {value(t)});
}

Tensor inverted(TlTensor* t) {
  static const TlOperator* op = operator_named("reciprocal");
  return call_one(op, {value(t)});
}

void add_into(TlTensor* to, TlTensor* t) {
  static const TlOperator* op = operator_named("add_.Tensor");
  call_one(op, {value(to), value(t), value(int64_t{1})});
}

void copy_into(TlTensor* to, TlTensor* from) {
  static const TlOperator* op = operator_named("copy_");
  call_one(op, {value(to), value(from), value(false)});
}

void fill_zero(TlTensor* t) {
  static const TlOperator* op = operator_named("zero_");
  call_one(op, {value(t)});
}

Tensor clone(TlTensor* t) {
  static const TlOperator* op = operator_named("clone");
  return call_one(op, {value(t), none()});
}

Tensor clone_contiguous(TlTensor* t) {
  static const TlOperator* op = operator_named("clone");
  return call_one(op, {value(t), {TL_MEMORY_FORMAT, 0, {.i = TL_CONTIGUOUS}}});
}

Tensor empty_like(TlTensor* t) {
  static const TlOperator* op = operator_named("empty_like");
  return call_one(op, {value(t), none(), none(), none(), none(), none()});
}

Tensor ones_like(TlTensor* t) {
  static const TlOperator* op = operator_named("ones_like");
  return call_one(op, {value(t), none(), none(), none(), none(), none()});
}

Tensor same_elements(TlTensor* t) {
  static const TlOperator* op = operator_named("view");
  return call_one(op, {value(t), ints(api->tensor_sizes(t), static_cast<size_t>(api->tensor_ndim(t)))});
}

Tensor empty_strided(size_t ndim, const int64_t* sizes, const int64_t* strides, int64_t dtype,
                     int64_t device) {
  static const TlOperator* op = operator_named("empty_strided");
  const TlValue type{TL_DTYPE, 0, {.i = dtype}}, on{TL_DEVICE, 0, {.i = device}};
  return call_one(op, {ints(sizes, ndim), ints(strides, ndim), type, none(), on, none()});
}

Tensor as_strided(TlTensor* t, size_t ndim, const int64_t* sizes, const int64_t* strides, int64_t offset) {
  static const TlOperator* op = operator_named("as_strided");
  return call_one(op, {value(t), ints(sizes, ndim), ints(strides, ndim), value(offset)});
}

Tensor conj_view(TlTensor* t) {
  static const TlOperator* op = operator_named("_conj");
  return call_one(op, {value(t)});
}

Tensor neg_view(TlTensor* t) {
  static const TlOperator* op = operator_named("_neg_view");
  return call_one(op, {value(t)});
}

Tensor view_as_real(TlTensor* t) {
  static const TlOperator* op = operator_named("view_as_real");
  return call_one(op, {value(t)});
}

Tensor view_as_complex(TlTensor* t) {
  static const TlOperator* op = operator_named("view_as_complex");
  return call_one(op, {value(t)});
}

Tensor sum_to_size(TlTensor* t, size_t ndim, const int64_t* sizes) {
  static const TlOperator* op = operator_named("sum_to_size");
  static const TlOperator* sum_of_all = operator_named("sum");
  if (is_sparse(t) && ndim == 0) return call_one(sum_of_all, {value(t), none()});
  return call_one(op, {value(t), ints(sizes, ndim)});
}

Tensor converted(TlTensor* t, int64_t dtype, int64_t device) {
  static const TlOperator* to_copy = operator_named("_to_copy");
  static const TlOperator* real = operator_named("real");
  Tensor source = Tensor::share(t);
  if (is_complex(api->tensor_dtype(t)) && !is_complex(dtype)) source = call_one(real, {value(t)});
  if (api->tensor_dtype(source.get()) == dtype && api->tensor_device(source.get()) == device) return source;
  const TlValue type{TL_DTYPE, 0, {.i = dtype}}, on{TL_DEVICE, 0, {.i = device}};
  return call_one(to_copy, {value(source), type, none(), on, none(), value(false), none()});
}

Tensor zeros(const TensorMeta& meta) {
  static const TlOperator* op = operator_named("zeros");
  const TlValue type{TL_DTYPE, 0, {.i = meta.dtype}}, on{TL_DEVICE, 0, {.i = meta.device}};
  return call_one(op, {ints(meta.sizes.data(), meta.sizes.size()), type, none(), on, none()});
}

bool is_sparse(const TlTensor* t) { return api->tensor_layout(t) != TL_STRIDED; }

bool holds_nan(TlTensor* t) {
  static const TlOperator* isnan = operator_named("isnan");
  static const TlOperator* any = operator_named("any");
  static const TlOperator* item = operator_named("_local_scalar_dense");
  static const TlOperator* values = operator_named("_values");
  const Tensor stored = is_sparse(t) ? call_one(values, {value(t)}) : Tensor::share(t);
  Tensor found = call_one(any, {value(call_one(isnan, {value(stored)}))});
  const TlValue arg = value(found);
  TlValue ret = none();
  check(api->op_call(item, &arg, 1, &ret, 1));
  return ret.u.i != 0;
}

bool same_shape(const TlTensor* t, size_t ndim, const int64_t* sizes) {
  return static_cast<size_t>(api->tensor_ndim(t)) == ndim &&
         std::equal(sizes, sizes + ndim, api->tensor_sizes(t));
}

bool broadcasts_to(size_t ndim, const int64_t* sizes, const TlTensor* t) {
  const auto n = static_cast<size_t>(api->tensor_ndim(t));
  if (ndim > n) return false;
  const int64_t* to = api->tensor_sizes(t) + (n - ndim);
  return std::equal(sizes, sizes + ndim, to, [](int64_t a, int64_t b) { return a == b || a == 1; });
}

bool solely_owned(TlTensor* t) {
  return api->tensor_refcount(t) == 1 && api->tensor_storage_refcount(t) == 1;
}

}  // namespace tl::autograd
