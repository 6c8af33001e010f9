// A pass over the elements of a group, tile by tile: loops read and write small buffers that stay in the
// first cache, and memory only where a result is held or read from elsewhere.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "action.h"
#include "division.h"
#include "emission.h"
#include "nest.h"

namespace tl::compiler {

class Pass {
 public:
  // The steps outlive the pass.
  Pass(const std::vector<Step>& steps, const Division& division, const Group& group);

  // Where the elements of inputs, and of results that are stored, lie; by their index.
  void bind(const std::vector<const char*>& inputs, const std::vector<char*>& results);
  void run() const;
  // The same to the end in any case, for results over inputs. False: an error has come meanwhile, and is
  // pending.
  bool run_to_end() const;
  // The same on this thread, with buffers that stay for the next time.
  void run_here();
  int64_t emitted_loops() const;

 private:
  static constexpr int64_t kMaxItem = 16;

  // A result in memory.
  struct Target {
    int step;
    int64_t item;
    char* base;
  };
  struct Number {
    alignas(16) char bytes[kMaxItem];
  };
  // What a thread needs for its tiles.
  struct Work {
    std::vector<const char*> data;  // one a stream: where its elements of the tile lie
    std::vector<int64_t> strides;
    std::vector<int64_t> phase;  // of the row that a gathered buffer has; -1: none
    std::vector<char*> gathered;
    bool in_row = true;
    char* slots;
    char* scratch;
    std::vector<const void*> table;
    std::unique_ptr<char, decltype(&std::free)> memory{nullptr, std::free};
  };
  class Planner;

  // Not a power of two: lines of different buffers go to different places of the cache.
  int64_t buffer_bytes() const { return (tile_ * item_ + 63) / 64 * 64 + 64; }
  // One run keeps all but its last few elements in registers.
  int64_t slot_bytes() const { return is_one_run_ ? 1088 : buffer_bytes(); }
  bool may_gather(size_t stream) const;
  Work prepare() const;

  int64_t grain() const;
  void run(int64_t begin, int64_t end) const;
  void run_tiles(Work& w, int64_t begin, int64_t end) const;
  void run_tile(Work& w, int64_t begin, int64_t n) const;
  void find(Work& w, size_t stream, int64_t begin, int64_t n) const;
  void run(Work& w, const EmittedRun& run, int64_t begin, int64_t n) const;
  void run(Work& w, const Action& action, int64_t begin, int64_t skip, int64_t n) const;
  const void* pointer(const Work& w, const TableEntry& entry, int64_t begin) const;
  char* slot(const Work& w, int index) const { return w.slots + index * slot_bytes(); }
  char* result(const Work& w, Location at, int64_t begin, int64_t skip, int64_t item) const;
  const char* input(const Work& w, Location at, int64_t begin, int64_t skip, int64_t item,
                    int64_t& stride) const;

  Nest nest_;
  std::vector<Action> actions_;
  std::vector<EmittedRun> emitted_;
  std::vector<Target> targets_;
  std::vector<std::unique_ptr<Number>> numbers_;
  bool is_one_run_ = false;
  std::unique_ptr<Work> retained_;
  int n_slots_ = 0, n_scratch_ = 0;  // buffers of results, and of conversions
  int64_t item_ = 1;                 // bytes of the largest element
  int64_t tile_ = 1;
};

}  // namespace tl::compiler
