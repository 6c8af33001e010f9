// What Python switches of operators: torch.backends.
#pragma once

#include <atomic>

namespace tl {

// The order in which einsum contracts: the cheapest pair next, the order with the fewest multiplications, or
// as given.
enum class EinsumOrder : char { Greedy, Optimal, LeftToRight };

inline std::atomic<EinsumOrder> einsum_order{EinsumOrder::Greedy};

// False where every way of computing attention that this library has is forbidden.
inline std::atomic<bool> attention_is_allowed{true};

}  // namespace tl
