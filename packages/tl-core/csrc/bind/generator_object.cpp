// Generators as Python objects: seeding and state under the generator's lock.
#include "bind/generator_object.h"

#include <structmember.h>

#include <mutex>

#include "base/generator.h"
#include "bind/error.h"
#include "bind/tensor_object.h"
#include "bind/types.h"

namespace tl::bind {

PyTypeObject* g_generator_type;

namespace {
struct GeneratorObject {
  PyObject_HEAD Generator* generator;  // owned
  PyObject* weak;
};
PyObject* g_default_object;

bool is_generator(PyObject* o) { return PyObject_TypeCheck(o, g_generator_type); }
Generator& generator_of(PyObject* o) { return *reinterpret_cast<GeneratorObject*>(o)->generator; }
std::lock_guard<LongLock> locked(Generator& g) { return std::lock_guard(g.mutex); }

// The body of a method: C++ exceptions become Python's.
template <class F>
PyObject* method(F&& body) {
  return translated(body, static_cast<PyObject*>(nullptr));
}

// Takes over the share, also when it fails.
PyObject* new_object(PyTypeObject* type, Generator* generator) {
  auto* o = reinterpret_cast<GeneratorObject*>(type->tp_alloc(type, 0));
  if (!o) {
    generator->release();
    throw PythonError();
  }
  o->generator = generator;
  return reinterpret_cast<PyObject*>(o);
}

// ---- making one -------------------------------------------------------------------------------------------
void check_device(PyObject* o) {
  Device device;
  TL_CHECK(to_device(o, device), Type, "Generator(): argument 'device' must be torch.device, not ",
           Py_TYPE(o)->tp_name);
  TL_CHECK(device.is_cpu(), Runtime, "Generator(): argument 'device' must be 'cpu', got '",
           device_name(device), "': random numbers are drawn on the CPU");
}

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"device", nullptr};
  PyObject* device = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &device))
    return nullptr;
  return method([&] {
    if (device != Py_None) check_device(device);
    return new_object(type, new Generator);
  });
}

void generator_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  auto* self = reinterpret_cast<GeneratorObject*>(o);
  if (self->weak) PyObject_ClearWeakRefs(o);
  self->generator->release();
  type->tp_free(o);
  Py_DECREF(type);
}

// ---- seeds ------------------------------------------------------------------------------------------------
// Negative seeds mean the unsigned number with the same bits.
uint64_t seed_in(PyObject* o) {
  TL_CHECK(PyIndex_Check(o) && !PyBool_Check(o), Runtime, "manual_seed expected a long, but got ",
           Py_TYPE(o)->tp_name);
  PyRef number = checked(PyNumber_Index(o));
  int overflow = 0;
  const long long negative = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow == 0) return static_cast<uint64_t>(negative);
  const uint64_t seed = overflow > 0 ? PyLong_AsUnsignedLongLong(number.get()) : 0;
  const bool fits = overflow > 0 && !PyErr_Occurred();
  PyErr_Clear();
  TL_CHECK(fits, Value, "Overflow when unpacking long long: manual_seed expects a seed in [-2**63, 2**64)");
  return seed;
}

PyObject* manual_seed(PyObject* o, PyObject* seed) {
  return method([&] {
    const uint64_t value = seed_in(seed);
    const auto lock = locked(generator_of(o));
    generator_of(o).seed(value);
    return Py_NewRef(o);
  });
}

PyObject* seed(PyObject* o, PyObject*) {
  return method([&] {
    const auto lock = locked(generator_of(o));
    return PyLong_FromUnsignedLongLong(generator_of(o).seed_from_system());
  });
}

PyObject* initial_seed(PyObject* o, PyObject*) {
  const auto lock = locked(generator_of(o));
  return PyLong_FromUnsignedLongLong(generator_of(o).initial_seed());
}

// ---- state ------------------------------------------------------------------------------------------------
Tensor state_tensor(Generator& g) {
  const int64_t size = Generator::kStateBytes;
  Tensor state = empty({&size, 1}, {.dtype = DType::UInt8});
  const auto lock = locked(g);
  g.get_state(state.data());
  return state;
}

const Tensor& checked_state(PyObject* o) {
  TL_CHECK(is_tensor(o), Type, "set_state(): expected a torch.ByteTensor, but got ", Py_TYPE(o)->tp_name);
  const Tensor& state = tensor_of(o);
  const bool bytes =
      state.dtype() == DType::UInt8 && state.device().is_cpu() && state.layout() == Layout::Strided;
  TL_CHECK(bytes, Type, "RNG state must be a torch.ByteTensor: got ", dtype_name(state.dtype()), " on ",
           device_name(state.device()));
  TL_CHECK(state.is_contiguous(), Runtime, "RNG state must be contiguous: got strides ", state.strides());
  return state;
}

PyObject* get_state(PyObject* o, PyObject*) {
  return method([&] { return wrap(state_tensor(generator_of(o))); });
}

PyObject* set_state(PyObject* o, PyObject* new_state) {
  return method([&] {
    const Tensor& state = checked_state(new_state);
    const auto lock = locked(generator_of(o));
    generator_of(o).set_state(state.data(), static_cast<size_t>(state.numel()));
    return Py_NewRef(o);
  });
}

PyObject* clone_state(PyObject* o, PyObject*) {
  return method([&] {
    const auto lock = locked(generator_of(o));
    return new_object(g_generator_type, generator_of(o).clone());
  });
}

// ---- what only generators of devices have -----------------------------------------------------------------
PyObject* no_offset(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_RuntimeError, "CPU Generator does not use offset");
  return nullptr;
}
PyObject* no_graphsafe_get(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_NotImplementedError,
                  "graphsafe_get_state is not supported in this Generator: use clone_state");
  return nullptr;
}
PyObject* no_graphsafe_set(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_NotImplementedError,
                  "graphsafe_set_state is not supported in this Generator: use set_state");
  return nullptr;
}

// ---- pickling ---------------------------------------------------------------------------------------------
// (type, (device,), (initial seed, offset, state)); a CPU generator has no offset.
PyObject* reduce(PyObject* o, PyObject*) {
  return method([&]() -> PyObject* {
    PyRef device = checked(device_object({}));
    PyRef seed = checked(initial_seed(o, nullptr));
    PyRef state = checked(get_state(o, nullptr));
    return Py_BuildValue("O(O)(OOO)", Py_TYPE(o), device.get(), seed.get(), Py_None, state.get());
  });
}

PyObject* set_reduced(PyObject* o, PyObject* reduced) {
  PyObject *seed, *offset, *state;
  if (!PyTuple_Check(reduced))
    return PyErr_Format(PyExc_TypeError, "__setstate__(): expected a tuple, got %s",
                        Py_TYPE(reduced)->tp_name);
  if (!PyArg_ParseTuple(reduced, "OOO:__setstate__", &seed, &offset, &state)) return nullptr;
  if (offset != Py_None) return no_offset(o, nullptr);
  PyRef seeded(manual_seed(o, seed));
  PyRef restored(seeded ? set_state(o, state) : nullptr);
  if (!restored) return nullptr;
  Py_RETURN_NONE;
}

PyObject* get_device(PyObject*, void*) {
  return method([] { return device_object({}); });
}

// ---- the type ---------------------------------------------------------------------------------------------
PyMethodDef kMethods[] = {
    {"manual_seed", manual_seed, METH_O,
     "manual_seed($self, seed, /)\n--\n\n"
     "Starts the stream of `seed`, an int in [-2**63, 2**64), and returns the generator."},
    {"seed", seed, METH_NOARGS,
     "seed($self, /)\n--\n\nStarts the stream of a seed drawn by the operating system; returns the seed."},
    {"initial_seed", initial_seed, METH_NOARGS,
     "initial_seed($self, /)\n--\n\nThe seed the stream started from."},
    {"get_state", get_state, METH_NOARGS,
     "get_state($self, /)\n--\n\nThe state as a uint8 tensor of 5056 bytes."},
    {"set_state", set_state, METH_O,
     "set_state($self, new_state, /)\n--\n\n"
     "Goes to a state that get_state returned; raises RuntimeError for bytes that are no state."},
    {"clone_state", clone_state, METH_NOARGS,
     "clone_state($self, /)\n--\n\nA new generator in the same state."},
    {"graphsafe_get_state", no_graphsafe_get, METH_NOARGS,
     "graphsafe_get_state($self, /)\n--\n\nRaises: generators of devices have it."},
    {"graphsafe_set_state", no_graphsafe_set, METH_O,
     "graphsafe_set_state($self, state, /)\n--\n\nRaises: generators of devices have it."},
    {"get_offset", no_offset, METH_NOARGS,
     "get_offset($self, /)\n--\n\nRaises: generators of devices have an offset."},
    {"set_offset", no_offset, METH_O,
     "set_offset($self, offset, /)\n--\n\nRaises: generators of devices have an offset."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__setstate__", set_reduced, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef kGetset[] = {
    {"device", get_device, nullptr, "Where the numbers are drawn.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMemberDef kMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(GeneratorObject, weak), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
constexpr const char* kDoc =
    "Generator(device='cpu')\n--\n\n"
    "A stream of random numbers: the Mersenne Twister. Random functions draw from it with `generator=`.\n\n"
    ">>> g = Generator().manual_seed(7)\n>>> g.initial_seed()\n7";

PyTypeObject* make_type() {
  PyType_Slot slots[] = {
      {Py_tp_new, slot(generator_new)},
      {Py_tp_dealloc, slot(generator_dealloc)},
      {Py_tp_methods, kMethods},
      {Py_tp_getset, kGetset},
      {Py_tp_members, kMembers},
      {Py_tp_doc, const_cast<char*>(kDoc)},
      {0, nullptr},
  };
  PyType_Spec spec = {"tl_core.Generator", sizeof(GeneratorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  return reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
}
}  // namespace

bool generator_argument(PyObject* o, TlValue& out) {
  if (!is_generator(o)) return false;
  out = value(&generator_of(o));
  return true;
}

PyObject* wrap_generator(Generator* generator) {
  if (generator != &default_generator()) return new_object(g_generator_type, generator);
  generator->release();
  return Py_NewRef(g_default_object);
}

void add_generator_type(PyObject* module) {
  g_generator_type = make_type();
  checked(PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(g_generator_type)));
  default_generator().retain();
  g_default_object = new_object(g_generator_type, &default_generator());
  checked(PyModule_AddObjectRef(module, "default_generator", g_default_object));
}

}  // namespace tl::bind
