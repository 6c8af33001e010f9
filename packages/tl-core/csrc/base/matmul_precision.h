// With how many bits of their factors products of float32 may be computed.
#pragma once

#include <atomic>

namespace tl {

enum class MatmulPrecision : char { Highest, High, Medium };  // all 24, those of two bfloat16, of one

inline std::atomic<MatmulPrecision> matmul_precision{MatmulPrecision::Highest};

}  // namespace tl
