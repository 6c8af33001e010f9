// isa: all
// Layer, group, RMS and batch normalization, forward and backward: blocked two-pass moments, merged by Chan
// et al.
#include "kernels/cpu/norm/norm.h"

#include <cmath>

#include "base/parallel.h"
#include "kernels/cpu/loops/scratch.h"
#include "kernels/cpu/simd/horizontal.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int64_t kGrain = 1 << 15;
constexpr int64_t kBlock = 2048;     // elements whose statistics are taken at once, from the cache
constexpr int64_t kColumnRows = 64;  // as many rows, where neighbours belong to different units
constexpr int64_t kRowChunks = 64;   // chunks into which samples are split for the gradients of weights

int64_t grain_for(int64_t size) { return kGrain / (size + 1) + 1; }

// Elements in memory as vectors; `count` below the number of lanes at an end.
template <class T>
struct Elements {
  using A = OpMath<T>;
  using V = Vec<A>;
  static constexpr int W = kLanes<A>;
  static TL_INLINE V get(const char* p, int64_t i, int count) {
    p += i * static_cast<int64_t>(sizeof(T));
    return count == W ? load<T>(p) : load_partial<T>(p, count);
  }
  static TL_INLINE void set(char* p, int64_t i, int count, V v) {
    p += i * static_cast<int64_t>(sizeof(T));
    if (count == W)
      store<T>(p, v);
    else
      store_partial<T>(p, count, v);
  }
};

// An array of numbers of the compute type, all `rest` if it is null.
template <class A>
struct Table {
  using V = Vec<A>;
  const A* data;
  A rest;
  TL_INLINE A at(int64_t i) const { return data ? data[i] : rest; }
  TL_INLINE V get(int64_t i, int count) const {
    return data ? Elements<A>::get(reinterpret_cast<const char*>(data), i, count) : broadcast<V>(rest);
  }
};

template <class A>
TL_INLINE Vec<A> masked_lanes(Vec<A> v, int count) {
  return select<Vec<A>>(iota<Mask<Vec<A>>>() < static_cast<Lane<Mask<Vec<A>>>>(count), v, Vec<A>{});
}

// body(i, count) over n elements, by vectors.
template <class A, class F>
TL_INLINE void for_vectors(int64_t n, F body) {
  constexpr int W = kLanes<A>;
  int64_t i = 0;
  for (; i + W <= n; i += W) body(i, W);
  if (i < n) body(i, static_cast<int>(n - i));
}

// The sum of term(i, count) over n elements, in four interleaved vectors.
template <class A, class F>
TL_INLINE A sum_of(int64_t n, F term) {
  constexpr int W = kLanes<A>;
  Vec<A> s[4] = {};
  int64_t i = 0;
  for (; i + 4 * W <= n; i += 4 * W) {
    for (int k = 0; k < 4; ++k) s[k] += term(i + k * W, W);
  }
  for (; i + W <= n; i += W) s[0] += term(i, W);
  if (i < n) s[1] += masked_lanes<A>(term(i, static_cast<int>(n - i)), static_cast<int>(n - i));
  return horizontal_sum((s[0] + s[1]) + (s[2] + s[3]));
}

// The sums of two terms(i, count, first, second).
template <class A, class F>
TL_INLINE void sum_both(int64_t n, double& a, double& b, F terms) {
  constexpr int W = kLanes<A>;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    Vec<A> s[2] = {}, t[2] = {}, x, y;
    int64_t i = begin;
    for (; i + 2 * W <= end; i += 2 * W) {
      for (int k = 0; k < 2; ++k) {
        terms(i + k * W, W, x, y);
        s[k] += x;
        t[k] += y;
      }
    }
    for (; i < end; i += W) {
      const int count = end - i < W ? static_cast<int>(end - i) : W;
      terms(i, count, x, y);
      s[0] += masked_lanes<A>(x, count);
      t[0] += masked_lanes<A>(y, count);
    }
    a += static_cast<double>(horizontal_sum(s[0] + s[1]));
    b += static_cast<double>(horizontal_sum(t[0] + t[1]));
  }
}

// Count, mean and sum of squared deviations, merged by the rule of Chan, Golub and LeVeque (1983).
struct Moments {
  double n = 0, mean = 0, squares = 0;

  void join(double count, double other_mean, double other_squares) {
    const double total = n + count, delta = other_mean - mean;
    mean += delta * (count / total);
    squares += other_squares + delta * delta * (n * count / total);
    n = total;
  }
};

template <class T>
void add_run(Moments& m, const char* p, int64_t n, bool centered) {
  using A = OpMath<T>;
  using E = Elements<T>;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = n - begin < kBlock ? n - begin : kBlock;
    const char* at = p + begin * static_cast<int64_t>(sizeof(T));
    A mean = 0;
    if (centered)
      mean = sum_of<A>(count, [&](int64_t i, int c) { return E::get(at, i, c); }) / static_cast<A>(count);
    const A squares = sum_of<A>(count, [&](int64_t i, int c) {
      const auto d = E::get(at, i, c) - mean;
      return d * d;
    });
    m.join(static_cast<double>(count), mean, squares);
  }
}

// The runs of neighbouring elements that one unit is made of, and the first of its weights.
struct Runs {
  int64_t first, count, step, length, weight, weight_step;

  Runs(const NormShape& s, int64_t unit) : count(s.across ? s.samples : s.channels), length(s.length) {
    const int64_t size = s.channels * s.length;
    first = unit * size;
    step = s.across ? s.groups * size : s.length;
    weight = s.across ? unit : unit % s.groups * s.channels;
    weight_step = s.across ? 0 : 1;
  }
  bool dense() const { return step == length; }
};

template <class T>
Moments unit_moments(const char* input, const Runs& r, bool centered) {
  Moments m;
  const char* p = input + r.first * static_cast<int64_t>(sizeof(T));
  if (r.dense()) {
    add_run<T>(m, p, r.count * r.length, centered);
  } else {
    for (int64_t k = 0; k < r.count; ++k)
      add_run<T>(m, p + k * r.step * static_cast<int64_t>(sizeof(T)), r.length, centered);
  }
  return m;
}

template <class A>
void store_statistics(const NormForward& c, int64_t unit, const Moments& m) {
  const double variance = m.squares / m.n;
  static_cast<A*>(c.mean)[unit] = static_cast<A>(m.mean);
  static_cast<A*>(c.rstd)[unit] = static_cast<A>(1 / std::sqrt(variance + c.eps));
  if (c.variance) static_cast<A*>(c.variance)[unit] = static_cast<A>(variance);
}

// ---- forward ----------------------------------------------------------------------------------------------

template <class T>
void apply_unit(const NormForward& c, const Runs& r, int64_t unit) {
  using A = OpMath<T>;
  using E = Elements<T>;
  const A mean = static_cast<const A*>(c.mean)[unit], rstd = static_cast<const A*>(c.rstd)[unit];
  const Table<A> weight{static_cast<const A*>(c.weight), 1}, bias{static_cast<const A*>(c.bias), 0};
  const char* in = c.input + r.first * static_cast<int64_t>(sizeof(T));
  char* out = c.output + r.first * static_cast<int64_t>(sizeof(T));
  if (r.length == 1 && r.weight_step == 1) {
    for_vectors<A>(r.count, [&](int64_t i, int n) {
      const auto x = (E::get(in, i, n) - mean) * rstd;
      E::set(out, i, n, x * weight.get(r.weight + i, n) + bias.get(r.weight + i, n));
    });
    return;
  }
  for (int64_t k = 0; k < r.count; ++k) {
    const int64_t w = r.weight + k * r.weight_step, at = k * r.step;
    const A scale = rstd * weight.at(w), shift = bias.at(w);
    for_vectors<A>(r.length, [&](int64_t i, int n) {
      E::set(out, at + i, n, (E::get(in, at + i, n) - mean) * scale + shift);
    });
  }
}

template <class T>
void forward_units(const NormShape& s, const NormForward& c) {
  parallel_for(0, s.units(), grain_for(s.unit_size()), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const Runs runs(s, unit);
      if (!c.fixed) store_statistics<OpMath<T>>(c, unit, unit_moments<T>(c.input, runs, c.centered));
      apply_unit<T>(c, runs, unit);
    }
  });
}

// ---- backward ---------------------------------------------------------------------------------------------

// With h = weight * grad, xn = rstd (x - mean) and n elements a unit, the backward pass is
//   dx = rstd (h - mean(h) - xn mean(h xn)) = scale * h - shift - projection * (x - mean),
// where scale = rstd, shift = rstd sum(h) / n and projection = rstd^3 sum(h (x - mean)) / n: h less its
// chunk_sums along the constants and along xn, as the mean and rstd depend on x. Both are 0 with fixed
// statistics, shift also without a mean.
template <class A>
struct BackwardCoefficients {
  A mean, scale, shift = 0, projection = 0;

  BackwardCoefficients(const NormBackward& c, int64_t unit, double n, double sum, double product)
      : mean(static_cast<const A*>(c.mean)[unit]), scale(static_cast<const A*>(c.rstd)[unit]) {
    if (c.fixed) return;
    const double r = static_cast<double>(scale);
    shift = c.centered ? static_cast<A>(r * sum / n) : 0;
    projection = static_cast<A>(r * r * r * product / n);
  }
};

// Gradients of weight and bias, separate for each chunk of samples.
template <class A>
struct WeightSums {
  A *weight, *bias;
};

// Units whose weights belong to single elements: a row, whose elements add to the sums of their columns.
template <class T>
void backward_row(const NormBackward& c, const Runs& r, int64_t unit, WeightSums<OpMath<T>> sums) {
  using A = OpMath<T>;
  using E = Elements<T>;
  using S = Elements<A>;
  const Table<A> weight{static_cast<const A*>(c.weight), 1};
  const int64_t offset = r.first * static_cast<int64_t>(sizeof(T)), n = r.count;
  const char *in = c.input + offset, *grad = c.grad + offset;
  const A mean = static_cast<const A*>(c.mean)[unit], rstd = static_cast<const A*>(c.rstd)[unit];
  double sum = 0, product = 0;
  if (c.grad_input && !c.fixed)
    sum_both<A>(n, sum, product, [&](int64_t i, int m, Vec<A>& x, Vec<A>& y) {
      x = E::get(grad, i, m) * weight.get(r.weight + i, m);
      y = x * (E::get(in, i, m) - mean);
    });
  const BackwardCoefficients<A> coefficients(c, unit, static_cast<double>(n), sum, product);
  char* const dw = reinterpret_cast<char*>(sums.weight);
  char* const db = reinterpret_cast<char*>(sums.bias);
  for_vectors<A>(n, [&](int64_t i, int m) {
    const auto g = E::get(grad, i, m), d = E::get(in, i, m) - mean;
    const int64_t w = r.weight + i;
    if (dw) S::set(dw, w, m, S::get(dw, w, m) + g * d * rstd);
    if (db) S::set(db, w, m, S::get(db, w, m) + g);
    if (c.grad_input)
      E::set(c.grad_input + offset, i, m,
             g * weight.get(w, m) * coefficients.scale - coefficients.shift - d * coefficients.projection);
  });
}

// Units made of runs that share a weight each: sums over runs, then the runs again.
template <class T>
void backward_runs(const NormBackward& c, const Runs& r, int64_t unit, WeightSums<OpMath<T>> sums) {
  using A = OpMath<T>;
  using E = Elements<T>;
  const Table<A> weight{static_cast<const A*>(c.weight), 1};
  const int64_t offset = r.first * static_cast<int64_t>(sizeof(T));
  const char *in = c.input + offset, *grad = c.grad + offset;
  const A mean = static_cast<const A*>(c.mean)[unit], rstd = static_cast<const A*>(c.rstd)[unit];
  double sum = 0, product = 0, shared_sum = 0, shared_product = 0;
  for (int64_t k = 0; k < r.count; ++k) {
    double a = 0, b = 0;
    sum_both<A>(r.length, a, b, [&](int64_t i, int m, Vec<A>& x, Vec<A>& y) {
      x = E::get(grad, k * r.step + i, m);
      y = x * (E::get(in, k * r.step + i, m) - mean);
    });
    const int64_t w = r.weight + k * r.weight_step;
    sum += a * static_cast<double>(weight.at(w));
    product += b * static_cast<double>(weight.at(w));
    shared_sum = r.weight_step ? a : shared_sum + a;
    shared_product = r.weight_step ? b : shared_product + b;
    if (sums.weight) sums.weight[w] = static_cast<A>(shared_product * static_cast<double>(rstd));
    if (sums.bias) sums.bias[w] = static_cast<A>(shared_sum);
  }
  if (!c.grad_input) return;
  const BackwardCoefficients<A> coefficients(c, unit, static_cast<double>(r.count * r.length), sum, product);
  for (int64_t k = 0; k < r.count; ++k) {
    const A scale = coefficients.scale * weight.at(r.weight + k * r.weight_step);
    for_vectors<A>(r.length, [&](int64_t i, int m) {
      const int64_t at = k * r.step + i;
      const auto d = E::get(in, at, m) - mean;
      E::set(c.grad_input + offset, at, m,
             E::get(grad, at, m) * scale - coefficients.shift - d * coefficients.projection);
    });
  }
}

// The gradients of weights that many samples share: each chunk of samples has sums of its own, merged in
// order.
template <class T>
void backward_samples(const NormShape& s, const NormBackward& c) {
  using A = OpMath<T>;
  const bool rows = s.length == 1, sums = c.grad_weight || c.grad_bias;
  const int64_t n = s.weights(), smallest = rows ? 32 : 1;
  int64_t chunk = (s.samples + kRowChunks - 1) / kRowChunks;
  if (chunk < smallest) chunk = smallest;
  if (!rows) chunk = 1;
  const int64_t chunks = (s.samples + chunk - 1) / chunk;
  Scratch<A> chunk_sums(sums ? 2 * n * chunks : 1);
  parallel_for(0, chunks, grain_for(chunk * n * s.length), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      A* const at = chunk_sums.data() + 2 * n * k;
      if (sums && rows) __builtin_memset(at, 0, static_cast<size_t>(2 * n) * sizeof(A));
      const WeightSums<A> own{c.grad_weight ? at : nullptr, c.grad_bias ? at + n : nullptr};
      const int64_t last = (k + 1) * chunk < s.samples ? (k + 1) * chunk : s.samples;
      for (int64_t unit = k * chunk * s.groups; unit < last * s.groups; ++unit) {
        if (rows)
          backward_row<T>(c, Runs(s, unit), unit, own);
        else
          backward_runs<T>(c, Runs(s, unit), unit, own);
      }
    }
  });
  for (int64_t w = 0; sums && w < n; ++w) {
    double weight = 0, bias = 0;
    for (int64_t k = 0; k < chunks; ++k) {
      if (c.grad_weight) weight += static_cast<double>(chunk_sums[2 * n * k + w]);
      if (c.grad_bias) bias += static_cast<double>(chunk_sums[2 * n * k + n + w]);
    }
    if (c.grad_weight) static_cast<A*>(c.grad_weight)[w] = static_cast<A>(weight);
    if (c.grad_bias) static_cast<A*>(c.grad_bias)[w] = static_cast<A>(bias);
  }
}

template <class T>
void backward_units(const NormShape& s, const NormBackward& c) {
  using A = OpMath<T>;
  if (!s.across) return backward_samples<T>(s, c);
  parallel_for(0, s.units(), grain_for(s.unit_size()), [&](int64_t begin, int64_t end) {
    const WeightSums<A> sums{static_cast<A*>(c.grad_weight), static_cast<A*>(c.grad_bias)};
    for (int64_t unit = begin; unit < end; ++unit) backward_runs<T>(c, Runs(s, unit), unit, sums);
  });
}

// ---- columns: neighbours belong to different units --------------------------------------------------------

// `rows` are the samples; every lane is a unit.
template <class T>
void column_moments(const NormShape& s, const NormForward& c, int64_t first, int count) {
  using A = OpMath<T>;
  using V = Vec<A>;
  using E = Elements<T>;
  V mean{}, squares{};
  for (int64_t begin = 0; begin < s.samples; begin += kColumnRows) {
    const int64_t n = s.samples - begin < kColumnRows ? s.samples - begin : kColumnRows;
    V block{}, spread{};
    for (int64_t i = 0; i < n; ++i) block += E::get(c.input, (begin + i) * s.groups + first, count);
    block = block / static_cast<A>(n);
    for (int64_t i = 0; i < n; ++i) {
      const V d = E::get(c.input, (begin + i) * s.groups + first, count) - block;
      spread += d * d;
    }
    const double total = static_cast<double>(begin + n);
    const V delta = block - mean;
    mean += delta * static_cast<A>(static_cast<double>(n) / total);
    squares +=
        spread + delta * delta * static_cast<A>(static_cast<double>(n) * static_cast<double>(begin) / total);
  }
  A means[kLanes<A>], sums[kLanes<A>];
  write(reinterpret_cast<char*>(means), mean);
  write(reinterpret_cast<char*>(sums), squares);
  for (int k = 0; k < count; ++k)
    store_statistics<A>(
        c, first + k,
        Moments{static_cast<double>(s.samples), static_cast<double>(means[k]), static_cast<double>(sums[k])});
}

template <class A, class F>
void for_columns(int64_t columns, int64_t rows, F body) {
  constexpr int W = kLanes<A>;
  parallel_for(0, (columns + W - 1) / W, grain_for(rows * W), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      body(i * W, columns - i * W < W ? static_cast<int>(columns - i * W) : W);
  });
}

template <class T>
void forward_columns(const NormShape& s, const NormForward& c) {
  using A = OpMath<T>;
  using E = Elements<T>;
  if (!c.fixed)
    for_columns<A>(s.groups, s.samples, [&](int64_t first, int n) { column_moments<T>(s, c, first, n); });
  const Table<A> mean{static_cast<const A*>(c.mean), 0}, rstd{static_cast<const A*>(c.rstd), 1};
  const Table<A> weight{static_cast<const A*>(c.weight), 1}, bias{static_cast<const A*>(c.bias), 0};
  Scratch<A> scale(s.groups);
  for (int64_t k = 0; k < s.groups; ++k) scale[k] = rstd.at(k) * weight.at(k);
  const Table<A> scales{scale.data(), 1};
  parallel_for(0, s.samples, grain_for(s.groups), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for_vectors<A>(s.groups, [&](int64_t i, int n) {
        const int64_t at = row * s.groups + i;
        E::set(c.output, at, n,
               (E::get(c.input, at, n) - mean.get(i, n)) * scales.get(i, n) + bias.get(i, n));
      });
    }
  });
}

// Sums over the rows of g and g (x - mean), a block of rows at a time.
template <class T>
void column_sums(const NormShape& s, const NormBackward& c, int64_t first, int count, OpMath<T>* sum,
                 OpMath<T>* product) {
  using A = OpMath<T>;
  using V = Vec<A>;
  using E = Elements<T>;
  const V mean = Table<A>{static_cast<const A*>(c.mean), 0}.get(first, count);
  V total{}, products{};
  for (int64_t begin = 0; begin < s.samples; begin += kColumnRows) {
    const int64_t end = begin + kColumnRows < s.samples ? begin + kColumnRows : s.samples;
    V a{}, b{};
    for (int64_t i = begin; i < end; ++i) {
      const V g = E::get(c.grad, i * s.groups + first, count);
      a += g;
      b += g * (E::get(c.input, i * s.groups + first, count) - mean);
    }
    total += a;
    products += b;
  }
  Elements<A>::set(reinterpret_cast<char*>(sum), first, count, total);
  Elements<A>::set(reinterpret_cast<char*>(product), first, count, products);
}

template <class T>
void backward_columns(const NormShape& s, const NormBackward& c) {
  using A = OpMath<T>;
  using E = Elements<T>;
  const int64_t n = s.groups;
  Scratch<A> tables(4 * n);  // sums, products; then shifts, projections; scales
  A *const sum = tables.data(), *const product = sum + n, *const scale = product + n;
  for_columns<A>(n, s.samples,
                 [&](int64_t first, int count) { column_sums<T>(s, c, first, count, sum, product); });
  const Table<A> mean{static_cast<const A*>(c.mean), 0}, weight{static_cast<const A*>(c.weight), 1};
  for (int64_t k = 0; k < n; ++k) {
    const double w = static_cast<double>(weight.at(k));
    const BackwardCoefficients<A> coefficients(c, k, static_cast<double>(s.samples),
                                               static_cast<double>(sum[k]) * w,
                                               static_cast<double>(product[k]) * w);
    if (c.grad_bias) static_cast<A*>(c.grad_bias)[k] = sum[k];
    if (c.grad_weight) static_cast<A*>(c.grad_weight)[k] = product[k] * static_cast<const A*>(c.rstd)[k];
    sum[k] = coefficients.shift;
    product[k] = coefficients.projection;
    scale[k] = coefficients.scale * weight.at(k);
  }
  if (!c.grad_input) return;
  const Table<A> shifts{sum, 0}, projections{product, 0}, scales{scale, 1};
  parallel_for(0, s.samples, grain_for(n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for_vectors<A>(n, [&](int64_t i, int m) {
        const int64_t at = row * n + i;
        const auto d = E::get(c.input, at, m) - mean.get(i, m);
        E::set(c.grad_input, at, m,
               E::get(c.grad, at, m) * scales.get(i, m) - shifts.get(i, m) - d * projections.get(i, m));
      });
    }
  });
}

template <class T>
void forward(const NormShape& s, const NormForward& c) {
  if (s.across && s.length == 1)
    forward_columns<T>(s, c);
  else
    forward_units<T>(s, c);
}

template <class T>
void backward(const NormShape& s, const NormBackward& c) {
  if (s.across && s.length == 1)
    backward_columns<T>(s, c);
  else
    backward_units<T>(s, c);
}

}  // namespace

using NormKernel = void (*)(const NormShape&, const NormForward&);
using NormBackwardKernel = void (*)(const NormShape&, const NormBackward&);

// By dtype, from Float16 on.
extern const NormKernel norms[4] = {&forward<Half>, &forward<BFloat16>, &forward<float>, &forward<double>};
extern const NormBackwardKernel norm_backwards[4] = {&backward<Half>, &backward<BFloat16>, &backward<float>,
                                                     &backward<double>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(using NormKernel = void (*)(const NormShape&, const NormForward&);
          using NormBackwardKernel = void (*)(const NormShape&, const NormBackward&);
          extern const NormKernel norms[4]; extern const NormBackwardKernel norm_backwards[4])

namespace tl::cpu {

static int column(DType dtype) { return static_cast<int>(dtype) - static_cast<int>(DType::Float16); }

void norm(DType dtype, const NormShape& shape, const NormForward& call) {
  TL_SELECT(norms)[column(dtype)](shape, call);
}

void norm_backward(DType dtype, const NormShape& shape, const NormBackward& call) {
  TL_SELECT(norm_backwards)[column(dtype)](shape, call);
}

}  // namespace tl::cpu
#endif
