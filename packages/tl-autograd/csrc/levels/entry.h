// A tensor's place among the levels: what hangs in its slot of the layer `transforms`.
#pragma once

#include <memory>
#include <vector>

#include "levels/level.h"
#include "tl/rules.h"

namespace tl::autograd {

inline constexpr uint64_t kTransformsBit = uint64_t{1} << TL_LAYER_TRANSFORMS;
inline constexpr uint64_t kUnwrapBit = uint64_t{1} << TL_LAYER_VIEW;  // the layer below recording: unwrap.cpp

inline constexpr uint64_t kBatchBit = TL_BIT_HIDES_BATCH;

struct FunctionalPosition;  // functionalize.h

// A level wraps a tensor of the levels below: the wrapper has the memory and geometry of the value, or of the
// batch's first example, but no kernel ever reads it. Levels of tangents hang them on the tensor itself.
struct Entry {
  struct Tangent {
    uint64_t level;
    std::shared_ptr<Tensor> tensor;  // empty once the level has ended
  };
  uint64_t level = 0;  // that wraps `value`; 0: none
  LevelKind kind = LevelKind::Grad;
  int number = 0;
  Tensor value;
  int64_t dim = 0;  // of the batch, in the value
  std::vector<Tangent> tangents;
  std::shared_ptr<const FunctionalPosition> position;  // of a level without writes
};

const Entry* entry_of(const TlTensor* t);  // NULL: the tensor is in no transform

// The value if the level wraps the tensor; NULL otherwise. Borrowed.
TlTensor* wrapped_value(const TlTensor* t, const Level& level);
TlTensor* tangent_of(TlTensor* t, const Level& level);              // borrowed, or NULL
void set_tangent(TlTensor* t, const Level& level, Tensor tangent);  // which has the layout of `t`
std::shared_ptr<Tensor> tangent_cell(const Level& level, Tensor tangent);
bool hides_batch(const TlTensor* t);
void drop_tangent(TlTensor* t, const Level& level);
void drop_ended_tangents(TlTensor* t);

Tensor wrap_for_gradients(TlTensor* value, const Level& level);
Tensor wrap_batch(TlTensor* value, int64_t dim, const Level& level);
// A wrapper of a level without writes, on memory that `memory_like` gave or a view of such.
Tensor wrap_functional(Tensor memory, TlTensor* value, const Level& level,
                       std::shared_ptr<const FunctionalPosition> position);
// The value's memory and geometry, with a count of writes of its own.
Tensor memory_like(TlTensor* value);
Tensor memory_of(TlTensor* wrapper);  // the tensor in no level
// The tensor again, without its position in the graph: as `tensor_alias`, but in the same levels.
Tensor alias_in_levels(TlTensor* t);
// The wrapper stands for another entry's value from now on.
void replace_value(TlTensor* wrapper, const Entry& other);
// After an in-place call changed the value's geometry.
void follow_value(TlTensor* wrapper);
// Another value, and its position among those that share memory.
void set_functional(TlTensor* wrapper, Tensor value, std::shared_ptr<const FunctionalPosition> position);

}  // namespace tl::autograd
