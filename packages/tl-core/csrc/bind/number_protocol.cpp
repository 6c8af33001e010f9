// The number protocol of tensors: each operator of the language looks its row up once and calls it.
#include "bind/number_protocol.h"

#include "bind/buffer.h"
#include "bind/function.h"
#include "bind/override.h"
#include "bind/parse.h"
#include "bind/result.h"
#include "bind/tensor_object.h"

namespace tl::bind {

namespace {
// The row that serves `a + b`, looked up once.
struct Entry {
  const char* op;                     // "add.Tensor"
  const char* method;                 // of Tensor, for overrides
  const char* reflected;              // the same with the tensor on the right
  const char* with_number = nullptr;  // the row for a number on the left, where the first takes tensors alone
  const Operator* row = nullptr;
  const Operator* row_with_number = nullptr;
};
enum Language {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  MatMul,
  And,
  Or,
  Xor,
  LShift,
  RShift,
  Neg,
  Abs,
  Invert,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  IAdd,
  ISub,
  IMul,
  IDiv,
  IFloorDiv,
  IMod,
  IPow,
  IAnd,
  IOr,
  IXor,
  ILShift,
  IRShift,
  Reciprocal,
  LanguageCount
};
Entry g_language[LanguageCount] = {
    {"add.Tensor", "add", "add"},
    {"sub.Tensor", "sub", "__rsub__"},
    {"mul.Tensor", "mul", "mul"},
    {"div.Tensor", "div", "__rtruediv__"},
    {"floor_divide", "__floordiv__", "__rfloordiv__"},
    {"remainder.Tensor", "remainder", "__rmod__", "remainder.Scalar_Tensor"},
    {"pow.Tensor_Tensor", "pow", "__rpow__", "pow.Scalar"},
    {"matmul", "matmul", "__rmatmul__"},
    {"bitwise_and.Tensor", "__and__", "__rand__"},
    {"bitwise_or.Tensor", "__or__", "__ror__"},
    {"bitwise_xor.Tensor", "__xor__", "__rxor__"},
    {"bitwise_left_shift.Tensor", "__lshift__", "__rlshift__", "bitwise_left_shift.Scalar_Tensor"},
    {"bitwise_right_shift.Tensor", "__rshift__", "__rrshift__", "bitwise_right_shift.Scalar_Tensor"},
    {"neg", "neg", nullptr},
    {"abs", "abs", nullptr},
    {"bitwise_not", "__invert__", nullptr},
    {"eq.Tensor", "eq", "eq"},
    {"ne.Tensor", "ne", "ne"},
    {"lt.Tensor", "lt", "gt"},
    {"le.Tensor", "le", "ge"},
    {"gt.Tensor", "gt", "lt"},
    {"ge.Tensor", "ge", "le"},
    {"add_.Tensor", "__iadd__", nullptr},
    {"sub_.Tensor", "__isub__", nullptr},
    {"mul_.Tensor", "__imul__", nullptr},
    {"div_.Tensor", "__itruediv__", nullptr},
    {"floor_divide_", "__ifloordiv__", nullptr},
    {"remainder_.Tensor", "__imod__", nullptr},
    {"pow_.Tensor_Tensor", "__ipow__", nullptr},
    {"bitwise_and_.Tensor", "__iand__", nullptr},
    {"bitwise_or_.Tensor", "__ior__", nullptr},
    {"bitwise_xor_.Tensor", "__ixor__", nullptr},
    {"bitwise_left_shift_.Tensor", "__ilshift__", nullptr},
    {"bitwise_right_shift_.Tensor", "__irshift__", nullptr},
    {"reciprocal", "reciprocal", nullptr},
};

const Operator& language(Language which) {
  Entry& e = g_language[which];
  if (!e.row) e.row = &operator_named(e.op);
  return *e.row;
}

const Operator& language_with_number(Language which) {
  Entry& e = g_language[which];
  if (!e.with_number) return language(which);
  if (!e.row_with_number) e.row_with_number = &operator_named(e.with_number);
  return *e.row_with_number;
}

// The function an override is told is a method of Tensor, so the tensor comes first, also where it stands on
// the right.
PyObject* override_operator(Language which, PyObject* a, PyObject* b) {
  const bool swapped = b && !is_tensor(a);
  PyRef more = checked(b ? PyTuple_Pack(1, swapped ? a : b) : PyTuple_New(0));
  return override_method(swapped ? g_language[which].reflected : g_language[which].method, swapped ? b : a,
                         more.get());
}

PyObject* call_language(const Operator& op, TlValue* values) {
  TlValue rets[1] = {};
  if (call_from_python(op, values, rets) != 0) {
    raise_pending();
    return nullptr;
  }
  note_python_call(op, values, rets);
  return to_python(rets[0]);
}

// As PyTorch does it, a half's reciprocal is rounded before the number is multiplied by it.
bool is_number_over_half(Language which, const TlValue* values) {
  return which == Div && values[0].tag != TL_TENSOR && values[1].tag == TL_TENSOR &&
         is_half(Unbox<Tensor>::get(values[1]).dtype());
}
PyObject* multiply_reciprocal(PyObject* dividend, TlValue* divisor) {
  const PyRef reciprocal(call_language(language(Reciprocal), divisor));
  return reciprocal ? PyNumber_Multiply(reciprocal.get(), dividend) : nullptr;
}

// PyTorch divides what is no operand, such as an array of NumPy, by multiplying it by the reciprocal: the
// other type computes the product.
bool multiplies(PyObject* dividend) {
  const PyNumberMethods* numbers = Py_TYPE(dividend)->tp_as_number;
  return numbers && numbers->nb_multiply;
}

// NotImplemented for what the operator does not take, so that Python asks the other side. Where its second
// operand may be a number, so may its first: `2 - x`.
template <Language which>
PyObject* binary(PyObject* a, PyObject* b) noexcept {
  return translated(
      [&]() -> PyObject* {
        const Operator& op = language(which);
        const TlArgInfo operand{"other", op.info.args[1].kind, 0, 0, 0, 0, 0};
        TlValue values[4];
        Scratch scratch;
        bool overloaded = override_mode_active();
        const auto parse = [&](PyObject* o, int i) {
          const bool fits = parse_value(o, operand, values[i], scratch, overloaded);
          scratch.move_symbols(&operand, &op.info.args[i]);
          return fits;
        };
        const bool fits = parse(a, 0);
        if (!parse(b, 1) || !fits) {
          const bool by_reciprocal = which == Div && !fits && is_tensor(b) && multiplies(a);
          if (!overloaded)
            return by_reciprocal ? multiply_reciprocal(a, values + 1) : Py_NewRef(Py_NotImplemented);
        }
        if (overloaded) [[unlikely]]
          return override_operator(which, a, b);
        if (is_number_over_half(which, values)) [[unlikely]]
          return multiply_reciprocal(a, values + 1);
        for (int i = 2; i < op.info.n_args; ++i) values[i] = op.defaults[i];
        return call_language(values[0].tag == TL_TENSOR ? op : language_with_number(which), values);
      },
      static_cast<PyObject*>(nullptr));
}

template <Language which>
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
  return modulus == Py_None ? binary<which>(a, b) : Py_NewRef(Py_NotImplemented);
}

template <Language which>
PyObject* unary(PyObject* a) noexcept {
  return translated(
      [&]() -> PyObject* {
        if (override_mode_active() || has_torch_function(a)) return override_operator(which, a, nullptr);
        TlValue values[1] = {value(tensor_of(a))};
        return call_language(language(which), values);
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* invert(PyObject* a) noexcept {
  if (!is_integral(tensor_of(a).dtype(), true) && !wants_override(a))
    return PyErr_Format(PyExc_TypeError,
                        "~ (operator.invert) is only implemented on integer and Boolean-type "
                        "tensors, not on tensors of %s",
                        dtype_name(tensor_of(a).dtype()));
  return unary<Invert>(a);
}

PyObject* positive(PyObject* a) { return wants_override(a) ? override_method("positive", a) : Py_NewRef(a); }

// An array whose elements no tensor can hold, such as text, is no operand.
std::optional<Tensor> comparable_array(PyObject* o) {
  try {
    return tensor_like_array(o);
  } catch (const Error& e) {
    if (e.kind != ErrorKind::Type) throw;
    return std::nullopt;
  }
}

// NumPy gives way to us here, and where both give way Python compares the objects themselves.
template <Language which>
PyObject* equality(PyObject* a, PyObject* b) {
  PyRef answer(binary<which>(a, b));
  if (answer.get() != Py_NotImplemented) return answer.release();
  return translated(
      [&]() -> PyObject* {
        const auto array = comparable_array(b);
        if (!array) return answer.release();
        PyRef other(wrap(*array));
        return binary<which>(a, other.get());
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* compare(PyObject* a, PyObject* b, int how) {
  switch (how) {
    case Py_EQ:
      return equality<Eq>(a, b);
    case Py_NE:
      return equality<Ne>(a, b);
    case Py_LT:
      return binary<Lt>(a, b);
    case Py_LE:
      return binary<Le>(a, b);
    case Py_GT:
      return binary<Gt>(a, b);
    default:
      return binary<Ge>(a, b);
  }
}
}  // namespace

// Called by its name with a tensor, it multiplies the reciprocal of integers as well: `half / integers` is a
// half, `integers.__rtruediv__(half)` is a float.
PyObject* reflected_quotient(PyObject* self, PyObject* other) noexcept {
  if (!is_tensor(other)) return binary<Div>(other, self);
  return translated(
      [&]() -> PyObject* {
        if (wants_override(self) || has_torch_function(other))
          return override_method("__rtruediv__", self, checked(PyTuple_Pack(1, other)).get());
        TlValue divisor[1] = {value(tensor_of(self))};
        return multiply_reciprocal(other, divisor);
      },
      static_cast<PyObject*>(nullptr));
}

void add_number_slots(std::vector<PyType_Slot>& slots) {
  const PyType_Slot more[] = {
      {Py_nb_add, slot(binary<Add>)},
      {Py_nb_subtract, slot(binary<Sub>)},
      {Py_nb_multiply, slot(binary<Mul>)},
      {Py_nb_true_divide, slot(binary<Div>)},
      {Py_nb_floor_divide, slot(binary<FloorDiv>)},
      {Py_nb_remainder, slot(binary<Mod>)},
      {Py_nb_power, slot(power<Pow>)},
      {Py_nb_matrix_multiply, slot(binary<MatMul>)},
      {Py_nb_and, slot(binary<And>)},
      {Py_nb_or, slot(binary<Or>)},
      {Py_nb_xor, slot(binary<Xor>)},
      {Py_nb_lshift, slot(binary<LShift>)},
      {Py_nb_rshift, slot(binary<RShift>)},
      {Py_nb_negative, slot(unary<Neg>)},
      {Py_nb_positive, slot(positive)},
      {Py_nb_absolute, slot(unary<Abs>)},
      {Py_nb_invert, slot(invert)},
      {Py_nb_inplace_add, slot(binary<IAdd>)},
      {Py_nb_inplace_subtract, slot(binary<ISub>)},
      {Py_nb_inplace_multiply, slot(binary<IMul>)},
      {Py_nb_inplace_true_divide, slot(binary<IDiv>)},
      {Py_nb_inplace_floor_divide, slot(binary<IFloorDiv>)},
      {Py_nb_inplace_remainder, slot(binary<IMod>)},
      {Py_nb_inplace_power, slot(power<IPow>)},
      {Py_nb_inplace_and, slot(binary<IAnd>)},
      {Py_nb_inplace_or, slot(binary<IOr>)},
      {Py_nb_inplace_xor, slot(binary<IXor>)},
      {Py_nb_inplace_lshift, slot(binary<ILShift>)},
      {Py_nb_inplace_rshift, slot(binary<IRShift>)},
      {Py_tp_richcompare, slot(compare)},
  };
  slots.insert(slots.end(), std::begin(more), std::end(more));
}

}  // namespace tl::bind
