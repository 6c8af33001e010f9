// Arithmetic of derivative programs on numbers and lists by Python's rules: floor division, complex numbers.
#include "values.h"

#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <new>

#include "saved_hooks.h"
#include "thread.h"

namespace tl::autograd {

// ---- lists ------------------------------------------------------------------------------------------------

bool is_list(const TlValue& v) {
  return (v.tag >= TL_BOOL_LIST && v.tag <= TL_TENSOR_LIST) || v.tag == kList;
}

size_t list_length(const TlValue& v) {
  if (!is_list(v)) fail(TL_ERROR_TYPE, "a derivative program takes the length of something that is no list");
  return v.tag == kList ? list_of(v).size() : v.len;
}

TlValue list_element(const TlValue& v, size_t i) {
  if (i >= list_length(v)) fail(TL_ERROR_INDEX, "a derivative program reads past the end of a list");
  switch (v.tag) {
    case TL_BOOL_LIST:
      return value(static_cast<const uint8_t*>(v.u.p)[i] != 0);
    case TL_INT_LIST:
      return value(static_cast<const int64_t*>(v.u.p)[i]);
    case TL_FLOAT_LIST:
      return {TL_FLOAT, 0, {.f = static_cast<const double*>(v.u.p)[i]}};
    case TL_TENSOR_LIST:
      return value(static_cast<TlTensor* const*>(v.u.p)[i]);
    case kList:
      return list_of(v)[i];
    default:
      return static_cast<const TlValue*>(v.u.p)[i];
  }
}

// ---- plain values -----------------------------------------------------------------------------------------

bool truth(const TlValue& v) {
  switch (v.tag) {
    case TL_NONE:
      return false;
    case TL_FLOAT:
      return v.u.f != 0;
    case TL_COMPLEX:
      return static_cast<const double*>(v.u.p)[0] != 0 || static_cast<const double*>(v.u.p)[1] != 0;
    case TL_STRING:
      return v.len != 0;
    case TL_TENSOR:
      return true;
    default:
      return is_list(v) ? list_length(v) != 0 : v.u.i != 0;
  }
}

namespace {
using Complex = std::complex<double>;

double number(const TlValue& v) { return v.tag == TL_FLOAT ? v.u.f : static_cast<double>(v.u.i); }
TlValue real(double f) { return {TL_FLOAT, 0, {.f = f}}; }
bool is_number(const TlValue& v) { return v.tag >= TL_BOOL && v.tag <= TL_COMPLEX; }
bool is_integer(const TlValue& v) { return v.tag == TL_BOOL || v.tag == TL_INT; }
Complex complex_number(const TlValue& v) {
  if (v.tag != TL_COMPLEX) return number(v);
  const auto* c = static_cast<const double*>(v.u.p);
  return {c[0], c[1]};
}

// Complex results stay readable until this thread has made 16 more.
TlValue complex_value(Complex c) {
  thread_local Complex ring[16];
  thread_local unsigned next = 0;
  Complex& slot = ring[next++ % 16];
  slot = c;
  return {TL_COMPLEX, 0, {.p = &slot}};
}

bool equal(const TlValue& a, const TlValue& b) {
  if (is_number(a) && is_number(b)) {
    if (is_integer(a) && is_integer(b)) return a.u.i == b.u.i;
    return complex_number(a) == complex_number(b);
  }
  if (is_list(a) && is_list(b)) {
    if (list_length(a) != list_length(b)) return false;
    for (size_t i = 0; i < list_length(a); ++i)
      if (!equal(list_element(a, i), list_element(b, i))) return false;
    return true;
  }
  if (a.tag != b.tag) return false;
  if (a.tag == TL_STRING) return a.len == b.len && std::memcmp(a.u.p, b.u.p, a.len) == 0;
  return a.tag == TL_NONE || a.u.i == b.u.i;
}

bool contains(const TlValue& list, const TlValue& item) {
  for (size_t i = 0; i < list_length(list); ++i)
    if (equal(list_element(list, i), item)) return true;
  return false;
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) fail(TL_ERROR_ZERO_DIVISION, "a derivative program divides by zero");
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

// Python's arithmetic: division and remainder round down. None where the result is no integer.
TlValue on_integers(int arith, int64_t a, int64_t b) {
  switch (arith) {
    case TL_ARITH_ADD:
      return value(a + b);
    case TL_ARITH_SUB:
      return value(a - b);
    case TL_ARITH_MUL:
      return value(a * b);
    case TL_ARITH_FLOORDIV:
      return value(floor_div(a, b));
    case TL_ARITH_MOD:
      return value(a - b * floor_div(a, b));
    case TL_ARITH_LT:
      return value(a < b);
    case TL_ARITH_LE:
      return value(a <= b);
    case TL_ARITH_GT:
      return value(a > b);
    case TL_ARITH_GE:
      return value(a >= b);
    case TL_ARITH_MIN:
      return value(a < b ? a : b);
    case TL_ARITH_MAX:
      return value(a > b ? a : b);
    default:
      break;
  }
  int64_t power = 1;
  if (arith == TL_ARITH_POW && b >= 0) {
    for (int64_t i = 0; i < b; ++i) power *= a;
    return value(power);
  }
  return none();
}

TlValue on_reals(int arith, double a, double b) {
  switch (arith) {
    case TL_ARITH_ADD:
      return real(a + b);
    case TL_ARITH_SUB:
      return real(a - b);
    case TL_ARITH_MUL:
      return real(a * b);
    case TL_ARITH_DIV:
      return real(a / b);
    case TL_ARITH_FLOORDIV:
      return real(std::floor(a / b));
    case TL_ARITH_MOD:
      return real(a - b * std::floor(a / b));
    case TL_ARITH_POW:
      return real(std::pow(a, b));
    case TL_ARITH_LT:
      return value(a < b);
    case TL_ARITH_LE:
      return value(a <= b);
    case TL_ARITH_GT:
      return value(a > b);
    case TL_ARITH_GE:
      return value(a >= b);
    case TL_ARITH_MIN:
      return real(a < b ? a : b);
    case TL_ARITH_MAX:
      return real(a > b ? a : b);
    default:
      return none();
  }
}

TlValue on_complex(int arith, Complex a, Complex b) {
  switch (arith) {
    case TL_ARITH_ADD:
      return complex_value(a + b);
    case TL_ARITH_SUB:
      return complex_value(a - b);
    case TL_ARITH_MUL:
      return complex_value(a * b);
    case TL_ARITH_DIV:
      return complex_value(a / b);
    case TL_ARITH_POW:
      return complex_value(std::pow(a, b));
    default:
      return none();
  }
}

TlValue on_numbers(int arith, const TlValue& a, const TlValue& b) {
  if (a.tag == TL_COMPLEX || b.tag == TL_COMPLEX)
    return on_complex(arith, complex_number(a), complex_number(b));
  if (is_integer(a) && is_integer(b)) {
    const TlValue exact = on_integers(arith, a.u.i, b.u.i);
    if (exact.tag != TL_NONE) return exact;
  }
  return on_reals(arith, number(a), number(b));
}

TlValue on_one(int arith, const TlValue& v) {
  if (arith == TL_ARITH_NOT) return value(!truth(v));
  if (arith == TL_ARITH_DEFINED) return value(v.tag != TL_NONE);
  if (arith == TL_ARITH_LEN) return value(static_cast<int64_t>(list_length(v)));
  if (!is_number(v)) return none();
  if (v.tag == TL_COMPLEX) {
    const Complex c = complex_number(v);
    return arith == TL_ARITH_NEG ? complex_value(-c) : real(std::abs(c));
  }
  const bool negate = arith == TL_ARITH_NEG || number(v) < 0;
  if (is_integer(v)) return value(negate ? -v.u.i : v.u.i);
  return real(negate ? -v.u.f : v.u.f);
}

TlValue fold(int arith, int64_t start, const TlValue& list) {
  TlValue total = value(start);
  for (size_t i = 0; i < list_length(list); ++i) total = on_numbers(arith, total, list_element(list, i));
  return total;
}
}  // namespace

TlValue arithmetic(int arith, const TlValue* in, int n_inputs) {
  TlValue result = none();
  if (arith == TL_ARITH_PROD)
    result = fold(TL_ARITH_MUL, 1, in[0]);
  else if (arith == TL_ARITH_LIST_SUM)
    result = fold(TL_ARITH_ADD, 0, in[0]);
  else if (n_inputs == 1)
    result = on_one(arith, in[0]);
  else if (arith == TL_ARITH_EQ || arith == TL_ARITH_IS)
    result = value(equal(in[0], in[1]));
  else if (arith == TL_ARITH_NE || arith == TL_ARITH_IS_NOT)
    result = value(!equal(in[0], in[1]));
  else if (arith == TL_ARITH_IN)
    result = value(contains(in[1], in[0]));
  else if (is_number(in[0]) && is_number(in[1]))
    result = on_numbers(arith, in[0], in[1]);
  if (result.tag == TL_NONE)
    fail(TL_ERROR_TYPE, "a derivative program computes with values that do not go together");
  return result;
}

// ---- keeping ----------------------------------------------------------------------------------------------

namespace {
size_t bytes_of(const TlValue& v) {
  switch (v.tag) {
    case TL_COMPLEX:
      return 2 * sizeof(double);
    case TL_INT_LIST:
      return v.len * sizeof(int64_t);
    case TL_FLOAT_LIST:
      return v.len * sizeof(double);
    default:
      return v.len;  // strings and lists of bools
  }
}

TlValue copied(const TlValue& v) {
  TlValue out = v;
  const size_t bytes = bytes_of(v);
  out.u.p = bytes ? std::memcpy(allocate_node(bytes), v.u.p, bytes) : nullptr;
  return out;
}

TlValue saved_tensor_value(TlTensor* t) {
  if (!t) return none();
  api->tensor_retain(t);
  return {TL_TENSOR, api->tensor_version(t), {.t = t}};
}

TlValue saved_list(const TlValue& v) {
  auto* list = new List;
  for (size_t i = 0; i < list_length(v); ++i) list->push_back(keep(list_element(v, i)));
  return {kList, 0, {.p = list}};
}
}  // namespace

TlValue keep(const TlValue& v) {
  switch (v.tag) {
    case TL_TENSOR:
      return saved_tensor_value(v.u.t);
    case TL_COMPLEX:
    case TL_STRING:
    case TL_BOOL_LIST:
    case TL_INT_LIST:
    case TL_FLOAT_LIST:
      return copied(v);
    case TL_SCALAR_LIST:
    case TL_STRING_LIST:
    case TL_TENSOR_LIST:
    case kList:
      return saved_list(v);
    default:
      return v;
  }
}

void forget(TlValue& v) {
  switch (v.tag) {
    case TL_TENSOR:
      api->tensor_release(v.u.t);
      break;
    case TL_COMPLEX:
    case TL_STRING:
    case TL_BOOL_LIST:
    case TL_INT_LIST:
    case TL_FLOAT_LIST:
      if (const size_t bytes = bytes_of(v)) free_node(const_cast<void*>(v.u.p), bytes);
      break;
    case kList: {
      auto* list = static_cast<List*>(const_cast<void*>(v.u.p));
      for (TlValue& e : *list) forget(e);
      delete list;
      break;
    }
    case kPacked:
      drop_packed(v);
      break;
    default:
      break;
  }
  v = none();
}

// What a formula reads of an argument beside its elements: of a list, a list of it for each element.
TlValue read_meta(const TlValue& v, int meta) {
  if (meta == TL_META_COUNT)
    return value(v.tag == TL_NONE ? int64_t{0} : static_cast<int64_t>(list_length(v)));
  if (is_list(v)) {
    auto* list = new List;
    for (size_t i = 0; i < list_length(v); ++i) list->push_back(read_meta(list_element(v, i), meta));
    return {kList, 0, {.p = list}};
  }
  if (meta == TL_META_IS_TENSOR) return value(v.tag == TL_TENSOR);
  if (v.tag != TL_TENSOR) {
    if (meta == TL_META_IS_COMPLEX) return value(v.tag == TL_COMPLEX);
    if (meta == TL_META_IS_FLOATING) return value(v.tag == TL_FLOAT);
    return meta == TL_META_SHAPE ? keep(ints(nullptr, 0)) : none();
  }
  const TlTensor* t = v.u.t;
  const auto n = static_cast<size_t>(api->tensor_ndim(t));
  const int64_t dtype = api->tensor_dtype(t);
  switch (meta) {
    case TL_META_SHAPE:
      return keep(ints(api->tensor_sizes(t), n));
    case TL_META_STRIDES:
      return keep(ints(api->tensor_strides(t), n));
    case TL_META_OFFSET:
      return value(api->tensor_offset(t));
    case TL_META_NDIM:
      return value(static_cast<int64_t>(n));
    case TL_META_NUMEL:
      return value(api->tensor_numel(t));
    case TL_META_DTYPE:
      return {TL_DTYPE, 0, {.i = dtype}};
    case TL_META_DEVICE:
      return {TL_DEVICE, 0, {.i = api->tensor_device(t)}};
    case TL_META_LAYOUT:
      return {TL_LAYOUT, 0, {.i = api->tensor_layout(t)}};
    case TL_META_IS_COMPLEX:
      return value(is_complex(dtype));
    case TL_META_IS_FLOATING:
      return value(is_differentiable(dtype) && !is_complex(dtype));
    default:
      return keep(v);
  }
}

}  // namespace tl::autograd
