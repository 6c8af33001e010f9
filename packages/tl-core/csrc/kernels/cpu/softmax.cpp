// isa: all
#include "kernels/cpu/softmax.h"

#include "kernels/cpu/along_driver.h"
#include "kernels/cpu/memory.h"
#include "kernels/cpu/select.h"
#include "kernels/cpu/vec_math.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// A line seen as vectors. Dense lines: neighbouring elements of one line are lanes. Otherwise: neighbouring
// lines are lanes, and every reduction over the line is one over vectors.
template <class T>
struct DenseLine {
  using A = Compute<T>;
  using V = Vec<A>;
  static constexpr int W = kLanes<A>;
  int64_t n;

  int64_t steps() const { return (n + W - 1) / W; }
  int count(int64_t i) const { return n - i * W < W ? static_cast<int>(n - i * W) : W; }
  V read(const char* p, int64_t, int64_t i, A rest) const {
    const int c = count(i);
    const char* from = p + i * W * sizeof(T);
    if (c == W) return load<T>(from);
    return select<V>(iota<Mask<V>>() < static_cast<Lane<Mask<V>>>(c), load_partial<T>(from, c),
                     broadcast<V>(rest));
  }
  void write(char* p, int64_t, int64_t i, V v) const {
    const int c = count(i);
    if (c == W)
      store<T>(p + i * W * sizeof(T), v);
    else
      store_partial<T>(p + i * W * sizeof(T), c, v);
  }
  // Lanes of partial results, folded by halves, back in all lanes.
  template <class F>
  static V fold(V v, F f) {
    A lanes[W];
    cpu::TL_ISA_NAMESPACE::write(reinterpret_cast<char*>(lanes), v);
    for (int half = W / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) lanes[k] = f(lanes[k], lanes[k + half]);
    }
    return broadcast<V>(lanes[0]);
  }
};

template <class T>
struct ParallelLines {
  using A = Compute<T>;
  using V = Vec<A>;
  static constexpr int W = kLanes<A>;
  int64_t n;
  int lines;
  const int64_t* line_strides;  // by operand
  const int64_t* along;

  int64_t steps() const { return n; }
  V read(const char* p, int64_t operand, int64_t i, A) const {
    const char* from = p + i * along[operand];
    const int64_t stride = line_strides[operand];
    if (stride != static_cast<int64_t>(sizeof(T))) return load_strided<T>(from, stride, lines);
    return lines == W ? load<T>(from) : load_partial<T>(from, lines);
  }
  void write(char* p, int64_t operand, int64_t i, V v) const {
    char* to = p + i * along[operand];
    const int64_t stride = line_strides[operand];
    if (stride != static_cast<int64_t>(sizeof(T)))
      store_strided<T>(to, stride, lines, v);
    else if (lines == W)
      store<T>(to, v);
    else
      store_partial<T>(to, lines, v);
  }
  template <class F>
  static V fold(V v, F) {
    return v;
  }
};

// A sum in kParts interleaved vectors, 256 bytes of lanes on every level, so that all levels add in the same
// order.
template <class Line>
class LineSum {
  using V = typename Line::V;
  static constexpr int kParts = 256 / kVecBytes;

 public:
  TL_INLINE void add(V v) {
    parts_[next_] = parts_[next_] + v;
    next_ = (next_ + 1) % kParts;
  }
  TL_INLINE V value() {
    for (int half = kParts / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) parts_[k] = parts_[k] + parts_[k + half];
    }
    return Line::fold(parts_[0], [](auto a, auto b) { return a + b; });
  }

 private:
  V parts_[kParts] = {};
  int next_ = 0;
};

// Four at a time: a comparison needs the one before it.
template <class Line>
TL_INLINE typename Line::V largest(const Line& line, const char* in) {
  using A = typename Line::A;
  using V = typename Line::V;
  constexpr A lowest = -std::numeric_limits<A>::infinity();
  const int64_t steps = line.steps();
  V tops[4];
  for (V& top : tops) top = broadcast<V>(lowest);
  int64_t i = 0;
  for (; i + 4 <= steps; i += 4) {
    for (int k = 0; k < 4; ++k) tops[k] = maximum(tops[k], line.read(in, 1, i + k, lowest));
  }
  for (; i < steps; ++i) tops[0] = maximum(tops[0], line.read(in, 1, i, lowest));
  const V top = maximum(maximum(tops[0], tops[1]), maximum(tops[2], tops[3]));
  return Line::fold(top, [](A a, A b) { return maximum(a, b); });
}

template <bool log_form, class T, class Line>
void softmax_line(const Line& line, char* const* at) {
  using A = typename Line::A;
  using V = typename Line::V;
  constexpr A lowest = -std::numeric_limits<A>::infinity();
  const int64_t steps = line.steps();
  const V top = largest(line, at[1]);
  // Exponentials are kept in the output where it loses nothing, else computed twice.
  constexpr bool keeps = !log_form && !kIs16<T>;
  LineSum<Line> sum;
  for (int64_t i = 0; i < steps; ++i) {
    const V e = exp(line.read(at[1], 1, i, lowest) - top);
    if constexpr (keeps) line.write(at[0], 0, i, e);
    sum.add(e);
  }
  const V total = sum.value();
  const V shift = log_form ? log(total) : V{}, factor = A(1) / total;
  for (int64_t i = 0; i < steps; ++i) {
    if constexpr (log_form)
      line.write(at[0], 0, i, line.read(at[1], 1, i, 0) - top - shift);
    else if constexpr (keeps)
      line.write(at[0], 0, i, line.read(at[0], 0, i, 0) * factor);
    else
      line.write(at[0], 0, i, exp(line.read(at[1], 1, i, lowest) - top) * factor);
  }
}

template <bool log_form, class T, class Line>
void backward_line(const Line& line, char* const* at) {
  using V = typename Line::V;
  const int64_t steps = line.steps();
  LineSum<Line> sum;
  for (int64_t i = 0; i < steps; ++i) {
    const V g = line.read(at[1], 1, i, 0);
    if constexpr (log_form)
      sum.add(g);
    else
      sum.add(g * line.read(at[2], 2, i, 0));
  }
  const V total = sum.value();
  for (int64_t i = 0; i < steps; ++i) {
    const V g = line.read(at[1], 1, i, 0), y = line.read(at[2], 2, i, 0);
    if constexpr (log_form)
      line.write(at[0], 0, i, g - exp(y) * total);
    else
      line.write(at[0], 0, i, (g - total) * y);
  }
}

template <bool log_form, bool backward, class T>
void run(const AlongShape& s, char* const* data) {
  constexpr int operands = backward ? 3 : 2;
  constexpr int W = kLanes<Compute<T>>;
  const auto line_function = [](const auto& line, char* const* at) {
    if constexpr (backward)
      backward_line<log_form, T>(line, at);
    else
      softmax_line<log_form, T>(line, at);
  };
  bool dense = true;
  for (int k = 0; k < operands; ++k) dense &= s.along[k] == static_cast<int64_t>(sizeof(T));
  const bool many_short =
      s.n <= 32 && s.dims > 0 && s.sizes[0] >= 8;  // then it pays to work on many lines at once
  if ((dense && !many_short) || s.dims == 0) {
    int64_t strides[operands] = {};
    for_each_lines<operands>(s, data, 1, [&](char* const* at, int64_t) {
      if (dense)
        line_function(DenseLine<T>{s.n}, at);
      else
        line_function(ParallelLines<T>{s.n, 1, strides, s.along}, at);
    });
    return;
  }
  int64_t strides[operands];
  for (int k = 0; k < operands; ++k) strides[k] = s.strides[k][0];
  for_each_lines<operands>(s, data, W, [&](char* const* at, int64_t lines) {
    line_function(ParallelLines<T>{s.n, static_cast<int>(lines), strides, s.along}, at);
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
