// Tensors without memory behind their geometry, which stand for others: wrapper subclasses and fakes. What
// they are kept from is in dispatch/python.h.
#pragma once

#include "tensor/names.h"
#include "tensor/tensor.h"

namespace tl {

// The last layer but that of names, never left out.
inline constexpr int kHollowLayer = TL_LAYER_HOLLOW;
inline constexpr uint64_t kHollowBit = uint64_t{1} << kHollowLayer;

// Not a layer: the handler of its class is asked for sizes and the like that Python reads.
inline constexpr uint64_t kAsksHandlerBit = uint64_t{1} << 62;

inline bool is_hollow(const Tensor& t) { return t->bits.load(std::memory_order_relaxed) & kHollowBit; }

}  // namespace tl
