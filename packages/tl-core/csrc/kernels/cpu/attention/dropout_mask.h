// Dropout mask of a tile of probabilities.
#pragma once

#include "kernels/cpu/attention/scores.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {  // a part of attention.cpp

// What dropout leaves of a row of tiles' probabilities.
template <class A>
class DropoutMask {
 public:
  explicit DropoutMask(const Attention& c)
      : c_(c), bytes_(c.rng_states ? kDropoutTileRows * c.shape.keys + 2 * kLanes<A> : 0) {}

  // For rows from `at` on, as far as keys are seen.
  void draw(RowIndex at, int64_t rows, int64_t visible) {
    if (!c_.rng_states) return;
    const int64_t tile =
        (at.batch * c_.shape.heads + at.head) * dropout_tiles(c_.shape.queries) + at.row / kDropoutTileRows;
    fill_dropout_mask(c_.rng_states + tile * kRngStateWords, rows, c_.shape.keys, visible, c_.dropout,
                      bytes_.data());
  }
  // Of a tile's row i, from a key on, a byte each, or null; and what is left is multiplied by.
  const char* row(int64_t i, int64_t key) {
    return c_.rng_states ? reinterpret_cast<const char*>(bytes_.data()) + i * c_.shape.keys + key : nullptr;
  }
  A scale() const { return static_cast<A>(1 / (1 - c_.dropout)); }

 private:
  const Attention& c_;
  Scratch<uint8_t, 4096> bytes_;
};

}  // namespace

}  // namespace tl::cpu::TL_ISA_NAMESPACE
