// The levels of function transforms: a stack on each thread, whose top handles a call and hands it to those
// below.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core.h"

namespace tl::autograd {

enum class LevelKind : uint8_t { Grad, Jvp, Batch, Functionalize };
struct Tape;  // tape.h
enum class Randomness : uint8_t { Error, Same, Different };

struct Level {
  static constexpr int kFrames = 8;
  Level* parent;
  uint64_t serial;  // no two levels of the process have the same
  int number;       // 1 for the outermost
  LevelKind kind;
  bool grad_mode;         // whether gradients were recorded when it began
  uint64_t excluded = 0;  // the thread's layers while a call is on its way through this level
  Randomness randomness = Randomness::Error;
  int64_t batch_size = 0;
  bool removes_views = false;  // of a level without writes
  bool is_older = false;  // of a batch: begun by the older vmap, inside of which nothing is differentiated
  Tape* tape = nullptr;   // of a level of tangents: where its calls are kept
  const void* frames[kFrames];  // where the program began it, innermost frame first
  // The tangents of the level, which end with it: a recorded tangent may own the graph that owns its tensor.
  mutable std::vector<std::weak_ptr<Tensor>> tangents;
};

// What a thread keeps: the top, and every level that has begun and not ended, the outermost first.
struct Levels {
  Level* top = nullptr;
  std::vector<Level*> begun;
  void* ended = nullptr;  // level.cpp
  bool tangents = true;   // whether levels of tangents compute any
};
Levels& levels();
bool in_transform();  // a level has begun on this thread
// The innermost level, where it records or batches; null outside of transforms and inside of a jvp.
const Level* top_beside_jvp();

void set_top(Level* level);  // NULL: none
// Whether the levels below a level of gradients record: they do if the program records there, and did where
// it began.
bool records_below(const Level& level);
Level* begin_level(LevelKind kind);
void end_level(Level* level);            // and those that began later
Level* level_of(uint64_t serial);        // NULL if it has ended
Level* required_level(uint64_t serial);  // raises
// Where one of the latest levels of batches that have ended began; NULL if that is no longer known.
const void* const* ended_frames(uint64_t serial);
Level* level_numbered(int number);  // of those that are on; NULL if there is none

// The stack without a level and those above it, for a scope.
class Below {
 public:
  explicit Below(Level& level);
  ~Below();
  Below(const Below&) = delete;

 private:
  Level* top_;
  uint64_t excluded_;
};

// A level that ends with the scope.
class TemporaryLevel {
 public:
  explicit TemporaryLevel(LevelKind kind) : level_(begin_level(kind)), serial_(level_->serial) {}
  ~TemporaryLevel() {
    if (level_of(serial_)) end_level(level_);
  }
  TemporaryLevel(const TemporaryLevel&) = delete;
  Level& operator*() const { return *level_; }
  Level* get() const { return level_; }

 private:
  Level* level_;
  uint64_t serial_;
};

}  // namespace tl::autograd
