// Operations whose derivative is written in C++. They run as a `Function` of tl-autograd, which has the
// graph.
#ifndef TL_TORCH_AUTOGRAD_HPP
#define TL_TORCH_AUTOGRAD_HPP

#include <cxxabi.h>

#include <cstdlib>
#include <tl/torch/library.hpp>
#include <unordered_map>
#include <unordered_set>

namespace torch {
TL_FACE {
  namespace autograd {
  using Variable = at::Tensor;
  using variable_list = std::vector<Variable>;
  using tensor_list = std::vector<at::Tensor>;
  using at::AutoGradMode;
  using at::GradMode;
  using at::NoGradGuard;
  using c10::IValue;
  struct Node;
  struct Edge {
    std::shared_ptr<Node> function;
    uint32_t input_nr = 0;
    bool is_valid() const { return function != nullptr; }
  };
  using edge_list = std::vector<Edge>;

  // A node of the graph. tl-autograd has it, as an object of Python.
  struct Node {
    explicit Node(::tl::PyRef object) : object_(std::move(object)) {}
    Node(const Node&) = delete;
    ~Node() {
      ::tl::WithGil gil;
      nodes().erase(object_.get());
      object_ = {};
    }
    std::string name() const {
      ::tl::WithGil gil;
      const auto text = at::face::checked(PyObject_CallMethod(object_.get(), "name", nullptr));
      const auto bytes = at::face::checked(PyUnicode_AsUTF8String(text.get()));
      return PyBytes_AsString(bytes.get());
    }
    edge_list next_edges() const {
      ::tl::WithGil gil;
      const auto functions = at::face::checked(PyObject_GetAttrString(object_.get(), "next_functions"));
      const auto pairs = at::face::checked(PySequence_Tuple(functions.get()));
      edge_list edges;
      for (Py_ssize_t i = 0; i < PyTuple_Size(pairs.get()); ++i) {
        PyObject* pair = PyTuple_GetItem(pairs.get(), i);
        edges.push_back({of(PyTuple_GetItem(pair, 0)), uint32_t(PyLong_AsLong(PyTuple_GetItem(pair, 1)))});
      }
      return edges;
    }
    Edge next_edge(size_t i) const { return next_edges().at(i); }
    uint32_t num_outputs() const { return uint32_t(next_edges().size()); }
    // The node of an object; the same while one share in it lives. The lock of the interpreter is held.
    static std::shared_ptr<Node> of(PyObject* object) {
      if (object == Py_None) return nullptr;
      std::weak_ptr<Node>& entry = nodes()[object];
      std::shared_ptr<Node> node = entry.lock();
      if (!node) entry = node = std::make_shared<Node>(::tl::PyRef::share(object));
      return node;
    }

   private:
    static std::unordered_map<PyObject*, std::weak_ptr<Node>>& nodes() {
      static auto* all = new std::unordered_map<PyObject*, std::weak_ptr<Node>>;
      return *all;
    }
    ::tl::PyRef object_;
  };

  using IndexRange = std::pair<size_t, size_t>;
  // What `forward` stores for `backward`.
  class AutogradContext {
   public:
    AutogradContext() = default;
    AutogradContext(const AutogradContext&) = delete;
    void save_for_backward(variable_list tensors) { to_save_ = std::move(tensors); }
    // The saved tensors. They know their place in the graph, so a second derivative passes through them.
    variable_list get_saved_variables() const {
      if (!object_) return to_save_;
      ::tl::WithGil gil;
      const auto saved = at::face::checked(PyObject_GetAttrString(object_, "saved_tensors"));
      return list_of(saved.get());
    }
    void mark_dirty(const variable_list& inputs) {
      dirty_ = inputs;
      for (const Variable& t : inputs) c10::face::api().tensor_bump_version(t.handle());
    }
    void mark_non_differentiable(const variable_list& outputs) { non_differentiable_ = outputs; }
    void set_materialize_grads(bool on) { materialize_ = on; }
    bool needs_input_grad(size_t i) const { return i < needs_.size() && needs_[i]; }
    bool needs_input_grad(std::initializer_list<IndexRange> ranges) const {
      for (const auto& [first, last] : ranges)
        for (size_t i = first; i < last; ++i)
          if (needs_input_grad(i)) return true;
      return false;
    }
    std::unordered_map<std::string, IValue> saved_data;

    // A tuple or one tensor of Python as a list.
    static variable_list list_of(PyObject* o) {
      variable_list list;
      if (!PyTuple_Check(o)) return list.push_back(at::face::tensor_of(o)), list;
      for (Py_ssize_t i = 0; i < PyTuple_Size(o); ++i)
        list.push_back(at::face::tensor_of(PyTuple_GetItem(o, i)));
      return list;
    }
    static ::tl::PyRef tuple_of(const variable_list& list) {
      auto tuple = at::face::checked(PyTuple_New(Py_ssize_t(list.size())));
      for (size_t i = 0; i < list.size(); ++i)
        PyTuple_SetItem(tuple.get(), Py_ssize_t(i), at::face::object(list[i]).release());
      return tuple;
    }

   private:
    template <class>
    friend struct Function;
    friend struct FunctionCall;
    variable_list to_save_, dirty_, non_differentiable_;
    std::vector<bool> needs_;
    bool materialize_ = true;
    PyObject* object_ = nullptr;  // the context in Python, while `backward` runs
  };

  // One call of a function, which its node keeps.
  struct FunctionCall {
    AutogradContext context;
    std::function<variable_list(AutogradContext*)> forward;
    variable_list (*backward)(AutogradContext*, variable_list) = nullptr;
    variable_list inputs;
    std::vector<bool> is_tensor;  // of each argument, with the tensors of a list one by one

    void add(const Variable& t) { inputs.push_back(t), is_tensor.push_back(true); }
    void add(const std::optional<Variable>& t) {
      if (t)
        add(*t);
      else
        is_tensor.push_back(false);
    }
    void add(at::TensorList list) {
      for (const Variable& t : list) add(t);
    }
    template <class T>
    void add(const T&) {
      is_tensor.push_back(false);
    }

    static FunctionCall* of(PyObject* capsule) {
      return static_cast<FunctionCall*>(PyCapsule_GetPointer(capsule, "tl.torch.FunctionCall"));
    }
    static void drop(PyObject* capsule) { delete of(capsule); }

    // Called by tl_autograd with the context and the flags of its inputs.
    static PyObject* run_forward(PyObject* capsule, PyObject* args) {
      PyObject *object, *needs, *result = nullptr;
      if (!PyArg_ParseTuple(args, "OO", &object, &needs)) return nullptr;
      if (c10::face::guarded([&] { result = of(capsule)->forward_of(object, needs).release(); }) != 0)
        c10::face::python().raise_pending();
      return result;
    }
    static PyObject* run_backward(PyObject* capsule, PyObject* args) {
      PyObject *object, *gradients, *result = nullptr;
      if (!PyArg_ParseTuple(args, "OO", &object, &gradients)) return nullptr;
      if (c10::face::guarded([&] { result = of(capsule)->backward_of(object, gradients).release(); }) != 0)
        c10::face::python().raise_pending();
      return result;
    }

   private:
    ::tl::PyRef forward_of(PyObject* object, PyObject* needs) {
      context.needs_.clear();
      Py_ssize_t next = 0;
      for (const bool t : is_tensor) context.needs_.push_back(t && PyTuple_GetItem(needs, next++) == Py_True);
      const auto outputs = AutogradContext::tuple_of(forward(&context));
      forward = nullptr;
      inputs.clear();
      call(object, "save_for_backward", context.to_save_);
      call(object, "mark_dirty", context.dirty_);
      call(object, "mark_non_differentiable", context.non_differentiable_);
      at::face::checked(PyObject_CallMethod(object, "set_materialize_grads", "O",
                                            context.materialize_ ? Py_True : Py_False));
      context.to_save_.clear(), context.dirty_.clear(), context.non_differentiable_.clear();
      return outputs;
    }
    static void call(PyObject* object, const char* method, const variable_list& list) {
      if (list.empty()) return;
      const auto m = at::face::checked(PyObject_GetAttrString(object, method));
      at::face::checked(PyObject_CallObject(m.get(), AutogradContext::tuple_of(list).get()));
    }
    ::tl::PyRef backward_of(PyObject* object, PyObject* gradients) {
      struct Scope {
        AutogradContext& context;
        PyObject* before;
        ~Scope() { context.object_ = before; }
      } scope{context, std::exchange(context.object_, object)};
      variable_list all = backward(&context, AutogradContext::list_of(gradients));
      while (all.size() > is_tensor.size() && !all.back().defined()) all.pop_back();
      if (all.size() != is_tensor.size())
        c10::face::fail<c10::Error>("", "function returned an incorrect number of gradients (expected ",
                                    is_tensor.size(), ", got ", all.size(), ")");
      variable_list of_tensors;
      for (size_t i = 0; i < all.size(); ++i) {
        if (is_tensor[i])
          of_tensors.push_back(all[i]);
        else if (all[i].defined())
          c10::face::fail<c10::Error>("", "function returned a gradient different from None at position ",
                                      i + 1, ", but the corresponding forward input was not a Variable");
      }
      return AutogradContext::tuple_of(of_tensors);
    }
  };
  namespace face {
  inline PyMethodDef forward_method = {"forward", FunctionCall::run_forward, METH_VARARGS, nullptr};
  inline PyMethodDef backward_method = {"backward", FunctionCall::run_backward, METH_VARARGS, nullptr};
  // Runs a call through tl_autograd.
  [[gnu::noinline]] inline variable_list apply(std::unique_ptr<FunctionCall> call, const char* mangled,
                                               PyObject*& cls) {
    ::tl::WithGil gil;
    if (!cls) {
      int status = 0;
      const std::unique_ptr<char, void (*)(void*)> name(
          abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
      const auto module = at::face::checked(PyImport_ImportModule("tl_autograd.cpp_function"));
      cls = at::face::checked(
                PyObject_CallMethod(module.get(), "function_class", "s", name ? name.get() : mangled))
                .release();
    }
    const auto inputs = AutogradContext::tuple_of(call->inputs);
    const auto capsule =
        at::face::checked(PyCapsule_New(call.get(), "tl.torch.FunctionCall", FunctionCall::drop));
    call.release();
    const auto forward = at::face::checked(PyCFunction_New(&forward_method, capsule.get()));
    const auto backward = at::face::checked(PyCFunction_New(&backward_method, capsule.get()));
    const auto result = at::face::checked(
        PyObject_CallMethod(cls, "run", "OOO", forward.get(), backward.get(), inputs.get()));
    return AutogradContext::list_of(result.get());
  }
  }  // namespace face

  template <class T>
  struct Function {
    template <class... A>
    static auto apply(A&&... a) {
      using R = decltype(T::forward(static_cast<AutogradContext*>(nullptr), std::forward<A>(a)...));
      auto call = std::make_unique<FunctionCall>();
      (add(*call, a), ...);
      call->forward = [&](AutogradContext* context) -> variable_list {
        if constexpr (std::is_same_v<std::decay_t<R>, Variable>)
          return {T::forward(context, std::forward<A>(a)...)};
        else
          return T::forward(context, std::forward<A>(a)...);
      };
      call->backward = [](AutogradContext* context, variable_list gradients) -> variable_list {
        return T::backward(context, std::move(gradients));
      };
      static PyObject* cls = nullptr;
      variable_list outputs = face::apply(std::move(call), typeid(T).name(), cls);
      if constexpr (std::is_same_v<std::decay_t<R>, Variable>)
        return outputs.at(0);
      else
        return outputs;
    }

   private:
    template <class A>
    static void add(FunctionCall& call, const A& a) {
      if constexpr (std::is_base_of_v<Variable, A>)
        call.add(static_cast<const Variable&>(a));
      else if constexpr (std::is_same_v<A, std::optional<Variable>>)
        call.add(a);
      else if constexpr (std::is_same_v<A, at::TensorList> || std::is_same_v<A, variable_list>)
        call.add(at::TensorList(a));
      else
        call.template add<A>(a);
    }
  };

  inline bool any_variable_requires_grad(const variable_list& list) {
    for (const Variable& t : list)
      if (t.defined() && t.requires_grad()) return true;
    return false;
  }
  inline Variable make_variable(const at::Tensor& data, bool requires_grad = false,
                                [[maybe_unused]] bool allow_tensor_metadata_change = true) {
    Variable t = data.defined() ? data.detach() : data;
    if (requires_grad) t.set_requires_grad(true);
    return t;
  }
  inline void increment_version(const at::Tensor& t) { c10::face::api().tensor_bump_version(t.handle()); }
  inline variable_list grad(const variable_list& outputs, const variable_list& inputs,
                            const variable_list& grad_outputs = {}, std::optional<bool> retain_graph = {},
                            bool create_graph = false, bool allow_unused = false) {
    ::tl::WithGil gil;
    const auto module = at::face::checked(PyImport_ImportModule("tl_autograd"));
    const auto function = at::face::checked(PyObject_GetAttrString(module.get(), "grad"));
    const auto gradients =
        grad_outputs.empty() ? ::tl::PyRef::share(Py_None) : AutogradContext::tuple_of(grad_outputs);
    PyObject* retained = !retain_graph ? Py_None : *retain_graph ? Py_True : Py_False;
    const auto result = at::face::checked(
        PyObject_CallFunction(function.get(), "OOOOOOO", AutogradContext::tuple_of(outputs).get(),
                              AutogradContext::tuple_of(inputs).get(), gradients.get(), retained,
                              create_graph ? Py_True : Py_False, Py_True, allow_unused ? Py_True : Py_False));
    return AutogradContext::list_of(result.get());
  }
  inline void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
                       std::optional<bool> retain_graph = {}, bool create_graph = false) {
    ::tl::WithGil gil;
    const auto module = at::face::checked(PyImport_ImportModule("tl_autograd"));
    const auto gradients =
        grad_tensors.empty() ? ::tl::PyRef::share(Py_None) : AutogradContext::tuple_of(grad_tensors);
    PyObject* retained = !retain_graph ? Py_None : *retain_graph ? Py_True : Py_False;
    at::face::checked(PyObject_CallMethod(module.get(), "backward", "OOOO",
                                          AutogradContext::tuple_of(tensors).get(), gradients.get(), retained,
                                          create_graph ? Py_True : Py_False));
  }
  }  // namespace autograd
  using autograd::Variable;
}
}  // namespace torch

namespace at {
TL_FACE {
  inline std::shared_ptr<torch::autograd::Node> Tensor::grad_fn() const {
    ::tl::WithGil gil;
    at("grad_fn");
    return torch::autograd::Node::of(face::attribute(*this, "grad_fn").get());
  }
}
}  // namespace at

#endif  // TL_TORCH_AUTOGRAD_HPP
