// isa: all
// Max pooling in vectors, with the index of each maximum.
#include "kernels/cpu/spatial/max_pool.h"

#include <optional>

#include "kernels/cpu/loops/scratch.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/spatial/row_gather.h"
#include "kernels/cpu/spatial/row_plan.h"
#include "kernels/cpu/spatial/running_maximum.h"
#include "kernels/cpu/spatial/tiles.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

template <class T>
struct IndexedValues {  // values with their positions
  T* values;
  int32_t* at;
  IndexedValues operator+(int64_t n) const { return {values + n, at ? at + n : nullptr}; }
};

template <bool indexed, class T>
void along_rows(const RowPlans<T>& plans, const ResampleWeights& map, bool restart, int64_t rows, const T* in,
                IndexedValues<T> out) {
  constexpr int W = kLanes<T>;
  using M = Mask<Vec<T>>;
  plans.run(rows, [&](const RowPlan<T>& plan, int64_t row) {
    const T* from = in + row * map.inputs;
    const M start = M{} + static_cast<Lane<M>>(restart ? 0 : row * map.inputs);
    const IndexedValues<T> to = out + row * map.outputs();
    for (int64_t b = 0; b < plan.blocks(); ++b) {
      RunningMaximum<indexed, T> best;
      for (const RowTap<T>* tap = plan.begin(b); tap != plan.end(b); ++tap) {
        const auto x = tap->fetch(from);
        if (tap->masked)
          best.meet(x, tap->position + start, tap->used, tap == plan.begin(b));
        else if (tap == plan.begin(b))
          best.start(x, tap->position + start);
        else
          best.meet(x, tap->position + start);
      }
      const int64_t n = plan.outputs() - b * W, o = b * W;
      best.write(to.values + o, indexed ? to.at + o : nullptr, static_cast<int>(std::min<int64_t>(W, n)));
    }
  });
}

// The same for outputs begin..end of rows that are not worth a plan.
template <bool indexed, class T>
void gathered_rows(const ResampleWeights& map, bool restart, int64_t begin, int64_t end, int64_t rows,
                   const T* in, IndexedValues<T> out) {
  using Best = RunningMaximum<indexed, T>;
  using M = typename Best::M;
  const auto add = [&](Best& best, const GatheredTap<T>& tap, int64_t row, bool first) {
    const M position = tap.position() + static_cast<Lane<M>>(restart ? 0 : row * map.inputs);
    best.meet(tap.fetch(in + row * map.inputs), position, tap.masked ? tap.used : M{} - 1, first);
  };
  gather_rows<T, Best>(map, begin, end, rows, add, [&](const Best& best, int64_t row, int64_t o, int lanes) {
    const IndexedValues<T> to = out + (row * map.outputs() + o);
    best.write(to.values, to.at, lanes);
  });
}

// Lines of `n` elements. Without indices in `in`, all elements of an input line have its number as their
// place, counted from `number` on.
template <bool indexed, class T>
void one_line(const ResampleWeights& map, int64_t o, int64_t first, int64_t n, int64_t number,
              IndexedValues<T> in, IndexedValues<T> out) {
  constexpr int W = kLanes<T>;
  using B = RunningMaximum<indexed, T>;
  using M = typename B::M;
  for (int64_t i = 0; i < n; i += W) {
    const int lanes = static_cast<int>(std::min<int64_t>(W, n - i));
    B best;
    for (int64_t k = map.begin[o]; k < map.begin[o + 1]; ++k) {
      const int64_t line = map.index[k] - first;
      const T* p = in.values + line * n + i;
      const auto* bytes = reinterpret_cast<const char*>(p);
      const auto x = lanes == W ? load<T>(bytes) : load_partial<T>(bytes, lanes);
      M at{};
      if constexpr (indexed)
        at = in.at ? B::read_indices(in.at + line * n + i, lanes) : at + static_cast<Lane<M>>(number + line);
      if (k == map.begin[o])
        best.start(x, at);
      else
        best.meet(x, at);
    }
    best.write(out.values + i, indexed ? out.at + i : nullptr, lanes);
  }
}

template <bool indexed, class T>
class MaxPooling {
 public:
  explicit MaxPooling(const SeparableResample& field)
      : field_(field),
        tiling_(field, sizeof(T) + (indexed ? sizeof(int32_t) : 0)),
        width_(field.axes[2]),
        height_(field.axes[1]),
        flat_(tiling_.outer() == 1) {
    const std::vector<int64_t> counts = tiling_.row_counts(true);
    if (field.inner == 1 && !counts.empty() && RowPlans<T>::pays(width_, tiling_.all_rows(true)))
      plans_.emplace(width_, tiling_.only_rows(), counts);
    upright_ = flat_ || height_.is_identity();
    outward_ = tiling_.axis().is_identity();
  }

  void run(T* out, int64_t* indices, const T* in) const {
    if (tiling_.only_rows()) return plans_ ? run_rows(out, indices, in) : run_gathered(out, indices, in);
    const int64_t line = width_.outputs() * field_.inner;
    const int64_t rows = tiling_.longest() * (flat_ ? 1 : height_.inputs) * line;
    const int64_t columns = flat_ ? 0 : tiling_.longest() * height_.outputs() * line;
    const int64_t block = (flat_ ? line : height_.outputs() * line) * tiling_.step();
    tiling_.run([=, this] {
      return [=, this, first = Scratch<T>(rows), second = Scratch<T>(columns),
              first_at = Scratch<int32_t>(indexed ? rows : 0),
              second_at = Scratch<int32_t>(indexed ? columns : 0),
              last_at = Scratch<int32_t>(indexed ? block : 0)](const Tile& tile) mutable {
        one(tile, out, indices, in, {first.data(), first_at.data()}, {second.data(), second_at.data()},
            last_at.data());
      };
    });
  }

 private:
  void one(const Tile& tile, T* out, int64_t* indices, const T* in, IndexedValues<T> first,
           IndexedValues<T> second, int32_t* last) const {
    const int64_t line = width_.outputs() * field_.inner, lines = flat_ ? 1 : height_.outputs();
    const int64_t deep = flat_ ? 1 : height_.inputs, n = lines * line,
                  start = tile.first * deep * width_.inputs;
    const int64_t target = tile.plane * field_.output_plane() + tile.begin * n;
    const IndexedValues<T> to{out + target, last};
    const T* source = in + tile.plane * field_.input_plane() + start * field_.inner;
    IndexedValues<T> from = upright_ && outward_ ? to : first;
    across(tile.rows * deep, source, from);
    if (!upright_) {
      const IndexedValues<T> next = outward_ ? to : second;
      for (int64_t p = 0; p < tile.rows; ++p)
        for (int64_t o = 0; o < lines; ++o)
          one_line<indexed>(height_, o, 0, line, 0, from + p * deep * line, next + (p * lines + o) * line);
      from = next;
    }
    if (!outward_)
      for (int64_t o = tile.begin; o < tile.end; ++o)
        one_line<indexed>(tiling_.axis(), o, tile.first, n, 0, from, to + (o - tile.begin) * n);
    if constexpr (indexed)
      for (int64_t i = 0; i < (tile.end - tile.begin) * n; ++i)
        indices[target + i] = last[i] < 0 ? -1 : start + last[i];
  }

  void run_rows(T* out, int64_t* indices, const T* in) const {
    const int64_t n = width_.outputs();
    tiling_.run_rows([=, this] {
      return [=, this, scratch = Scratch<int32_t>(indexed ? Tiling::kRows * n : 0)](int64_t row,
                                                                                    int64_t rows) mutable {
        const IndexedValues<T> to{out + row * n, scratch.data()};
        along_rows<indexed>(*plans_, width_, true, rows, in + row * width_.inputs, to);
        if constexpr (indexed)
          for (int64_t i = 0; i < rows * n; ++i) indices[row * n + i] = to.at[i];
      };
    });
  }

  void run_gathered(T* out, int64_t* indices, const T* in) const {
    const int64_t n = width_.outputs(), rows = field_.planes;
    Scratch<int32_t> narrow(indexed ? rows * n : 0);
    int32_t* const at = narrow.data();
    tiling_.run_outputs([=, this](int64_t begin, int64_t end) {
      gathered_rows<indexed>(width_, true, begin, end, rows, in,
                             IndexedValues<T>{out, indexed ? at : nullptr});
      if constexpr (indexed)
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t o = begin; o < end; ++o) indices[row * n + o] = at[row * n + o];
    });
  }

  void across(int64_t rows, const T* in, IndexedValues<T> out) const {
    if (plans_) return along_rows<indexed>(*plans_, width_, false, rows, in, out);
    if (field_.inner == 1) return gathered_rows<indexed>(width_, false, 0, width_.outputs(), rows, in, out);
    const int64_t n = field_.inner;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t o = 0; o < width_.outputs(); ++o)
        one_line<indexed>(width_, o, 0, n, r * width_.inputs,
                          IndexedValues<T>{const_cast<T*>(in) + r * width_.inputs * n, nullptr},
                          out + (r * width_.outputs() + o) * n);
  }

  const SeparableResample& field_;
  Tiling tiling_;
  const ResampleWeights &width_, &height_;
  bool flat_;
  std::optional<RowPlans<T>> plans_;
  bool upright_, outward_;  // nothing to do along the height, the outer axis
};

template <bool indexed, class T>
void run(const SeparableResample& field, char* out, int64_t* indices, const char* in) {
  MaxPooling<indexed, T>(field).run(reinterpret_cast<T*>(out), indices, reinterpret_cast<const T*>(in));
}

}  // namespace

using MaxPoolKernel = void (*)(const SeparableResample&, char*, int64_t*, const char*);
extern const MaxPoolKernel max_pools[2][2] = {{&run<false, float>, &run<false, double>},
                                              {&run<true, float>, &run<true, double>}};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(using MaxPoolKernel = void (*)(const SeparableResample&, char*, int64_t*, const char*);
          extern const MaxPoolKernel max_pools[2][2])

namespace tl::cpu {

void max_pool(DType dtype, const SeparableResample& field, char* out, int64_t* indices, const char* in) {
  if (dtype == DType::Int64 || field.input_plane() / field.inner > INT32_MAX)
    return max_windows(dtype, field, out, indices, in);
  TL_SELECT(max_pools)[indices != nullptr][dtype == DType::Float64](field, out, indices, in);
}

}  // namespace tl::cpu
#endif
