// What autograd keeps for a thread, behind one pointer: the loader's reserve for static thread storage is
// small.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tl::autograd {

class Node;
class Run;

struct FreeBlock {
  FreeBlock* next;
};

struct ThreadData {
  static constexpr int kClasses = 32;  // of 16 bytes
  uint64_t sequence = 1;               // of the next node
  Node* dead = nullptr;                // nodes waiting to be torn down
  bool draining = false;
  bool notes_nodes = false;  // regions.h
  Run* run = nullptr;        // the innermost backward of this thread
  int8_t program_mode = -1;  // within a GradMode, whether the program records gradients; -1 outside
  void* levels = nullptr;    // transforms.cpp: the stack of interpreters
  FreeBlock* free[kClasses + 1] = {};
  int free_count[kClasses + 1] = {};
};

namespace detail {
// constinit: a reader need not ask first whether another file has an initialiser to run.
extern constinit thread_local ThreadData* t_data __attribute__((tls_model("initial-exec")));
ThreadData& make_thread_data();
}  // namespace detail

inline ThreadData& thread_data() {
  ThreadData* t = detail::t_data;
  return t ? *t : detail::make_thread_data();
}

// Memory of nodes and of what they save, kept in per-thread lists.
void* allocate_node(size_t bytes);
void free_node(void* memory, size_t bytes);

}  // namespace tl::autograd
