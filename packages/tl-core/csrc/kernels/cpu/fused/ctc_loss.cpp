// isa: all
// The forward and the backward recursion over the states of a sample, vectors of states side by side.
#include "kernels/cpu/fused/ctc_loss.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/masked_load.h"
#include "kernels/cpu/simd/vec_math_double.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

template <class T>
constexpr T kImpossible = -std::numeric_limits<T>::infinity();

template <class V>
TL_INLINE V log_of_sum(V a, V b, V c) {
  const V most = maximum(a, maximum(b, c));
  const V shift = select<V>(most == kImpossible<Lane<V>>, V{}, most);
  return log(exp(a - shift) + exp(b - shift) + exp(c - shift)) + shift;
}

// One sample's states, with two impossible ones before and behind them.
template <class T>
class Sample {
 public:
  using V = Vec<T>;
  static constexpr int W = kLanes<T>;

  Sample(const CtcShape& s, const CtcTargets& t)
      : s_(s),
        t_(t),
        labels_(static_cast<size_t>(s.states())),
        // The last vector begins before the end, and reads two states ahead.
        room_(static_cast<size_t>(s.states() + 2 * W + 2)),
        skips_(room_, kImpossible<T>),
        emitted_(room_, kImpossible<T>),
        line_(room_, kImpossible<T>),
        next_(room_, kImpossible<T>) {}

  void choose(int64_t n, const T* log_probs) {
    n_ = n;
    log_probs_ = log_probs + n * s_.classes;
    const int64_t* labels = t_.labels + n * s_.labels;
    for (int64_t i = 0; i < states(); ++i) {
      const auto at = static_cast<size_t>(i);
      labels_[at] = i % 2 ? labels[i / 2] : s_.blank;
      // whether a path may leave out the blank before a label
      const bool skips = i % 2 && i > 1 && labels_[at] != s_.blank && labels_[at] != labels_[at - 2];
      skips_[at + W] = skips ? T(0) : kImpossible<T>;
    }
  }

  int64_t steps() const { return t_.steps[n_]; }
  int64_t states() const { return 2 * t_.counts[n_] + 1; }

  T loss(T* alphas) {
    const int64_t last = states() - 1;
    if (steps() == 0) return last == 0 ? T(0) : -kImpossible<T>;
    for (int64_t t = 0; t < steps(); ++t) {
      forward(t);
      std::copy_n(line_.data() + W, states(), alphas + t * s_.states());
    }
    const T ends[] = {line_[static_cast<size_t>(last + W)],
                      last ? line_[static_cast<size_t>(last + W - 1)] : kImpossible<T>};
    return -log_of_sum<V>(broadcast<V>(ends[0]), broadcast<V>(ends[1]), broadcast<V>(kImpossible<T>))[0];
  }

  void gradient(T grad, T loss, const T* alphas, T* out) {
    const bool possible = loss < -kImpossible<T>;
    const int64_t step = s_.samples * s_.classes;
    for (int64_t t = s_.steps - 1; t >= 0; --t) {
      T* row = out + t * step + n_ * s_.classes;
      if (t >= steps() || !possible) {
        std::fill_n(row, s_.classes, T(0));
        continue;
      }
      backward(t);
      scaled_probabilities(row, t, grad);
      take_occupancies(row, alphas + t * s_.states(), loss, grad);
    }
  }

 private:
  // What the sample's step emits at each state, from behind the room before them.
  void emit(int64_t t) {
    const T* row = log_probs_ + t * s_.samples * s_.classes;
    for (int64_t i = 0; i < states(); ++i)
      emitted_[static_cast<size_t>(i + W)] = row[labels_[static_cast<size_t>(i)]];
  }

  void forward(int64_t t) {
    emit(t);
    if (t == 0) {
      std::fill(line_.begin(), line_.end(), kImpossible<T>);
      for (int64_t i = W; i < W + std::min<int64_t>(2, states()); ++i)
        line_[static_cast<size_t>(i)] = emitted_[static_cast<size_t>(i)];
      return;
    }
    for (int64_t i = 0; i < states(); i += W) {
      const T* at = line_.data() + W + i;
      const V skips = get(skips_.data() + W + i);
      set(i, log_of_sum<V>(get(at), get(at - 1), get(at - 2) + skips));
    }
    finish();
  }

  void backward(int64_t t) {
    emit(t);
    if (t == steps() - 1) {
      std::fill(line_.begin(), line_.end(), kImpossible<T>);
      for (int64_t i = std::max<int64_t>(states() - 2, 0) + W; i < states() + W; ++i)
        line_[static_cast<size_t>(i)] = emitted_[static_cast<size_t>(i)];
      return;
    }
    for (int64_t i = 0; i < states(); i += W) {
      const T* at = line_.data() + W + i;
      const V skips = get(skips_.data() + W + i + 2);
      set(i, log_of_sum<V>(get(at), get(at + 1), get(at + 2) + skips));
    }
    finish();
  }

  static V get(const T* p) { return load<T>(reinterpret_cast<const char*>(p)); }
  void set(int64_t i, V arrived) {
    store<T>(reinterpret_cast<char*>(next_.data() + W + i), arrived + get(emitted_.data() + W + i));
  }
  // What a vector wrote behind the last state is impossible again.
  void finish() {
    std::fill(next_.begin() + states() + W, next_.end(), kImpossible<T>);
    line_.swap(next_);
  }

  void scaled_probabilities(T* row, int64_t t, T grad) const {
    const T* from = log_probs_ + t * s_.samples * s_.classes;
    for (int64_t c = 0; c < s_.classes; c += W)
      store_some<T>(row + c, s_.classes - c,
                    exp(load_some<T>(from + c, s_.classes - c)) * broadcast<V>(grad));
  }

  // The probability that an alignment passes a state, from its class.
  void take_occupancies(T* row, const T* alphas, T loss, T grad) {
    for (int64_t i = 0; i < states(); i += W) {
      const V path =
          load_some<T>(alphas + i, states() - i) + get(line_.data() + W + i) - get(emitted_.data() + W + i);
      const V passes = select<V>(get(emitted_.data() + W + i) == kImpossible<T>, V{}, exp(path + loss));
      store<T>(reinterpret_cast<char*>(next_.data() + W + i), passes * broadcast<V>(grad));
    }
    for (int64_t i = 0; i < states(); ++i)
      row[labels_[static_cast<size_t>(i)]] -= next_[static_cast<size_t>(i + W)];
  }

  const CtcShape& s_;
  const CtcTargets& t_;
  int64_t n_ = 0;
  const T* log_probs_ = nullptr;
  std::vector<int64_t> labels_;
  size_t room_;
  std::vector<T> skips_, emitted_, line_, next_;
};

template <class F>
void each_sample(const CtcShape& s, F f) {
  parallel_for(0, s.samples, 4096 / (s.steps * (s.states() + s.classes) + 1) + 1, f);
}

template <class T>
void losses(const CtcShape& s, const CtcTargets& t, const char* log_probs, char* losses, char* alphas) {
  each_sample(s, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      Sample<T> sample(s, t);
      sample.choose(n, reinterpret_cast<const T*>(log_probs));
      T* rows = reinterpret_cast<T*>(alphas) + n * s.steps * s.states();
      std::fill_n(rows, s.steps * s.states(), kImpossible<T>);
      reinterpret_cast<T*>(losses)[n] = sample.loss(rows);
    }
  });
}

template <class T>
void backward(const CtcShape& s, const CtcTargets& t, const char* log_probs, const char* grad,
              const char* losses, const char* alphas, char* out) {
  each_sample(s, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      Sample<T> sample(s, t);
      sample.choose(n, reinterpret_cast<const T*>(log_probs));
      sample.gradient(reinterpret_cast<const T*>(grad)[n], reinterpret_cast<const T*>(losses)[n],
                      reinterpret_cast<const T*>(alphas) + n * s.steps * s.states(),
                      reinterpret_cast<T*>(out));
    }
  });
}

}  // namespace

extern const CtcKernels ctc_tables[2] = {{&losses<float>, &backward<float>},
                                         {&losses<double>, &backward<double>}};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const CtcKernels ctc_tables[2])

namespace tl::cpu {

const CtcKernels& ctc_kernels(DType dtype) { return TL_SELECT(ctc_tables)[dtype == DType::Float64]; }

}  // namespace tl::cpu
#endif
