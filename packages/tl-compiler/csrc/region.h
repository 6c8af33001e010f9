// A compiled region of a thread, and the layer that lets its elementwise work wait.
#pragma once

#include <memory>

#include "batch.h"
#include "tl/regions.hpp"

namespace tl::compiler {

// Calls of the thread wait while it exists. Regions within another are part of it.
class Region {
 public:
  Region();
  ~Region();
  Region(const Region&) = delete;

  // Computes what waits; throws where that fails.
  static void settle();
  // The same without a compiled function: for a backward of the nodes of one.
  static void enter();
  static void leave();
};
const TlRegionCalls& region_calls();

uint64_t calls_of_thread();  // of operators, in regions
bool in_region();            // whether the thread runs a compiled function

void install(const TlRegions& regions);  // the layer and the deferral, once

}  // namespace tl::compiler
