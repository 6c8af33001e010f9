// isa: all
// Separable resampling: one sparse map an axis, along dense rows by permutations of vectors.
#include "kernels/cpu/spatial/resample.h"

#include <algorithm>
#include <optional>

#include "base/parallel.h"
#include "kernels/cpu/loops/scratch.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/masked_load.h"
#include "kernels/cpu/spatial/row_gather.h"
#include "kernels/cpu/spatial/row_plan.h"
#include "kernels/cpu/spatial/tiles.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// Along the innermost axis: `rows` dense rows.
template <class T>
void along_rows(const RowPlans<T>& plans, const ResampleWeights& map, int64_t rows, const T* in, T* out) {
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

// The same for outputs begin..end of rows that are not worth a plan, `step` apart in `out`.
template <class T>
void gathered_rows(const ResampleWeights& map, int64_t begin, int64_t end, int64_t rows, const T* in, T* out,
                   int64_t step) {
  using V = Vec<T>;
  struct Sum {
    V value{};
  };
  const auto add = [&](Sum& sum, const GatheredTap<T>& tap, int64_t row, bool) {
    const V next = fma(tap.fetch(in + row * map.inputs), tap.weight, sum.value);
    sum.value = tap.masked ? select<V>(tap.used, next, sum.value) : next;
  };
  gather_rows<T, Sum>(map, begin, end, rows, add, [&](const Sum& sum, int64_t row, int64_t o, int lanes) {
    V scale = broadcast<V>(1);
    for (int l = 0; l < lanes && !map.scale.empty(); ++l) scale[l] = static_cast<T>(map.scale[o + l]);
    store_some<T>(out + row * step + o, lanes, sum.value * scale);
  });
}

// Of an output line, the sums of some vectors; `left` elements are left from the first of them on.
template <int vectors, class T>
TL_INLINE void part_of_line(const ResampleWeights& map, int64_t o, int64_t first, int64_t n, const T* in,
                            T* out, int64_t left) {
  using V = Vec<T>;
  constexpr int W = kLanes<T>;
  V sums[vectors] = {};
  for (int64_t k = map.begin[o]; k < map.begin[o + 1]; ++k) {
    const T* line = in + (map.index[k] - first) * n;
    const V weight = broadcast<V>(static_cast<T>(map.weight[k]));
    for (int v = 0; v < vectors; ++v) sums[v] = fma(load_some<T>(line + v * W, left), weight, sums[v]);
  }
  const V scale = broadcast<V>(map.scale.empty() ? T(1) : static_cast<T>(map.scale[o]));
  for (int v = 0; v < vectors; ++v) store_some<T>(out + v * W, left, sums[v] * scale);
}

// One output line: the sum of lines of `n` elements, the first of which is input `first`.
template <class T>
void one_line(const ResampleWeights& map, int64_t o, int64_t first, int64_t n, const T* in, T* out) {
  constexpr int kVectors = 4, W = kLanes<T>;
  int64_t i = 0;
  for (; i + kVectors * W <= n; i += kVectors * W)
    part_of_line<kVectors>(map, o, first, n, in + i, out + i, W);
  for (; i < n; i += W) part_of_line<1>(map, o, first, n, in + i, out + i, n - i);
}

// Along the outer axis of [outer][axis][n]: outputs begin..end of inputs from `first` on, of which there are
// `rows`.
template <class T>
void along_lines(const ResampleWeights& map, int64_t outer, int64_t begin, int64_t end, int64_t first,
                 int64_t rows, int64_t n, const T* in, T* out) {
  for (int64_t p = 0; p < outer; ++p)
    for (int64_t o = begin; o < end; ++o)
      one_line(map, o, first, n, in + p * rows * n, out + (p * (end - begin) + o - begin) * n);
}

// Along each axis in turn; what makes the tensor smaller comes first. Along lines that is cheapest, so the
// width is first only where the other axes grow.
template <class T>
class Resampling {
 public:
  explicit Resampling(const SeparableResample& field)
      : field_(field),
        tiling_(field, sizeof(T)),
        flat_(tiling_.outer() == 1),
        width_first_(field.axes[0].outputs() * field.axes[1].outputs() >=
                     field.axes[0].inputs * field.axes[1].inputs) {
    for (int a : {2, 1, 0})
      if (!map(a).is_identity()) steps_[count_++] = a;
    if (!width_first_) std::reverse(steps_, steps_ + count_);
    const std::vector<int64_t> rows = tiling_.row_counts(width_first_);
    if (field.inner == 1 && !rows.empty() && RowPlans<T>::pays(map(2), tiling_.all_rows(width_first_)))
      plans_.emplace(map(2), false, rows);
  }

  void run(T* out, const T* in) const {
    if (tiling_.only_rows() && !plans_) {
      tiling_.run_outputs([=, this](int64_t begin, int64_t end) {
        gathered_rows(map(2), begin, end, field_.planes, in, out, map(2).outputs());
      });
      return;
    }
    if (tiling_.only_rows()) {
      tiling_.run_rows([=, this] {
        return [=, this](int64_t row, int64_t rows) {
          along_rows(*plans_, map(2), rows, in + row * map(2).inputs, out + row * map(2).outputs());
        };
      });
      return;
    }
    int64_t most = std::max(tiling_.longest(), tiling_.step()) * field_.inner;
    for (int a = tiling_.outer() + 1; a < 3; ++a) most *= std::max(map(a).inputs, map(a).outputs());
    tiling_.run([=, this] {
      return [=, this, one = Scratch<T>(count_ > 1 ? most : 0), two = Scratch<T>(count_ > 2 ? most : 0)](
                 const Tile& tile) mutable { run_slab(tile, out, in, one.data(), two.data()); };
    });
  }

 private:
  const ResampleWeights& map(int axis) const { return field_.axes[axis]; }

  void run_slab(const Tile& tile, T* out, const T* in, T* one, T* two) const {
    const int outer = tiling_.outer();
    int64_t size[3] = {flat_ ? 1 : tile.rows, flat_ ? tile.rows : map(1).inputs, map(2).inputs};
    const int64_t line = (flat_ ? 1 : map(1).inputs) * map(2).inputs * field_.inner;
    const int64_t out_line = (flat_ ? 1 : map(1).outputs()) * map(2).outputs() * field_.inner;
    const T* from = in + tile.plane * field_.input_plane() + tile.first * line;
    T* const to = out + tile.plane * field_.output_plane() + tile.begin * out_line;
    if (count_ == 0) __builtin_memcpy(to, from, static_cast<size_t>(tile.rows * line) * sizeof(T));
    for (int s = 0; s < count_; ++s) {
      T* const target = s + 1 == count_ ? to : s == 0 ? one : two;
      const int axis = steps_[s];
      if (axis == outer)
        along_lines(map(axis), 1, tile.begin, tile.end, tile.first, tile.rows,
                    (flat_ ? 1 : size[1]) * size[2] * field_.inner, from, target);
      else if (axis == 1)
        along_lines(map(1), size[0], 0, map(1).outputs(), 0, map(1).inputs, size[2] * field_.inner, from,
                    target);
      else
        across(size[0] * size[1], from, target);
      size[axis] = axis == outer ? tile.end - tile.begin : map(axis).outputs();
      from = target;
    }
  }

  void across(int64_t rows, const T* from, T* to) const {
    if (plans_)
      along_rows(*plans_, map(2), rows, from, to);
    else if (field_.inner == 1)
      gathered_rows(map(2), 0, map(2).outputs(), rows, from, to, map(2).outputs());
    else
      along_lines(map(2), rows, 0, map(2).outputs(), 0, map(2).inputs, field_.inner, from, to);
  }

  const SeparableResample& field_;
  Tiling tiling_;
  bool flat_, width_first_;
  int steps_[3], count_ = 0;  // the axes on which something is to do, in order
  std::optional<RowPlans<T>> plans_;
};

template <class T>
void run(const SeparableResample& field, char* out, const char* in) {
  Resampling<T>(field).run(reinterpret_cast<T*>(out), reinterpret_cast<const T*>(in));
}

template <class T>
void run_rows(const LongRows& field, char* out, const char* in) {
  constexpr int64_t kPiece = 2048;  // outputs, whose taps stay in the first-level cache
  parallel_for(0, (field.outputs + kPiece - 1) / kPiece, 4, [&](int64_t first, int64_t last) {
    for (int64_t o = first * kPiece; o < std::min(last * kPiece, field.outputs); o += kPiece) {
      const ResampleWeights map = field.piece(o, std::min(o + kPiece, field.outputs));
      gathered_rows(map, 0, map.outputs(), field.rows, reinterpret_cast<const T*>(in),
                    reinterpret_cast<T*>(out) + o, field.outputs);
    }
  });
}

template <class T>
void round_some(char* sums, int64_t n) {
  using V = Vec<T>;
  constexpr int W = kLanes<T>;
  parallel_for(0, n, 1 << 15, [&](int64_t begin, int64_t end) {
    T* p = reinterpret_cast<T*>(sums);
    for (int64_t i = begin; i < end; i += W) {
      const V up = load_some<T>(p + i, end - i) + T(0.5);
      const V low = select<V>(up < T(0), V{}, up);
      store_some<T>(p + i, end - i, trunc(select<V>(low > T(255), V{} + T(255), low)));
    }
  });
}

}  // namespace

using RoundKernel = void (*)(char*, int64_t);
extern const RoundKernel byte_roundings[2] = {&round_some<float>, &round_some<double>};
using ResampleKernel = void (*)(const SeparableResample&, char*, const char*);
extern const ResampleKernel resamplings[2] = {&run<float>, &run<double>};
using ResampleRowsKernel = void (*)(const LongRows&, char*, const char*);
extern const ResampleRowsKernel row_resamplings[2] = {&run_rows<float>, &run_rows<double>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(using ResampleKernel = void (*)(const SeparableResample&, char*, const char*);
          extern const ResampleKernel resamplings[2];
          using ResampleRowsKernel = void (*)(const LongRows&, char*, const char*);
          extern const ResampleRowsKernel row_resamplings[2]; using RoundKernel = void (*)(char*, int64_t);
          extern const RoundKernel byte_roundings[2])

namespace tl::cpu {

void resample(DType dtype, const SeparableResample& field, char* out, const char* in) {
  TL_SELECT(resamplings)[dtype == DType::Float64](field, out, in);
}
void resample_rows(DType dtype, const LongRows& field, char* out, const char* in) {
  TL_SELECT(row_resamplings)[dtype == DType::Float64](field, out, in);
}
void round_to_bytes(DType dtype, char* sums, int64_t n) {
  TL_SELECT(byte_roundings)[dtype == DType::Float64](sums, n);
}

}  // namespace tl::cpu
#endif
