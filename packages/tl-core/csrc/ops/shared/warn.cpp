// Operator warnings: texts go to a handler that the language binding sets.
#include "ops/shared/warn.h"

#include "base/error.h"

namespace tl {

namespace {
WarnHandler g_handler = nullptr;
std::atomic<bool> g_always{false};
}  // namespace

void set_warn_handler(WarnHandler handler) { g_handler = handler; }

void warn(const std::string& message, WarnCategory category) {
  if (g_handler) g_handler(message, category);
}

void set_warn_always(bool on) { g_always.store(on, std::memory_order_relaxed); }

void WarnOnce::operator()(const char* message) {
  if (!g_always.load(std::memory_order_relaxed) && shown_.exchange(true, std::memory_order_relaxed)) return;
  warn(message);
}

void warn_resized_out(IntSpan from, IntSpan to) {
  warn(cat("An output with one or more elements was resized since it had shape ", from,
           ", which does not match the required output shape ", to,
           ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
           "unless they "
           "have zero elements. Give it the right shape, or empty it first with out.resize_(0)."));
}

void warn_resized_range(IntSpan from, int64_t has, int64_t n) {
  warn(cat(
      "The number of elements in the out tensor of shape ", from, " is ", has,
      " which does not match the computed number of elements ", n,
      ": it may come from the rounding of the step. The out tensor will be resized to a tensor of shape (", n,
      ",)."));
}

}  // namespace tl
