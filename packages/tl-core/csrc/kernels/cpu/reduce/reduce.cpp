// Reductions: split into tasks of rows or columns, long ones into chunks merged pairwise; variance in two
// passes.
#include "kernels/cpu/reduce/reduce.h"

#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "iter/dtypes.h"
#include "kernels/cpu/loops/scratch.h"
#include "kernels/cpu/loops/strided.h"
#include "kernels/cpu/reduce/inner_loops.h"
#include "kernels/cpu/simd/complex.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu {

namespace {

using namespace base;

constexpr int64_t kChunk = 1 << 16;  // elements of a chunk: enough work to pay for a task of the pool
constexpr int64_t kFewResults = 16;  // up to this many rows, each is itself cut into chunks if it is long
constexpr int kAccumulatorMax = 16;

// ---- finalizing: from accumulators to results -------------------------------------------------------------

using Finalize = void (*)(char* out, int64_t stride, const void* acc, int n, int64_t count, double param);

template <class Out, class A, class F>
void finalize_each(char* out, int64_t stride, const void* acc, int n, F f) {
  for (int c = 0; c < n; ++c)
    store_one<Out>(out + c * stride, static_cast<OpMath<Out>>(f(static_cast<const A*>(acc)[c])));
}

template <class Out, class A>
void finalize_same(char* out, int64_t stride, const void* acc, int n, int64_t, double) {
  finalize_each<Out, A>(out, stride, acc, n, [](A a) { return a; });
}
template <class T>
void finalize_mean(char* out, int64_t stride, const void* acc, int n, int64_t count, double) {
  using A = OpMath<T>;
  finalize_each<T, A>(out, stride, acc, n, [=](A a) {
    if constexpr (is_complex_type<A>)
      return A{a.re / static_cast<Real<A>>(count), a.im / static_cast<Real<A>>(count)};
    else
      return a / static_cast<A>(count);
  });
}
template <class T>
void finalize_norm(char* out, int64_t stride, const void* acc, int n, int64_t, double) {
  using A = OpMath<T>;
  finalize_each<T, A>(out, stride, acc, n, [](A a) { return std::sqrt(a); });
}
template <class T, bool root>
void finalize_var(char* out, int64_t stride, const void* acc, int n, int64_t count, double correction) {
  using A = OpMath<T>;
  const double degrees = static_cast<double>(count) - correction;
  finalize_each<T, A>(out, stride, acc, n, [=](A a) {
    const A variance = a / static_cast<A>(degrees > 0 ? degrees : 0);
    return root ? std::sqrt(variance) : variance;
  });
}

template <class T>
Finalize finalizer_of(Reduce op) {
  constexpr bool real = has_float_lanes<OpMath<T>>, integral = std::is_integral_v<T>;
  switch (op) {
    case Reduce::Sum:
    case Reduce::Prod:
      return integral ? &finalize_same<std::conditional_t<integral, int64_t, T>,
                                       std::conditional_t<integral, int64_t, OpMath<T>>>
                      : &finalize_same<T, OpMath<T>>;
    case Reduce::Any:
    case Reduce::All:
      return &finalize_same<bool, bool>;
    case Reduce::Amax:
    case Reduce::Amin:
      if constexpr (!is_complex_type<T>) return &finalize_same<T, OpMath<T>>;
      break;
    case Reduce::Mean:
      if constexpr (!integral) return &finalize_mean<T>;
      break;
    case Reduce::Norm2:
      if constexpr (real) return &finalize_norm<T>;
      break;
    case Reduce::Var:
      if constexpr (real) return &finalize_var<T, false>;
      break;
    case Reduce::Std:
      if constexpr (real) return &finalize_var<T, true>;
      break;
  }
  return nullptr;
}

Finalize finalizer(Reduce op, DType in) {
  switch (in) {
#define TL_CASE(E, T, name) \
  case DType::E:            \
    return finalizer_of<T>(op);
    TL_ALL_DTYPES(TL_CASE)
#undef TL_CASE
  }
  return nullptr;
}

// Turns n sums into means, in place.
void divide_to_means(DType in, void* acc, int n, int64_t count) {
  if (in == DType::Float64)
    finalize_mean<double>(static_cast<char*>(acc), sizeof(double), acc, n, count, 0);
  else
    finalize_mean<float>(static_cast<char*>(acc), sizeof(float), acc, n, count, 0);
}

Reducer reducer_of(Reduce op) {
  switch (op) {
    case Reduce::Prod:
      return Reducer::Prod;
    case Reduce::Amax:
      return Reducer::Amax;
    case Reduce::Amin:
      return Reducer::Amin;
    case Reduce::Any:
      return Reducer::Any;
    case Reduce::All:
      return Reducer::All;
    case Reduce::Norm2:
    case Reduce::Var:
    case Reduce::Std:
      return Reducer::SquaredDeviations;
    case Reduce::Sum:
    case Reduce::Mean:
      break;
  }
  return Reducer::Sum;
}

int64_t accumulator_size(Reducer reducer, DType in) {
  if (reducer == Reducer::Any || reducer == Reducer::All) return 1;
  if (is_integral(in, true)) return reducer == Reducer::Amax || reducer == Reducer::Amin ? item_size(in) : 8;
  return in == DType::Complex32 ? 8 : item_size(opmath_type(in));
}

// ---- chunks of the reduced dimensions ---------------------------------------------------------------------

ReducedRange full_range(const ReduceShape& s) {
  return {s.reduced_sizes, s.reduced_strides, s.reduced_dims, 0,
          s.reduced_dims ? s.reduced_sizes[s.reduced_dims - 1] : 1};
}

struct Chunks {
  int64_t step, count;

  Chunks(const ReducedRange& range, int64_t elements) {
    const int64_t each = elements / range.last;
    step = kChunk / each > 1 ? kChunk / each : 1;
    count = (range.last + step - 1) / step;
  }
  ReducedRange operator()(ReducedRange range, int64_t i) const {
    const int64_t end = (i + 1) * step;
    if (end < range.last) range.last = end;
    range.first = i * step;
    return range;
  }
};

// The operands of a task: n rows, or n columns, and their results.
struct Task {
  bool columns;
  int n;
  char *out, *second;
  const char* in;
  int64_t out_stride, second_stride, in_stride;
};

// One pass over the input with one reducer and one dtype.
struct Pass {
  const ReducerKernels& kernels;
  int64_t size;  // of a partial result
  int64_t item;

  Pass(Reducer reducer, DType in)
      : kernels(reducer_kernels(reducer, in)), size(accumulator_size(reducer, in)), item(item_size(in)) {}

  void run(char* acc, const Task& task, const ReducedRange& range, const void* shifts) const {
    if (!task.columns)
      kernels.rows(acc, task.in, task.n, task.in_stride, range, shifts);
    else if (is_foldable(task, range))
      run_folded(acc, task, range, shifts);
    else
      kernels.columns(acc, task.in, task.n, task.in_stride, range, shifts);
  }

  // A matrix of few columns without gaps is taken as one of more and longer columns, whose results are
  // merged.
  bool is_foldable(const Task& task, const ReducedRange& range) const {
    return task.n <= kColumns / 4 && task.in_stride == item && range.dims == 1 &&
           range.strides[0] == task.n * item && range.last - range.first >= 4 * (kColumns / task.n);
  }
  void run_folded(char* acc, const Task& task, const ReducedRange& range, const void* shifts) const {
    const int n = task.n, times = kColumns / n;
    const int64_t rows = range.last - range.first, whole = rows / times;
    const char* from = task.in + range.first * range.strides[0];
    const int64_t stride = range.strides[0] * times;
    alignas(64) char wide[kColumns * kAccumulatorMax], wide_shifts[kColumns * kAccumulatorMax];
    if (shifts) {
      for (int i = 0; i < times; ++i)
        __builtin_memcpy(wide_shifts + i * n * size, shifts, static_cast<size_t>(n * size));
    }
    kernels.columns(wide, from, n * times, item, {&whole, &stride, 1, 0, whole},
                    shifts ? wide_shifts : nullptr);
    for (int i = 1; i < times; ++i) kernels.merge(wide, wide + i * n * size, n);
    kernels.columns(acc, from, n, item, {range.sizes, range.strides, 1, whole * times, rows}, shifts);
    kernels.merge(acc, wide, n);
  }

  // Partial results of n columns or rows of `elements` elements each, by chunks if they are many.
  // Neighbours are merged pairwise, so that errors grow slowly.
  void run_chunked(char* acc, const Task& task, const ReducedRange& range, int64_t elements,
                   const void* shifts) const {
    const int n = task.n;
    if (elements * n <= 2 * kChunk) return run(acc, task, range, shifts);
    const Chunks chunks(range, elements * n);
    Scratch<char, 4096> parts(chunks.count * n * size);
    const auto part = [&](int64_t i) { return parts.data() + i * n * size; };
    parallel_for(0, chunks.count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run(part(i), task, chunks(range, i), shifts);
    });
    for (int64_t gap = 1; gap < chunks.count; gap *= 2) {
      for (int64_t i = 0; i + gap < chunks.count; i += 2 * gap) kernels.merge(part(i), part(i + gap), n);
    }
    __builtin_memcpy(acc, part(0), static_cast<size_t>(n * size));
  }
};

// ---- tasks: blocks of results -----------------------------------------------------------------------------

struct Tasks {
  const ReduceShape& s;
  bool columns, chunked;  // tasks are blocks of columns, else of rows; so few that each is cut into chunks
  int64_t elements, width, count, per_row;

  Tasks(const ReduceShape& shape, int64_t item, bool takes_short_rows)
      : s(shape), elements(product(shape.reduced_sizes, shape.reduced_dims)) {
    const bool dense_rows = s.reduced_dims > 0 && s.reduced_strides[0] == item;
    columns = s.reduced_dims > 0 && s.retained_dims > 0 &&
              (has_dense_columns(item) || (has_short_rows() && !(dense_rows && takes_short_rows)));
    const int64_t inner = s.retained_dims ? s.retained_sizes[0] : 1,
                  outer = outer_product(s.retained_sizes, s.retained_dims);
    const bool splits_rows = inner * outer <= kFewResults && elements > 2 * kChunk;
    width = columns       ? kColumns
            : splits_rows ? 1
                          : std::clamp<int64_t>(kChunk / 4 / (elements + 1), 1, kColumns);
    width = std::clamp<int64_t>(inner, 1, width);
    per_row = (inner + width - 1) / width;
    count = per_row * outer;
    chunked = columns ? count <= 4 : splits_rows;
  }

  bool has_dense_columns(int64_t item) const {
    return s.retained_strides[0] == item && s.retained_sizes[0] > 1 && s.reduced_strides[0] != item;
  }
  // Then it pays to work on many rows at once.
  bool has_short_rows() const {
    return s.reduced_dims == 1 && s.reduced_sizes[0] <= 32 && s.retained_sizes[0] >= 8;
  }

  Task at(int64_t i, char* out, char* second, const char* in) const {
    if (s.retained_dims == 0) return {false, 1, out, second, in, 0, 0, 0};
    const int64_t outer = i / per_row, first = i % per_row * width, left = s.retained_sizes[0] - first;
    const auto offset = [&](const int64_t* strides) {
      return offset_of(outer, s.retained_sizes + 1, strides + 1, s.retained_dims - 1) + first * strides[0];
    };
    return {columns,
            static_cast<int>(left < width ? left : width),
            out ? out + offset(s.out_strides) : nullptr,
            second ? second + offset(s.second_strides) : nullptr,
            in + offset(s.retained_strides),
            out ? s.out_strides[0] : 0,
            second ? s.second_strides[0] : 0,
            s.retained_strides[0]};
  }

  // f(task index)
  template <class F>
  void each(F f) const {
    if (chunked) {
      for (int64_t i = 0; i < count; ++i) f(i);
      return;
    }
    parallel_for(0, count, kChunk / (elements * width + 16) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i);
    });
  }
};

// ---- variances --------------------------------------------------------------------------------------------

// A task's sums of squared deviations from means, of type A.
template <class A>
struct Squares {
  A* sums;
  const A* means;
  int n;
  int64_t count;

  // Whether the error e of the rounded mean m shows in the sum, which is count * e^2 too large. With |e| up
  // to some 4 u |m| that is more than u of the sum where the variance is below 16 u m^2.
  bool shows_rounding(int i) const {
    const A bound = 16 * std::numeric_limits<A>::epsilon() * static_cast<A>(count) * means[i] * means[i];
    return sums[i] > 0 && sums[i] < bound;
  }
  bool show_rounding() const {
    for (int i = 0; i < n; ++i)
      if (shows_rounding(i)) return true;
    return false;
  }
  // Subtracts it: count * e is the sum of the deviations (Chan, Golub & LeVeque 1983, equation 1.7).
  void correct(const A* deviations) const {
    for (int i = 0; i < n; ++i) {
      if (!shows_rounding(i)) continue;
      const A sum = sums[i] - deviations[i] / static_cast<A>(count) * deviations[i];
      sums[i] = sum < 0 ? 0 : sum;
    }
  }
};

// Means, then sums of squared deviations from them, by passes that `run(pass, to, shifts)` makes.
template <class A, class Run>
void sum_squares(DType in, A* sums, A* means, int n, int64_t count, const Run& run) {
  run(Pass(Reducer::Sum, in), means, nullptr);
  divide_to_means(in, means, n, count);
  run(Pass(Reducer::SquaredDeviations, in), sums, means);
  const Squares<A> squares{sums, means, n, count};
  if (!squares.show_rounding()) return;
  alignas(64) A deviations[kColumns];
  run(Pass(Reducer::Deviations, in), deviations, means);
  squares.correct(deviations);
}

}  // namespace

bool reduce_exists(Reduce op, DType in) { return finalizer(op, in) != nullptr; }

DType reduce_result(Reduce op, DType in) {
  if (op == Reduce::Any || op == Reduce::All) return DType::Bool;
  return op == Reduce::Sum || op == Reduce::Prod ? sum_type(in) : in;
}

// A pass over the elements of each task and a finalizer; variances take two, the means first, so that
// deviations are summed around them, and a third where the rounding of the means would show.
void reduce(Reduce op, DType in_dtype, char* out, char* second, const char* in, const ReduceShape& shape,
            double param) {
  const ReducedRange range = full_range(shape);
  const Finalize finalize = finalizer(op, in_dtype);
  const Pass pass(reducer_of(op), in_dtype);
  const Tasks tasks(shape, pass.item, pass.kernels.vectors);
  const int64_t elements = tasks.elements;
  const bool is_variance = op == Reduce::Var || op == Reduce::Std;
  tasks.each([&](int64_t i) {
    const Task task = tasks.at(i, out, second, in);
    alignas(64) char acc[kColumns * kAccumulatorMax], means[kColumns * kAccumulatorMax];
    const auto run = [&](const Pass& p, void* to, const void* shifts) {
      if (tasks.chunked)
        p.run_chunked(static_cast<char*>(to), task, range, elements, shifts);
      else
        p.run(static_cast<char*>(to), task, range, shifts);
    };
    if (!is_variance)
      run(pass, acc, nullptr);
    else if (in_dtype == DType::Float64)
      sum_squares(in_dtype, reinterpret_cast<double*>(acc), reinterpret_cast<double*>(means), task.n,
                  elements, run);
    else
      sum_squares(in_dtype, reinterpret_cast<float*>(acc), reinterpret_cast<float*>(means), task.n, elements,
                  run);
    if (task.second) finalizer(Reduce::Sum, in_dtype)(task.second, task.second_stride, means, task.n, 0, 0);
    finalize(task.out, task.out_stride, acc, task.n, elements, param);
  });
}

void extreme(bool largest, DType dtype, char* out, char* second, const char* in, const ReduceShape& shape) {
  const Tasks tasks(shape, item_size(dtype), false);
  const ReducedRange range = full_range(shape);
  const Finalize finalize = finalizer(Reduce::Amax, dtype);
  const Pass pass(largest ? Reducer::Amax : Reducer::Amin, dtype);
  const ExtremeKernels& kernels = extreme_kernels(largest, dtype);
  tasks.each([&](int64_t i) {
    const Task task = tasks.at(i, out, second, in);
    if (task.columns) {
      return kernels.columns(task.out, task.out_stride, task.second, task.second_stride, task.in, task.n,
                             task.in_stride, range);
    }
    alignas(64) char best[kColumns * kAccumulatorMax];
    if (tasks.chunked)
      pass.run_chunked(best, task, range, tasks.elements, nullptr);
    else
      pass.run(best, task, range, nullptr);
    if (task.out) finalize(task.out, task.out_stride, best, task.n, tasks.elements, 0);
    kernels.find(task.second, task.second_stride, task.in, task.n, task.in_stride, range, best);
  });
}

}  // namespace tl::cpu
