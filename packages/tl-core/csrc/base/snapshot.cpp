// Snapshots: a child that shares the pages copy-on-write writes memory into a pipe, by system calls alone.
#include "base/snapshot.h"

#include <cerrno>

#ifdef __linux__
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#endif

namespace tl {

#ifdef __linux__
namespace {
constexpr int kPipe = 1 << 20;  // the most that anybody may ask for
constexpr timespec kPatience{0, 50'000'000};

// No signal arrives at this thread meanwhile: the copy must not run the program's handlers.
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

// Whoever waits for the end of a pipe or of a file's lock doesn't wait for a copy.
void close_all_but(int descriptor) {
#ifdef SYS_close_range
  const auto open = static_cast<unsigned>(descriptor);
  if (open) syscall(SYS_close_range, 0U, open - 1, 0U);
  syscall(SYS_close_range, open + 1, ~0U, 0U);
#endif
}

bool hand_over(const char* data, size_t size, int pipe, pid_t parent) {
  while (size) {
    const long count = syscall(SYS_write, pipe, data, size);
    if (count < 0 && errno != EAGAIN) return false;
    if (count > 0) {
      data += count;
      size -= static_cast<size_t>(count);
      continue;
    }
    pollfd room{pipe, POLLOUT, 0};
    timespec patience = kPatience;
    syscall(SYS_ppoll, &room, 1, &patience, nullptr, 0);
    if (syscall(SYS_getppid) != parent) return false;  // others may still hold the pipe's other end
  }
  return true;
}

// Other threads may have held any lock when the process was copied, so there are only calls of the system,
// not even through the C library's names for them, which sanitizers replace.
[[noreturn]] void hand_over_and_exit(const SnapshotPart* parts, size_t count, int pipe, pid_t parent) {
  close_all_but(pipe);
  bool good = true;
  for (size_t i = 0; good && i < count; ++i) good = hand_over(parts[i].data, parts[i].size, pipe, parent);
  while (true) syscall(SYS_exit_group, good ? 0 : 1);
}
}  // namespace

Snapshot begin_snapshot(const SnapshotPart* parts, size_t count) noexcept {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  fcntl(ends[1], F_SETPIPE_SZ, kPipe);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const pid_t own = getpid();
  Snapshot made;
  {
    const NoSignals held;
    // Not fork(): no handler runs, and as its end sends no signal, the program's own waiting doesn't meet it.
    made.process = static_cast<pid_t>(syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L));
    if (made.process == 0) hand_over_and_exit(parts, count, ends[1], own);
  }
  const int error = errno;
  close(ends[1]);
  made.descriptor = ends[0];
  if (made.process < 0) close(ends[0]);
  errno = error;
  return made;
}

int read_snapshot(const Snapshot& snapshot, void* to, size_t size) noexcept {
  char* next = static_cast<char*>(to);
  while (size) {
    const ssize_t count = read(snapshot.descriptor, next, size);
    if (count == 0) return ECHILD;
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) {
      next += count;
      size -= static_cast<size_t>(count);
    }
  }
  return 0;
}

void end_snapshot(const Snapshot& snapshot) noexcept {
  close(snapshot.descriptor);
  kill(snapshot.process, SIGKILL);
  while (waitpid(snapshot.process, nullptr, __WCLONE) < 0 && errno == EINTR) {
  }
}
#else
Snapshot begin_snapshot(const SnapshotPart*, size_t) noexcept {
  errno = ENOSYS;
  return {};
}

int read_snapshot(const Snapshot&, void*, size_t) noexcept { return ENOSYS; }
void end_snapshot(const Snapshot&) noexcept {}
#endif

}  // namespace tl
