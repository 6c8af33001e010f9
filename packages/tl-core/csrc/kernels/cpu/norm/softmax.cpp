// isa: all
// Softmax and log-softmax along one dim and their gradients: maximum, sum of exponentials, scaling.
#include "kernels/cpu/norm/softmax.h"

#include <algorithm>

#include "kernels/cpu/loops/along_dim_driver.h"
#include "kernels/cpu/loops/scratch.h"
#include "kernels/cpu/simd/horizontal.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/simd/load_store.h"
#include "kernels/cpu/simd/vec_math.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// Interleaved partial results, 256 bytes of lanes on every ISA, so that all add in the same order.
inline constexpr int kParts = 256 / kVecBytes;

// A row (a slice along the dim) as vectors. Dense rows: neighbouring elements of one row are lanes, and the
// first `full_vectors` vectors have all of them in memory. Otherwise: neighbouring rows are lanes, and every
// reduction over the row is one over vectors.
template <class T>
struct DenseRow {
  using A = OpMath<T>;
  using V = Vec<A>;
  static constexpr int W = kLanes<A>;
  static constexpr bool kUnrolled = kParts <= 8;  // sixteen exponentials would take a megabyte of code
  int64_t n;

  int64_t steps() const { return (n + W - 1) / W; }
  int64_t full_vectors() const { return n / W; }
  template <bool full>
  TL_INLINE V read(const char* p, int64_t, int64_t i, A rest) const {
    const char* from = p + i * W * static_cast<int64_t>(sizeof(T));
    if constexpr (full) return load<T>(from);
    const int c = count(i);
    return select<V>(iota<Mask<V>>() < static_cast<Lane<Mask<V>>>(c), load_partial<T>(from, c),
                     broadcast<V>(rest));
  }
  template <bool full>
  TL_INLINE void write(char* p, int64_t, int64_t i, V v) const {
    char* to = p + i * W * static_cast<int64_t>(sizeof(T));
    if constexpr (full)
      store<T>(to, v);
    else
      store_partial<T>(to, count(i), v);
  }
  template <class F>
  static V fold(V v, F f) {
    return broadcast<V>(horizontal_reduce(v, f));
  }

 private:
  int count(int64_t i) const { return static_cast<int>(std::min<int64_t>(n - i * W, W)); }
};

template <class T>
struct ParallelRows {
  using A = OpMath<T>;
  using V = Vec<A>;
  static constexpr int W = kLanes<A>;
  static constexpr bool kUnrolled = false;  // the cases of its reads and writes would take as much
  int64_t n;
  int rows;
  const int64_t* row_strides;  // by operand
  const int64_t* along;

  int64_t steps() const { return n; }
  template <bool full>
  V read(const char* p, int64_t operand, int64_t i, A) const {
    const char* from = p + i * along[operand];
    const int64_t stride = row_strides[operand];
    if (stride != static_cast<int64_t>(sizeof(T))) return load_strided<T>(from, stride, rows);
    return rows == W ? load<T>(from) : load_partial<T>(from, rows);
  }
  template <bool full>
  void write(char* p, int64_t operand, int64_t i, V v) const {
    char* to = p + i * along[operand];
    const int64_t stride = row_strides[operand];
    if (stride != static_cast<int64_t>(sizeof(T)))
      store_strided<T>(to, stride, rows, v);
    else if (rows == W)
      store<T>(to, v);
    else
      store_partial<T>(to, rows, v);
  }
  template <class F>
  static V fold(V v, F) {
    return v;
  }
};

template <class Row, class F>
TL_INLINE typename Row::V joined(typename Row::V* parts, F join) {
  for (int half = kParts / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) parts[k] = join(parts[k], parts[k + half]);
  }
  return Row::fold(parts[0], join);
}
// body(step, whether all lanes are in memory). Where steps are not unrolled, one piece of code is for all of
// them.
template <class Row, class F>
TL_INLINE void for_steps(const Row& row, F body) {
  int64_t i = 0;
  if constexpr (Row::kUnrolled) {
    for (const int64_t full_vectors = row.full_vectors(); i + kParts <= full_vectors; i += kParts) {
#pragma GCC unroll kParts
      for (int k = 0; k < kParts; ++k) body(i + k, std::true_type{});
    }
  }
  for (; i < row.steps(); ++i) body(i, std::false_type{});
}

// The terms of all steps, joined: term(step, whether all lanes are in memory).
template <class Row, class F, class Join>
TL_INLINE typename Row::V accumulated(const Row& row, typename Row::V start, F term, Join join) {
  using V = typename Row::V;
  V parts[kParts], rest[kParts];  // apart, so that the first stay in registers
  for (int k = 0; k < kParts; ++k) parts[k] = rest[k] = start;
  int64_t i = 0;
  if constexpr (Row::kUnrolled) {
    for (const int64_t full_vectors = row.full_vectors(); i + kParts <= full_vectors; i += kParts) {
#pragma GCC unroll kParts
      for (int k = 0; k < kParts; ++k) parts[k] = join(parts[k], term(i + k, std::true_type{}));
    }
  }
  for (; i < row.steps(); ++i) {
    V& part = rest[i % kParts];
    part = join(part, term(i, std::false_type{}));
  }
  for (int k = 0; k < kParts; ++k) parts[k] = join(parts[k], rest[k]);
  return joined<Row>(parts, join);
}

template <class Row, class F>
TL_INLINE typename Row::V sum_of(const Row& row, F term) {
  using V = typename Row::V;
  return accumulated(row, V{}, term, [](V a, V b) { return a + b; });
}

// A NaN may be passed over here: it comes back with its own exponential.
template <class Row>
TL_INLINE typename Row::V largest(const Row& row, const char* in) {
  using A = typename Row::A;
  using V = typename Row::V;
  constexpr A lowest = -std::numeric_limits<A>::infinity();
  return accumulated(
      row, broadcast<V>(lowest),
      [&](int64_t i, auto full) { return row.template read<full>(in, 1, i, lowest); },
      [](V a, V b) { return select<V>(a < b, b, a); });
}

// What a row's elements are shifted and divided by.
template <class Row>
struct Scale {
  typename Row::V max, total;
};

// The exponentials go to keep(step, full_vectors, exponential).
template <class Row, class F>
TL_INLINE Scale<Row> exponentials(const Row& row, const char* in, F keep) {
  using V = typename Row::V;
  constexpr auto lowest = -std::numeric_limits<typename Row::A>::infinity();
  const V max = largest(row, in);
  const V total = sum_of(row, [&](int64_t i, auto full) {
    const V e = exp(row.template read<full>(in, 1, i, lowest) - max);
    keep(i, full, e);
    return e;
  });
  return {max, total};
}

// The exponentials of a row stand in the output where it loses nothing, else beside it.
template <class T, class Row>
void softmax_row(const Row& row, char* const* at) {
  using V = typename Row::V;
  const auto put = [&](int64_t i, auto full, V v) { row.template write<full>(at[0], 0, i, v); };
  if constexpr (!kIs16<T>) {
    const Scale<Row> s = exponentials(row, at[1], put);
    for_steps(row, [&](int64_t i, auto full) {
      put(i, full, row.template read<full>(at[0], 0, i, 0) * (1 / s.total));
    });
  } else {
    constexpr int64_t size = sizeof(V);
    Scratch<char, 8192> exponentials_buffer(row.steps() * size);
    char* const e = exponentials_buffer.data();
    const Scale<Row> s = exponentials(row, at[1], [&](int64_t i, auto, V v) { write(e + i * size, v); });
    for_steps(row, [&](int64_t i, auto full) { put(i, full, read<V>(e + i * size) * (1 / s.total)); });
  }
}

template <class T, class Row>
TL_INLINE void log_row(const Row& row, char* const* at, typename Row::V max, typename Row::V shift) {
  for_steps(row, [&](int64_t i, auto full) {
    row.template write<full>(at[0], 0, i, row.template read<full>(at[1], 1, i, 0) - max - shift);
  });
}
template <class Row>
TL_INLINE Scale<Row> log_scale(const Row& row, const char* in) {
  return exponentials(row, in, [](int64_t, auto, auto) {});
}

template <class T>
void log_softmax_row(const ParallelRows<T>& row, char* const* at) {
  const auto s = log_scale(row, at[1]);
  log_row<T>(row, at, s.max, log(s.total));
}

// Of some dense rows the logarithms are taken at once.
template <class T>
void log_softmax_rows(const DenseRow<T>& row, char* const* at, const int64_t* strides, int64_t rows) {
  using V = typename DenseRow<T>::V;
  V row_max{}, totals = V{} + 1;
  for (int64_t i = 0; i < rows; ++i) {
    const auto s = log_scale(row, at[1] + i * strides[1]);
    row_max[i] = s.max[0];
    totals[i] = s.total[0];
  }
  const V shifts = log(totals);
  for (int64_t i = 0; i < rows; ++i) {
    char* const here[] = {at[0] + i * strides[0], at[1] + i * strides[1]};
    log_row<T>(row, here, broadcast<V>(row_max[i]), broadcast<V>(shifts[i]));
  }
}

template <bool log_form, class T, class Row>
void backward_row(const Row& row, char* const* at) {
  using V = typename Row::V;
  const V total = sum_of(row, [&](int64_t i, auto full) {
    const V g = row.template read<full>(at[1], 1, i, 0);
    if constexpr (log_form)
      return g;
    else
      return g * row.template read<full>(at[2], 2, i, 0);
  });
  for_steps(row, [&](int64_t i, auto full) {
    const V g = row.template read<full>(at[1], 1, i, 0), y = row.template read<full>(at[2], 2, i, 0);
    if constexpr (log_form)
      row.template write<full>(at[0], 0, i, g - exp(y) * total);
    else
      row.template write<full>(at[0], 0, i, (g - total) * y);
  });
}

template <bool log_form, bool backward, class T, class Row>
void one_row(const Row& row, char* const* at) {
  if constexpr (backward)
    backward_row<log_form, T>(row, at);
  else if constexpr (log_form)
    log_softmax_row<T>(row, at);
  else
    softmax_row<T>(row, at);
}

constexpr int64_t kCacheElements =
    1 << 12;  // elements that are still in the first-level cache when they come again

template <bool log_form, bool backward, class T>
void dense_rows(const AlongShape& s, char* const* data) {
  constexpr int operands = backward ? 3 : 2;
  const DenseRow<T> row{s.n};
  if constexpr (log_form && !backward) {
    const int64_t strides[] = {s.dims ? s.strides[0][0] : 0, s.dims ? s.strides[1][0] : 0};
    const int64_t group = std::clamp<int64_t>(kCacheElements / s.n, 1, DenseRow<T>::W);
    for_each_lines<operands>(
        s, data, group, [&](char* const* at, int64_t rows) { log_softmax_rows<T>(row, at, strides, rows); });
  } else {
    for_each_lines<operands>(s, data, 1,
                             [&](char* const* at, int64_t) { one_row<log_form, backward, T>(row, at); });
  }
}

template <bool log_form, bool backward, class T>
void run(const AlongShape& s, char* const* data) {
  constexpr int operands = backward ? 3 : 2;
  bool dense = true;
  for (int k = 0; k < operands; ++k) dense &= s.along[k] == static_cast<int64_t>(sizeof(T));
  const bool many_short =
      s.n <= 32 && s.dims > 0 && s.sizes[0] >= 8;  // then it pays to work on many rows at once
  if (dense && !many_short) return dense_rows<log_form, backward, T>(s, data);
  int64_t strides[operands];
  for (int k = 0; k < operands; ++k) strides[k] = s.dims ? s.strides[k][0] : 0;
  for_each_lines<operands>(s, data, kLanes<OpMath<T>>, [&](char* const* at, int64_t rows) {
    one_row<log_form, backward, T>(ParallelRows<T>{s.n, static_cast<int>(rows), strides, s.along}, at);
  });
}

}  // namespace

using SoftmaxKernel = void (*)(const AlongShape&, char* const*);

// By backward, log, and dtype from Float16 on.
extern const SoftmaxKernel softmaxes[2][2][4] = {
#define TL_SOFTMAX(log, backward)                                                        \
  {&run<log, backward, Half>, &run<log, backward, BFloat16>, &run<log, backward, float>, \
   &run<log, backward, double>}
    {TL_SOFTMAX(false, false), TL_SOFTMAX(true, false)}, {TL_SOFTMAX(false, true), TL_SOFTMAX(true, true)}};
#undef TL_SOFTMAX

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(using SoftmaxKernel = void (*)(const AlongShape&, char* const*);
          extern const SoftmaxKernel softmaxes[2][2][4])

namespace tl::cpu {

static int column(DType dtype) { return static_cast<int>(dtype) - static_cast<int>(DType::Float16); }

void softmax(bool log, DType dtype, const AlongShape& shape, char* out, const char* in) {
  char* const data[] = {out, const_cast<char*>(in)};
  if (shape.n > 0) TL_SELECT(softmaxes)[0][log][column(dtype)](shape, data);
}

void softmax_backward(bool log, DType dtype, const AlongShape& shape, char* out, const char* grad,
                      const char* result) {
  char* const data[] = {out, const_cast<char*>(grad), const_cast<char*>(result)};
  if (shape.n > 0) TL_SELECT(softmaxes)[1][log][column(dtype)](shape, data);
}

}  // namespace tl::cpu
#endif
