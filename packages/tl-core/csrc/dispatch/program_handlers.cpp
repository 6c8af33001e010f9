// Asks the bindings, once the process has a handler.
#include "dispatch/program_handlers.h"

#include "base/thread_local.h"
#include "dispatch/python.h"

namespace tl {

namespace {
HandledByProgram g_handled = nullptr;
}

void set_handled_by_program(HandledByProgram handled) { g_handled = handled; }

bool handled_by_program(std::initializer_list<const Tensor*> tensors) {
  if (!python_layers_installed() || thread_locals().excluded & kPythonBit) [[likely]]
    return false;
  return g_handled(tensors);
}

}  // namespace tl
