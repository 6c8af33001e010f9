// Splits work over the pool's threads.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tl {

using RangeBody = void (*)(void* ctx, int64_t begin, int64_t end);

// Runs body over [begin, end) in chunks of `grain`, whose borders do not depend on the number of threads.
// Serial when nested. An exception of a chunk is rethrown here; of several, the one with the lowest chunk.
void parallel_run(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* ctx);

// The body is compiled once, for small work and for chunks of large work.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& body) {
  using Body = std::remove_reference_t<F>;
  const auto run = [](void* ctx, int64_t b, int64_t e)
                       __attribute__((noinline)) { (*static_cast<Body*>(ctx))(b, e); };
  void* const ctx = const_cast<void*>(static_cast<const void*>(&body));
  if (end - begin > grain) return parallel_run(begin, end, grain, run, ctx);
  if (begin < end) run(ctx, begin, end);
}

// Where the i-th of some even parts of n begins.
inline int64_t part_begin(int64_t i, int64_t parts, int64_t n) { return i * n / parts; }

int num_threads();            // TL_NUM_THREADS, OMP_NUM_THREADS, or the CPUs the process may use
void set_num_threads(int n);  // raises RuntimeError below 1
int num_interop_threads();
void set_num_interop_threads(int n);  // once a process

}  // namespace tl
