// Factors lengths of Fourier transforms, computes twiddle factors in double precision, and caches plans.
#include "kernels/cpu/fft/plan.h"

#include <algorithm>
#include <bit>
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
constexpr int64_t kFourStepLength = 64;  // from here on, a transform is split into columns and rows

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

// Radices of a smooth length, the large ones first: their passes have few factors. A power of two from 64 on
// is one of 16 and 8.
std::vector<int> radices_of(int64_t n) {
  std::vector<int> radices;
  for (const int r : {31, 29, 23, 19, 17, 13, 11, 7, 5, 3})
    for (; n % r == 0; n /= r) radices.push_back(r);
  for (int exponent = std::countr_zero(static_cast<uint64_t>(n)); exponent > 0;) {
    const int bits = exponent == 4 || (exponent > 5 && exponent % 3) ? 4
                     : exponent == 5                                 ? 3
                                                                     : std::min(exponent, 3);
    radices.push_back(1 << bits);
    exponent -= bits;
  }
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

int64_t padded(int64_t n, int64_t width) { return (n + width - 1) / width * width; }

// How a length is split into columns and rows, and the time of a pass over both in units of one without empty
// lanes.
struct Split {
  int64_t columns, together;
  double cost;
};

// Several transforms' rows are taken apart quickly where they are halves or quarters of a vector.
constexpr double kApart = 0.5;

Split split_at(int64_t n, int64_t columns, int64_t width) {
  const int64_t rows = n / columns, together = std::max<int64_t>(width / columns, 1),
                lanes = together * columns;
  const bool slow = together > 1 && columns * 2 != width && columns * 4 != width;
  return {columns, together,
          static_cast<double>(padded(rows, width)) / static_cast<double>(rows) +
              static_cast<double>(padded(lanes, width)) / static_cast<double>(lanes) + (slow ? kApart : 0)};
}

// The squarest of the splits that waste few lanes; columns is 1 if there is none.
Split best_split(int64_t n, int64_t width) {
  std::vector<Split> splits;
  for (int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0)
      for (const int64_t columns : {d, n / d}) splits.push_back(split_at(n, columns, width));
  if (splits.empty()) return {1, 1, HUGE_VAL};
  double least = HUGE_VAL;
  for (const Split& s : splits) least = std::min(least, s.cost);
  const auto slimness = [&](const Split& s) {
    return s.cost > 1.05 * least
               ? HUGE_VAL
               : std::abs(std::log(static_cast<double>(s.columns * s.columns) / static_cast<double>(n)));
  };
  return *std::min_element(splits.begin(), splits.end(),
                           [&](const Split& a, const Split& b) { return slimness(a) < slimness(b); });
}

template <class T>
void add_four_steps(FftPlan<T>& plan) {
  const int64_t width = fft_lanes<T>();
  const Split split = plan.n < kFourStepLength ? Split{1, 1, 0} : best_split(plan.n, width);
  const int64_t first = split.columns;
  if (first == 1) return;
  plan.columns = fft_plan<T>(first);
  plan.rows = fft_plan<T>(plan.n / first);
  plan.together = split.together;
  const int64_t count = plan.rows->n, groups = (count + width - 1) / width;
  plan.rotation.resize(static_cast<size_t>(groups * first * 2 * width));
  for (int64_t j = 0; j < groups * width; ++j)
    for (int64_t k = 0; k < first; ++k) {
      const Complex w = j < count ? root(j * k, plan.n) : Complex(1, 0);
      T* at = plan.rotation.data() + ((j / width) * first + k) * 2 * width + j % width;
      at[0] = static_cast<T>(w.real());
      at[width] = static_cast<T>(w.imag());
    }
}

// The length from `least` on, of factors 2, 3 and 5, whose transforms take the shortest time.
int64_t convolution_length(int64_t least, int64_t width) {
  int64_t best = 0;
  double shortest = HUGE_VAL;
  for (int64_t five = 1; five < 2 * least; five *= 5)
    for (int64_t three = five; three < 2 * least; three *= 3) {
      int64_t m = three;
      while (m < least) m *= 2;
      const double cost = m < kFourStepLength ? 3 : best_split(m, width).cost;
      const double time = static_cast<double>(m) * std::log2(static_cast<double>(m) + 1) * cost;
      if (time < shortest) {
        shortest = time;
        best = m;
      }
    }
  return best;
}

template <class T>
void add_chirp(FftPlan<T>& plan) {
  const int64_t n = plan.n, m = convolution_length(2 * n - 1, fft_lanes<T>());
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
  for (int64_t k = 0; k < n / 2 + 1 + fft_lanes<T>(); ++k) push(plan->half_roots, root(k, 2 * n));
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

template <class T>
int64_t FftPlan<T>::planes() const {
  return 2 * rows->n * padded(columns->n, fft_lanes<T>());
}
template <class T>
int64_t FftPlan<T>::column_scratch() const {
  const int64_t width = fft_lanes<T>();
  return 2 * width * (padded(columns->n, width) + 2 * columns->n);
}
template <class T>
int64_t FftPlan<T>::row_scratch() const {
  return 6 * fft_lanes<T>() * rows->n;
}
template <class T>
int64_t FftPlan<T>::step_scratch() const {
  const int64_t width = fft_lanes<T>(), side = padded(together * columns->n, width);
  return 2 * rows->n * side + std::max(2 * width * (side + 2 * columns->n), row_scratch());
}

bool fft_is_smooth(int64_t n) {
  for (const int64_t r : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31})
    while (n % r == 0) n /= r;
  static_assert(kLargestRadix == 31);
  return n == 1;
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
