// A stream of random numbers: the Mersenne Twister with the reference implementation's seeding and state.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/interrupt.h"
#include "base/mt19937.h"

namespace tl {

class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  static constexpr size_t kStateBytes = 5056;

  explicit Generator(uint64_t seed = kDefaultSeed);
  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // Held by the caller of what is below, for one whole fill.
  LongLock mutex;

  void seed(uint64_t seed);
  uint64_t seed_from_system();  // returns the seed it drew
  uint64_t initial_seed() const { return seed_; }

  uint32_t random() { return engine_(); }
  uint64_t random64() {
    const uint64_t high = engine_();
    return high << 32 | engine_();
  }
  Mt19937& engine() { return engine_; }

  // Normal numbers come in pairs; the second one waits here, whatever is drawn in between.
  std::optional<double> next_double_normal;
  std::optional<float> next_float_normal;

  // The state in the reference implementation's byte layout.
  void get_state(void* bytes) const;
  void set_state(const void* bytes, size_t size);  // raises RuntimeError for what is no state
  Generator* clone() const;                        // owned; at the same place in the same stream

 private:
  std::atomic<int32_t> refs_{1};
  uint64_t seed_;
  Mt19937 engine_;
};

// The generator of calls that name none. Its lock is free in a forked child.
Generator& default_generator();

}  // namespace tl
