// Free blocks above 2 KB, by class, with the longest unused one ready to go. Not synchronised: the allocator
// locks.
#pragma once

#include <cstdint>

#include "base/size_class.h"

namespace tl {

class BlockCache {
 public:
  struct Block;  // written into the free block itself

  void put(void* p, int c);
  void* take(int c);  // the one freed last, or NULL

  // Removes the longest unused blocks until at most `limit` bytes are kept; release() them after unlocking.
  Block* trim(int64_t limit);
  static void release(Block* blocks) noexcept;

  int64_t bytes() const { return bytes_; }

 private:
  void remove(Block* block);

  Block* newest_[kClasses] = {};
  Block* first_ = nullptr;  // of all classes, the most recently freed
  Block* last_ = nullptr;
  int64_t bytes_ = 0;
};

// A fresh block of a class above the small ones, or NULL.
void* obtain_block(int c) noexcept;

}  // namespace tl
