#include "ops/warn.h"

#include "base/error.h"

namespace tl {

namespace {
WarnHandler g_handler = nullptr;
}

void set_warn_handler(WarnHandler handler) { g_handler = handler; }

void warn(const std::string& message) {
  if (g_handler) g_handler(message);
}

void warn_resized_out(IntSpan from, IntSpan to) {
  warn(cat("An output with one or more elements was resized since it had shape ", from,
           ", which does not match the required output shape ", to,
           ". Give it the right shape, or empty it first with out.resize_(0)."));
}

}  // namespace tl
