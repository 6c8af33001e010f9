// Elementwise operators in which halves compute with numbers as they are; others round them to the tensors'
// type.
#pragma once

#include "ops/elementwise.h"

namespace tl {

extern const ElementwiseDef* const kExactNumbers[];  // generated from the rows; ended by a null

inline bool has_exact_numbers(const ElementwiseDef& def) {
  for (const ElementwiseDef* const* d = kExactNumbers; *d; ++d)
    if (*d == &def) return true;
  return false;
}

}  // namespace tl
