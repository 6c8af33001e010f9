// Functions written in Python: their node, and the context object that Python code sees.
#pragma once

#include <vector>

#include "bind/python.h"
#include "derivative.h"
#include "node.h"

namespace tl::autograd {

// A tensor saved by save_for_backward.
struct SavedInput {
  TlValue value = none();  // the tensor and its version, or what a pack hook made of it; owned
  int output = -1;  // it is this output of the function: saved as an alias without its place in the graph
  Edge edge;        // else where it stood in the graph; owned
};

class FunctionNode final : public HeapNode<FunctionNode> {
 public:
  FunctionNode(PyObject* context, uint32_t n_outputs, uint32_t n_edges);
  ~FunctionNode() override;

  std::vector<int> edge_of_argument;  // by argument of forward; -1: none
  std::vector<TensorMeta> inputs;     // by edge
  std::vector<TensorMeta> outputs;
  std::vector<SavedInput> saved;
  std::vector<bool> constant;           // by output: whether it has no gradient
  std::vector<const void*> base_slots;  // by output that is a view: the slot that its base had
  bool materialize = true;
  bool materialize_constant = true;  // of the outputs that have no gradient

  void apply(const GradientsIn& in, TlTensor** out) override;
  void release() override;
  std::string name() const override { return name_; }
  const void* base_slot_of(uint32_t output) const override {
    return output < base_slots.size() ? base_slots[output] : nullptr;
  }
  void* python() const override { return context_; }
  void drop_python() override;
  TlValue* saved_result(uint32_t output) override;

  PyRef saved_tensors();
  PyRef raw_saved_tensors();

 private:
  void apply_python(const GradientsIn& in, TlTensor** out);
  void take_results(PyObject* tuple, const GradientsIn& in, TlTensor** out);
  Tensor fitted(TlTensor* grad, uint32_t edge) const;
  Tensor linked(const SavedInput& k);
  void forget_saved();

  PyObject* context_;  // owned
  std::string name_;
};

Node* function_node(PyObject* context);  // NULL if it is no context or has no node
void add_function_type(PyObject* module);
PyObject* finish_function(PyObject* module, PyObject* const* args, Py_ssize_t n_args);
PyObject* delayed_error(PyObject* module, PyObject* const* args, Py_ssize_t n_args);

}  // namespace tl::autograd
