// Counts of what compiled regions have done in this process.
#pragma once

#include <atomic>
#include <cstdint>

namespace tl::compiler {

struct Counters {
  std::atomic<int64_t> operators{0};  // calls that waited
  std::atomic<int64_t> batches{0};    // times that work was computed
  std::atomic<int64_t> groups{0};     // passes over elements
  std::atomic<int64_t> loops{0};      // loops in them
  std::atomic<int64_t> left{0};       // results that stayed with nodes uncomputed
  std::atomic<int64_t> absorbed{0};   // remainders that a batch has taken over
  std::atomic<int64_t> emitted{0};    // of these, loops that ran as emitted code
};
extern Counters counters;

}  // namespace tl::compiler
