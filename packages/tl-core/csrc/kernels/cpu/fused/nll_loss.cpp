// isa: all
// Negative log-likelihood and cross-entropy losses against class indices, and their gradients.
#include "kernels/cpu/fused/nll_loss.h"

#include "base/parallel.h"
#include "kernels/cpu/simd/horizontal.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/load_store.h"
#include "kernels/cpu/simd/vec_math.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int64_t kGrain = 1 << 14;

template <class T>
struct Scores {
  using A = OpMath<T>;
  using V = Vec<A>;
  static constexpr int W = kLanes<A>;
  static constexpr A lowest = -std::numeric_limits<A>::infinity();

  static TL_INLINE V get(const char* p, int64_t i, int count, A rest) {
    p += i * static_cast<int64_t>(sizeof(T));
    if (count == W) return load<T>(p);
    return select<V>(iota<Mask<V>>() < static_cast<Lane<Mask<V>>>(count), load_partial<T>(p, count),
                     broadcast<V>(rest));
  }
  static TL_INLINE void set(char* p, int64_t i, int count, V v) {
    p += i * static_cast<int64_t>(sizeof(T));
    if (count == W)
      store<T>(p, v);
    else
      store_partial<T>(p, count, v);
  }
};

// body(i, count) over n elements, by vectors of W.
template <int W, class F>
TL_INLINE void for_vectors(int64_t n, F body) {
  int64_t i = 0;
  for (; i + W <= n; i += W) body(i, W);
  if (i < n) body(i, static_cast<int>(n - i));
}

// ---- logarithms of sums -----------------------------------------------------------------------------------

// Where rows of infinities are shifted by nothing.
template <class V>
TL_INLINE V finite(V max) {
  return select<V>(abs(max) == std::numeric_limits<Lane<V>>::infinity(), V{}, max);
}

template <class T>
OpMath<T> row_log_sum(const char* row, int64_t n) {
  using A = OpMath<T>;
  using V = Vec<A>;
  using S = Scores<T>;
  V row_max[4], sums[4] = {};
  for (V& max : row_max) max = broadcast<V>(S::lowest);
  int part = 0;
  for_vectors<S::W>(n, [&](int64_t i, int count) {
    row_max[part] = maximum(row_max[part], S::get(row, i, count, S::lowest));
    part = (part + 1) % 4;
  });
  const V all = maximum(maximum(row_max[0], row_max[1]), maximum(row_max[2], row_max[3]));
  const V max = finite(broadcast<V>(horizontal_max(all)));
  part = 0;
  for_vectors<S::W>(n, [&](int64_t i, int count) {
    sums[part] += exp(S::get(row, i, count, S::lowest) - max);
    part = (part + 1) % 4;
  });
  const A sum = horizontal_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  return log(broadcast<V>(sum))[0] + max[0];
}

// Neighbouring positions are lanes.
template <class T>
Vec<OpMath<T>> column_log_sum(const char* first, int64_t classes, int64_t step, int count) {
  using V = Vec<OpMath<T>>;
  using S = Scores<T>;
  V max = broadcast<V>(S::lowest), sum{};
  for (int64_t k = 0; k < classes; ++k) max = maximum(max, S::get(first, k * step, count, 0));
  max = finite(max);
  for (int64_t k = 0; k < classes; ++k) sum += exp(S::get(first, k * step, count, 0) - max);
  return log(sum) + max;
}

// body(first sample, last sample) in parallel.
template <class F>
void for_samples(const ClassShape& s, F body) {
  parallel_for(0, s.samples, kGrain / (s.classes * s.positions + 1) + 1, body);
}

template <class T>
void log_sums(const ClassShape& s, const char* scores, void* out) {
  using A = OpMath<T>;
  A* const to = static_cast<A*>(out);
  for_samples(s, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const char* sample = scores + n * s.classes * s.positions * static_cast<int64_t>(sizeof(T));
      if (s.positions == 1) {
        to[n] = row_log_sum<T>(sample, s.classes);
        continue;
      }
      for_vectors<kLanes<A>>(s.positions, [&](int64_t i, int count) {
        const char* at = sample + i * static_cast<int64_t>(sizeof(T));
        Scores<A>::set(reinterpret_cast<char*>(to + n * s.positions), i, count,
                       column_log_sum<T>(at, s.classes, s.positions, count));
      });
    }
  });
}

// ---- losses -----------------------------------------------------------------------------------------------

template <class T>
ClassTotals loss(const ClassShape& s, const char* scores, const ClassTargets& t, const void* sums,
                 void* out) {
  using A = OpMath<T>;
  const A *weight = static_cast<const A*>(t.weight), *log_sum = static_cast<const A*>(sums);
  A* const to = static_cast<A*>(out);
  ClassTotals totals{0, 0};
  for (int64_t i = 0; i < s.samples * s.positions; ++i) {
    const int64_t target = t.data[i];
    A value = 0;
    if (target != t.ignored) {
      const int64_t at = (i / s.positions * s.classes + target) * s.positions + i % s.positions;
      const A w = weight ? weight[target] : A(1);
      const A score = load_one<T>(scores + at * static_cast<int64_t>(sizeof(T)));
      value = ((log_sum ? log_sum[i] : A(0)) - score) * w;
      totals.loss += static_cast<double>(value);
      totals.weight += static_cast<double>(w);
    }
    if (to) to[i] = value;
  }
  return totals;
}

// Gradients of the losses, weighted; 0 for what is ignored.
template <class A>
struct LossGradients {
  const ClassTargets& targets;
  const A* grad;
  int64_t step;
  A factor;

  TL_INLINE A at(int64_t i) const {
    const int64_t target = targets.data[i];
    if (target == targets.ignored) return 0;
    const A* weight = static_cast<const A*>(targets.weight);
    return grad[i * step] * factor * (weight ? weight[target] : A(1));
  }
};

template <class T>
void subtract_at(char* out, int64_t at, OpMath<T> value) {
  char* p = out + at * static_cast<int64_t>(sizeof(T));
  store_one<T>(p, load_one<T>(p) - value);
}

// A row of exp(score - log_sum) * g, the target's less g. What is known of the target is put in before it is
// rounded.
template <class T>
void backward_row(const char* row, char* out, int64_t n, int64_t target, OpMath<T> log_sum, OpMath<T> g) {
  using S = Scores<T>;
  for_vectors<S::W>(n, [&](int64_t i, int count) {
    S::set(out, i, count, g == 0 ? Vec<OpMath<T>>{} : exp(S::get(row, i, count, 0) - log_sum) * g);
  });
  if (g == 0) return;
  const int64_t at = target * static_cast<int64_t>(sizeof(T));
  using V = Vec<OpMath<T>>;
  const V own = exp(broadcast<V>(load_one<T>(row + at) - log_sum));
  store_one<T>(out + at, (own[0] - 1) * g);
}

// Positions [first, first + n) of one sample; `g` has their gradients.
template <class T>
void backward_columns(const ClassShape& s, const char* sample, char* out, int64_t first, int64_t n,
                      const int64_t* targets, const OpMath<T>* log_sum, const OpMath<T>* g) {
  using A = OpMath<T>;
  using V = Vec<A>;
  using S = Scores<T>;
  for (int64_t k = 0; k < s.classes; ++k) {
    for_vectors<S::W>(n, [&](int64_t i, int count) {
      const int64_t at = k * s.positions + first + i;
      const V gs = Scores<A>::get(reinterpret_cast<const char*>(g), i, count, 0);
      const V sums = Scores<A>::get(reinterpret_cast<const char*>(log_sum), first + i, count, 0);
      V own = exp(S::get(sample, at, count, 0) - sums);
      for (int lane = 0; lane < count; ++lane) {
        if (targets[first + i + lane] == k) own[lane] -= 1;
      }
      S::set(out, at, count, select<V>(gs == 0, V{}, own * gs));
    });
  }
}

template <class T>
void backward_sample(const ClassShape& s, const char* sample, char* out,
                     const LossGradients<OpMath<T>>& gradients, int64_t first, const OpMath<T>* log_sum) {
  constexpr int64_t kPart = 512;
  for (int64_t part = 0; part < s.positions; part += kPart) {
    OpMath<T> g[kPart];
    const int64_t n = s.positions - part < kPart ? s.positions - part : kPart;
    for (int64_t i = 0; i < n; ++i) g[i] = gradients.at(first + part + i);
    backward_columns<T>(s, sample, out, part, n, gradients.targets.data + first, log_sum, g);
  }
}

template <class T>
void backward(const ClassShape& s, const char* scores, const ClassTargets& t, const void* sums,
              const ClassLossGradients& grad, char* out) {
  using A = OpMath<T>;
  const LossGradients<A> gradients{t, static_cast<const A*>(grad.data), grad.step,
                                   static_cast<A>(grad.factor)};
  const A* log_sum = static_cast<const A*>(sums);
  const int64_t sample_bytes = s.classes * s.positions * static_cast<int64_t>(sizeof(T));
  for_samples(s, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const int64_t first = n * s.positions;
      char* const to = out + n * sample_bytes;
      if (!log_sum) {
        __builtin_memset(to, 0, static_cast<size_t>(sample_bytes));
        for (int64_t i = 0; i < s.positions; ++i) {
          if (t.data[first + i] != t.ignored)
            subtract_at<T>(to, t.data[first + i] * s.positions + i, gradients.at(first + i));
        }
      } else if (s.positions == 1) {
        backward_row<T>(scores + n * sample_bytes, to, s.classes, t.data[n], log_sum[n], gradients.at(n));
      } else {
        backward_sample<T>(s, scores + n * sample_bytes, to, gradients, first, log_sum + first);
      }
    }
  });
}

}  // namespace

using LogSumsKernel = void (*)(const ClassShape&, const char*, void*);
using LossKernel = ClassTotals (*)(const ClassShape&, const char*, const ClassTargets&, const void*, void*);
using LossBackwardKernel = void (*)(const ClassShape&, const char*, const ClassTargets&, const void*,
                                    const ClassLossGradients&, char*);

// By dtype, from Float16 on.
extern const LogSumsKernel log_sums_kernels[4] = {&log_sums<Half>, &log_sums<BFloat16>, &log_sums<float>,
                                                  &log_sums<double>};
extern const LossKernel loss_kernels[4] = {&loss<Half>, &loss<BFloat16>, &loss<float>, &loss<double>};
extern const LossBackwardKernel loss_backward_kernels[4] = {&backward<Half>, &backward<BFloat16>,
                                                            &backward<float>, &backward<double>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(using LogSumsKernel = void (*)(const ClassShape&, const char*, void*);
          using LossKernel = ClassTotals (*)(const ClassShape&, const char*, const ClassTargets&, const void*,
                                             void*);
          using LossBackwardKernel = void (*)(const ClassShape&, const char*, const ClassTargets&,
                                              const void*, const ClassLossGradients&, char*);
          extern const LogSumsKernel log_sums_kernels[4]; extern const LossKernel loss_kernels[4];
          extern const LossBackwardKernel loss_backward_kernels[4])

namespace tl::cpu {

static int column(DType dtype) { return static_cast<int>(dtype) - static_cast<int>(DType::Float16); }

void class_log_sums(DType dtype, const ClassShape& shape, const char* scores, void* log_sums) {
  TL_SELECT(log_sums_kernels)[column(dtype)](shape, scores, log_sums);
}

ClassTotals class_loss(DType dtype, const ClassShape& shape, const char* scores, const ClassTargets& targets,
                       const void* log_sums, void* out) {
  return TL_SELECT(loss_kernels)[column(dtype)](shape, scores, targets, log_sums, out);
}

void class_loss_backward(DType dtype, const ClassShape& shape, const char* scores,
                         const ClassTargets& targets, const void* log_sums, const ClassLossGradients& grad,
                         char* out) {
  TL_SELECT(loss_backward_kernels)[column(dtype)](shape, scores, targets, log_sums, grad, out);
}

}  // namespace tl::cpu
#endif
