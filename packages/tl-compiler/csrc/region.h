// A compiled region of a thread, and the layer that lets its elementwise work wait.
#pragma once

#include <memory>

#include "batch.h"
#include "tl/regions.hpp"

namespace tl::compiler {

// Calls of the thread wait while it exists, if it defers. Regions within another are part of it.
class Region {
 public:
  explicit Region(bool defers = true);
  ~Region();
  Region(const Region&) = delete;

  // Computes what waits; throws where that fails.
  static void settle();
  // The same without a compiled function: for a backward of the nodes of one.
  static void enter();
  static void leave();

 private:
  bool defers_;
};
const TlRegionCalls& region_calls();

// The calls of a thread in regions, as sums. The difference between two times is the calls between.
struct OperatorSums {
  uint64_t calls = 0, mixture = 0, elements = 0;
  uint64_t large = 0;  // calls that read many elements, or what waits
};
const OperatorSums& sums_of_thread();
bool in_region();  // whether the thread runs a compiled function

void install(const TlRegions& regions);  // the layer and the deferral, once

}  // namespace tl::compiler
