// Thread state behind one thread-local pointer; a pthread key ends it after all C++ destructors.
#include "base/thread_local.h"

#include <pthread.h>

#include <utility>

#include "base/allocator.h"

namespace tl {

namespace detail {
thread_local ThreadLocals* t_locals __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {
void end_thread(void*) {
  ThreadLocals* t = std::exchange(t_locals, nullptr);
  release_lists(t->lists);
  delete t;
}

// A key of the thread library, not a thread_local object: its destructor runs after those of all such
// objects, and again when something that still runs then has made a new block.
pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    TL_CHECK(pthread_key_create(&made, end_thread) == 0, Runtime,
             "no key is left for the core's thread state");
    return made;
  }();
  return key;
}
}  // namespace

ThreadLocals& make_thread_locals() {
  auto* t = new ThreadLocals;
  pthread_setspecific(end_key(), t);
  return *(t_locals = t);
}
}  // namespace detail

}  // namespace tl
