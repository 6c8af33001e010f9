// isa: all
// Fused SGD, Adam, AdamW and Adagrad steps: one pass over the parameter, its gradient and the optimizer
// state.
#include "kernels/cpu/fused/optimizer_step.h"

#include "base/parallel.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int64_t kGrain = 1 << 14;

// body(i, count) over vectors of elements i.., in parallel.
template <class T, class F>
void for_each_vector(int64_t n, F body) {
  constexpr int W = kLanes<OpMath<T>>;
  parallel_for(0, (n + W - 1) / W, kGrain / W, [&](int64_t begin, int64_t end) {
    const F own = body;  // a copy, so that its scalars stay in registers: no store can alias them
    for (int64_t i = begin; i < end; ++i) own(i * W, n - i * W < W ? static_cast<int>(n - i * W) : W);
  });
}

template <class T>
struct Array {
  using V = Vec<OpMath<T>>;
  static constexpr int W = kLanes<OpMath<T>>;
  char* data;

  TL_INLINE V get(int64_t i, int count) const {
    const char* p = data + i * sizeof(T);
    return count == W ? load<T>(p) : load_partial<T>(p, count);
  }
  TL_INLINE void set(int64_t i, int count, V v) const {
    char* p = data + i * sizeof(T);
    if (count == W)
      store<T>(p, v);
    else
      store_partial<T>(p, count, v);
  }
};

template <class T>
void sgd(int64_t n, char* const* data, const SgdStep& s) {
  using A = OpMath<T>;
  using V = Vec<A>;
  const Array<T> param{data[0]}, grad{data[1]}, buffer{data[2]};
  const A sign = s.maximize ? A(-1) : A(1), decay = static_cast<A>(s.weight_decay), lr = static_cast<A>(s.lr);
  const A momentum = static_cast<A>(s.momentum), rest = static_cast<A>(1 - s.dampening);
  for_each_vector<T>(n, [=](int64_t i, int count) {
    const V p = param.get(i, count);
    V g = grad.get(i, count) * sign;
    if (decay != 0) g = g + decay * p;
    if (buffer.data) {
      const V b = s.first ? g : buffer.get(i, count) * momentum + g * rest;
      buffer.set(i, count, b);
      g = s.nesterov ? g + b * momentum : b;
    }
    param.set(i, count, p - lr * g);
  });
}

// Adam (Kingma & Ba 2015), AMSGrad (Reddi et al. 2018) where `max_exp_avg_sq` is given, and AdamW (Loshchilov
// & Hutter 2019) where the decay is decoupled.
template <class T>
void adam(int64_t n, char* const* data, const AdamStep& s) {
  using A = OpMath<T>;
  using V = Vec<A>;
  const Array<T> param{data[0]}, grad{data[1]}, exp_avg{data[2]}, exp_avg_sq{data[3]},
      max_exp_avg_sq{data[4]};
  // lr / (1 - beta1^t) * m / (sqrt(v) / root + eps) = size * m / (sqrt(v) + eps * root): one division less an
  // element.
  const double correction1 = 1 - std::pow(s.beta1, s.step), root = std::sqrt(1 - std::pow(s.beta2, s.step));
  const A sign = s.maximize ? A(-1) : A(1), decay = static_cast<A>(s.decoupled ? 0 : s.weight_decay);
  const A shrink = static_cast<A>(s.decoupled ? 1 - s.lr * s.weight_decay : 1),
          size = static_cast<A>(s.lr * root / correction1);
  const A beta2 = static_cast<A>(s.beta2), rest1 = static_cast<A>(1 - s.beta1),
          rest2 = static_cast<A>(1 - s.beta2);
  const A eps = static_cast<A>(s.eps * root);
  for_each_vector<T>(n, [=](int64_t i, int count) {
    const V p = param.get(i, count) * shrink;
    V g = grad.get(i, count) * sign;
    if (decay != 0) g = g + decay * p;
    const V m0 = exp_avg.get(i, count), m = m0 + (g - m0) * rest1;
    V v = exp_avg_sq.get(i, count) * beta2 + g * g * rest2;
    exp_avg.set(i, count, m);
    exp_avg_sq.set(i, count, v);
    if (max_exp_avg_sq.data) {
      v = maximum(max_exp_avg_sq.get(i, count), v);
      max_exp_avg_sq.set(i, count, v);
    }
    param.set(i, count, p - size * m / (sqrt(v) + eps));
  });
}

// Adagrad (Duchi et al. 2011).
template <class T>
void adagrad(int64_t n, char* const* data, const AdagradStep& s) {
  using A = OpMath<T>;
  using V = Vec<A>;
  const Array<T> param{data[0]}, grad{data[1]}, sum{data[2]};
  const A sign = s.maximize ? A(-1) : A(1), decay = static_cast<A>(s.weight_decay),
          eps = static_cast<A>(s.eps);
  const A lr = static_cast<A>(s.lr / (1 + (s.step - 1) * s.lr_decay));
  for_each_vector<T>(n, [=](int64_t i, int count) {
    const V p = param.get(i, count);
    V g = grad.get(i, count) * sign;
    if (decay != 0) g = g + decay * p;
    const V squares = sum.get(i, count) + g * g;
    sum.set(i, count, squares);
    param.set(i, count, p - lr * g / (sqrt(squares) + eps));
  });
}

}  // namespace

using SgdKernel = void (*)(int64_t, char* const*, const SgdStep&);
using AdamKernel = void (*)(int64_t, char* const*, const AdamStep&);
using AdagradKernel = void (*)(int64_t, char* const*, const AdagradStep&);

// By dtype, from Float16 on.
extern const SgdKernel sgd_kernels[4] = {&sgd<Half>, &sgd<BFloat16>, &sgd<float>, &sgd<double>};
extern const AdamKernel adam_kernels[4] = {&adam<Half>, &adam<BFloat16>, &adam<float>, &adam<double>};
extern const AdagradKernel adagrad_kernels[4] = {&adagrad<Half>, &adagrad<BFloat16>, &adagrad<float>,
                                                 &adagrad<double>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(using SgdKernel = void (*)(int64_t, char* const*, const SgdStep&);
          using AdamKernel = void (*)(int64_t, char* const*, const AdamStep&);
          using AdagradKernel = void (*)(int64_t, char* const*, const AdagradStep&);
          extern const SgdKernel sgd_kernels[4]; extern const AdamKernel adam_kernels[4];
          extern const AdagradKernel adagrad_kernels[4])

namespace tl::cpu {

static int column(DType dtype) { return static_cast<int>(dtype) - static_cast<int>(DType::Float16); }

void sgd_step(DType dtype, int64_t n, char* param, const char* grad, char* buffer, const SgdStep& step) {
  char* const data[] = {param, const_cast<char*>(grad), buffer};
  TL_SELECT(sgd_kernels)[column(dtype)](n, data, step);
}

void adam_step(DType dtype, int64_t n, char* param, const char* grad, char* exp_avg, char* exp_avg_sq,
               char* max_exp_avg_sq, const AdamStep& step) {
  char* const data[] = {param, const_cast<char*>(grad), exp_avg, exp_avg_sq, max_exp_avg_sq};
  TL_SELECT(adam_kernels)[column(dtype)](n, data, step);
}

void adagrad_step(DType dtype, int64_t n, char* param, const char* grad, char* sum, const AdagradStep& step) {
  char* const data[] = {param, const_cast<char*>(grad), sum};
  TL_SELECT(adagrad_kernels)[column(dtype)](n, data, step);
}

}  // namespace tl::cpu
#endif
