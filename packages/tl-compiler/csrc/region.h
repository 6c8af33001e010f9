// A compiled region of a thread, and the layer that lets its elementwise work wait.
#pragma once

#include <memory>

#include "batch.h"

namespace tl::compiler {

// Calls of the thread wait while it exists. Regions within another are part of it.
class Region {
 public:
  Region();
  ~Region();
  Region(const Region&) = delete;
  // Computes what waits; throws where that fails.
  void settle();
};

uint64_t calls_of_thread();  // of operators, in regions
bool in_region();            // whether calls of the thread wait

void install();  // the layer and the deferral, once

}  // namespace tl::compiler
