// Node memory: a free list for each size class of 16 bytes and thread, so that recording needs no malloc.
#include "thread.h"

#include <cstdlib>
#include <new>

namespace tl::autograd {

namespace {
#ifdef TL_NO_FREELISTS
constexpr int kCachedNodes = 0;
#else
constexpr int kCachedNodes = 1024;
#endif

int size_class(size_t bytes) { return static_cast<int>((bytes + 15) / 16); }

// Frees the lists when the thread ends; nodes freed later go straight back to malloc.
struct Reaper {
  bool armed = false;
  ~Reaper() {
    ThreadData* t = detail::t_data;
    if (!armed || !t) return;
    for (FreeBlock* list : t->free) {
      while (list) {
        FreeBlock* next = list->next;
        std::free(list);
        list = next;
      }
    }
    detail::t_data = nullptr;
    delete t;
  }
};
thread_local Reaper t_reaper;
}  // namespace

namespace detail {
constinit thread_local ThreadData* t_data __attribute__((tls_model("initial-exec"))) = nullptr;

ThreadData& make_thread_data() {
  t_data = new ThreadData;
  t_reaper.armed = true;
  return *t_data;
}
}  // namespace detail

void* allocate_node(size_t bytes) {
  const int c = size_class(bytes);
  if (c <= ThreadData::kClasses) {
    ThreadData& t = thread_data();
    if (FreeBlock* b = t.free[c]) {
      t.free[c] = b->next;
      --t.free_count[c];
      return b;
    }
  }
  void* memory = std::malloc(static_cast<size_t>(c) * 16);
  if (!memory) throw std::bad_alloc();
  return memory;
}

void free_node(void* memory, size_t bytes) {
  const int c = size_class(bytes);
  if (c <= ThreadData::kClasses) {
    ThreadData& t = thread_data();
    if (t.free_count[c] < kCachedNodes) {
      auto* b = static_cast<FreeBlock*>(memory);
      b->next = t.free[c];
      t.free[c] = b;
      ++t.free_count[c];
      return;
    }
  }
  std::free(memory);
}

}  // namespace tl::autograd
