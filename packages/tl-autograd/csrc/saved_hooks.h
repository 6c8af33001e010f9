// Hooks that pack what nodes save: a pair of Python callables per thread, the innermost in force.
#pragma once

#include <atomic>

#include "values.h"

namespace tl::autograd {

struct Level;

// A saved tensor in the form that a pack hook gave it: p owns the Python objects.
inline constexpr uint32_t kPacked = 0x81;

extern std::atomic<int> g_packing;  // contexts that are open in the process

bool packs_here();          // whether this thread is in such a context
TlValue pack(TlTensor* t);  // owned, freed by `forget`
Tensor unpack(const TlValue& packed);
// Whether a tensor that `unpack` returned is in another level than the packed one, with its place in that
// level's graph.
bool is_in_other_level(const TlValue& packed, const TlTensor* unpacked);
void drop_packed(TlValue& packed);
// What `unpack` returns has the tangent as well, whatever form the tensor was given.
void note_tangent(const TlValue& packed, const Level& level, const Tensor& tangent);

inline bool packing() { return g_packing.load(std::memory_order_relaxed) != 0 && packs_here(); }

}  // namespace tl::autograd
