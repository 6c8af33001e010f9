// Warnings of operators, shown through the host language.
#pragma once

#include <atomic>
#include <string>

#include "base/small_vector.h"

namespace tl {

enum class WarnCategory { User, Deprecation, Future, Runtime };  // TlWarning

using WarnHandler = void (*)(const std::string& message, WarnCategory category);
void set_warn_handler(WarnHandler handler);
void warn(const std::string& message, WarnCategory category = WarnCategory::User);

// Whether warnings of `WarnOnce` come each time: torch.set_warn_always.
void set_warn_always(bool on);

// A warning that a process shows once: what is deprecated says so without slowing down those who go on.
class WarnOnce {
 public:
  void operator()(const char* message);

 private:
  std::atomic<bool> shown_{false};
};

void warn_resized_out(IntSpan from, IntSpan to);
void warn_resized_range(IntSpan from, int64_t has, int64_t n);

}  // namespace tl
