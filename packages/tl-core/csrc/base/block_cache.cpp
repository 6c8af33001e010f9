// Free large blocks in two linked lists: the newest of its class is taken, the oldest of all goes first.
#include "base/block_cache.h"

#include <cstdlib>

#include "base/system_memory.h"

namespace tl {

struct BlockCache::Block {
  Block *newer, *older;                    // of all
  Block *newer_in_class, *older_in_class;  // of its class
  int size_class;
};

void BlockCache::put(void* p, int c) {
  auto* block = static_cast<Block*>(p);
  *block = {nullptr, first_, nullptr, newest_[c], c};
  (first_ ? first_->newer : last_) = block;
  first_ = block;
  if (newest_[c]) newest_[c]->newer_in_class = block;
  newest_[c] = block;
  bytes_ += static_cast<int64_t>(class_size(c));
}

void* BlockCache::take(int c) {
  Block* block = newest_[c];
  if (block) remove(block);
  return block;
}

void BlockCache::remove(Block* block) {
  (block->newer ? block->newer->older : first_) = block->older;
  (block->older ? block->older->newer : last_) = block->newer;
  (block->newer_in_class ? block->newer_in_class->older_in_class : newest_[block->size_class]) =
      block->older_in_class;
  if (block->older_in_class) block->older_in_class->newer_in_class = block->newer_in_class;
  bytes_ -= static_cast<int64_t>(class_size(block->size_class));
}

BlockCache::Block* BlockCache::trim(int64_t limit) {
  Block* removed = nullptr;
  while (last_ && bytes_ > limit) {
    Block* block = last_;
    remove(block);
    block->older = removed;
    removed = block;
  }
  return removed;
}

void BlockCache::release(Block* blocks) noexcept {
  while (blocks) {
    Block* block = blocks;
    blocks = block->older;
    const size_t size = class_size(block->size_class);
    size <= kMidMax ? std::free(block) : unmap_pages(block, size);
  }
}

void* obtain_block(int c) noexcept {
  const size_t size = class_size(c);
  return size <= kMidMax ? std::aligned_alloc(kBlockAlignment, size) : map_pages(size);
}

}  // namespace tl
