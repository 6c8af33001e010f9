// The bridge of tl-core between handles and objects, for the code that replays calls.
#pragma once

#include "tl/python.h"

namespace tl::compiler {

inline const TlPython* python = nullptr;

}  // namespace tl::compiler
