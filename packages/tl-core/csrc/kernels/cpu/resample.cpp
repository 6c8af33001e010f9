// isa: all
#include "kernels/cpu/resample.h"

#include <memory>
#include <optional>

#include "kernels/cpu/row_plan.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/select.h"
#include "kernels/cpu/slabs.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// Along the innermost axis: `rows` dense rows.
template <class T>
void along_rows(const RowPlans<T>& plans, const AxisMap& map, int64_t rows, const T* in, T* out) {
  constexpr int W = kLanes<T>;
  using V = Vec<T>;
  plans.run(rows, [&](const RowPlan<T>& plan, int64_t row) {
    const T* from = in + row * map.inputs;
    char* to = reinterpret_cast<char*>(out + row * map.outputs());
    for (int64_t b = 0; b < plan.blocks(); ++b) {
      V sum{};
      for (const RowTap<T>* tap = plan.begin(b); tap != plan.end(b); ++tap) {
        const V x = tap->fetch(from);
        if (tap->masked)
          sum = select<V>(tap->used, fma(x, tap->weight, sum), sum);
        else
          sum = fma(x, tap->weight, sum);
      }
      sum = sum * plan.scale(b);
      const int64_t n = plan.outputs() - b * W;
      if (n >= W)
        store<T>(to + b * W * sizeof(T), sum);
      else
        store_partial<T>(to + b * W * sizeof(T), static_cast<int>(n), sum);
    }
  });
}

// One output line: the sum of lines of `n` elements, the first of which is input `first`.
template <class T>
void one_line(const AxisMap& map, int64_t o, int64_t first, int64_t n, const T* in, T* out) {
  constexpr int W = kLanes<T>;
  using V = Vec<T>;
  const T scale = map.scale.empty() ? T(1) : static_cast<T>(map.scale[o]);
  for (int64_t i = 0; i < n; i += W) {
    const int lanes = static_cast<int>(std::min<int64_t>(W, n - i));
    V sum{};
    for (int64_t k = map.begin[o]; k < map.begin[o + 1]; ++k) {
      const auto* p = reinterpret_cast<const char*>(in + (map.index[k] - first) * n + i);
      const V x = lanes == W ? load<T>(p) : load_partial<T>(p, lanes);
      sum = fma(x, broadcast<V>(static_cast<T>(map.weight[k])), sum);
    }
    sum = sum * broadcast<V>(scale);
    auto* q = reinterpret_cast<char*>(out + i);
    if (lanes == W)
      store<T>(q, sum);
    else
      store_partial<T>(q, lanes, sum);
  }
}

// Along the outer axis of [outer][axis][n]: outputs begin..end of inputs from `first` on, of which there are
// `rows`.
template <class T>
void along_lines(const AxisMap& map, int64_t outer, int64_t begin, int64_t end, int64_t first, int64_t rows,
                 int64_t n, const T* in, T* out) {
  for (int64_t p = 0; p < outer; ++p)
    for (int64_t o = begin; o < end; ++o)
      one_line(map, o, first, n, in + p * rows * n, out + (p * (end - begin) + o - begin) * n);
}

template <class T>
class Resampling {
 public:
  explicit Resampling(const MappedField& field)
      : field_(field), slabs_(field, sizeof(T)), width_(field.axes[2]), height_(field.axes[1]) {
    const std::vector<int64_t> counts = slabs_.row_counts();
    if (field.inner == 1 && !counts.empty()) plans_.emplace(width_, false, counts);
    across_ = width_.is_identity();
    upright_ = slabs_.outer() ? true : height_.is_identity();
    outward_ = slabs_.axis().is_identity();
  }

  void run(T* out, const T* in) const {
    if (slabs_.only_rows()) {
      slabs_.run_rows([=, this] {
        return [=, this](int64_t row, int64_t rows) {
          along_rows(*plans_, width_, rows, in + row * width_.inputs, out + row * width_.outputs());
        };
      });
      return;
    }
    const int64_t line = width_.outputs() * field_.inner;
    const int64_t rows = slabs_.longest() * (slabs_.outer() ? 1 : height_.inputs);
    const int64_t columns = slabs_.outer() ? 0 : slabs_.longest() * height_.outputs();
    slabs_.run([&, rows, columns, line] {
      return [&, first = std::make_unique<Scratch<T>>(rows * line),
              second = std::make_unique<Scratch<T>>(columns * line)](const Slab& slab) {
        one(slab, out, in, first->data(), second->data());
      };
    });
  }

 private:
  void one(const Slab& slab, T* out, const T* in, T* first, T* second) const {
    const bool flat = slabs_.outer() == 1;
    const int64_t line = width_.outputs() * field_.inner, lines = flat ? 1 : height_.outputs();
    T* to = out + slab.plane * field_.output_plane() + slab.begin * lines * line;
    const T* from = in + slab.plane * field_.input_plane() +
                    slab.first * (flat ? 1 : height_.inputs) * width_.inputs * field_.inner;
    const int64_t rows = slab.rows * (flat ? 1 : height_.inputs);
    if (!across_) {
      T* target = upright_ && outward_ ? to : first;
      if (plans_)
        along_rows(*plans_, width_, rows, from, target);
      else
        along_lines(width_, rows, 0, width_.outputs(), 0, width_.inputs, field_.inner, from, target);
      from = target;
    }
    if (!upright_) {
      T* target = outward_ ? to : second;
      along_lines(height_, slab.rows, 0, height_.outputs(), 0, height_.inputs, line, from, target);
      from = target;
    }
    const int64_t n = lines * line;
    if (!outward_)
      along_lines(slabs_.axis(), 1, slab.begin, slab.end, slab.first, slab.rows, n, from, to);
    else if (from != to)
      __builtin_memcpy(to, from, static_cast<size_t>(slab.end - slab.begin) * n * sizeof(T));
  }

  const MappedField& field_;
  Slabs slabs_;
  const AxisMap &width_, &height_;
  std::optional<RowPlans<T>> plans_;
  bool across_, upright_, outward_;  // nothing to do along the width, the height, the outer axis
};

template <class T>
void run(const MappedField& field, char* out, const char* in) {
  Resampling<T>(field).run(reinterpret_cast<T*>(out), reinterpret_cast<const T*>(in));
}

}  // namespace

using ResampleKernel = void (*)(const MappedField&, char*, const char*);
extern const ResampleKernel resamplings[2] = {&run<float>, &run<double>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(using ResampleKernel = void (*)(const MappedField&, char*, const char*);
          extern const ResampleKernel resamplings[2])

namespace tl::cpu {

void resample(DType dtype, const MappedField& field, char* out, const char* in) {
  TL_SELECT(resamplings)[dtype == DType::Float64](field, out, in);
}

}  // namespace tl::cpu
#endif
