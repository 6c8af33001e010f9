// Factors lengths of Fourier transforms, computes twiddle factors in double precision, and caches plans.
#include "kernels/cpu/fft/plan.h"

#include <cmath>
#include <complex>
#include <list>
#include <mutex>
#include <numbers>

#include "base/fork.h"
#include "kernels/cpu/fft/transform.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu {

namespace {
constexpr int64_t kLargestRadix = 31;
constexpr int64_t kCacheBytes = 64 << 20;
constexpr int64_t kFourStepLength = 64;  // from here on, columns and rows fill vectors

using Complex = std::complex<double>;

// e^(-2 pi i k / n), from an angle of at most an eighth of a turn, so that symmetric factors are equal to the
// bit.
Complex root(int64_t k, int64_t n) {
  const int64_t eighths = 8 * (k % n), octant = eighths / n, rest = eighths - octant * n;
  const double angle = 2.0 * std::numbers::pi * static_cast<double>(octant % 2 ? n - rest : rest) /
                       (8.0 * static_cast<double>(n));
  const double c = std::cos(angle), s = std::sin(angle);
  switch (octant) {
    case 0:
      return {c, -s};
    case 1:
      return {s, -c};
    case 2:
      return {-s, -c};
    case 3:
      return {-c, -s};
    case 4:
      return {-c, s};
    case 5:
      return {-s, c};
    case 6:
      return {s, c};
    default:
      return {c, s};
  }
}

// Radices of a smooth length, the large ones first: their passes have few factors.
std::vector<int> radices_of(int64_t n) {
  std::vector<int> radices;
  for (const int r : {31, 29, 23, 19, 17, 13, 11, 7, 5, 3, 8, 4, 2})
    for (; n % r == 0; n /= r) radices.push_back(r);
  return radices;
}

template <class T>
void push(std::vector<T>& to, Complex x) {
  to.push_back(static_cast<T>(x.real()));
  to.push_back(static_cast<T>(x.imag()));
}

template <class T>
void add_passes(FftPlan<T>& plan) {
  int64_t length = plan.n, s = 1;
  for (const int r : radices_of(plan.n)) {
    const int64_t m = length / r;
    plan.passes.push_back({r, m, s, static_cast<int64_t>(plan.twiddles.size())});
    for (int64_t p = 0; p < m; ++p)
      for (int k = 1; k < r; ++k) push(plan.twiddles, root(p * k, length));
    if (r > 5 && r % 2) {
      plan.root_of[r] = static_cast<int64_t>(plan.roots.size());
      for (int k = 0; k < r; ++k) push(plan.roots, std::conj(root(k, r)));
    }
    length = m;
    s *= r;
  }
}

int64_t divisor_below_root(int64_t n) {
  for (int64_t d = static_cast<int64_t>(std::sqrt(static_cast<double>(n))) + 1; d > 1; --d)
    if (n % d == 0 && d * d <= n) return d;
  return 1;
}

template <class T>
void add_four_steps(FftPlan<T>& plan) {
  const int64_t first = plan.n < kFourStepLength ? 1 : divisor_below_root(plan.n);
  if (first == 1) return;
  plan.columns = fft_plan<T>(first);
  plan.rows = fft_plan<T>(plan.n / first);
  const int64_t width = fft_lanes<T>(), count = plan.rows->n, groups = (count + width - 1) / width;
  plan.rotation.resize(static_cast<size_t>(groups * first * 2 * width));
  for (int64_t j = 0; j < groups * width; ++j)
    for (int64_t k = 0; k < first; ++k) {
      const Complex w = j < count ? root(j * k, plan.n) : Complex(1, 0);
      T* at = plan.rotation.data() + ((j / width) * first + k) * 2 * width + j % width;
      at[0] = static_cast<T>(w.real());
      at[width] = static_cast<T>(w.imag());
    }
}

template <class T>
void add_chirp(FftPlan<T>& plan) {
  const int64_t n = plan.n, m = fft_smooth_length(2 * n - 1);
  plan.convolution = fft_plan<T>(m);
  std::vector<double> padded(static_cast<size_t>(2 * m)), spectrum(static_cast<size_t>(2 * m));
  for (int64_t j = 0; j < n; ++j) {
    const auto square = static_cast<int64_t>(static_cast<unsigned __int128>(j) * static_cast<uint64_t>(j) %
                                             static_cast<uint64_t>(2 * n));
    const Complex w = root(square, 2 * n);
    push(plan.chirp, w);
    for (const int64_t at : {j, (m - j) % m}) {
      padded[static_cast<size_t>(2 * at)] = w.real() / static_cast<double>(m);
      padded[static_cast<size_t>(2 * at + 1)] = -w.imag() / static_cast<double>(m);
    }
  }
  fft_dense(*fft_plan<double>(m), padded.data(), spectrum.data(), false);
  for (const double x : spectrum) plan.spectrum.push_back(static_cast<T>(x));
}

template <class T>
std::shared_ptr<const FftPlan<T>> made(int64_t n) {
  auto plan = std::make_shared<FftPlan<T>>();
  plan->n = n;
  for (int64_t k = 0; k <= n / 2; ++k) push(plan->half_roots, root(k, 2 * n));
  if (fft_is_smooth(n)) {
    add_passes(*plan);
    add_four_steps(*plan);
  } else {
    add_chirp(*plan);
  }
  return plan;
}

// The last used plan comes first. Leaked: other threads may use it until the process ends.
template <class T>
class PlanCache {
 public:
  static PlanCache& instance() {
    static PlanCache* cache = [] {
      auto fresh = new PlanCache;
      register_fork_lock(
          ForkOrder::Registry, [] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); });
      return fresh;
    }();
    return *cache;
  }

  std::shared_ptr<const FftPlan<T>> find(int64_t n) {
    const std::lock_guard lock(mutex_);
    for (auto at = plans_.begin(); at != plans_.end(); ++at)
      if ((*at)->n == n) {
        plans_.splice(plans_.begin(), plans_, at);
        return plans_.front();
      }
    return nullptr;
  }

  void add(const std::shared_ptr<const FftPlan<T>>& plan) {
    const std::lock_guard lock(mutex_);
    plans_.push_front(plan);
    bytes_ += plan->bytes();
    while (bytes_ > kCacheBytes && plans_.size() > 1) {
      bytes_ -= plans_.back()->bytes();
      plans_.pop_back();
    }
  }

 private:
  std::mutex mutex_;
  std::list<std::shared_ptr<const FftPlan<T>>> plans_;
  int64_t bytes_ = 0;
};
}  // namespace

template <class T>
int64_t FftPlan<T>::bytes() const {
  const size_t numbers =
      twiddles.size() + half_roots.size() + roots.size() + rotation.size() + chirp.size() + spectrum.size();
  return static_cast<int64_t>(numbers * sizeof(T) + passes.size() * sizeof(FftPass) + sizeof *this);
}

bool fft_is_smooth(int64_t n) {
  for (const int64_t r : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31})
    while (n % r == 0) n /= r;
  static_assert(kLargestRadix == 31);
  return n == 1;
}

int64_t fft_smooth_length(int64_t n) {
  for (int64_t m = n;; ++m) {
    int64_t rest = m;
    for (const int64_t r : {2, 3, 5})
      while (rest % r == 0) rest /= r;
    if (rest == 1) return m;
  }
}

template <class T>
int64_t fft_lanes() {
  constexpr int64_t kBytes[3] = {16, 32, 64};
  return kBytes[isa_level()] / static_cast<int64_t>(sizeof(T));
}

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n) {
  if (auto found = PlanCache<T>::instance().find(n)) return found;
  const auto plan = made<T>(n);  // without the lock: a plan may need others
  PlanCache<T>::instance().add(plan);
  return plan;
}

template struct FftPlan<float>;
template struct FftPlan<double>;
template int64_t fft_lanes<float>();
template int64_t fft_lanes<double>();
template std::shared_ptr<const FftPlan<float>> fft_plan<float>(int64_t n);
template std::shared_ptr<const FftPlan<double>> fft_plan<double>(int64_t n);

}  // namespace tl::cpu
