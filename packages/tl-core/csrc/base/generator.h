// A stream of random numbers: the Mersenne Twister with the reference implementation's seeding and state.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace tl {

class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;

  explicit Generator(uint64_t seed = kDefaultSeed);
  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  std::mutex mutex;  // held for one whole fill
  void seed(uint64_t seed);
  uint64_t initial_seed() const { return seed_; }
  uint32_t random();
  uint64_t random64();

 private:
  std::atomic<int32_t> refs_{1};
  uint64_t seed_ = 0;
};

Generator& default_generator();

}  // namespace tl
