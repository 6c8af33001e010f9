// What keeps a forked child alive: every native lock is taken before the fork and given back on both sides.
#pragma once

namespace tl {

// The one order in which native locks are taken, outermost first. Code that holds a lock may only take later
// ones.
enum class ForkOrder {
  Registry,
  Generator,
  Pool,
  Allocator,
  LiveBlocks,
  MemoryHistory,
  Origins,
  Names,
  Stacks,
  Events
};

// Makes fork() call `lock` before, and `unlock` after it in the parent and in the child; `in_child` runs
// before the child's unlock and repairs what the lock guards. Raises RuntimeError when the table of locks is
// full.
void register_fork_lock(ForkOrder order, void (*lock)(), void (*unlock)(), void (*in_child)() = nullptr);

}  // namespace tl
