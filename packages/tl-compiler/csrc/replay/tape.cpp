// A tape is run where arguments, thread and world are those of the recording. A value that Python asked for
// is compared at its place, before anything has been written.
#include "replay/tape.h"

#include <algorithm>

#include "replay/bridge.h"

namespace tl::compiler {

bool is_traced() {
  const PyThreadState* const thread = PyThreadState_Get();
#if PY_VERSION_HEX >= 0x030c0000
  return thread->c_tracefunc || thread->c_profilefunc;
#else
  return thread->cframe->use_tracing;
#endif
}

namespace {
PyObject* item(PyObject* tuple, Py_ssize_t i) {
  PyObject* const result = PyTuple_GetItem(tuple, i);
  if (!result) throw PythonError();
  return result;
}

TlTensor* handle(PyObject* object) {
  TlTensor* const t = python->unwrap(object);
  if (!t) {
    PyErr_Format(PyExc_TypeError, "expected a tensor, got %s", Py_TYPE(object)->tp_name);
    throw PythonError();
  }
  return t;
}

bool has_shape(const TlTensor* t, const TapeStep& step) {
  const size_t n = step.sizes.size();
  if (api->tensor_dtype(t) != step.dtype || static_cast<size_t>(api->tensor_ndim(t)) != n) return false;
  const int64_t* const sizes = api->tensor_sizes(t);
  for (size_t d = 0; d < n; ++d)
    if (sizes[d] != step.sizes[d]) return false;
  return true;
}

int64_t dtype_of(PyObject* object) {
  TlValue value{};
  void* scratch = nullptr;
  if (python->to_value(object, TL_ARG_DTYPE, &value, &scratch) != 0) throw PythonError();
  python->scratch_free(scratch);
  return value.u.i;
}

uint64_t without_defer(uint64_t bits) { return bits & ~kDeferBit; }
}  // namespace

// ---- from Python -------------------------------------------------------------------------------------------

// (n_slots, world, args, kwargs, examples of arguments, tensors, steps, output)
Tape::Tape(PyObject* description)
    : n_slots_(static_cast<int>(parse_int(description, 0))),
      world_(item(description, 1)),
      args_(parse_node(item(description, 2), n_slots_)),
      kwargs_(parse_node(item(description, 3), n_slots_)),
      output_(parse_node(item(description, 7), n_slots_)),
      included_(without_defer(api->thread_included())),
      excluded_(without_defer(api->thread_excluded())),
      grad_mode_(api->grad_enabled()),
      inference_mode_(api->inference_mode()) {
  add_arguments(item(description, 4));
  add_tensors(item(description, 5));
  PyObject* const steps = item(description, 6);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); ++i) add_step(PyTuple_GET_ITEM(steps, i));
}

void Tape::add_arguments(PyObject* examples) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(examples); ++i) {
    PyObject* const tensor = PyTuple_GET_ITEM(examples, i);
    arguments_.push_back(Metadata::of(tensor, handle(tensor)));
  }
  n_arguments_ = static_cast<int>(arguments_.size());
}

// (tensor, NotImplemented | None | the gradient)
void Tape::add_tensors(PyObject* descriptions) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(descriptions); ++i) {
    PyObject* const tensor = item(PyTuple_GET_ITEM(descriptions, i), 0);
    PyObject* const grad = item(PyTuple_GET_ITEM(descriptions, i), 1);
    int index = grad == Py_NotImplemented ? -1 : 0;
    if (index == 0 && grad != Py_None) {
      grads_.push_back(Metadata::of(grad, handle(grad)));
      index = static_cast<int>(grads_.size());
    }
    tensors_.push_back({tensor, Metadata::of(tensor, handle(tensor)), index});
    objects_.insert(tensor);
  }
}

// (function, args, number of positional ones, names, result, slot | children | value, restarts, dead slots,
// None | (the same call without Python, its tensors))
void Tape::add_step(PyObject* description) {
  TapeStep step;
  PyObject *args, *names, *what, *dead, *native;
  int result, restarts;
  if (!PyArg_ParseTuple(description, "OO!nOiOpO!O", &step.function, &PyTuple_Type, &args, &step.n_positional,
                        &names, &result, &what, &restarts, &PyTuple_Type, &dead, &native))
    throw PythonError();
  step.args = parse_nodes(args, n_slots_);
  step.names = names == Py_None ? nullptr : names;
  step.result = static_cast<TapeStep::Result>(result);
  step.restarts = restarts;
  const auto slot = [&](long n) {
    if (n >= 0 && n < n_slots_) return static_cast<int>(n);
    PyErr_SetString(PyExc_IndexError, "a step names a slot that is not there");
    throw PythonError();
  };
  if (step.result == TapeStep::Keep) {
    PyObject* const sizes = item(what, 1);
    step.slot = slot(parse_int(what, 0));
    step.dtype = dtype_of(item(what, 2));
    for (Py_ssize_t i = 0; i < PyTuple_Size(sizes); ++i) step.sizes.push_back(parse_int(sizes, i));
  }
  if (step.result == TapeStep::Number) step.slot = slot(parse_int(what, 0));
  if (step.result == TapeStep::Compare) step.expected = what;
  if (step.result == TapeStep::Unpack)
    for (Py_ssize_t i = 0; i < PyTuple_Size(what); ++i)
      step.children.emplace_back(parse_int(item(what, i), 0), slot(parse_int(item(what, i), 1)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dead); ++i) step.dead.push_back(slot(parse_int(dead, i)));
  if (native != Py_None) {
    step.native = native_call_of(item(native, 0));
    step.tensors = parse_nodes(item(native, 1), n_slots_);
    if (step.tensors.size() != step.native->n_tensors()) {
      PyErr_SetString(PyExc_ValueError, "a call without Python has another number of tensors");
      throw PythonError();
    }
  }
  steps_.push_back(std::move(step));
}

// ---- whether a call is the recorded one --------------------------------------------------------------------

Tape::Outcome Tape::differ(std::string text) {
  difference_ = std::move(text);
  return Outcome::Differs;
}

bool Tape::thread_fits() {
  if (api->grad_enabled() == grad_mode_ && api->inference_mode() == inference_mode_ &&
      without_defer(api->thread_included()) == included_ &&
      without_defer(api->thread_excluded()) == excluded_)
    return true;
  differ(
      "a mode of the thread differs: gradients, inference, autocast, transforms or a mode that sees "
      "operators");
  return false;
}

// Tensors are the same or different ones where those of the recording were.
bool Tape::match_tensor(int slot, PyObject* value, Slots& slots) {
  if (!slots.is_empty(slot)) {
    if (slots.object(slot) == value) return true;
    differ("an argument that was given twice is another tensor now");
    return false;
  }
  TlTensor* const t = python->unwrap(value);
  if (!t || !arguments_[slot].fits(value, t)) {
    differ("an argument has another type, size, stride, element type or need of gradients");
    return false;
  }
  bool is_new = !objects_.contains(value);
  for (int i = 0; i < n_arguments_; ++i) is_new = is_new && slots.object(i) != value;
  if (!is_new) differ("an argument is the same tensor as another one, or as one that the function holds");
  if (is_new) slots.put(slot, Py_NewRef(value));
  return is_new;
}

bool Tape::match(const Node& node, PyObject* value, Slots& slots) {
  if (node.kind == Node::Slot) return match_tensor(node.slot, value, slots);
  bool fits = false;  // containers of another class or length don't fit, whatever they hold
  const auto n = static_cast<Py_ssize_t>(node.items.size());
  if (node.kind == Node::Constant) {
    fits = is_same(value, node.object);
  } else if (node.kind == Node::Tuple && PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == n) {
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!match(node.items[i], PyTuple_GET_ITEM(value, i), slots)) return false;
    return true;
  } else if (node.kind == Node::List && PyList_CheckExact(value) && PyList_GET_SIZE(value) == n) {
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!match(node.items[i], PyList_GET_ITEM(value, i), slots)) return false;
    return true;
  } else if (node.kind == Node::Dict && PyDict_CheckExact(value) && PyDict_GET_SIZE(value) == n) {
    Py_ssize_t at = 0;
    PyObject *key, *each;
    for (Py_ssize_t i = 0; PyDict_Next(value, &at, &key, &each); ++i) {
      fits = is_same(key, PyTuple_GET_ITEM(node.object, i));
      if (!fits) break;
      if (!match(node.items[i], each, slots)) return false;
    }
    fits = fits || n == 0;
  }
  if (!fits) differ("an argument has another value or structure");
  return fits;
}

bool Tape::grad_fits(const TapeTensor& tensor) {
  static PyObject* const name = PyUnicode_InternFromString("grad");
  const PyRef grad(checked(PyObject_GetAttr(tensor.object, name)));
  if (grad.get() == Py_None) return tensor.grad == 0;
  return tensor.grad > 0 && grads_[tensor.grad - 1].fits(grad.get(), handle(grad.get()));
}

bool Tape::tensors_fit() {
  for (TapeTensor& tensor : tensors_) {
    if (!tensor.metadata.fits_held(tensor.object, handle(tensor.object))) {
      differ("a tensor that the function holds has another size, stride, element type or need of gradients");
      return false;
    }
    if (tensor.grad >= 0 && !grad_fits(tensor)) {
      differ("the gradient of a tensor that the function holds is there or not, or of another size");
      return false;
    }
  }
  return true;
}

bool Tape::fits(PyObject* args, PyObject* kwargs, Slots& slots) {
  if (!thread_fits() || !match(args_, args, slots) || !match(kwargs_, kwargs, slots)) return false;
  if (const char* text = world_.difference()) {
    differ(text);
    return false;
  }
  return tensors_fit();
}

bool Tape::fits(PyObject* args, PyObject* kwargs) {
  Slots slots(n_slots_);
  return fits(args, kwargs, slots);
}

PyObject* Tape::run(PyObject* args, PyObject* kwargs) {
  if (is_traced()) return differ("a tracer or a profiler watches the thread"), nullptr;
  Slots slots(n_slots_);
  if (!fits(args, kwargs, slots)) return nullptr;
  if (run_steps(slots) != Outcome::Done) return nullptr;
  return build(output_, slots);
}

// ---- steps -------------------------------------------------------------------------------------------------

Tape::Outcome Tape::run_steps(Slots& slots) {
  const bool fuses = !(api->thread_included() & kDeferBit);
  if (fuses && !is_fused_) return run_and_fuse(slots);
  auto next = fuses ? fusions_.begin() : fusions_.end();
  for (size_t i = 0; i < steps_.size();) {
    Outcome outcome;
    if (next != fusions_.end() && (*next)->begin() == i)
      outcome = run_fusion(**next++, slots, i);
    else
      outcome = run_step(steps_[i++], slots);
    if (outcome == Outcome::Done) continue;
    api->set_grad_enabled(grad_mode_);  // as the blocks that the call was in would
    return outcome;
  }
  return Outcome::Done;
}

// The first run shows the tensors between the steps.
Tape::Outcome Tape::run_and_fuse(Slots& slots) {
  FusionWriter writer(steps_, output_, n_slots_);
  bool watches = true;
  const auto watch = [&](auto action) {
    try {
      if (watches) action();
    } catch (...) {
      pending_from_exception();
      api->error_clear();  // the steps run one by one
      watches = false;
    }
  };
  for (size_t i = 0; i < steps_.size(); ++i) {
    watch([&] { writer.before(i, slots); });
    const Outcome outcome = run_step(steps_[i], slots);
    if (outcome != Outcome::Done) {
      api->set_grad_enabled(grad_mode_);
      return outcome;
    }
    watch([&] { writer.after(i, slots); });
  }
  watch([&] { fusions_ = writer.finish(); });
  is_fused_ = true;
  return Outcome::Done;
}

size_t Tape::fused_steps() const {
  size_t n = 0;
  for (const auto& fusion : fusions_) n += fusion->end() - fusion->begin() - fusion->views().size();
  return n;
}

// Where the tensors are others, the steps run one by one.
Tape::Outcome Tape::run_fusion(Fusion& fusion, Slots& slots, size_t& at) {
  const TapeStep& first = steps_[at];
  try {
    if (!fusion.run(slots)) return run_step(steps_[at++], slots);
  } catch (...) {
    pending_from_exception();
    python->raise_pending();
    return fail(first);
  }
  for (const size_t view : fusion.views())
    if (const Outcome outcome = run_native(steps_[view], slots); outcome != Outcome::Done) return outcome;
  for (const int slot : fusion.dead()) slots.drop(slot);
  at = fusion.end();
  return Outcome::Done;
}

// Where nothing has been written, the call starts again in Python, which raises the error at its line. Ctrl-C
// would not be raised again.
Tape::Outcome Tape::fail(const TapeStep& step) {
  if (!step.restarts || !PyErr_ExceptionMatches(PyExc_Exception)) return Outcome::Error;
  PyErr_Clear();
  return differ("an operator raised");
}

// The result of a step into its slots, or compared.
Tape::Outcome Tape::take(const TapeStep& step, PyRef result, Slots& slots) {
  if (step.result == TapeStep::Keep) {
    const TlTensor* const t = python->unwrap(result.get());
    if (t && has_shape(t, step)) {
      slots.put(step.slot, result.release());
      return Outcome::Done;
    }
    if (step.restarts) return differ("a result has another shape");
  } else if (step.result == TapeStep::Number) {
    if (PyFloat_CheckExact(result.get())) {
      slots.put(step.slot, result.release());
      return Outcome::Done;
    }
    if (step.restarts) return differ("a value that the call returns has another type");
  } else if (step.result == TapeStep::Compare) {
    if (is_same(result.get(), step.expected)) return Outcome::Done;
    if (step.restarts) return differ("a value that the call asked for differs");
  } else if (step.result == TapeStep::Unpack) {
    for (const auto& [index, slot] : step.children) {
      PyObject* const child = PySequence_GetItem(result.get(), index);
      if (!child) return fail(step);
      slots.put(slot, child);
    }
    return Outcome::Done;
  } else {
    return Outcome::Done;
  }
  PyErr_SetString(PyExc_SystemError, "a replayed call got another result than the recorded one");
  return fail(step);
}

// The results of a call without Python into slots. All are released that are not taken.
Tape::Outcome Tape::take_native(const TapeStep& step, TlValue* results, Slots& slots) {
  Outcome outcome = Outcome::Done;
  if (step.result == TapeStep::Keep) {
    if (has_shape(results[0].u.t, step)) {
      slots.put(step.slot, std::exchange(results[0], {}).u.t);
    } else if (step.restarts) {
      outcome = differ("a result has another shape");
    } else {
      PyErr_SetString(PyExc_SystemError, "a replayed call got another result than the recorded one");
      outcome = fail(step);
    }
  }
  for (const auto& [index, slot] : step.children) {
    const bool is_list = results[0].tag == TL_TENSOR_LIST;
    TlTensor* const t = is_list ? static_cast<TlTensor* const*>(results[0].u.p)[index] : results[index].u.t;
    api->tensor_retain(t);
    slots.put(slot, t);
  }
  for (int i = 0; i < step.native->n_results(); ++i) api->value_release(&results[i]);
  return outcome;
}

Tape::Outcome Tape::run_native(const TapeStep& step, Slots& slots) {
  TlTensor* tensors[NativeCall::kMostTensors];
  TlValue results[NativeCall::kMostResults] = {};
  size_t n = 0;
  for (const Node& node : step.tensors) {
    TlTensor* const t = node.kind == Node::Slot ? slots.tensor(node.slot) : python->unwrap(node.object);
    if (!t) {
      PyErr_SetString(PyExc_SystemError, "a replayed call reads a tensor that is not there");
      return Outcome::Error;
    }
    tensors[n++] = t;
  }
  if (!step.native->run(tensors, results)) {
    python->raise_pending();
    return fail(step);
  }
  const Outcome outcome = take_native(step, results, slots);
  for (int slot : step.dead) slots.drop(slot);
  return outcome;
}

Tape::Outcome Tape::run_step(const TapeStep& step, Slots& slots) {
  if (step.native) return run_native(step, slots);
  constexpr size_t kInline = 24;
  PyObject* inline_values[kInline + 1];
  std::vector<PyObject*> more;
  const size_t n = step.args.size();
  if (n > kInline) more.resize(n + 1);
  PyObject** const values =
      (n > kInline ? more.data() : inline_values) + 1;  // a method takes the place before
  size_t built = 0;
  for (; built < n; ++built)
    if (!(values[built] = build(step.args[built], slots))) break;
  PyObject* result = nullptr;
  if (built == n)
    result = run_python(PyObject_Vectorcall, step.function, static_cast<PyObject* const*>(values),
                        static_cast<size_t>(step.n_positional) | PY_VECTORCALL_ARGUMENTS_OFFSET, step.names);
  for (size_t i = 0; i < built; ++i) Py_DECREF(values[i]);
  if (!result) return fail(step);
  const Outcome outcome = take(step, PyRef(result), slots);
  for (int slot : step.dead) slots.drop(slot);
  return outcome;
}

}  // namespace tl::compiler
