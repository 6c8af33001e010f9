// A pass over the rows of a group: calls that treat each row by itself, such as sums and softmax, and the
// loops around them, over a few rows at a time that stay in the caches.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "action.h"
#include "call.h"
#include "division.h"
#include "emission.h"
#include "rows.h"

namespace tl::compiler {

class RowPass {
 public:
  // The steps outlive the pass.
  RowPass(const std::vector<Step>& steps, const Division& division, const Group& group);

  // Where the elements of inputs, and of results that are stored, lie; by their index.
  void bind(const std::vector<const char*>& inputs, const std::vector<char*>& results);
  void run() const;
  int64_t emitted_loops() const;

 private:
  // What actions read; strides in bytes.
  struct Stream {
    enum Kind : uint8_t { Number, Input, Result, Slot } kind = Number;
    int index = 0;
    int64_t offset = 0, inner = 0;
    int ndim = 0;  // across rows
    int64_t sizes[kMaxDims] = {}, strides[kMaxDims] = {};
    const char* base = nullptr;

    bool operator==(const Stream&) const = default;
  };
  // A result of a tile that stays in a buffer, or one in memory.
  struct Buffer {
    int64_t row;     // bytes
    int64_t at = 0;  // from the first buffer on
    int step = -1;   // whose result is in memory
    char* base = nullptr;
  };
  struct Number {
    alignas(16) char bytes[16];
  };
  struct RowAction {
    int64_t columns;
    std::shared_ptr<const Call> call;
    int last_apart = -1;  // of the actions that are read elsewhere than element by element
  };
  // What a thread needs for its tiles.
  struct Work {
    std::vector<const char*> data;  // one a stream: of the tile's first row
    std::vector<Tensor> results;    // of the last call
    std::vector<const void*> table;
    char* slots;
    char* scratch;
    std::unique_ptr<char, decltype(&std::free)> memory{nullptr, std::free};
  };
  class Planner;
  class Around;

  Work prepare() const;
  void run(int64_t begin, int64_t end) const;
  int64_t rows_at(int64_t begin, int64_t end) const;
  void find(Work& w, int64_t begin) const;
  void run_tile(Work& w, int64_t begin, int64_t n) const;
  void run(Work& w, const EmittedRun& run, int64_t begin, int64_t n) const;
  void run_loop(Work& w, int action, int64_t begin, int64_t n, int64_t first, int64_t columns) const;
  void call(Work& w, int action, int64_t begin, int64_t n) const;
  Tensor tensor_of(const Work& w, int action, int input, int64_t n) const;
  char* result(const Work& w, Location at, int64_t begin) const;

  int64_t rows_;
  int64_t tile_ = 1;  // rows
  int64_t scratch_ = 0, slot_bytes_ = 0;
  std::vector<Action> actions_;
  std::vector<RowAction> row_actions_;
  std::vector<Stream> streams_;
  std::vector<Buffer> slots_, targets_;
  std::vector<EmittedRun> emitted_;
  std::vector<std::unique_ptr<Number>> numbers_;
};

}  // namespace tl::compiler
