// Warnings of operators, shown through the host language.
#pragma once

#include <string>

#include "base/small_vector.h"

namespace tl {

using WarnHandler = void (*)(const std::string& message);
void set_warn_handler(WarnHandler handler);
void warn(const std::string& message);
void warn_resized_out(IntSpan from, IntSpan to);
void warn_resized_range(IntSpan from, int64_t has, int64_t n);

}  // namespace tl
