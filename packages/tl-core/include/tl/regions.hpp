// The tensors that nodes of the graph hold, for the package whose layer lets work wait: a table in the
// capsule `tl_autograd._C.regions_v1`. It connects packages of one version, and is no part of the recorded
// interface.
#ifndef TL_REGIONS_HPP
#define TL_REGIONS_HPP

#include "tl/c_api.h"

#define TL_REGIONS_CAPSULE "tl_autograd._C.regions_v1"

// A part of a backward in which calls may wait. Each is called on the thread of the backward, without the
// GIL.
struct TlRegionCalls {
  void (*enter)();
  int (*leave)(int failed);  // computes what waits; -1 with an error. `failed`: the pending error is kept
};

struct TlRegions {
  size_t struct_size;
  uint32_t major, minor;

  // From then on a backward enters a region at its first node that has saved what waits. Once a process.
  void (*install)(const TlRegionCalls* calls);
  // Whether the nodes that this thread makes are noted where they save what waits or is awaited.
  void (*note_nodes)(int on);
  // Every tensor that a noted node of this thread holds, as often as it is held; afterwards none is noted.
  // Nodes that another thread uses just now are left out.
  void (*take_saved)(void (*visit)(void* user, TlTensor* t), void* user);
};

#endif  // TL_REGIONS_HPP
