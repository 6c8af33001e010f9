// Runs of arithmetic among the actions of a pass, as emitted code.
#pragma once

#include <vector>

#include "action.h"
#include "emit/code_memory.h"
#include "nest.h"

namespace tl::compiler {

// What a pointer of a code's table is: an operand's location, or a fixed number.
struct TableEntry {
  Location location;
  const char* number = nullptr;
};

struct EmittedRun {
  struct Variant {
    Code code = nullptr;
    std::vector<TableEntry> table;
  };
  int first = 0, last = 0;  // actions [first, last)
  int lanes = 1, lane_bytes = 1;
  // Of tiles within a row, along which some operands are one number; and of others.
  Variant in_row, across_rows;
};

// What a run depends on beside its actions.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  // Whether a stream is one number for a tile, within a row or across rows.
  virtual bool is_number(int stream, bool in_row) const = 0;
  virtual bool has_tiles_across_rows() const { return true; }
  // Whether results are larger than the caches, and tiles begin at whole lines.
  virtual bool streams(int64_t) const { return false; }
  // Whether an action may be in a run that begins with another.
  virtual bool joins(int, int) const { return true; }
};

// In order, without overlap. The other actions run as eager's loops.
std::vector<EmittedRun> emit_runs(const std::vector<Action>& actions, const Surroundings& around);
std::vector<EmittedRun> emit_runs(const std::vector<Action>& actions, const Nest& nest);

}  // namespace tl::compiler
