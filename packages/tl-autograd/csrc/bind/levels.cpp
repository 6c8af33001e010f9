// Levels of function transforms for Python: begin, end, wrap and unwrap, each named by its serial number.
#include "bind/levels.h"

#include "bind/python.h"
#include "leaf.h"
#include "levels/batch.h"
#include "levels/entry.h"
#include "levels/functionalize.h"
#include "levels/level.h"
#include "levels/tangent.h"
#include "levels/tape.h"
#include "ops.h"

namespace tl::autograd {

namespace {
Level* level_from(PyObject* serial) {
  const unsigned long long n = PyLong_AsUnsignedLongLong(serial);
  if (n == static_cast<unsigned long long>(-1) && PyErr_Occurred()) throw PythonError();
  return required_level(n);
}

int64_t integer(PyObject* o) {
  const long long n = PyLong_AsLongLong(o);
  if (n == -1 && PyErr_Occurred()) throw PythonError();
  return n;
}

// begin_level(kind, batch_size, randomness) -> the level's serial number; of a level without writes, the size
// says whether views go as well
PyObject* begin_level_function(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 3) raise(PyExc_TypeError, "begin_level(kind, batch_size, randomness)");
    const int64_t kind = integer(args[0]), size = integer(args[1]), randomness = integer(args[2]);
    Level* level = begin_level(static_cast<LevelKind>(kind));
    level->batch_size = size;
    level->removes_views = level->kind == LevelKind::Functionalize && size != 0;
    level->randomness = static_cast<Randomness>(randomness);
    return PyLong_FromUnsignedLongLong(level->serial);
  });
}

// set_removes_views(serial, whether a level without writes copies views as well)
PyObject* set_removes_views(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 2) raise(PyExc_TypeError, "set_removes_views(level, removes)");
    level_from(args[0])->removes_views = args[1] == Py_True;
    return Py_NewRef(Py_None);
  });
}

// Ends the level and those inside of it; nothing happens if it has ended.
PyObject* end_level_function(PyObject*, PyObject* serial) {
  return guarded([&] {
    const unsigned long long n = PyLong_AsUnsignedLongLong(serial);
    if (n == static_cast<unsigned long long>(-1) && PyErr_Occurred()) throw PythonError();
    if (Level* level = level_of(n)) end_level(level);
    return Py_NewRef(Py_None);
  });
}

// step_below(serial) -> what step_back() takes: the level that was the top, and whether gradients were
// recorded.
PyObject* step_below(PyObject*, PyObject* serial) {
  return guarded([&] {
    Level* level = level_from(serial);
    Level* before = levels().top;
    const bool recorded = api->grad_enabled();
    set_top(level->parent);
    if (level->kind == LevelKind::Grad) api->set_grad_enabled(records_below(*level));
    return checked(Py_BuildValue("(Ki)", static_cast<unsigned long long>(before ? before->serial : 0),
                                 static_cast<int>(recorded)))
        .release();
  });
}
PyObject* step_back(PyObject*, PyObject* state) {
  return guarded([&] {
    unsigned long long serial = 0;
    int recorded = 0;
    if (!PyArg_ParseTuple(state, "Ki", &serial, &recorded)) throw PythonError();
    set_top(serial ? required_level(serial) : nullptr);
    api->set_grad_enabled(recorded);
    return Py_NewRef(Py_None);
  });
}

// begin_unrecorded() -> what end_unrecorded() takes. Between them, calls have no place in the graph of the
// present level. Outer transforms follow them, other than in a no_grad of the program.
PyObject* begin_unrecorded(PyObject*, PyObject*) {
  ThreadData& thread = thread_data();
  const int before = api->grad_enabled();
  const bool outermost = thread.program_mode < 0;
  if (outermost) thread.program_mode = static_cast<int8_t>(before);
  api->set_grad_enabled(0);
  return PyLong_FromLong(before | (outermost ? 2 : 0));
}
PyObject* end_unrecorded(PyObject*, PyObject* state) {
  const long bits = PyLong_AsLong(state);
  if (bits == -1 && PyErr_Occurred()) return nullptr;
  api->set_grad_enabled(bits & 1);
  if (bits & 2) thread_data().program_mode = -1;
  return Py_NewRef(Py_None);
}

PyRef described(const Level& level) {
  return checked(Py_BuildValue("(KiiLi)", static_cast<unsigned long long>(level.serial),
                               static_cast<int>(level.kind), level.number,
                               static_cast<long long>(level.batch_size), static_cast<int>(level.randomness)));
}

// top_level() -> (serial, kind, number, batch size, randomness) or None
PyObject* top_level(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Level* top = levels().top;
    return top ? described(*top).release() : Py_NewRef(Py_None);
  });
}

// The level of that number, as top_level() tells it, or None.
PyObject* level_numbered_function(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const Level* level = level_numbered(static_cast<int>(integer(number)));
    return level ? described(*level).release() : Py_NewRef(Py_None);
  });
}

// concerns_levels(arguments): whether a level is active, or a tensor in the tuple is a wrapper
PyObject* concerns_levels(PyObject*, PyObject* arguments) {
  return guarded([&] {
    bool concerned = levels().top != nullptr;
    const Py_ssize_t n = PyTuple_Check(arguments) ? PyTuple_GET_SIZE(arguments) : 0;
    for (Py_ssize_t i = 0; i < n && !concerned; ++i) {
      const TlTensor* t = tensor_or_null(PyTuple_GET_ITEM(arguments, i));
      const Entry* e = t ? entry_of(t) : nullptr;
      concerned = e && e->level;
    }
    return PyBool_FromLong(concerned);
  });
}

// follow(tensor, serial): the tensor at a level that differentiates with respect to it
PyObject* follow(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 2) raise(PyExc_TypeError, "follow(tensor, level)");
    Tensor t = wrap_for_gradients(tensor_of(args[0]), *level_from(args[1]));
    set_requires_grad(t.get(), true);
    return wrapped(std::move(t)).release();
  });
}

// The same tensor without tangents of levels that have ended.
PyObject* without_tangents(PyObject*, PyObject* tensor) {
  return guarded([&] {
    drop_ended_tangents(tensor_of(tensor));
    return Py_NewRef(tensor);
  });
}

// wrap_for_gradients(tensor, serial)
PyObject* wrap_for_gradients_function(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 2) raise(PyExc_TypeError, "wrap_for_gradients(tensor, level)");
    return wrapped(wrap_for_gradients(tensor_of(args[0]), *level_from(args[1]))).release();
  });
}

// wrap_batch(tensor, dim, serial)
PyObject* wrap_batch_function(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 3) raise(PyExc_TypeError, "wrap_batch(tensor, dim, level)");
    TlTensor* t = tensor_of(args[0]);
    const int64_t dim = integer(args[1]), n = api->tensor_ndim(t);
    if (dim < 0 || dim >= n) raise(PyExc_IndexError, "wrap_batch: no such dimension");
    return wrapped(wrap_batch(t, dim, *level_from(args[2]))).release();
  });
}

// unwrap(tensor, serial) -> (value, dimension of the batch or None), or None if the level does not wrap it
PyObject* unwrap_function(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&]() -> PyObject* {
    if (n_args != 2) raise(PyExc_TypeError, "unwrap(tensor, level)");
    TlTensor* t = tensor_of(args[0]);
    const Entry* e = entry_of(t);
    if (!e || !e->level || e->level != PyLong_AsUnsignedLongLong(args[1])) return Py_NewRef(Py_None);
    PyObject* dim = e->kind == LevelKind::Batch ? PyLong_FromLongLong(e->dim) : Py_NewRef(Py_None);
    return checked(Py_BuildValue("(NN)", wrapped(e->value).release(), dim)).release();
  });
}

// wrapping(tensor) -> (serial, kind, number, value, dim, has the level ended) of the outermost wrapper, or
// None
PyObject* wrapping(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    const Entry* e = entry_of(tensor_of(tensor));
    if (!e || !e->level) return Py_NewRef(Py_None);
    return checked(Py_BuildValue("(KiiNLO)", static_cast<unsigned long long>(e->level),
                                 static_cast<int>(e->kind), e->number, wrapped(e->value).release(),
                                 static_cast<long long>(e->dim), level_of(e->level) ? Py_False : Py_True))
        .release();
  });
}

// set_tangent(tensor, tangent, serial); tangent(tensor, serial) -> tensor or None
PyObject* set_tangent_function(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 3) raise(PyExc_TypeError, "set_tangent(tensor, tangent, level)");
    Level& level = *level_from(args[2]);
    const Below below(level);
    give_input_tangent(tensor_of(args[0]), level, Tensor::share(tensor_of(args[1])));
    return Py_NewRef(Py_None);
  });
}
PyObject* tangent_function(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 2) raise(PyExc_TypeError, "tangent(tensor, level)");
    return wrapped(Tensor::share(tangent_of(tensor_of(args[0]), *level_from(args[1])))).release();
  });
}

// A tensor of its own in the same levels, without tangents or a place in the graph of this level.
PyObject* alias_in_levels_function(PyObject*, PyObject* tensor) {
  return guarded([&] { return wrapped(alias_in_levels(tensor_of(tensor))).release(); });
}

// wrap_functional(tensor, serial)
PyObject* wrap_functional_function(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 2) raise(PyExc_TypeError, "wrap_functional(tensor, level)");
    return wrapped(wrap_alone(tensor_of(args[0]), *level_from(args[1]))).release();
  });
}

bool is_functional(TlTensor* t) {
  const Entry* e = entry_of(t);
  return e && e->level && e->kind == LevelKind::Functionalize;
}

// functional_value(tensor) -> (the value of a wrapper as it is now, whether its memory was written), or None
PyObject* functional_value(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    TlTensor* t = tensor_of(tensor);
    if (!is_functional(t)) return Py_NewRef(Py_None);
    PyRef value = wrapped(current_value(t));
    return checked(Py_BuildValue("(NO)", value.release(), was_written(t) ? Py_True : Py_False)).release();
  });
}

// ---- tapes ------------------------------------------------------------------------------------------------

constexpr const char* kTape = "tl_autograd.Tape";

void drop_tape(PyObject* capsule) { delete static_cast<Tape*>(PyCapsule_GetPointer(capsule, kTape)); }

Tape& tape_from(PyObject* capsule) {
  auto* tape = static_cast<Tape*>(PyCapsule_GetPointer(capsule, kTape));
  if (!tape) throw PythonError();
  return *tape;
}

// The level on top is one of the older vmap.
PyObject* mark_older(PyObject*, PyObject*) {
  return guarded([] {
    if (!levels().top) raise(PyExc_RuntimeError, "mark_older(): no transform has begun");
    levels().top->is_older = true;
    return Py_NewRef(Py_None);
  });
}

PyObject* in_older_vmap(PyObject*, PyObject*) {
  return PyBool_FromLong(levels().top && levels().top->is_older);
}

// begin_tape(serial) -> what keeps the calls of the level of tangents
PyObject* begin_tape(PyObject*, PyObject* serial) {
  return guarded([&] {
    Level* level = level_from(serial);
    auto tape = std::make_unique<Tape>();
    PyRef capsule = checked(PyCapsule_New(tape.get(), kTape, drop_tape));
    level->tape = tape.release();
    return capsule.release();
  });
}

// end_tape(serial): the level keeps no more calls
PyObject* end_tape(PyObject*, PyObject* serial) {
  return guarded([&] {
    level_from(serial)->tape = nullptr;
    return Py_NewRef(Py_None);
  });
}

// break_tape(serial): a call at that level went another way than the rules'
PyObject* break_tape(PyObject*, PyObject* serial) {
  return guarded([&] {
    if (Tape* tape = level_from(serial)->tape) tape->whole = false;
    return Py_NewRef(Py_None);
  });
}

PyObject* tape_is_whole(PyObject*, PyObject* tape) {
  return guarded([&] { return PyBool_FromLong(tape_from(tape).whole); });
}

// replay_tape(tape, serial): from the tangents of that level
PyObject* replay_tape(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 2) raise(PyExc_TypeError, "replay_tape(tape, level)");
    replay(tape_from(args[0]), *level_from(args[1]));
    return Py_NewRef(Py_None);
  });
}

PyObject* clean_tape(PyObject*, PyObject* tape) {
  return guarded([&] {
    clean(tape_from(tape));
    return Py_NewRef(Py_None);
  });
}

// switch_tangents(on) -> whether levels of tangents computed any before; switch_tangents(None) only tells
PyObject* switch_tangents(PyObject*, PyObject* on) {
  return guarded([&] {
    bool& here = levels().tangents;
    const bool before = here;
    const int given = on == Py_None ? before : PyObject_IsTrue(on);
    if (given < 0) throw PythonError();
    here = given != 0;
    return PyBool_FromLong(before);
  });
}

PyObject* g_warner = nullptr;

void warn(const char* op) {
  const WithGil lock;
  if (!g_warner) return;
  const PyRef done(run_python(PyObject_CallFunction, g_warner, "s", op));
  if (done) return;
  bridge->pending_from_python();
  throw Pending();
}

// The function that is told the name of an operator that loops; None for nobody.
PyObject* set_loop_warner(PyObject*, PyObject* function) {
  PyObject* old = g_warner;
  g_warner = function == Py_None ? nullptr : Py_NewRef(function);
  warn_of_loop = g_warner ? warn : nullptr;
  return old ? old : Py_NewRef(Py_None);
}

PyMethodDef kFunctions[] = {
    {"begin_level", method(begin_level_function), METH_FASTCALL, nullptr},
    {"set_removes_views", method(set_removes_views), METH_FASTCALL, nullptr},
    {"end_level", end_level_function, METH_O, nullptr},
    {"step_below", step_below, METH_O, nullptr},
    {"step_back", step_back, METH_O, nullptr},
    {"begin_unrecorded", begin_unrecorded, METH_NOARGS, nullptr},
    {"end_unrecorded", end_unrecorded, METH_O, nullptr},
    {"top_level", top_level, METH_NOARGS, nullptr},
    {"level_numbered", level_numbered_function, METH_O, nullptr},
    {"wrap_functional", method(wrap_functional_function), METH_FASTCALL, nullptr},
    {"functional_value", functional_value, METH_O, nullptr},
    {"in_older_vmap", in_older_vmap, METH_NOARGS, nullptr},
    {"mark_older", mark_older, METH_NOARGS, nullptr},
    {"begin_tape", begin_tape, METH_O, nullptr},
    {"end_tape", end_tape, METH_O, nullptr},
    {"break_tape", break_tape, METH_O, nullptr},
    {"tape_is_whole", tape_is_whole, METH_O, nullptr},
    {"replay_tape", method(replay_tape), METH_FASTCALL, nullptr},
    {"clean_tape", clean_tape, METH_O, nullptr},
    {"concerns_levels", concerns_levels, METH_O, nullptr},
    {"follow", method(follow), METH_FASTCALL, nullptr},
    {"without_tangents", without_tangents, METH_O, nullptr},
    {"wrap_for_gradients", method(wrap_for_gradients_function), METH_FASTCALL, nullptr},
    {"wrap_batch", method(wrap_batch_function), METH_FASTCALL, nullptr},
    {"unwrap", method(unwrap_function), METH_FASTCALL, nullptr},
    {"wrapping", wrapping, METH_O, nullptr},
    {"set_tangent", method(set_tangent_function), METH_FASTCALL, nullptr},
    {"tangent", method(tangent_function), METH_FASTCALL, nullptr},
    {"alias_in_levels", alias_in_levels_function, METH_O, nullptr},
    {"switch_tangents", switch_tangents, METH_O, nullptr},
    {"set_loop_warner", set_loop_warner, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

void add_level_functions(PyObject* module) { checked(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace tl::autograd
