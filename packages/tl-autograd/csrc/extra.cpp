#include "extra.h"

#include "node.h"

namespace tl::autograd {

Extra::~Extra() {
  bool any = false;
  each_object([&](PyObject*) { any = true; });
  if (!any || !Py_IsInitialized()) return;
  Gil gil;
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

Extra& extra_of(Node& node) {
  if (!node.extra) node.extra = new Extra;
  return *node.extra;
}

}  // namespace tl::autograd
