// The pool behind parallel_for. Work is claimed, not dealt out: on a shared machine a helper may start late
// or not at all, so the caller claims chunks like everybody else and waits only for helpers that are inside
// one.
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <limits>
#include <mutex>
#include <utility>

#include "base/cgroup.h"
#include "base/denormals.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/interrupt.h"
#include "base/parallel.h"
#include "base/thread_local.h"

namespace tl {

namespace {

constexpr int kMaxThreads = 1024;
constexpr int64_t kNoFailure = std::numeric_limits<int64_t>::max();
constexpr int64_t kInterrupted = -1;  // as a failed chunk: it lies below all of them

// One call of parallel_run, on the caller's stack. Helpers reach it through the pool's list only.
class Job {
 public:
  Job(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* ctx, const InheritedState& state)
      : begin_(begin),
        end_(end),
        grain_(grain),
        chunks_((end - begin - 1) / grain + 1),
        body_(body),
        ctx_(ctx),
        state_(state),
        flushes_(flushes_denormals()) {}

  int64_t chunks() const { return chunks_; }
  bool has_work() const { return claimed_.load(std::memory_order_relaxed) < chunks_; }
  void enter(ThreadLocals& t) const {  // as a helper
    static_cast<InheritedState&>(t) = state_;
    flush_denormals(flushes_);
  }

  // From which end of the range a thread takes its chunks: callers from the front, helpers from the back, so
  // that from call to call each meets what its own cache holds.
  enum class End { Front, Back };

  // Runs chunks until none is left. Those below a failed one still run, so the error that is kept doesn't
  // depend on who was faster.
  void work(End end) noexcept {
    for (int64_t chunk; (chunk = claim(end)) >= 0;) {
      if (chunk > failed_.load(std::memory_order_relaxed)) continue;
      int64_t failing = kInterrupted;
      try {
        check_interrupt();
        failing = chunk;
        run(chunk);
      } catch (...) {
        keep_error(failing);
      }
    }
  }

  // Threads begin where they would have met, and each goes towards its end and on at the other's.
  void turn_outwards(int threads) {
    outwards_ = true;
    border_ = chunks_ / threads;
  }

  void rethrow() {
    if (error_) std::rethrow_exception(std::move(error_));
  }

  Job* next = nullptr;         // in the pool's list
  int seats = 0;               // helpers that may still join; guarded by the pool's mutex
  std::atomic<int> active{0};  // helpers inside; raised under the pool's mutex

 private:
  // Negative if none is left. The two ends never meet, as no more are taken than there are.
  int64_t claim(End end) {
    if (claimed_.fetch_add(1, std::memory_order_relaxed) >= chunks_) return -1;
    const bool front = end == End::Front;
    const int64_t i = (front ? front_ : back_).fetch_add(1, std::memory_order_relaxed);
    if (!outwards_) return front ? i : chunks_ - 1 - i;
    return (front ? border_ - 1 - i + chunks_ : border_ + i) % chunks_;
  }

  void run(int64_t chunk) {
    const int64_t b = begin_ + chunk * grain_;
    body_(ctx_, b, end_ - b > grain_ ? b + grain_ : end_);
  }

  void keep_error(int64_t chunk) noexcept {
    std::lock_guard guard(error_mutex_);
    if (chunk >= failed_.load(std::memory_order_relaxed)) return;
    failed_.store(chunk, std::memory_order_relaxed);
    error_ = std::current_exception();
  }

  const int64_t begin_, end_, grain_, chunks_;
  bool outwards_ = false;
  int64_t border_ = 0;
  const RangeBody body_;
  void* const ctx_;
  const InheritedState state_;
  const bool flushes_;
  alignas(64) std::atomic<int64_t> claimed_{0}, front_{0}, back_{0};
  std::atomic<int64_t> failed_{kNoFailure};
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

// Marks the thread as being inside parallel work, so that calls from a chunk run serially.
class ParallelScope {
 public:
  explicit ParallelScope(ThreadLocals& t) : t_(t), before_(t.in_parallel) { t.in_parallel = true; }
  ~ParallelScope() { t_.in_parallel = before_; }

 private:
  ThreadLocals& t_;
  const bool before_;
};

// Whether the thread's next pass goes the other way, for it begins where the last one ended: what the cache
// still holds is there, as the next operator often reads what the last one wrote.
bool turn(ThreadLocals& t) { return std::exchange(t.at_back, !t.at_back); }

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

using Clock = std::chrono::steady_clock;

// How long a thread that waits stays awake: the next call is often near, and a processor that has gone to
// sleep takes longer to come back than many a job takes. The longer time is for helpers whose waits are
// short.
constexpr Clock::duration kAwake = std::chrono::microseconds(10), kLongAwake = std::chrono::microseconds(200);

// Whether `word` differs from `seen` before `end`, as long as `may` says that the thread may stay awake.
template <class F>
bool changes_before(Clock::time_point end, const std::atomic<uint32_t>& word, uint32_t seen, F may) {
  do {
    for (int i = 0; i < 16; ++i) {
      if (word.load(std::memory_order_acquire) != seen) return true;
      pause();
    }
  } while (may() && Clock::now() < end);
  return false;
}

// Which processor runs the thread; negative where nobody tells.
int current_cpu() {
#ifdef __linux__
  return sched_getcpu();
#else
  return -1;
#endif
}

int clamped(long n) { return static_cast<int>(std::clamp<long>(n, 1, kMaxThreads)); }

// The first number of a variable such as "4" or "4,2"; 0 when there is none.
int threads_in(const char* variable) {
  const char* text = std::getenv(variable);
  const long n = text ? std::strtol(text, nullptr, 10) : 0;
  return n > 0 ? clamped(n) : 0;
}

int default_threads() {
  for (const char* variable : {"TL_NUM_THREADS", "OMP_NUM_THREADS"})
    if (const int n = threads_in(variable)) return n;
  return clamped(usable_cpus());
}

class ThreadPool {
 public:
  // Never destroyed: the workers are detached and may outlive main().
  static ThreadPool& get() {
    static ThreadPool& pool = *new ThreadPool;
    return pool;
  }

  int threads() const { return threads_.load(std::memory_order_relaxed); }
  void resize(int n);
  void run(Job& job, ThreadLocals& t);

 private:
  ThreadPool();
  void open(Job& job);
  void close(Job& job);
  void start_workers();
  bool start_worker();
  static void* worker(void*);
  void serve();
  Job* next_job(Clock::duration& patience);
  Job* join(bool& retire);
  void leave(Job& job);
  void wake(int wanted);
  void restart_in_child();
  bool beside_caller() const {
    const int cpu = current_cpu();
    return cpu >= 0 && cpu == caller_cpu_.load(std::memory_order_relaxed);
  }
  Clock::duration longest_awake() const { return threads() <= cpus_ ? kLongAwake : kAwake; }

  std::mutex mutex_;
  Job* jobs_ = nullptr;  // open ones, newest first; guarded by mutex_, like the next two
  int workers_ = 0;
  bool can_start_ = true;  // false once the system refused a thread
  const int cpus_ = usable_cpus();
  std::atomic<int> threads_;           // callers included
  std::atomic<int> awake_{0};          // workers that wait for a job without sleeping
  std::atomic<int> caller_cpu_{-1};    // which processor the last job came from
  std::atomic<uint32_t> opened_{0};    // counts jobs; idle workers wait on it
  std::atomic<uint32_t> finished_{0};  // counts helpers that left a job as its last; callers wait on it
};

ThreadPool::ThreadPool() : threads_(default_threads()) {
  register_fork_lock(
      ForkOrder::Pool, [] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); },
      [] { get().restart_in_child(); });
}

void ThreadPool::restart_in_child() {
  jobs_ = nullptr;
  workers_ = 0;
  awake_.store(0, std::memory_order_relaxed);
  can_start_ = true;
}

void ThreadPool::resize(int n) {
  std::lock_guard guard(mutex_);
  threads_.store(n, std::memory_order_relaxed);
  can_start_ = true;
}

void ThreadPool::run(Job& job, ThreadLocals& t) {
  if (turn(t)) job.turn_outwards(threads());
  open(job);
  {
    ParallelScope scope(t);
    job.work(Job::End::Front);
  }
  close(job);
  job.rethrow();
}

void ThreadPool::open(Job& job) {
  const int seats = static_cast<int>(std::min<int64_t>(threads(), job.chunks())) - 1;
  {
    std::lock_guard guard(mutex_);
    job.seats = seats;
    start_workers();
    job.next = jobs_;
    jobs_ = &job;
  }
  caller_cpu_.store(current_cpu(), std::memory_order_relaxed);
  opened_.fetch_add(1, std::memory_order_seq_cst);  // without the lock: who sees it takes it at once
  wake(seats);
}

// Takes the job off the list, so that nobody else joins, and waits for those who are inside.
void ThreadPool::close(Job& job) {
  {
    std::lock_guard guard(mutex_);
    Job** link = &jobs_;
    while (*link != &job) link = &(*link)->next;
    *link = job.next;
  }
  const Clock::time_point sleep = Clock::now() + longest_awake();
  for (;;) {
    const uint32_t seen = finished_.load(std::memory_order_acquire);
    if (job.active.load(std::memory_order_acquire) == 0) return;
    if (!changes_before(sleep, finished_, seen, [] { return true; }))
      finished_.wait(seen, std::memory_order_acquire);
  }
}

void ThreadPool::start_workers() {
  while (can_start_ && workers_ < threads() - 1) {
    // Fewer helpers are slower, never wrong: the caller can do all the work.
    can_start_ = start_worker();
    if (can_start_) ++workers_;
  }
}

// Signals are for the program's own threads; those that report a fault of the thread itself stay on.
bool ThreadPool::start_worker() {
  sigset_t mask, before;
  sigfillset(&mask);
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&mask, s);
  pthread_sigmask(SIG_SETMASK, &mask, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, worker, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) pthread_detach(thread);
  return started;
}

void* ThreadPool::worker(void* pool) {
#ifdef __linux__
  pthread_setname_np(pthread_self(), "tl-worker");
#endif
  static_cast<ThreadPool*>(pool)->serve();
  return nullptr;
}

void ThreadPool::serve() {
  ThreadLocals& t = thread_locals();
  t.in_parallel = true;
  Clock::duration patience = kAwake;
  while (Job* job = next_job(patience)) {
    job->enter(t);
    job->work(Job::End::Back);
    static_cast<InheritedState&>(t) = {};
    leave(*job);
  }
}

// Waits for a job that wants a helper; NULL if the worker shall end. It stays awake for `patience`, which
// grows while jobs come soon and shrinks when none comes: a program that makes few calls keeps no processor
// busy. On the processor of the last caller it sleeps at once: who wakes up is sent to one that is free,
// while two threads that run in turns may do so for seconds.
Job* ThreadPool::next_job(Clock::duration& patience) {
  const Clock::time_point start = Clock::now();
  for (;;) {
    const uint32_t seen = opened_.load(std::memory_order_acquire);
    bool retire = false;
    Job* job = join(retire);
    if (job || retire) {
      const Clock::duration longest = longest_awake();
      patience =
          Clock::now() - start <= longest ? std::min(2 * patience, longest) : std::max(patience / 2, kAwake);
      return job;
    }
    awake_.fetch_add(1, std::memory_order_seq_cst);
    const bool changed = changes_before(start + patience, opened_, seen, [&] { return !beside_caller(); });
    awake_.fetch_sub(1, std::memory_order_seq_cst);
    if (!changed) opened_.wait(seen, std::memory_order_acquire);
  }
}

// A job that wants a helper, or NULL. `retire` tells a worker that the pool has become smaller.
Job* ThreadPool::join(bool& retire) {
  std::unique_lock guard(mutex_);
  if (workers_ > threads() - 1) {
    --workers_;
    retire = true;
    return nullptr;
  }
  for (Job* job = jobs_; job; job = job->next) {
    if (job->seats == 0 || !job->has_work()) continue;
    const int seats = --job->seats;
    job->active.fetch_add(1, std::memory_order_relaxed);
    guard.unlock();
    wake(seats);
    return job;
  }
  return nullptr;
}

// The job may be gone as soon as `active` is zero: the caller is woken through the pool's counter.
void ThreadPool::leave(Job& job) {
  if (job.active.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  finished_.fetch_add(1, std::memory_order_seq_cst);
  finished_.notify_all();
}

// Of those that sleep, two: each helper wakes two more, so that wake-ups spread as a tree.
void ThreadPool::wake(int wanted) {
  const int sleeping = wanted - awake_.load(std::memory_order_seq_cst);
  for (int i = 0; i < std::min(sleeping, 2); ++i) opened_.notify_one();
}

void run_serially(Job& job, ThreadLocals& t) {
  job.work(job.chunks() > 1 && turn(t) ? Job::End::Back : Job::End::Front);
  job.rethrow();
}

// ---- interop threads: a number the API lets programs keep; no pool of the core uses it --------------------
std::atomic<int> g_interop_threads{0};  // 0: not set

}  // namespace

void parallel_run(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* ctx) {
  if (begin >= end) return;
  ThreadLocals& t = thread_locals();
  Job job(begin, end, std::max<int64_t>(grain, 1), body, ctx, t);
  if (job.chunks() == 1 || t.in_parallel) return run_serially(job, t);
  ThreadPool& pool = ThreadPool::get();
  pool.threads() == 1 ? run_serially(job, t) : pool.run(job, t);
}

int num_threads() { return ThreadPool::get().threads(); }

void set_num_threads(int n) {
  TL_CHECK(n > 0, Runtime, "set_num_threads expects a positive integer, but got ", n);
  ThreadPool::get().resize(clamped(n));
}

int num_interop_threads() {
  const int n = g_interop_threads.load(std::memory_order_relaxed);
  return n ? n : clamped(usable_cpus());
}

void set_num_interop_threads(int n) {
  TL_CHECK(n > 0, Runtime, "set_num_interop_threads expects a positive integer, but got ", n);
  int unset = 0;
  TL_CHECK(g_interop_threads.compare_exchange_strong(unset, n), Runtime,
           "cannot set number of interop threads after parallel work has started or set_num_interop_threads "
           "called");
}

}  // namespace tl
