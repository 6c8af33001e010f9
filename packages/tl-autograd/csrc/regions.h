// Compiled regions as autograd sees them: nodes that save what waits are noted, and a backward that meets one
// is a region itself.
#pragma once

#include "core.h"
#include "tl/regions.hpp"

namespace tl::autograd {

class ProgramNode;

const TlRegions* regions_table();

// Whether this thread's nodes are noted.
inline bool notes_nodes() { return thread_data().notes_nodes; }
// Notes a node that has saved what waits, or what waiting work reads.
[[gnu::cold]] void note_saved(ProgramNode& node);
[[gnu::cold]] void forget_noted(const ProgramNode& node);

// The region of a backward, from its first node on that has saved what waits.
class BackwardRegion {
 public:
  BackwardRegion() = default;
  ~BackwardRegion();
  BackwardRegion(const BackwardRegion&) = delete;

  void enter();  // once
  void leave();  // computes what waits

 private:
  bool entered_ = false;
};

}  // namespace tl::autograd
