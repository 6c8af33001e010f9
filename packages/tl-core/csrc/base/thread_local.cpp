#include "base/thread_local.h"

namespace tl {

namespace detail {
thread_local ThreadLocals* t_locals __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {
// Frees the block at thread exit; what runs later on the thread makes a new one.
struct Reaper {
  ~Reaper() {
    delete t_locals;
    t_locals = nullptr;
  }
  void arm() {}
};
thread_local Reaper t_reaper;
}  // namespace

ThreadLocals& make_thread_locals() {
  t_locals = new ThreadLocals;
  t_reaper.arm();
  return *t_locals;
}
}  // namespace detail

}  // namespace tl
