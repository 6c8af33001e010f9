// The line of the program that is running, for the records of memory.
#pragma once

#include "base/source_location.h"

namespace tl::bind {

OriginId running_line() noexcept;  // needs the GIL; 0 outside of a program
void install_origin_source();

}  // namespace tl::bind
