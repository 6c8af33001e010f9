// A step within a pass, and where its operands lie while a tile is computed.
#pragma once

#include "program.h"

namespace tl::compiler {

struct Location {
  enum Kind : uint8_t { Stream, Slot, Memory } kind = Stream;
  int index = 0;  // of the stream, the buffer, or the result in memory
};

struct Action {
  const Step* step;
  Location out, inputs[TL_LOOP_INPUTS];
  int made_by[TL_LOOP_INPUTS] = {-1, -1, -1};  // the actions of this pass whose results the inputs are
  int last_use = -1;                           // the last action that reads the result
};

}  // namespace tl::compiler
