// Calls of wrapper subclasses by plans: the key of a call, the table of plans, the call on the inner tensors.
#include "bind/wrapper_plans.h"

#include <structmember.h>

#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bind/error.h"
#include "bind/function.h"
#include "bind/tensor_object.h"
#include "dispatch/python.h"
#include "ops.h"

namespace tl::bind {

// A class whose calls have plans, and the attributes with its inner tensor and its layout. Lives as long as
// the process.
struct WrapperClass {
  PyTypeObject* type;
  PyObject* inner;
  PyObject* layout;
};

namespace {
constexpr size_t kMostPlans = 8192;

std::vector<WrapperClass>& classes() {
  static auto* const all = new std::vector<WrapperClass>;
  return *all;
}

const WrapperClass* class_of(PyTypeObject* type) {
  for (const WrapperClass& c : classes())
    if (c.type == type) return &c;
  return nullptr;
}

struct ResultPlan {
  PyRef layout;
  DimVector sizes, strides;
  int64_t offset;  // of a view, from that of its operand
};

struct ChangedSizes {
  int argument;
  std::vector<int64_t> sizes;
};

// What a call does on the inner tensors.
struct Plan {
  bool writes;  // its first argument, which is the result
  std::vector<ResultPlan> results;
  std::vector<ChangedSizes> sizes;
};

using Words = std::span<const uint64_t>;

struct Hash {
  using is_transparent = void;
  size_t operator()(Words words) const {
    uint64_t h = words.size();
    for (const uint64_t word : words) {
      h = (h ^ word) * 0x9e3779b97f4a7c15u;
      h ^= h >> 32;
    }
    return h;
  }
  size_t operator()(const std::vector<uint64_t>& words) const { return (*this)(Words(words)); }
};

struct Equal {
  using is_transparent = void;
  bool operator()(Words a, Words b) const { return std::ranges::equal(a, b); }
};
}  // namespace

// Guarded by the interpreter's lock, as all below.
struct Table {
  std::unordered_map<std::vector<uint64_t>, std::shared_ptr<const Plan>, Hash, Equal> plans;
};

namespace {
// ---- the objects of Python --------------------------------------------------------------------------------
struct PlansObject {
  PyObject_HEAD Table* table;
};

// Equal layouts of one table have one number.
struct LayoutObject {
  PyObject_HEAD uint64_t number;  // 0: it is in no table yet
  PyObject* plans;
};

PyTypeObject* g_plans_type = nullptr;
PyTypeObject* g_wrapper_layout_type = nullptr;
uint64_t g_numbers = 0;

PlansObject& plans_of(PyObject* o) { return *reinterpret_cast<PlansObject*>(o); }
LayoutObject& layout_of(PyObject* o) { return *reinterpret_cast<LayoutObject*>(o); }

PyObject* new_plans(PyTypeObject* type, PyObject*, PyObject*) {
  return translated(
      [&] {
        PyRef self = checked(type->tp_alloc(type, 0));
        plans_of(self.get()).table = new Table;
        return self.release();
      },
      static_cast<PyObject*>(nullptr));
}

int traverse_plans(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (const Table* table = plans_of(self).table)
    for (const auto& [key, plan] : table->plans)
      for (const ResultPlan& result : plan->results) Py_VISIT(result.layout.get());
  return 0;
}

// Dropping a layout may run code of the program, which may come back here.
void forget_plans(Table& table) {
  decltype(table.plans) dropped;
  dropped.swap(table.plans);
}

int clear_plans(PyObject* self) {
  if (Table* table = plans_of(self).table) forget_plans(*table);
  return 0;
}

void delete_plans(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete std::exchange(plans_of(self).table, nullptr);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* clear_method(PyObject* self, PyObject*) {
  clear_plans(self);
  Py_RETURN_NONE;
}

Py_ssize_t count_plans(PyObject* self) { return static_cast<Py_ssize_t>(plans_of(self).table->plans.size()); }

int traverse_layout(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(layout_of(self).plans);
  return 0;
}

int clear_layout(PyObject* self) {
  layout_of(self).number = 0;
  Py_CLEAR(layout_of(self).plans);
  return 0;
}

void delete_layout(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear_layout(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef kPlansMethods[] = {
    {"clear", clear_method, METH_NOARGS, "clear()\n--\n\nForgets all plans."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kPlansSlots[] = {
    {Py_tp_new, slot(new_plans)},
    {Py_tp_dealloc, slot(delete_plans)},
    {Py_tp_traverse, slot(traverse_plans)},
    {Py_tp_clear, slot(clear_plans)},
    {Py_tp_methods, kPlansMethods},
    {Py_mp_length, slot(count_plans)},
    {Py_tp_doc, const_cast<char*>("WrapperPlans()\n--\n\nThe plans of calls with wrappers, by their keys.")},
    {0, nullptr},
};
PyType_Spec kPlansSpec = {"tl_core.subclasses.wrapper_plans.WrapperPlans", sizeof(PlansObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, kPlansSlots};

PyType_Slot kLayoutSlots[] = {
    {Py_tp_dealloc, slot(delete_layout)},
    {Py_tp_traverse, slot(traverse_layout)},
    {Py_tp_clear, slot(clear_layout)},
    {Py_tp_doc,
     const_cast<char*>("The base of layouts. `enroll` gives an object its number, by `enroll_layout`.")},
    {0, nullptr},
};
PyType_Spec kLayoutSpec = {"tl_core.subclasses.wrapper_plans.WrapperLayout", sizeof(LayoutObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, kLayoutSlots};

bool is_layout(PyObject* o) { return o && PyObject_TypeCheck(o, g_wrapper_layout_type); }

// Asks the layout itself, which knows its equals.
bool enroll(PyObject* layout) {
  static PyObject* const name = PyUnicode_InternFromString("enroll");
  PyRef(checked(run_python(PyObject_CallMethodNoArgs, layout, name)));
  return layout_of(layout).number != 0;
}

// ---- results ----------------------------------------------------------------------------------------------
// The inner tensor is nobody else's, and outside the graph.
Tensor alone(Tensor t) {
  const bool is_alone = t->refs.load(std::memory_order_relaxed) == 1 && !t->autograd && !t->base && !t->py;
  return is_alone ? t : ops::detach(t);
}

// `base` is the operand of a view, or null.
Tensor wrapped(Tensor result, const ResultPlan& plan, const WrapperClass& c, const TensorImpl* base) {
  Tensor inner = alone(std::move(result));
  Tensor made = empty_strided(plan.sizes, plan.strides, {inner.dtype(), Device{DeviceType::Meta}});
  made->device = inner.device();
  if (base && base->offset + plan.offset)
    set_geometry(*made.impl(), plan.sizes, plan.strides, base->offset + plan.offset);
  if (!made->device.is_meta()) made->bits.fetch_or(kHollowBit, std::memory_order_relaxed);
  PyRef attributes = checked(PyDict_New());
  PyRef own = checked(wrap(std::move(inner)));
  checked(PyDict_SetItem(attributes.get(), c.inner, own.get()));
  checked(PyDict_SetItem(attributes.get(), c.layout, plan.layout.get()));
  const PyRef object = checked(wrap_as(std::move(made), c.type));
  reinterpret_cast<TensorObject*>(object.get())->dict = attributes.release();
  return tensor_of(object.get());
}

// The results of a call, released where they are not handed on.
class Results {
 public:
  explicit Results(int n) : n_(n) { std::fill_n(values, n, none()); }
  ~Results() {
    for (int i = 0; i < n_; ++i) release(values[i]);
  }
  Results(const Results&) = delete;
  static constexpr int kMost = 8;
  TlValue values[kMost];

 private:
  int n_;
};

class Wrapping {
 public:
  Wrapping(const Operator& op, const Plan& plan, const WrapperClass& c, const TensorImpl* base)
      : op_(op), plan_(plan), class_(c), base_(base) {}

  TlValue operator()(TlValue& v) {
    if (v.tag == TL_TENSOR) {
      Tensor t = TakeResult<Tensor>::take(v);
      v = none();
      return owned(next(std::move(t)));
    }
    if (v.tag != TL_TENSOR_LIST) return std::exchange(v, none());
    std::vector<Tensor> several = TakeResult<std::vector<Tensor>>::take(v);
    v = none();
    for (Tensor& t : several) t = next(std::move(t));
    return owned(std::move(several));
  }

 private:
  Tensor next(Tensor t) {
    TL_CHECK(at_ < plan_.results.size(), Runtime, op_.info.name,
             "(): the plan of a call with wrappers has fewer results than the call");
    return wrapped(std::move(t), plan_.results[at_++], class_, base_);
  }

  const Operator& op_;
  const Plan& plan_;
  const WrapperClass& class_;
  const TensorImpl* base_;
  size_t at_ = 0;
};

// ---- plans from Python ------------------------------------------------------------------------------------
DimVector ints(PyObject* o) {
  const PyRef items = checked(PySequence_Fast(o, "expected a sequence of integers"));
  DimVector list;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const long long n = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items.get(), i));
    if (n == -1 && PyErr_Occurred()) throw PythonError();
    list.push_back(n);
  }
  return list;
}

void add_results(Plan& plan, PyObject* results) {
  TL_CHECK(PyTuple_Check(results), Type, "keep_plan(): results must be a tuple or None, got ",
           Py_TYPE(results)->tp_name);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(results); ++i) {
    PyObject *layout, *sizes, *strides;
    long long offset = 0;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(results, i), "OOO|L", &layout, &sizes, &strides, &offset))
      throw PythonError();
    TL_CHECK(is_layout(layout), Type, "keep_plan(): a layout must be a WrapperLayout, got ",
             Py_TYPE(layout)->tp_name);
    plan.results.push_back({PyRef::share(layout), ints(sizes), ints(strides), offset});
    TL_CHECK(plan.results.back().sizes.size() == plan.results.back().strides.size(), Value,
             "keep_plan(): sizes and strides differ in length");
  }
}

// False if the operator has no argument of a name.
bool add_sizes(Plan& plan, const Operator& op, PyObject* sizes) {
  TL_CHECK(PyDict_Check(sizes), Type, "keep_plan(): sizes must be a dict, got ", Py_TYPE(sizes)->tp_name);
  PyObject *name, *value;
  for (Py_ssize_t at = 0; PyDict_Next(sizes, &at, &name, &value);) {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw PythonError();
    int argument = 0;
    while (argument < op.info.n_args && std::strcmp(op.info.args[argument].name, text) != 0) ++argument;
    if (argument == op.info.n_args) return false;
    const DimVector list = ints(value);
    plan.sizes.push_back({argument, {list.begin(), list.end()}});
  }
  return true;
}

thread_local WrapperCall* t_innermost = nullptr;
}  // namespace

// ---- the key of a call ------------------------------------------------------------------------------------
WrapperCall::WrapperCall(const Operator& op, const TlValue* args, int n_args)
    : op_(op), args_(args), n_args_(n_args), outer_(t_innermost) {
  const bool has_modes = !modes_of(TL_LAYER_PYTHON).empty() || !modes_of(TL_LAYER_TRACE).empty();
  if (!classes().empty() && !has_modes) readable_ = read();
  t_innermost = this;
}

WrapperCall::~WrapperCall() { t_innermost = outer_; }

bool WrapperCall::add(uint64_t word) {
  if (n_words_ == kMostWords) return false;
  words_[n_words_++] = word;
  return true;
}

bool WrapperCall::read() {
  if (n_args_ > kMostArguments || op_.info.n_rets > Results::kMost) return false;
  add(std::bit_cast<uintptr_t>(&op_));
  for (int i = 0; i < n_args_; ++i)
    if (!read(args_[i])) return false;
  return plans_ != nullptr;
}

// Adds an argument to the key: its tag and length, then its contents. Objects of Python and generators have
// no key.
bool WrapperCall::read(const TlValue& v) {
  if (v.tag == TL_TENSOR) return read_tensor(reinterpret_cast<TensorImpl*>(v.u.t));
  if (!add(v.tag | uint64_t{v.len} << 32)) return false;
  switch (v.tag) {
    case TL_NONE:
      return true;
    case TL_BOOL:
    case TL_INT:
    case TL_FLOAT:
    case TL_DTYPE:
    case TL_DEVICE:
    case TL_LAYOUT:
    case TL_MEMORY_FORMAT:
      return add(static_cast<uint64_t>(v.u.i));
    case TL_COMPLEX:
      return read_bytes(v.u.p, 2 * sizeof(double));
    case TL_STRING:
    case TL_BOOL_LIST:
      return read_bytes(v.u.p, v.len);
    case TL_INT_LIST:
    case TL_FLOAT_LIST:
      return read_bytes(v.u.p, size_t{8} * v.len);
    case TL_SCALAR_LIST:
    case TL_STRING_LIST:
      return read_values(v);
    case TL_TENSOR_LIST:
      return read_tensors(v);
    default:
      return false;
  }
}

bool WrapperCall::read_bytes(const void* data, size_t n) {
  const auto* bytes = static_cast<const char*>(data);
  for (size_t i = 0; i < n; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + i, std::min<size_t>(8, n - i));
    if (!add(word)) return false;
  }
  return true;
}

bool WrapperCall::read_values(const TlValue& list) {
  for (uint32_t i = 0; i < list.len; ++i)
    if (!read(static_cast<const TlValue*>(list.u.p)[i])) return false;
  return true;
}

bool WrapperCall::read_tensors(const TlValue& list) {
  for (uint32_t i = 0; i < list.len; ++i)
    if (!read_tensor(static_cast<TensorImpl* const*>(list.u.p)[i])) return false;
  return true;
}

// A wrapper of the class; false for any other tensor. Numbers of layouts and null are told from tags by their
// place.
bool WrapperCall::read_tensor(TensorImpl* t) {
  if (n_tensors_ == kMostTensors) return false;
  if (!t) {  // an entry of a list may be left out
    ++n_tensors_;
    return add(0);
  }
  auto* object = reinterpret_cast<TensorObject*>(t->py);
  if (!object || !object->dict) return false;
  PyTypeObject* type = Py_TYPE(reinterpret_cast<PyObject*>(object));
  if (!class_) class_ = class_of(type);
  if (!class_ || class_->type != type) return false;
  PyObject* layout = PyDict_GetItemWithError(object->dict, class_->layout);
  PyObject* inner = PyDict_GetItemWithError(object->dict, class_->inner);
  if (PyErr_Occurred()) throw PythonError();
  if (!is_layout(layout) || !inner || !is_tensor(inner)) return false;
  inner_[n_tensors_++] = tensor_of(inner);
  if (layout_of(layout).number == 0 && !enroll(layout)) return false;
  if (!plans_) plans_ = layout_of(layout).plans;
  return add(TL_TENSOR | layout_of(layout).number << 32);
}

// ---- the call ---------------------------------------------------------------------------------------------
// The plan is held, since code of the program may run inside and forget it.
bool WrapperCall::run(TlValue* rets, int n_rets) {
  if (!readable_) return false;
  const Table& table = *plans_of(plans_).table;
  const auto found = table.plans.find(key());
  if (found == table.plans.end()) return false;
  const std::shared_ptr<const Plan> plan = found->second;
  TlValue own[kMostArguments];
  int at = 0;
  for (int i = 0; i < n_args_; ++i) {
    own[i] = args_[i];
    if (own[i].tag == TL_TENSOR) own[i] = value(inner_[at++]);
    if (own[i].tag != TL_TENSOR_LIST) continue;
    own[i].u.p = &inner_[at];
    at += static_cast<int>(own[i].len);
  }
  for (const ChangedSizes& change : plan->sizes) own[change.argument] = value(IntSpan(change.sizes));
  Results made(op_.info.n_rets);
  if (call_from_python(op_, own, made.values) != 0) throw_pending();
  if (plan->writes) {
    rets[0] = owned_copy(args_[0]);
    return true;
  }
  const bool is_view = op_.info.is_view && args_[0].tag == TL_TENSOR;
  Wrapping wrapping(op_, *plan, *class_, is_view ? reinterpret_cast<TensorImpl*>(args_[0].u.t) : nullptr);
  Results ready(n_rets);
  for (int i = 0; i < n_rets; ++i) ready.values[i] = wrapping(made.values[i]);
  for (int i = 0; i < n_rets; ++i) rets[i] = std::exchange(ready.values[i], none());
  return true;
}

bool WrapperCall::can_keep(PyObject* results) const {
  if (!readable_) return false;
  if (results != Py_None) return op_.info.variant == TL_FUNCTIONAL && op_.written_mask == 0;
  return op_.info.variant == TL_INPLACE && op_.info.n_rets == 1 && op_.written_mask == 1;
}

bool WrapperCall::keep(const char* op, PyObject* results, PyObject* sizes) {
  const WrapperCall* call = t_innermost;
  if (!call || std::strcmp(call->op_.info.name, op) != 0 || !call->can_keep(results)) return false;
  auto plan = std::make_shared<Plan>();
  plan->writes = results == Py_None;
  if (!plan->writes) add_results(*plan, results);
  if (!add_sizes(*plan, call->op_, sizes)) return false;
  const PyRef plans = PyRef::share(call->plans_);
  Table& table = *plans_of(plans.get()).table;
  if (table.plans.size() >= kMostPlans) forget_plans(table);
  const Words key = call->key();
  table.plans.insert_or_assign(std::vector<uint64_t>(key.begin(), key.end()), std::move(plan));
  return true;
}

// ---- what Python calls ------------------------------------------------------------------------------------
namespace {
PyObject* plan_calls(PyObject*, PyObject* args) {
  PyObject *type, *inner, *layout;
  if (!PyArg_ParseTuple(args, "O!UU", &PyType_Type, &type, &inner, &layout)) return nullptr;
  if (!PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), g_tensor_type))
    return PyErr_Format(PyExc_TypeError, "plan_calls(): cls must be derived from Tensor, got %R", type);
  for (PyObject** name : {&inner, &layout}) {
    Py_INCREF(*name);
    PyUnicode_InternInPlace(name);
  }
  classes().push_back({reinterpret_cast<PyTypeObject*>(Py_NewRef(type)), inner, layout});
  Py_RETURN_NONE;
}

PyObject* keep_plan(PyObject*, PyObject* args) {
  const char* op;
  PyObject *results, *sizes;
  if (!PyArg_ParseTuple(args, "sOO", &op, &results, &sizes)) return nullptr;
  return translated([&] { return PyBool_FromLong(WrapperCall::keep(op, results, sizes)); },
                    static_cast<PyObject*>(nullptr));
}

PyObject* enroll_layout(PyObject*, PyObject* args) {
  PyObject *layout, *plans, *equal;
  if (!PyArg_ParseTuple(args, "O!O!O!", g_wrapper_layout_type, &layout, g_plans_type, &plans,
                        g_wrapper_layout_type, &equal))
    return nullptr;
  if (layout_of(equal).number == 0) layout_of(equal).number = ++g_numbers;
  layout_of(layout).number = layout_of(equal).number;
  Py_XSETREF(layout_of(layout).plans, Py_NewRef(plans));
  Py_RETURN_NONE;
}

PyMethodDef kPlanFunctions[] = {
    {"_plan_wrapper_calls", plan_calls, METH_VARARGS,
     "_plan_wrapper_calls(cls, inner, layout)\n--\n\nFrom now on calls with objects of the class have "
     "plans."},
    {"_keep_wrapper_plan", keep_plan, METH_VARARGS,
     "_keep_wrapper_plan(op, results, sizes)\n--\n\nKeeps the plan of the call whose handler is running."},
    {"_enroll_layout", enroll_layout, METH_VARARGS,
     "_enroll_layout(layout, plans, equal)\n--\n\nGives a layout the number of an equal one, or the next."},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject* add_type(PyObject* module, const char* name, PyType_Spec* spec) {
  const PyRef type = checked(PyType_FromSpec(spec));
  checked(PyModule_AddObjectRef(module, name, type.get()));
  return reinterpret_cast<PyTypeObject*>(type.get());  // the module holds it
}
}  // namespace

void add_wrapper_plans(PyObject* module) {
  g_plans_type = add_type(module, "WrapperPlans", &kPlansSpec);
  g_wrapper_layout_type = add_type(module, "WrapperLayout", &kLayoutSpec);
  checked(PyModule_AddFunctions(module, kPlanFunctions));
}

}  // namespace tl::bind
