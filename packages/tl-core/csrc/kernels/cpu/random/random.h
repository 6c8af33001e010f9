// Random numbers for n consecutive elements, in the order in which the reference implementation draws them.
// The caller holds the generator's lock and has checked the parameters.
#pragma once

#include "base/dtype.h"
#include "base/generator.h"

namespace tl::cpu {

// ---- floating dtypes --------------------------------------------------------------------------------------
void fill_uniform(DType dtype, void* out, int64_t n, double from, double to, Generator& g);
// From 16 elements on in blocks of 16; fewer as fill_normal_in_turn.
void fill_normal(DType dtype, void* out, int64_t n, double mean, double std, Generator& g);
// One by one in double, the numbers of a pair in consecutive places, even of different calls.
void fill_normal_in_turn(DType dtype, void* out, int64_t n, double mean, double std, Generator& g);
void fill_exponential(DType dtype, void* out, int64_t n, double rate, Generator& g);
void fill_cauchy(DType dtype, void* out, int64_t n, double median, double sigma, Generator& g);
void fill_log_normal(DType dtype, void* out, int64_t n, double mean, double std, Generator& g);

// ---- all real dtypes --------------------------------------------------------------------------------------
void fill_geometric(DType dtype, void* out, int64_t n, double p, Generator& g);
void fill_bernoulli(DType dtype, void* out, int64_t n, double p, Generator& g);
// A probability for each element; float draws one word, double two.
void fill_bernoulli(DType dtype, void* out, int64_t n, const float* p, Generator& g);
void fill_bernoulli(DType dtype, void* out, int64_t n, const double* p, Generator& g);
// base + [0, range); a range of 0 means 2^64.
void fill_integers(DType dtype, void* out, int64_t n, uint64_t range, int64_t base, Generator& g);
// All non-negative integers that the dtype holds exactly. Not for uint16, uint32 and uint64.
void fill_all_integers(DType dtype, void* out, int64_t n, Generator& g);
// The numbers below n in random order.
void fill_permutation(DType dtype, void* out, int64_t n, Generator& g);

// x * scale where the mask is not zero, else x * 0; float32 and float64.
void scale_masked(DType dtype, const void* x, const uint8_t* mask, int64_t n, double scale, void* out);

}  // namespace tl::cpu
