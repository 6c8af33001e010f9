// The rarely used data of a node, allocated at first use.
#include "extra.h"

#include <algorithm>

#include "node.h"

namespace tl::autograd {

Extra::~Extra() {
  bool any = false;
  each_object([&](PyObject*) { any = true; });
  if (!any || !Py_IsInitialized()) return;
  WithGil lock;
  clear();
}

void Extra::clear() {
  Py_CLEAR(metadata);
  Py_CLEAR(pre_hooks);
  Py_CLEAR(post_hooks);
  Py_CLEAR(accumulated_hooks);
  auto hooks = std::move(tensor_hooks);
  tensor_hooks.clear();
  for (auto& [output, dict] : hooks) Py_DECREF(dict);
}

Extra::Retained* Extra::retains(uint32_t output) {
  for (Retained& r : retained)
    if (r.output == output) return &r;
  return nullptr;
}

PyObject* Extra::tensor_hooks_of(uint32_t output) const {
  for (auto& [o, dict] : tensor_hooks)
    if (o == output) return dict;
  return nullptr;
}

void Extra::set_tensor_hooks(uint32_t output, PyObject* hooks) {
  auto at =
      std::find_if(tensor_hooks.begin(), tensor_hooks.end(), [&](auto& h) { return h.first == output; });
  PyObject* before = nullptr;
  if (at != tensor_hooks.end()) {
    before = at->second;
    tensor_hooks.erase(at);
  }
  if (hooks) tensor_hooks.push_back({output, Py_NewRef(hooks)});
  Py_XDECREF(before);
}

Extra& extra_of(Node& node) {
  if (!node.extra) node.extra = new Extra;
  return *node.extra;
}

}  // namespace tl::autograd
