// Distributions whose parameters differ from element to element, sampled by rejection. The caller holds the
// generator's lock and has checked the parameters.
#pragma once

#include <cstdint>

#include "base/generator.h"

namespace tl::cpu {

// Element i of `out` is drawn with parameter i, one after the other.
void draw_poisson(const double* rates, int64_t n, Generator& g, double* out);
void draw_binomial(const double* counts, const double* chances, int64_t n, Generator& g, double* out);
// Of scale 1; what would be smaller becomes `least`.
void draw_gamma(const double* shapes, int64_t n, double least, Generator& g, double* out);

}  // namespace tl::cpu
