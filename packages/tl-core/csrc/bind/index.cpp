// Indexing: one walk over the index applies views at once and gathers tensors for one index or index_put.
#include "bind/index.h"

#include <algorithm>
#include <vector>

#include "bind/from_python.h"
#include "bind/override.h"
#include "bind/parse.h"
#include "bind/quantized.h"
#include "bind/tensor_object.h"
#include "bind/tensor_writes.h"
#include "dispatch/python.h"
#include "iter/checks.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/known_values.h"
#include "ops/shared/warn.h"
#include "tensor/quantizer.h"

namespace tl::bind {

namespace {
bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

bool is_integer(PyObject* o) {
  if (PyLong_CheckExact(o)) return true;
  return !PyBool_Check(o) && !is_tensor(o) && !PySequence_Check(o) && PyIndex_Check(o);
}

int64_t integer(PyObject* o) {
  const Py_ssize_t i = PyNumber_AsSsize_t(o, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) throw PythonError();
  return i;
}

// Dimensions of the tensor that an item speaks of.
int64_t dims_of(PyObject* o) {
  if (PySlice_Check(o) || PyLong_CheckExact(o)) return 1;
  if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o)) return 0;
  return is_tensor(o) && is_mask(tensor_of(o)) ? tensor_of(o).dim() : 1;
}

// A short list that holds more than numbers is read as the tuple of its items, as numpy did before 1.23.
bool stands_for_tuple(PyObject* index) {
  if (!PyList_Check(index) || PyList_GET_SIZE(index) >= 32) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(index); ++i) {
    PyObject* o = PyList_GET_ITEM(index, i);
    if (o == Py_None || o == Py_Ellipsis || PySlice_Check(o) || is_tensor(o) || PySequence_Check(o))
      return true;
  }
  return false;
}

// Walks an index and applies what is a view at once; what is not (tensors, lists, bools) is gathered for the
// operator `index`.
class Indexer {
 public:
  Indexer(const Tensor& t, PyObject* index) : t_(t), ndim_(t.dim()) {
    if (stands_for_tuple(index)) {
      warn(
          "Using a non-tuple sequence for multidimensional indexing is deprecated: a list is one index, as "
          "x[torch.tensor(seq)], in NumPy and in later releases of PyTorch; x[tuple(seq)] is what it does "
          "here");
      list_ = checked(PyList_AsTuple(index));
      index = list_.get();
    }
    PyObject* const* items = &index;
    Py_ssize_t n = 1;
    if (PyTuple_Check(index)) {
      items = &PyTuple_GET_ITEM(index, 0);
      n = PyTuple_GET_SIZE(index);
    }
    for (Py_ssize_t i = 0; i < n; ++i) named_ += dims_of(items[i]);
    for (Py_ssize_t i = 0; i < n; ++i) one(items[i]);
  }

  const Tensor& view() const { return t_; }
  bool advanced() const { return !indices_.empty(); }
  TensorList indices() const { return indices_; }

 private:
  void one(PyObject* o) {
    if (PySlice_Check(o))
      slice(o);
    else if (is_integer(o))
      select(integer(o));
    else if (o == Py_None)
      new_dim();
    else if (o == Py_Ellipsis)
      at_ += ndim_ - named_;
    else if (PyBool_Check(o))
      boolean(o == Py_True);
    else if (is_tensor(o))
      tensor(tensor_of(o));
    else if (PySequence_Check(o))
      tensor(index_from_sequence(o));
    else
      fail(ErrorKind::Index,
           "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
           "(got ",
           Py_TYPE(o)->tp_name, ")");
  }

  static Tensor without_modes(PyObject* o) {
    const AllModesOff off;
    return tensor_from_python(o, std::nullopt, Device{});
  }

  static Tensor index_from_sequence(PyObject* o) {
    Tensor t = lifted(without_modes(o));
    return t.numel() == 0 && is_floating(t.dtype()) ? ops::_to_copy(t, {.dtype = DType::Int64}) : t;
  }

  void need(int64_t dims) {
    TL_CHECK(ndim_ > 0 || named_ != 1, Index,
             "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
             "convert a 0-dim "
             "tensor to a number");
    TL_CHECK(at_ + dims <= t_.dim(), Index, "too many indices for tensor of dimension ", ndim_);
  }

  void slice(PyObject* o) {
    need(1);
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(o, &start, &stop, &step) < 0) throw PythonError();
    TL_CHECK(step > 0, Value, "step must be greater than zero");
    if (start != 0 || step != 1 || stop < t_.size(at_)) t_ = ops::slice(t_, at_, start, stop, step);
    ++at_;
  }

  void select(int64_t i) {
    need(1);
    const int64_t n = t_.size(at_);
    TL_CHECK(i >= -n && i < n, Index, "index ", i, " is out of bounds for dimension ", at_ + dropped_,
             " with size ", n);
    t_ = ops::select_int(t_, at_, i);
    ++dropped_;
  }

  void new_dim() {
    t_ = ops::unsqueeze(t_, at_++);
    --dropped_;
  }

  void boolean(bool value) {
    t_ = ops::unsqueeze(t_, at_);
    --dropped_;
    // As positions: a device without values cannot count those of a mask.
    put(ops::full(DimVector{value ? 1 : 0}, 0, {.dtype = DType::Int64, .device = t_.device()}), 1);
  }

  void tensor(const Tensor& index) {
    TL_CHECK(is_integral(index.dtype(), true), Index,
             "tensors used as indices must be long, int, byte or bool tensors");
    if (index.dim() == 0 && has_known_values(index)) {
      const int64_t i = ops::_local_scalar_dense(index).to_int();
      if (is_mask(index))
        boolean(i != 0);
      else
        select(i);
      return;
    }
    const int64_t dims = is_mask(index) ? index.dim() : 1;
    need(dims);
    put(index, dims);
  }

  // A mask stands for as many dimensions as it has: `index` counts them when it reads the list.
  void put(const Tensor& index, int64_t dims) {
    while (static_cast<int64_t>(indices_.size()) + masked_ < at_) indices_.emplace_back();
    indices_.push_back(index);
    masked_ += dims - 1;
    at_ += dims;
  }

  PyRef list_;  // the items of an index that was a list
  Tensor t_;
  int64_t ndim_;
  int64_t named_ = 0;    // dimensions the index speaks of
  int64_t at_ = 0;       // the view's dimension the next item is about
  int64_t dropped_ = 0;  // how many of the tensor's dimensions before it are gone
  int64_t masked_ = 0;   // dimensions that masks stand for beside their own place
  std::vector<Tensor> indices_;
};

PyObject* overridden(const char* method, PyObject* self, PyObject* index, PyObject* value) {
  PyRef f = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(g_tensor_type), method));
  PyObject* args[] = {self, index, value};
  return call_override(f.get(), {nullptr, args, value ? 3 : 2, nullptr});
}

bool overrides_item(PyObject* o) {
  return !PySlice_Check(o) && o != Py_None && o != Py_Ellipsis && has_torch_function(o);
}

bool has_override(PyObject* self, PyObject* index) {
  if (override_mode_active() || has_torch_function(self) || overrides_item(index)) return true;
  if (!PyTuple_Check(index) && !(PyList_Check(index) && stands_for_tuple(index))) return false;
  PyObject* const* items = PySequence_Fast_ITEMS(index);
  return std::any_of(items, items + PySequence_Fast_GET_SIZE(index), overrides_item);
}

Tensor read(const Tensor& self, PyObject* index) {
  if (PyLong_CheckExact(index) && self.dim() > 0) {
    const int64_t i = integer(index), n = self.size(0);
    TL_CHECK(i >= -n && i < n, Index, "index ", i, " is out of bounds for dimension 0 with size ", n);
    return ops::select_int(self, 0, i);
  }
  const Indexer indexer(self, index);
  if (indexer.advanced()) return ops::index(indexer.view(), indexer.indices());
  return indexer.view().same(self) ? ops::alias(self) : indexer.view();
}

// A value may have leading dimensions of size one that the place does not have.
Tensor without_leading_ones(Tensor value, int64_t dims) {
  while (value.dim() > dims && value.size(0) == 1) value = ops::squeeze_dim(value, 0);
  return value;
}

// The type of the numbers that a tensor takes.
DType number_type(const Tensor& t) { return has_quantizer(t) ? DType::Float32 : t.dtype(); }

// The values of an assignment for a view of the tensor, which has at least as many dimensions.
Tensor values_for(const Tensor& view, PyObject* o) {
  TL_CHECK(!PyUnicode_Check(o), Type, "can't assign a str to a torch.", scalar_type_name(view.dtype()),
           "Tensor");
  Tensor values = without_leading_ones(tensor_from_python(o, number_type(view), view.device()), view.dim());
  TL_CHECK(values.dim() <= view.dim(), Runtime, "shape mismatch: value tensor of shape ", values.sizes(),
           " cannot be broadcast to indexing result of shape ", view.sizes());
  // What is broadcast is read more than once: a row that is written to all rows of its own matrix.
  if (!std::ranges::equal(values.sizes(), view.sizes()) && share_elements(view, values))
    return ops::clone(values);
  return values;
}

void write(const Tensor& self, PyObject* index, PyObject* o) {
  const Indexer indexer(self, index);
  TlValue number;
  Scratch scratch;
  bool ignored = false;
  static constexpr TlArgInfo kScalar{"value", TL_ARG_OPERAND, 0, 0, 0, 0, 0};
  const bool is_number = !is_tensor(o) && parse_value(o, kScalar, number, scratch, ignored);
  if (!indexer.advanced()) {
    const bool narrow = is_half(self.dtype()) || is_float8(self.dtype());
    if (is_number && (!narrow || Scalar::from(number).fits(self.dtype())))
      ops::fill__Scalar(indexer.view(), Scalar::from(number));
    else  // what is beyond the range of a narrow type becomes an infinity, or what the type has instead
      ops::copy_(indexer.view(), values_for(indexer.view(), o));
    return;
  }
  const Tensor value = is_number ? ops::full(IntSpan{}, Scalar::from(number),
                                             {.dtype = number_type(self), .device = self.device()})
                                 : tensor_from_python(o, std::nullopt, self.device());
  ops::index_put_(indexer.view(), indexer.indices(), value, false);
}
}  // namespace

PyObject* get_item(PyObject* self, PyObject* index) noexcept {
  return translated(
      [&]() -> PyObject* {
        if (has_override(self, index)) return overridden("__getitem__", self, index, nullptr);
        return wrap(read(tensor_of(self), index));
      },
      static_cast<PyObject*>(nullptr));
}

int set_item(PyObject* self, PyObject* index, PyObject* value) noexcept {
  return translated(
      [&] {
        TL_CHECK(value, Type, "Tensor does not support deleting items");
        if (has_override(self, index) || has_torch_function(value)) {
          PyRef done = checked(overridden("__setitem__", self, index, value));
          return 0;
        }
        TL_CHECK(!tensor_of(self).is_sparse(), Type, "Cannot assign to a sparse tensor");
        // Numbers, for the quantizer of the tensor.
        const bool plain = !has_quantizer(tensor_of(self)) || !is_tensor(value);
        const PyRef numbers(plain ? Py_NewRef(value) : checked(numbers_object(value)).release());
        write(tensor_of(self), index, numbers.get());
        note_write(*impl_of(self));
        return 0;
      },
      -1);
}

}  // namespace tl::bind
