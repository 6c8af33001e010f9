// Where small blocks come from: slabs of 128 KB, cut from ever larger pieces of the system's memory and never
// given back. Not synchronised: the allocator locks.
#pragma once

#include <cstddef>

namespace tl {

struct Slab {
  char* begin = nullptr;  // what isn't cut yet
  char* end = nullptr;

  size_t size() const { return end - begin; }
};

class SlabSource {
 public:
  Slab take();          // empty when the system refuses
  void put(Slab rest);  // what an ending thread hasn't cut

 private:
  struct Rest;

  Rest* rests_ = nullptr;
  Slab region_;
  size_t mapped_ = 0;
};

}  // namespace tl
