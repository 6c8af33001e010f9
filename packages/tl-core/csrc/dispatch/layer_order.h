// The order in which a call meets the layers, apart from their numbers, which extensions have compiled in.
#pragma once

#include <bit>
#include <cstdint>

#include "tl/c_api.h"

namespace tl {

// From the first to the last.
inline constexpr int kLayerOrder[] = {
    TL_LAYER_OBSERVE,      TL_LAYER_AUTOCAST, TL_LAYER_TRANSFORMS, TL_LAYER_BATCH,  TL_LAYER_TRACE,
    TL_LAYER_SPARSE_PARTS, TL_LAYER_MESH,     TL_LAYER_AUTOGRAD,   TL_LAYER_VIEW,   TL_LAYER_FUNCTIONALIZE,
    TL_LAYER_LAZYBITS,     TL_LAYER_PYTHON,   TL_LAYER_CHECK,      TL_LAYER_SPARSE, TL_LAYER_STORED,
    TL_LAYER_DEFER,        TL_LAYER_SHRUNK,   TL_LAYER_HOLLOW,     TL_LAYER_NAMES,
};
inline constexpr int kNumLayers = sizeof kLayerOrder / sizeof *kLayerOrder;

namespace detail {
struct LayerMasks {
  uint64_t down_to[kNumLayers] = {};  // a layer and those before it
  uint64_t moved = 0;                 // the layers that stand before one with a lower number
};
constexpr LayerMasks layer_masks() {
  LayerMasks masks;
  uint64_t met = 0;
  for (const int layer : kLayerOrder) {
    met |= uint64_t{1} << layer;
    masks.down_to[layer] = met;
  }
  for (const int layer : kLayerOrder) {
    const uint64_t lower = (uint64_t{1} << layer) - 1;
    if (lower & ~masks.down_to[layer]) masks.moved |= uint64_t{1} << layer;
  }
  return masks;
}
inline constexpr LayerMasks kLayerMasks = layer_masks();
static_assert(kLayerMasks.down_to[TL_LAYER_NAMES] == (uint64_t{1} << kNumLayers) - 1,
              "each number from 0 on stands in the order once");

[[gnu::cold, gnu::noinline]] inline int first_in_order(uint64_t bits) {
  for (const int layer : kLayerOrder)
    if (bits >> layer & 1) return layer;
  return kNumLayers;
}
}  // namespace detail

// The bits of a layer and of those before it.
constexpr uint64_t down_to(int layer) { return detail::kLayerMasks.down_to[layer]; }

// The layer that a call meets first; some bit is set. Most numbers are in order, so the lowest bit is it.
inline int first_layer(uint64_t bits) {
  if (bits & detail::kLayerMasks.moved) [[unlikely]]
    return detail::first_in_order(bits);
  return std::countr_zero(bits);
}

}  // namespace tl
