#include "base/snapshot.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#ifdef __linux__
#include <sys/syscall.h>
#endif

namespace tl {

#ifdef __linux__
namespace {
constexpr size_t kPiece = 1 << 22;

// The signals of this thread, none of which arrives meanwhile: the copy must not run the program's handlers.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// Other threads may have held any lock when the process was copied, so nothing is called that takes one.
// Descriptors are closed, as whoever waits for the end of a pipe or of a file's lock doesn't wait for a copy.
[[noreturn]] void copy_and_exit(const SnapshotPart* parts, size_t count, pid_t parent) {
#ifdef SYS_close_range
  syscall(SYS_close_range, 0U, ~0U, 0U);
#endif
  for (const SnapshotPart* part = parts; part < parts + count; ++part)
    for (size_t at = 0; at < part->size; at += kPiece) {
      if (syscall(SYS_getppid) != parent) _exit(1);
      std::memcpy(part->to + at, part->from + at, std::min(kPiece, part->size - at));
    }
  _exit(0);
}
}  // namespace

pid_t begin_snapshot(const SnapshotPart* parts, size_t count) noexcept {
  const pid_t own = getpid();
  const NoSignals held;
  // Not fork(): no handler runs, and as its end sends no signal, the program's own waiting doesn't meet it.
  const long made = syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
  if (made == 0) copy_and_exit(parts, count, own);
  return static_cast<pid_t>(made);
}

int end_snapshot(pid_t process) noexcept {
  int status = 0;
  while (waitpid(process, &status, __WCLONE) < 0)
    if (errno != EINTR) return -1;
  return status;
}
#else
pid_t begin_snapshot(const SnapshotPart*, size_t) noexcept {
  errno = ENOSYS;
  return -1;
}

int end_snapshot(pid_t) noexcept {
  errno = ENOSYS;
  return -1;
}
#endif

}  // namespace tl
