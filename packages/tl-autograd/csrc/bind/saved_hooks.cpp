// Saved-tensor hooks: a stack for each thread; `pack` gives what is stored, `unpack` makes the tensor again.
#include "saved_hooks.h"

#include <algorithm>

#include "bind/python.h"
#include "bind/saved_hooks_functions.h"
#include "extra.h"
#include "levels/entry.h"
#include "view.h"

namespace tl::autograd {

std::atomic<int> g_packing{0};

namespace {
struct Hooks {
  PyRef pack, unpack;
};
struct ThreadHooks {
  std::vector<Hooks> stack;
  std::string disabled;  // why hooks are refused; empty: they are not
};
thread_local ThreadHooks* t_hooks = nullptr;

ThreadHooks& hooks_here() {
  if (!t_hooks)
    t_hooks = new ThreadHooks;  // Python objects: not torn down with the thread, which may hold no GIL
  return *t_hooks;
}

struct Packed {
  PyRef data, unpack;
  std::vector<Entry::Tangent> tangents;
  uint64_t level = 0;  // whose wrapper was packed; 0: none
  bool followed_below = false;
};
Packed* packed_of(const TlValue& v) { return static_cast<Packed*>(const_cast<void*>(v.u.p)); }
}  // namespace

namespace {
bool has_tangent(const Entry& e) {
  return std::ranges::any_of(e.tangents, [](const Entry::Tangent& t) { return level_of(t.level); });
}

// Whether an outer transform, or the graph outside of transforms, follows the tensor that the level wraps.
bool is_followed_below(TlTensor* t, uint64_t level) {
  const Entry* e = entry_of(t);
  TlTensor* at = e && e->level == level ? e->value.get() : t;
  while (at) {
    e = entry_of(at);
    if (gradient_edge(at).node || (e && has_tangent(*e))) return true;
    at = e && e->level ? e->value.get() : nullptr;
  }
  return false;
}
}  // namespace

bool packs_here() { return t_hooks && !t_hooks->stack.empty(); }

TlValue pack_with(PyObject* pack_hook, PyObject* unpack_hook, TlTensor* t) {
  GradMode off(false);
  PyRef argument = wrapped(Tensor::share(t));
  const uint32_t version = api->tensor_version(t);
  PyRef data = checked(run_python(PyObject_CallOneArg, pack_hook, argument.get()));
  if (api->tensor_version(t) != version)
    raise(PyExc_RuntimeError,
          "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
          "can not be modified by in-place operations as this can lead to unexpected side-effects.");
  auto packed = std::make_unique<Packed>(Packed{std::move(data), PyRef::share(unpack_hook), {}});
  if (const Entry* entry = entry_of(t)) {
    packed->tangents = entry->tangents;
    packed->level = entry->level;
    packed->followed_below = entry->level && is_followed_below(t, entry->level);
  }
  return {kPacked, 0, {.p = packed.release()}};
}

TlValue pack(TlTensor* t) {
  WithGil lock;
  TlValue out = none();
  calling_python([&] {
    const Hooks hooks = t_hooks->stack.back();
    out = pack_with(hooks.pack.get(), hooks.unpack.get(), t);
  });
  return out;
}

namespace {
// What an unpack hook enters or leaves ends with it.
class StackRestored {
 public:
  StackRestored() : before_(hooks_here().stack) {}
  ~StackRestored() {
    std::vector<Hooks> inside = std::exchange(hooks_here().stack, std::move(before_));
    g_packing.fetch_add(static_cast<int>(hooks_here().stack.size()) - static_cast<int>(inside.size()),
                        std::memory_order_relaxed);
  }
  StackRestored(const StackRestored&) = delete;
  StackRestored& operator=(const StackRestored&) = delete;

 private:
  std::vector<Hooks> before_;
};
}  // namespace

namespace {
// A hook may have stored numbers alone.
Tensor with_tangents(Tensor t, const std::vector<Entry::Tangent>& tangents) {
  bool own = false;
  for (const Entry::Tangent& tangent : tangents) {
    const Level* level = level_of(tangent.level);
    if (!level || tangent_of(t.get(), *level)) continue;
    if (!std::exchange(own, true)) t = alias_in_levels(t.get());
    set_tangent(t.get(), *level, *tangent.tensor);
  }
  return t;
}
}  // namespace

void note_tangent(const TlValue& packed, const Level& level, const Tensor& tangent) {
  auto& all = packed_of(packed)->tangents;
  std::erase_if(all, [&](const Entry::Tangent& old) { return old.level == level.serial; });
  all.push_back({level.serial, tangent_cell(level, tangent)});
}

Tensor unpack(const TlValue& packed) {
  WithGil lock;
  Tensor out;
  calling_python([&] {
    const StackRestored restored;
    const Packed& p = *packed_of(packed);
    PyRef result = checked(run_python(PyObject_CallOneArg, p.unpack.get(), p.data.get()));
    TlTensor* t = bridge->unwrap(result.get());
    if (!t)
      raise(
          PyExc_TypeError,
          std::string("Output of saved tensor unpack_hook expected to be a Tensor but got result of type ") +
              Py_TYPE(result.get())->tp_name);
    if (p.followed_below && !is_followed_below(t, p.level))
      raise(PyExc_RuntimeError,
            "saved_tensors_hooks: inside of nested transforms, the unpack hook returned a tensor that the "
            "outer "
            "transform doesn't follow, so that derivatives of higher order would miss it. Return the packed "
            "tensor, or "
            "a function of it that keeps its gradient.");
    out = with_tangents(Tensor::share(t), p.tangents);
  });
  return out;
}

bool is_in_other_level(const TlValue& packed, const TlTensor* unpacked) {
  const Packed& p = *packed_of(packed);
  const Entry* entry = entry_of(unpacked);
  return p.level && (entry ? entry->level : 0) != p.level;
}

void drop_packed(TlValue& packed) {
  if (!Py_IsInitialized()) return;
  WithGil lock;
  delete packed_of(packed);
}

// ---- what Python calls ------------------------------------------------------------------------------------

PyObject* push_saved_hooks(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
  return guarded([&] {
    if (n_args != 2 || !PyCallable_Check(args[0]) || !PyCallable_Check(args[1]))
      raise(PyExc_TypeError, "saved tensor hooks must be two callables");
    ThreadHooks& here = hooks_here();
    if (!here.disabled.empty()) raise(PyExc_RuntimeError, here.disabled);
    here.stack.push_back({PyRef::share(args[0]), PyRef::share(args[1])});
    g_packing.fetch_add(1, std::memory_order_relaxed);
    return Py_NewRef(Py_None);
  });
}

PyObject* has_saved_hooks(PyObject*, PyObject*) { return PyBool_FromLong(packs_here()); }

PyObject* pop_saved_hooks(PyObject*, PyObject*) {
  return guarded([&] {
    if (!packs_here()) return Py_NewRef(Py_None);
    g_packing.fetch_sub(1, std::memory_order_relaxed);
    const Hooks last = std::move(t_hooks->stack.back());
    t_hooks->stack.pop_back();
    return Py_NewRef(Py_None);
  });
}

PyObject* disable_saved_hooks(PyObject*, PyObject* message) {
  return guarded([&] {
    ThreadHooks& here = hooks_here();
    const std::string before = here.disabled;
    const char* text = message == Py_None ? "" : PyUnicode_AsUTF8(message);
    if (!text) throw PythonError();
    if (*text && !here.stack.empty()) raise(PyExc_RuntimeError, text);
    here.disabled = text;
    return before.empty() ? Py_NewRef(Py_None) : checked(PyUnicode_FromString(before.c_str())).release();
  });
}

}  // namespace tl::autograd
