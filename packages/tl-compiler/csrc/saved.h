// What nodes of the graph hold of this thread's region, as tl-autograd tells it.
#pragma once

#include <unordered_map>

#include "core.h"
#include "tl/regions.hpp"

namespace tl::compiler {

// Of the process, from tl-autograd; set once.
void set_regions(const TlRegions* table);
// Whether nodes that this thread makes are noted.
void note_nodes(bool on);

// The storages that noted nodes hold, and by how many references of their own.
class SavedStorages {
 public:
  SavedStorages();  // nodes are noted anew from here on

  bool holds(const void* storage) const { return references_.contains(storage); }
  // Of nodes alone: of tensors that nobody else has.
  int64_t references(const void* storage) const;

 private:
  void add(TlTensor* t) noexcept;

  struct Saved {
    Tensor tensor;  // keeps it while it is looked at
    int64_t holds = 0;
  };
  std::unordered_map<TlTensor*, Saved> saved_;
  std::unordered_map<const void*, int64_t> references_;
  bool is_whole_ = true;
};

}  // namespace tl::compiler
