// Rejection sampling: gamma after Marsaglia and Tsang (2000), Poisson and binomial by the transformed
// rejection of Hoermann (1993), whose tables give the constants.
#include "kernels/cpu/random/rejection.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/interrupt.h"
#include "kernels/cpu/random/one_draw.h"

namespace tl::cpu {
namespace {

constexpr int64_t kChunk = 1024;  // samples between two looks for Ctrl-C
constexpr double kFew = 10;       // expected counts below it are counted event by event

template <class Draw>
void each(int64_t n, double* out, Draw draw) {
  for (int64_t i = 0; i < n; ++i) {
    if (i % kChunk == 0) check_interrupt();
    out[i] = draw(i);
  }
}

double log_factorial(double k) {
  int sign;
  return ::lgamma_r(k + 1, &sign);  // std::lgamma writes a global
}

// ---- gamma ------------------------------------------------------------------------------------------------

// A normal number cubed, squeezed by a quartic bound that is quick to evaluate.
double gamma_from_one(double shape, double scale, Generator& g) {
  // The reference implementation's third is a float: 1e-8 of a variate, and its stream.
  const double d = shape - 1.0f / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x, root;
    do {
      x = draw_normal_double(g);
      root = 1 + c * x;
    } while (root <= 0);
    const double v = root * root * root, u = 1 - draw_uniform_double(g), square = x * x;
    if (u < 1 - 0.0331 * square * square || std::log(u) < 0.5 * square + d * (1 - v + std::log(v)))
      return scale * d * v;
  }
}

// Shapes below one: that of the next shape times a power of a uniform number.
double gamma(double shape, Generator& g) {
  if (!(shape > 0)) return 0;
  if (shape == std::numeric_limits<double>::infinity()) return shape;
  if (shape >= 1) return gamma_from_one(shape, 1, g);
  return gamma_from_one(shape + 1, std::pow(1 - draw_uniform_double(g), 1 / shape), g);
}

// ---- Poisson ----------------------------------------------------------------------------------------------

// How many uniform factors keep the product above exp(-rate): Knuth, volume 2, 3.4.1.
double poisson_few(double rate, Generator& g) {
  const double bound = std::exp(-rate);
  double count = 0;
  for (double product = draw_uniform_double(g); product > bound; product *= draw_uniform_double(g)) ++count;
  return count;
}

// Algorithm PTRS.
double poisson_many(double rate, Generator& g) {
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b,
               log_inverse_alpha = std::log(1.1239 + 1.1328 / (b - 3.4)), log_rate = std::log(rate);
  const double squeeze = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = draw_uniform_double(g) - 0.5, v = draw_uniform_double(g), us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= squeeze) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + log_inverse_alpha - std::log(a / (us * us) + b) <=
        -rate + k * log_rate - log_factorial(k))
      return k;
  }
}

double poisson(double rate, Generator& g) {
  if (rate == 0) return 0;
  if (rate == std::numeric_limits<double>::infinity()) return rate;
  return rate < kFew ? poisson_few(rate, g) : poisson_many(rate, g);
}

// ---- binomial ---------------------------------------------------------------------------------------------

// How many geometric waiting times fit into the trials: Devroye (1986), chapter X.4.
double binomial_few(double count, double chance, Generator& g) {
  const double log_failure = std::log1p(-chance);
  double successes = 0, trials = 0;
  for (;;) {
    trials += std::ceil(std::log(draw_uniform_double(g)) / log_failure);
    if (!(trials <= count)) return successes;
    ++successes;
  }
}

// log(k!) less Stirling's formula for it, log(sqrt(2 pi)) + (k + 1/2) log(k + 1) - (k + 1): DLMF 5.11.1.
double stirling_rest(double k) {
  static constexpr double kFirst[] = {0.0810614667953272582, 0.0413406959554092941, 0.0276779256849983391,
                                      0.0207906721037650931, 0.0166446911898211922, 0.0138761288230707480,
                                      0.0118967099458917700, 0.0104112652619720965, 0.00925546218271273292,
                                      0.00833056343336287126};
  if (k <= 9) return kFirst[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Algorithm BTRS, for a chance up to 1/2.
double binomial_many(double count, double chance, Generator& g) {
  const double deviation = std::sqrt(count * chance * (1 - chance)), b = 1.15 + 2.53 * deviation,
               a = -0.0873 + 0.0248 * b + 0.01 * chance, center = count * chance + 0.5;
  const double squeeze = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation;
  const double odds = chance / (1 - chance), mode = std::floor((count + 1) * chance);
  for (;;) {
    const double u = draw_uniform_double(g) - 0.5;
    double v = draw_uniform_double(g);
    const double us = 0.5 - std::fabs(u), k = std::floor((2 * a / us + b) * u + center);
    if (us >= 0.07 && v <= squeeze) return k;
    if (k < 0 || k > count) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1))) +
                         (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) + stirling_rest(mode) +
                         stirling_rest(count - mode) - stirling_rest(k) - stirling_rest(count - k);
    if (v <= bound) return k;
  }
}

double binomial_below_half(double count, double chance, Generator& g) {
  return count * chance < kFew ? binomial_few(count, chance, g) : binomial_many(count, chance, g);
}

double binomial(double count, double chance, Generator& g) {
  if (std::isnan(count) || std::isnan(chance)) return std::numeric_limits<double>::quiet_NaN();
  if (count <= 0 || chance <= 0) return 0;
  if (chance >= 1) return count;
  return chance <= 0.5 ? binomial_below_half(count, chance, g)
                       : count - binomial_below_half(count, 1 - chance, g);
}

}  // namespace

void draw_poisson(const double* rates, int64_t n, Generator& g, double* out) {
  each(n, out, [&](int64_t i) { return poisson(rates[i], g); });
}

void draw_binomial(const double* counts, const double* chances, int64_t n, Generator& g, double* out) {
  each(n, out, [&](int64_t i) { return binomial(counts[i], chances[i], g); });
}

void draw_gamma(const double* shapes, int64_t n, double least, Generator& g, double* out) {
  each(n, out, [&](int64_t i) { return std::max(least, gamma(shapes[i], g)); });
}

}  // namespace tl::cpu
