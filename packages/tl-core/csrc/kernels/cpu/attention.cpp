// isa: all
// The online softmax of Milakov and Gimelshein (2018), tiled as by Dao et al. (FlashAttention, 2022).
#include "kernels/cpu/attention.h"

#include "base/parallel.h"
#include "kernels/cpu/fold.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/memory.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/select.h"
#include "kernels/cpu/square.h"
#include "kernels/cpu/vec_math.h"
#include "kernels/cpu/workspace.h"
#if TL_ISA_LEVEL >= 4
#include "kernels/cpu/float_parts.h"
#endif

// May use what converts two vectors to bfloat16: where products do so, too.
#if TL_ISA_LEVEL >= 4
#define TL_NARROWS __attribute__((target("avx512bf16")))
#else
#define TL_NARROWS
#endif

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// Of a tile, at most.
constexpr int64_t kQueries = 128;

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Rows of a tile: few where half of a tile is hidden, as many as a mask is drawn for, else as even as the
// products' 32 rows at a time allow.
int64_t tile_queries(const Attention& c) {
  if (c.causal || c.draws) return kDrawnRows;
  const int64_t tiles = (c.shape.queries + kQueries - 1) / kQueries,
                even = (c.shape.queries + tiles - 1) / tiles;
  return (even + 31) / 32 * 32;
}

// Columns of a tile.
int64_t tile_keys(const Attention& c, int64_t most) { return least(most, c.shape.keys / 32 * 32 + 32); }
// How far apart rows stand: not by a power of two, as these would meet in the same places of a cache.
constexpr int64_t apart(int64_t width) { return width + 32; }

// ---- tiles ------------------------------------------------------------------------------------------------

struct Place {
  int64_t batch, head, row;
};

template <class T>
char* address(const AttentionTensor& t, Place at) {
  return t.data + (at.batch * t.batch + at.head * t.head + at.row * t.row) * static_cast<int64_t>(sizeof(T));
}

// What products read: bfloat16 as it is, float16, whose range is narrow, in float.
template <class T>
using Factor = std::conditional_t<std::is_same_v<T, BFloat16>, T, Compute<T>>;
template <class T>
inline constexpr bool kInParts = kIsaLevel >= 4 && std::is_same_v<Factor<T>, float>;  // by tiles
template <class T>
inline constexpr bool kReadsAsIs = std::is_same_v<Factor<T>, T>;

// Rows of a tensor as factors: where they stand, or packed into memory of the caller.
template <class T>
MatrixView tile(const AttentionTensor& t, Place at, int64_t rows, int64_t columns, Compute<T>* packed) {
  char* first = address<T>(t, at);
  if constexpr (kReadsAsIs<T>) {
    return {first, t.row, t.column};
  } else {
    constexpr int W = kLanes<float>;
    for (int64_t i = 0; i < rows; ++i) {
      const char* from = first + i * t.row * static_cast<int64_t>(sizeof(T));
      float* to = packed + i * columns;
      int64_t j = 0;
      if (t.column == 1) {
        for (; j + W <= columns; j += W)
          write(reinterpret_cast<char*>(to + j), load<T>(from + j * static_cast<int64_t>(sizeof(T))));
      }
      for (; j < columns; ++j) to[j] = load_one<T>(from + j * t.column * static_cast<int64_t>(sizeof(T)));
    }
    return {reinterpret_cast<char*>(packed), columns, 1};
  }
}

// Sums, whose rows lie `stride` apart.
template <class A>
struct Sums {
  A* data;
  int64_t stride;
  A* row(int64_t i) const { return data + i * stride; }
};

template <class T>
void put(const AttentionTensor& t, Place at, int64_t rows, int64_t columns, Sums<Compute<T>> from) {
  using A = Compute<T>;
  constexpr int W = kLanes<A>;
  for (int64_t i = 0; i < rows; ++i) {
    char* to = address<T>(t, {at.batch, at.head, at.row + i});
    const A* row = from.row(i);
    int64_t j = 0;
    if (t.column == 1) {
      for (; j + W <= columns; j += W)
        store<T>(to + j * static_cast<int64_t>(sizeof(T)),
                 read<Vec<A>>(reinterpret_cast<const char*>(row + j)));
    }
    for (; j < columns; ++j) store_one<T>(to + j * t.column * static_cast<int64_t>(sizeof(T)), row[j]);
  }
}

// Likewise what is the transpose of all a head's rows.
template <class T>
void put_turned(const AttentionTensor& t, Place head, int64_t rows, int64_t columns, Sums<Compute<T>> from) {
  using A = Compute<T>;
  constexpr int64_t W = kLanes<A>, size = sizeof(A);
  Scratch<A> some(W * columns);
  for (int64_t i = 0; i < rows; i += W) {
    const int64_t n = least(W, rows - i);
    int64_t j = 0;
    for (; n == W && j + W <= columns; j += W)
      Square<A>::transpose(reinterpret_cast<char*>(some.data() + j), columns * size,
                           reinterpret_cast<const char*>(from.row(j) + i), from.stride * size);
    for (; j < columns; ++j)
      for (int64_t r = 0; r < n; ++r) some[r * columns + j] = from.row(j)[i + r];
    put<T>(t, {head.batch, head.head, i}, n, columns, {some.data(), columns});
  }
}

template <class A>
MatrixView dense(A* data, int64_t columns) {
  return {reinterpret_cast<char*>(data), columns, 1};
}
MatrixView turned(MatrixView m) { return {m.data, m.column_stride, m.row_stride}; }

// ---- products ---------------------------------------------------------------------------------------------

// A matrix, and the same packed if products read it so: then with at least as many terms.
struct Side {
  MatrixView view;
  const char* packed = nullptr;
  int64_t terms = 0;
};

template <class T>
const Sides* packing(const Attention& c) {
  constexpr int64_t kFew = std::is_same_v<T, BFloat16> ? 8 : 64,
                    kNarrow = 48;      // of which packing is not worth it
  constexpr double kLargest = 0x1p40;  // a scale that what is lost in tiles stays small with
  const int64_t size = c.shape.size, value_size = c.shape.value_size;
  const bool narrow = !std::is_same_v<T, BFloat16> && size + value_size < kNarrow;
  const bool plain = kIsaLevel < 4 || std::is_same_v<T, double> || narrow || c.shape.queries < kFew ||
                     std::max(size, value_size) > Sides::kMost || !(std::abs(c.scale) < kLargest);
  return plain ? nullptr : sides(dtype_of<Factor<T>>);
}

int64_t whole(int64_t lines) { return (lines + Sides::kLines - 1) / Sides::kLines * Sides::kLines; }
// For rows or columns of sums: those of packed sides stand in whole blocks.
int64_t room(const Sides* sides, int64_t lines) { return sides ? whole(lines) : lines; }

// While a thread multiplies packed sides.
class Session {
 public:
  explicit Session(const Sides* sides) : sides_(sides) {
    if (sides_) sides_->begin();
  }
  ~Session() {
    if (sides_) sides_->end();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  const Sides* sides_;
};

// Of a left side, from a strip on.
template <class T>
Side rows_of(const Sides* sides, Side s, int64_t first) {
  s.view.data += first * s.view.row_stride * static_cast<int64_t>(sizeof(Factor<T>));
  if (sides) s.packed += sides->bytes(first, s.terms);
  return s;
}

// Memory for one packed side.
class Packed {
 public:
  Packed(const Sides* sides, int64_t lines, int64_t terms)
      : sides_(sides), memory_(sides ? sides->bytes(lines, terms) : 1) {}

  char* data() { return memory_.data(); }
  Side left(MatrixView m, int64_t rows, int64_t terms) {
    if (!sides_) return {m};
    sides_->pack_left({rows, 0, terms, m, {}, {}, {}}, memory_.data());
    return {m, memory_.data(), terms};
  }
  Side right(MatrixView m, int64_t terms, int64_t columns) {
    if (!sides_) return {m};
    sides_->pack_right({0, columns, terms, {}, m, {}, {}}, memory_.data());
    return {m, memory_.data(), terms};
  }

 private:
  const Sides* sides_;
  Scratch<char> memory_;
};

// The keys or values of a head, as right sides: as they are, turned, or both.
template <class T>
class HeadTiles {
 public:
  HeadTiles(const Sides* sides, const AttentionTensor& t, int64_t height, int64_t rows, int64_t columns,
            int ways)
      : sides_(sides),
        tensor_(t),
        height_(height),
        rows_(rows),
        columns_(columns),
        step_(sides ? sides->bytes(columns, height) : 0),
        ways_(ways),
        values_(kReadsAsIs<T> ? 1 : rows * columns + 1),
        packed_((rows + height - 1) / height * step_ * 2 + 1) {}

  static constexpr int kStraight = 1, kTurned = 2;

  // Makes ready those of a head that begin before a row.
  void reach(int64_t batch, int64_t head, int64_t end) {
    if (batch != head_.batch || head != head_.head) head_ = {batch, head, 0};
    for (; head_.row < end; head_.row += height_) prepare(head_.row);
  }
  Side straight(int64_t row) const { return {view(row), sides_ ? packed(row, 0) : nullptr, rows_from(row)}; }
  Side turned(int64_t row) const {
    return {cpu::TL_ISA_NAMESPACE::turned(view(row)), sides_ ? packed(row, 1) : nullptr, columns_};
  }

 private:
  int64_t rows_from(int64_t row) const { return least(height_, rows_ - row); }
  char* packed(int64_t row, int way) const { return packed_.data() + (row / height_ * 2 + way) * step_; }
  MatrixView view(int64_t row) const {
    if constexpr (kReadsAsIs<T>)
      return {address<T>(tensor_, {head_.batch, head_.head, row}), tensor_.row, tensor_.column};
    else
      return dense(values_.data() + row * columns_, columns_);
  }
  void prepare(int64_t row) {
    const int64_t n = rows_from(row);
    tile<T>(tensor_, {head_.batch, head_.head, row}, n, columns_, values_.data() + row * columns_);
    if (!sides_) return;
    const Side a = straight(row), b = turned(row);
    if (ways_ & kStraight) sides_->pack_right({0, columns_, n, {}, a.view, {}, {}}, packed(row, 0));
    if (ways_ & kTurned) sides_->pack_right({0, n, columns_, {}, b.view, {}, {}}, packed(row, 1));
  }

  const Sides* sides_;
  const AttentionTensor& tensor_;
  int64_t height_, rows_, columns_, step_;  // of a tile and of the head
  int ways_;
  Workspace<Compute<T>> values_;
  Workspace<char> packed_;
  Place head_{-1, -1, 0};
};

// c = a b, or what is added to c.
template <class T>
void multiply(const Sides* sides, int64_t m, int64_t n, int64_t k, Side a, Side b, Sums<Compute<T>> c,
              bool adds) {
  if constexpr (!std::is_same_v<T, double>) {
    if (sides) return sides->multiply({m, n, k, a.packed, b.packed, b.terms, c.data, c.stride, adds});
  }
  const Compute<T> one = 1;
  const MatrixView to = dense(c.data, c.stride);
  const Product p{m, n, k, a.view, b.view, to, adds ? to : MatrixView{}, &one, adds ? &one : nullptr};
  if constexpr (std::is_same_v<Factor<T>, Compute<T>>)
    matmul(dtype_of<Compute<T>>, p);
  else
    matmul_in_float(p);
}

// ---- what tiles' products of floats cannot ----------------------------------------------------------------

template <class A>
inline constexpr A kSeen = A(0x1p-80);  // from where on what is lost is not seen

// Neither not finite nor so small.
template <class A>
TL_INLINE auto sure(Vec<A> v) {
  const Vec<A> size = abs(v);
  return (size <= std::numeric_limits<A>::max()) & ((size >= kSeen<A>) | (size == A(0)));
}
template <class A>
TL_INLINE Vec<A> some(const A* row, int64_t j, int64_t columns) {
  const auto left = static_cast<int>(least(kLanes<A>, columns - j));
  return load_partial<A>(reinterpret_cast<const char*>(row + j), left);
}
template <class A>
bool all_sure(Sums<A> sums, int64_t rows, int64_t columns) {
  auto good = Vec<A>{} == Vec<A>{};
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; j += kLanes<A>) good &= sure<A>(some(sums.row(i), j, columns));
  return !any(~good);
}
template <class A>
void replace_unsure(Sums<A> sums, Sums<A> exact, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; j += kLanes<A>) {
      const Vec<A> v = some(sums.row(i), j, columns);
      const auto left = static_cast<int>(least(kLanes<A>, columns - j));
      store_partial<A>(reinterpret_cast<char*>(sums.row(i) + j), left,
                       select<Vec<A>>(sure<A>(v), v, some(exact.row(i), j, columns)));
    }
  }
}

// The exact rows of some heads of a tensor.
template <class T>
class HeadCopy {
 public:
  HeadCopy(int64_t first, int64_t heads, int64_t rows, int64_t columns)
      : first_(first), rows_(rows), columns_(columns), memory_(heads * rows * columns * kSize) {}

  AttentionTensor tensor() const {
    return {memory_.data() - first_ * rows_ * columns_ * kSize, 0, rows_ * columns_, columns_, 1};
  }
  void replace_unsure(const AttentionTensor& t, Place head) const {
    for (int64_t i = 0; t.data && i < rows_; ++i) {
      const Place at{head.batch, head.head, i};
      for (int64_t j = 0; j < columns_; ++j) {
        char* to = address<T>(t, at) + j * t.column * kSize;
        const Compute<T> size = std::abs(load_one<T>(to));
        const bool good =
            size <= std::numeric_limits<Compute<T>>::max() && (size >= kSeen<Compute<T>> || size == 0);
        if (!good) std::memcpy(to, address<T>(tensor(), at) + j * kSize, kSize);
      }
    }
  }

 private:
  static constexpr int64_t kSize = sizeof(T);
  int64_t first_, rows_, columns_;
  Workspace<char> memory_;
};

// ---- scores -----------------------------------------------------------------------------------------------

// A tile of scores: `keys` of a row's places are filled, those behind them hold -infinity.
template <class T>
struct Scores {
  using A = Compute<T>;
  static constexpr int W = kLanes<A>;
  static constexpr A lowest = -std::numeric_limits<A>::infinity();
  const Attention& call;
  Sums<A> rows;
  int64_t batch, head, query, key, queries, keys;

  A* row(int64_t i) const { return rows.row(i); }
  int64_t pairs() const { return (keys + 2 * W - 1) / (2 * W); }  // of vectors
  // How many keys the row's query may look at.
  int64_t visible(int64_t i) const {
    if (!call.causal) return keys;
    const int64_t n = query + i + 1 - key;
    return n < 0 ? 0 : least(n, keys);
  }
  // Masks are added to what is scaled, and only of factors above 0 the largest score stays the largest.
  bool scaled() const { return call.mask.data || !(scale() > 0); }
  A scale() const { return static_cast<A>(call.scale); }
  A factor() const { return scaled() ? A(1) : scale(); }  // that scores have yet to be multiplied by

  void compute(const Sides* sides, Side q, Side turned_keys) const {
    multiply<T>(sides, queries, keys, call.shape.size, q, turned_keys, rows, false);
    for (int64_t i = 0; i < queries; ++i) {
      A* const s = row(i);
      for (int64_t j = 0; scaled() && j < keys; ++j) s[j] *= scale();
      if (call.mask.data) apply_mask(i);
      std::fill(s + visible(i), s + pairs() * 2 * W, lowest);
    }
  }
  void apply_mask(int64_t i) const {
    const AttentionTensor& m = call.mask;
    const int64_t at = batch * m.batch + head * m.head + (query + i) * m.row + key * m.column, n = visible(i);
    A* const s = row(i);
    if (call.mask_is_bool) {
      const char* seen = m.data + at;
      for (int64_t j = 0; j < n; ++j) s[j] = seen[j * m.column] ? s[j] : lowest;
    } else {
      const A* added = reinterpret_cast<const A*>(m.data) + at;
      for (int64_t j = 0; j < n; ++j) s[j] += added[j * m.column];
    }
  }
};

template <class A>
TL_INLINE Vec<A> at(const A* p, int64_t i) {
  return read<Vec<A>>(reinterpret_cast<const char*>(p + i * kLanes<A>));
}
template <class A>
TL_INLINE void set(A* p, int64_t i, Vec<A> v) {
  write(reinterpret_cast<char*>(p + i * kLanes<A>), v);
}

// Makes factors of a tile's row, in place, and of a whole tile's rows the matrix. Inlined, as gcc 12 at -O1
// takes the call for one without effect.
template <class T>
TL_INLINE void to_factors(Compute<T>* row, int64_t steps) {
  using F = Factor<T>;
  if constexpr (!std::is_same_v<F, Compute<T>>) {
    constexpr int64_t bytes = kLanes<Compute<T>> * sizeof(F);
    for (int64_t i = 0; i < steps; ++i) store<F>(reinterpret_cast<char*>(row) + i * bytes, at(row, i));
  }
}
template <class T>
MatrixView factors(Sums<Compute<T>> rows) {
  return dense(rows.data, rows.stride * static_cast<int64_t>(sizeof(Compute<T>) / sizeof(Factor<T>)));
}

// ---- exponentials -----------------------------------------------------------------------------------------

#if TL_ISA_LEVEL >= 4
// 2^(x - 1/2), the whole part of x by the instruction that scales; no more exact than a factor can hold.
template <class F>
TL_INLINE VecF power(VecF x) {
  constexpr int kFraction = 1;  // what is left above the whole number below
  const VecF r = _mm512_reduce_ps(x, kFraction);
  VecF p;
  if constexpr (std::is_same_v<F, BFloat16>)
    p = polynomial(r, 0x1.c3f762p-5f, 0x1.476154p-3f, 0x1.f7d65ap-2f, 0x1.6a02f8p-1f);
  else
    p = polynomial(r, 0x1.41d334p-13f, 0x1.cd2c6ep-11f, 0x1.c086d6p-8f, 0x1.4164d4p-5f, 0x1.5be3d4p-3f,
                   0x1.f5e45cp-2f, 0x1.6a09e6p-1f);
  const __mmask16 normal = _mm512_cmp_ps_mask(x, VecF{} - 125.0f, _CMP_NLT_UQ);  // a NaN stays
  return _mm512_maskz_scalef_ps(normal, p, x);
}
#endif

// exp(factor x - shift), also where scores are the least numbers there are, as masks make them.
template <class F>
TL_INLINE Vec<Compute<F>> exponential(Vec<Compute<F>> x, Compute<F> factor, Compute<F> shift) {
  using V = Vec<Compute<F>>;
#if TL_ISA_LEVEL >= 4
  constexpr float log2_e = 0x1.715476p0f;
  if constexpr (std::is_same_v<V, VecF>)
    return power<F>(fma(fma(x, V{} + factor, V{} - shift), V{} + log2_e, V{} + 0.5f));
#endif
  return exp(fma(x, V{} + factor, V{} - shift));
}

// A row of factors: in its scores' place, or in the order in which products by tiles read 16 rows.
template <class F>
struct FactorRow {
  using A = Compute<F>;
  static constexpr int64_t kSquare = 256, kPair = std::is_same_v<F, BFloat16> ? kSquare : 3 * kSquare;
  A* row;
  float* squares;

  // Where row i of so many pairs of vectors begins.
  static float* within(char* packed, int64_t i, int64_t pairs) {
    return reinterpret_cast<float*>(packed) + i / 16 * pairs * kPair + i % 16 * 16;
  }

  TL_NARROWS TL_INLINE void put(int64_t pair, Vec<A> x, Vec<A> y) const {
#if TL_ISA_LEVEL >= 4
    if constexpr (std::is_same_v<A, float>) {
      if (squares) return put_in_squares(squares + pair * kPair, Term(x), Term(y));
    }
#endif
    constexpr int64_t bytes = kLanes<A> * sizeof(F);
    char* to = reinterpret_cast<char*>(row) + pair * 2 * bytes;
    store<F>(to, x);
    store<F>(to + bytes, y);
  }

#if TL_ISA_LEVEL >= 4
  using Term = std::conditional_t<std::is_same_v<F, BFloat16>, VecF, FloatParts<false>>;
  TL_NARROWS TL_INLINE static void put_in_squares(float* to, VecF x, VecF y) {
    _mm512_storeu_ps(to, reinterpret_cast<__m512>(_mm512_cvtne2ps_pbh(y, x)));
  }
  TL_INLINE static void put_in_squares(float* to, const FloatParts<false>& x, const FloatParts<false>& y) {
    store_pairs<false>(x, y, to, kSquare);
  }
#endif
};

// Turns a row of scores into exponentials, of which some are kept. Returns their sum before.
template <class F>
TL_NARROWS Compute<F> exponentials(int64_t pairs, Compute<F> factor, Compute<F> shift, const char* kept,
                                   Compute<F> kept_scale, FactorRow<F> to) {
  using A = Compute<F>;
  constexpr int64_t W = kLanes<A>;
  Vec<A> total{}, more{};
  for (int64_t k = 0; k < pairs; ++k) {
    auto x = exponential<F>(at(to.row, 2 * k), factor, shift),
         y = exponential<F>(at(to.row, 2 * k + 1), factor, shift);
    total += x;
    more += y;
    if (kept) {
      x = select<Vec<A>>(load<bool, A>(kept + 2 * k * W), x * kept_scale, Vec<A>{});
      y = select<Vec<A>>(load<bool, A>(kept + (2 * k + 1) * W), y * kept_scale, Vec<A>{});
    }
    to.put(k, x, y);
  }
  return sum_of_lanes(total + more);
}

template <class V>
TL_INLINE V larger(V best, V x) {  // a NaN shows in its exponential
#if TL_ISA_LEVEL >= 4
  if constexpr (std::is_same_v<V, VecF>) return _mm512_max_ps(x, best);
#endif
  return select<V>(best < x, x, best);
}
template <class A>
A largest(const A* row, int64_t pairs) {
  using V = Vec<A>;
  V best[2] = {V{} - std::numeric_limits<A>::infinity(), V{} - std::numeric_limits<A>::infinity()};
  for (int64_t k = 0; k < 2 * pairs; k += 2)
    best[0] = larger(best[0], at(row, k)), best[1] = larger(best[1], at(row, k + 1));
  return folded(larger(best[0], best[1]), [](V a, V b) { return larger(a, b); });
}

// The running maxima and sums of a tile's rows.
template <class A>
struct Running {
  A tops[kQueries], sums[kQueries];

  void clear() {
    for (A& top : tops) top = -std::numeric_limits<A>::infinity();
    for (A& sum : sums) sum = 0;
  }
  // Goes on from row i to peaks; decays are for what was summed before.
  void raise(int64_t i, int64_t rows, A* peaks, A* decays, A* shifts) {
    using V = Vec<A>;
    constexpr A infinity = std::numeric_limits<A>::infinity();
    for (int64_t k = 0; k * kLanes<A> < rows; ++k) {
      const V top = at(tops + i, k), higher = larger(top, at(peaks, k)),
              shift = select<V>(higher == -infinity, V{}, higher), decay = exp(top - shift);
      set(tops + i, k, higher);
      set(shifts, k, shift);
      set(decays, k, decay);
      set(sums + i, k, at(sums + i, k) * decay);
    }
  }
};

template <class A>
void scale_row(A* row, int64_t n, A factor) {
  for (int64_t j = 0; j < n; ++j) row[j] *= factor;
}

// ---- dropout ----------------------------------------------------------------------------------------------

// What dropout leaves of a row of tiles' probabilities.
template <class A>
class Kept {
 public:
  explicit Kept(const Attention& c)
      : c_(c), bytes_(c.draws ? kDrawnRows * c.shape.keys + 2 * kLanes<A> : 0) {}

  // For rows from `at` on, as far as keys are seen.
  void draw(Place at, int64_t rows, int64_t seen) {
    if (!c_.draws) return;
    const int64_t tile =
        (at.batch * c_.shape.heads + at.head) * drawn_tiles(c_.shape.queries) + at.row / kDrawnRows;
    draw_kept(c_.draws + tile * kDrawnState, rows, c_.shape.keys, seen, c_.dropout, bytes_.data());
  }
  // Of a tile's row i, from a key on, a byte each, or null; and what is left is multiplied by.
  const char* row(int64_t i, int64_t key) {
    return c_.draws ? reinterpret_cast<const char*>(bytes_.data()) + i * c_.shape.keys + key : nullptr;
  }
  A scale() const { return static_cast<A>(1 / (1 - c_.dropout)); }

 private:
  const Attention& c_;
  Scratch<uint8_t, 4096> bytes_;
};

// ---- forward ----------------------------------------------------------------------------------------------

template <class T>
struct ForwardMemory {
  using A = Compute<T>;
  const Sides* sides;
  Kept<A> kept;
  int64_t width;  // of a tile of scores
  Scratch<A> numbers, sums, query;
  Sums<A> scores, output;
  Running<A> running;
  A log_sums[kQueries];
  Packed packed_query, factors;
  HeadTiles<T> keys, values;
  ForwardMemory(const Attention& c, const Sides* sides)
      : sides(sides),
        kept(c),
        width(tile_keys(c, sides && kInParts<T> ? 1024 : 256)),
        numbers((sides ? Sides::kLines : kQueries) * apart(width)),
        sums(kQueries * room(sides, c.shape.value_size)),
        query(kReadsAsIs<T> ? 1 : kQueries * c.shape.size + 1),
        scores{numbers.data(), apart(width)},
        output{sums.data(), room(sides, c.shape.value_size)},
        packed_query(sides, kQueries, c.shape.size),
        factors(sides, Sides::kLines, width),
        keys(sides, c.key, width, c.shape.keys, c.shape.size, HeadTiles<T>::kTurned),
        values(sides, c.value, width, c.shape.keys, c.shape.value_size, HeadTiles<T>::kStraight) {}
};

// Adds what keys give to rows from `first` of the tile on.
template <class T>
void attend(const Attention& c, ForwardMemory<T>& memory, const Scores<T>& s, Side query, int64_t first) {
  using A = Compute<T>;
  using Row = FactorRow<Factor<T>>;
  const int64_t n = c.shape.value_size;
  const Sums<A> output{memory.output.row(first), memory.output.stride};
  s.compute(memory.sides, query, memory.keys.turned(s.key));
  A peaks[kQueries] = {}, decays[kQueries], shifts[kQueries];
  for (int64_t i = 0; i < s.queries; ++i) peaks[i] = largest(s.row(i), s.pairs()) * s.factor();
  memory.running.raise(first, s.queries, peaks, decays, shifts);
  const Side probabilities{factors<T>(s.rows), memory.factors.data(), s.keys};
  for (int64_t i = 0; i < s.queries; ++i) {
    float* squares = memory.sides ? Row::within(memory.factors.data(), i, s.pairs()) : nullptr;
    memory.running.sums[first + i] +=
        exponentials<Factor<T>>(s.pairs(), s.factor(), shifts[i], memory.kept.row(first + i, s.key),
                                memory.kept.scale(), {s.row(i), squares});
    if (s.key > 0 && decays[i] != 1) scale_row(output.row(i), n, decays[i]);
  }
  multiply<T>(memory.sides, s.queries, n, s.keys, probabilities, memory.values.straight(s.key), output,
              s.key > 0);
}

template <class T>
void attend_tile(const Attention& c, ForwardMemory<T>& memory, Place at, int64_t rows) {
  using A = Compute<T>;
  const AttentionShape& s = c.shape;
  const Sides* sides = memory.sides;
  const int64_t key_head = at.head / (s.heads / s.key_heads), strip = sides ? Sides::kLines : rows;
  const Side query =
      memory.packed_query.left(tile<T>(c.query, at, rows, s.size, memory.query.data()), rows, s.size);
  const auto seen = [&](int64_t row) { return c.causal ? least(s.keys, at.row + row) : s.keys; };
  const int64_t end = seen(room(sides, rows));
  memory.running.clear();
  if (end == 0) std::fill_n(memory.output.data, rows * memory.output.stride, A(0));
  memory.kept.draw(at, rows, end);
  memory.keys.reach(at.batch, key_head, end);
  memory.values.reach(at.batch, key_head, end);
  const Session session(sides);
  for (int64_t key = 0; key < end; key += memory.width) {
    for (int64_t i = 0; i < rows; i += strip) {
      const int64_t n = least(memory.width, seen(i + strip) - key);
      if (n <= 0) continue;
      attend<T>(c, memory, {c, memory.scores, at.batch, at.head, at.row + i, key, least(strip, rows - i), n},
                rows_of<T>(sides, query, i), i);
    }
  }
}

template <class T>
void normalize(const Attention& c, ForwardMemory<T>& memory, int64_t rows) {
  using A = Compute<T>;
  const Running<A>& r = memory.running;
  for (int64_t k = 0; k * kLanes<A> < rows; ++k)
    set(memory.log_sums, k,
        select<Vec<A>>(at(r.sums, k) == A(0), Vec<A>{} + std::numeric_limits<A>::infinity(),
                       at(r.tops, k) + log(at(r.sums, k))));
  for (int64_t i = 0; i < rows; ++i)
    scale_row(memory.output.row(i), c.shape.value_size, r.sums[i] == 0 ? A(0) : A(1) / r.sums[i]);
}

template <class T>
void forward_tile(const Attention& c, ForwardMemory<T>& memory, Place at) {
  using A = Compute<T>;
  const AttentionShape& s = c.shape;
  const int64_t rows = least(tile_queries(c), s.queries - at.row);
  attend_tile<T>(c, memory, at, rows);
  normalize<T>(c, memory, rows);
  if constexpr (kInParts<T>) {
    if (memory.sides && !all_sure(memory.output, rows, s.value_size)) {
      ForwardMemory<T> exact(c, nullptr);
      attend_tile<T>(c, exact, at, rows);
      normalize<T>(c, exact, rows);
      replace_unsure(memory.output, exact.output, rows, s.value_size);
      replace_unsure<A>({memory.log_sums, 0}, {exact.log_sums, 0}, 1, rows);
    }
  }
  put<T>(c.output, at, rows, s.value_size, memory.output);
  A* log_sums = static_cast<A*>(c.log_sums) + (at.batch * s.heads + at.head) * s.queries + at.row;
  std::copy_n(memory.log_sums, rows, log_sums);
}

template <class T>
void forward(const Attention& c) {
  const AttentionShape& s = c.shape;
  const int64_t height = tile_queries(c), tiles = (s.queries + height - 1) / height,
                tasks = s.batch * s.heads * tiles;
  const int64_t cost = height * (s.keys + 1) * (s.size + s.value_size + 16), few = (1 << 19) / cost + 1;
  // Whole heads, whose keys are packed once, unless threads would stand idle.
  const int64_t grain = s.batch * s.heads >= 2 * num_threads() ? std::max(few, tiles) : few;
  parallel_for(0, tasks, grain, [&](int64_t begin, int64_t end) {
    ForwardMemory<T> memory(c, packing<T>(c));
    for (int64_t i = begin; i < end; ++i)
      forward_tile<T>(c, memory, {i / tiles / s.heads, i / tiles % s.heads, i % tiles * height});
  });
}

// ---- backward ---------------------------------------------------------------------------------------------

template <class T>
struct BackwardMemory {
  using A = Compute<T>;
  static constexpr int64_t copied = kReadsAsIs<T> ? 0 : kQueries;
  static constexpr int kBoth = HeadTiles<T>::kStraight | HeadTiles<T>::kTurned;
  const Sides* sides;
  Kept<A> kept;
  int64_t width;  // of a tile of scores
  Scratch<A> numbers, slope_numbers, query, grad, output;
  Scratch<A> query_sums, key_sums, value_sums;
  Sums<A> scores, slopes, grad_query, grad_key, grad_value;
  Packed packed_query, turned_query, packed_grad, turned_grad, probabilities, left_slopes, right_slopes;
  HeadTiles<T> keys, values;
  BackwardMemory(const Attention& c, const Sides* sides) : BackwardMemory(c, sides, c.shape) {}
  BackwardMemory(const Attention& c, const Sides* sides, const AttentionShape& s)
      : sides(sides),
        kept(c),
        width(tile_keys(c, sides && kInParts<T> ? 128 : 256)),
        numbers((sides ? Sides::kLines : kQueries) * apart(width)),
        slope_numbers((sides ? Sides::kLines : kQueries) * apart(width)),
        query(copied * s.size + 1),
        grad(copied * s.value_size + 1),
        output(copied * s.value_size + 1),
        query_sums(kQueries * room(sides, s.size)),
        key_sums(room(sides, s.keys) * room(sides, s.size)),
        value_sums(room(sides, s.keys) * room(sides, s.value_size)),
        scores{numbers.data(), apart(width)},
        slopes{slope_numbers.data(), apart(width)},
        grad_query{query_sums.data(), room(sides, s.size)},
        grad_key{key_sums.data(), room(sides, s.keys)},
        grad_value{value_sums.data(), room(sides, s.keys)},
        packed_query(sides, kQueries, s.size),
        turned_query(sides, s.size, kQueries),
        packed_grad(sides, kQueries, s.value_size),
        turned_grad(sides, s.value_size, kQueries),
        probabilities(sides, width, kQueries),
        left_slopes(sides, kQueries, width),
        right_slopes(sides, width, kQueries),
        keys(sides, c.key, width, s.keys, s.size, kBoth),
        values(sides, c.value, width, s.keys, s.value_size, HeadTiles<T>::kTurned) {}
};

template <class F>
Vec<Compute<F>> elements(MatrixView m, int64_t i, int64_t j, int n) {
  constexpr int64_t size = sizeof(F);
  const char* from = m.data + (i * m.row_stride + j * m.column_stride) * size;
  return m.column_stride == 1 ? load_partial<F>(from, n) : load_strided<F>(from, m.column_stride * size, n);
}

// The sum over a row of gradient times output.
template <class F>
Compute<F> row_product(MatrixView a, MatrixView b, int64_t i, int64_t n) {
  constexpr int W = kLanes<Compute<F>>;
  Vec<Compute<F>> sum{};
  for (int64_t j = 0; j < n; j += W) {
    const int left = static_cast<int>(least(W, n - j));
    sum = fma(elements<F>(a, i, j, left), elements<F>(b, i, j, left), sum);
  }
  return sum_of_lanes(sum);
}

// What the tiles of one row of tiles share.
template <class T>
struct BackwardRow {
  using A = Compute<T>;
  Place at;
  int64_t rows, key_head;
  Side query, turned_query, grad, turned_grad;
  A products[kQueries];

  BackwardRow(const Attention& c, const AttentionGradients& g, BackwardMemory<T>& memory, Place place)
      : at(place),
        rows(least(tile_queries(c), c.shape.queries - place.row)),
        key_head(place.head / (c.shape.heads / c.shape.key_heads)) {
    const int64_t n = c.shape.value_size;
    query = {tile<T>(c.query, at, rows, c.shape.size, memory.query.data())};
    grad = {tile<T>(g.grad, at, rows, n, memory.grad.data())};
    turned_query = memory.turned_query.left(turned(query.view), c.shape.size, rows);
    turned_grad = memory.turned_grad.left(turned(grad.view), n, rows);
    query = memory.packed_query.left(query.view, rows, c.shape.size);
    grad = memory.packed_grad.left(grad.view, rows, n);
    const MatrixView output = tile<T>(c.output, at, rows, n, memory.output.data());
    for (int64_t i = 0; i < rows; ++i) products[i] = row_product<Factor<T>>(grad.view, output, i, n);
  }
};

// From a vector of scores and the gradients of the probabilities: the probabilities and the scores'
// gradients; as dropout leaves them, which tells what it keeps.
template <class F>
struct Slopes {
  using V = Vec<Compute<F>>;
  V p, d;
};
template <class F>
struct Differentiator {
  using A = Compute<F>;
  using V = Vec<A>;
  A factor, log_sum, product;
  const char* kept;
  A kept_scale;

  TL_INLINE V remaining(V v, int64_t k) const {
    return kept ? select<V>(load<bool, A>(kept + k * kLanes<A>), v * kept_scale, V{}) : v;
  }
  TL_INLINE Slopes<F> operator()(V score, V slope, int64_t k) const {
    const V p = exponential<F>(score, factor, log_sum);
    const V d = select<V>(p == A(0), V{}, p * (remaining(slope, k) - product));
    return {remaining(p, k), d};
  }
};
template <class T>
Differentiator<Factor<T>> differentiator(const Attention& c, const BackwardRow<T>& r, const Scores<T>& s,
                                         int64_t i, Kept<Compute<T>>& kept) {
  using A = Compute<T>;
  if (i >= r.rows) return {s.factor(), 0, 0, nullptr, 0};
  const A* log_sums =
      static_cast<const A*>(c.log_sums) + (r.at.batch * c.shape.heads + r.at.head) * c.shape.queries;
  return {s.factor(), log_sums[r.at.row + i], r.products[i], kept.row(i, s.key), kept.scale()};
}

// In a tile of scores, or of what goes with them.
template <class T>
bool any_nan(const Scores<T>& s, Sums<Compute<T>> numbers) {
  auto none = Vec<Compute<T>>{} == Vec<Compute<T>>{};
  for (int64_t i = 0; i < s.queries; ++i)
    for (int64_t k = 0; k < 2 * s.pairs(); ++k) none &= at(numbers.row(i), k) == at(numbers.row(i), k);
  return any(~none);
}

template <class T>
void add_to_mask(const AttentionTensor& m, const Scores<T>& s, int64_t i, const Compute<T>* slopes) {
  if (!m.data) return;
  using A = Compute<T>;
  constexpr int64_t W = kLanes<A>;
  auto* to = reinterpret_cast<A*>(m.data) + s.batch * m.batch + s.head * m.head + (s.query + i) * m.row +
             s.key * m.column;
  const int64_t n = s.visible(i);
  int64_t j = 0;
  for (; m.column == 1 && j + W <= n; j += W) set(to + j, 0, at(to + j, 0) + at(slopes + j, 0));
  for (; j < n; ++j) to[j * m.column] += slopes[j];
}

// Scores become probabilities, slopes (the gradients of probabilities) those of scores.
template <class T>
void differentiate(const Attention& c, const BackwardRow<T>& r, const Scores<T>& scores,
                   Sums<Compute<T>> slopes, Kept<Compute<T>>& kept, const AttentionGradients& g) {
  using A = Compute<T>;
  const A scale = static_cast<A>(c.scale);
  const int64_t steps = 2 * scores.pairs();
  for (int64_t i = 0; i < r.rows; ++i) {
    A *const s = scores.row(i), *const d = slopes.row(i);
    const auto slopes_of = differentiator<T>(c, r, scores, i, kept);
    for (int64_t k = 0; k < steps; ++k) {
      const auto both = slopes_of(at(s, k), at(d, k), k);
      set(s, k, both.p);
      set(d, k, both.d);
    }
    add_to_mask<T>(g.mask, scores, i, d);
    for (int64_t k = 0; k < steps; ++k) set(d, k, at(d, k) * scale);
    to_factors<T>(s, steps);
    to_factors<T>(d, steps);
  }
}

#if TL_ISA_LEVEL >= 4
// A right side's rows as products by tiles read them: pairs of rows, in panels of 32 columns.
template <class F>
struct FactorPanels {
  static constexpr bool kNarrow = std::is_same_v<F, BFloat16>;
  // The row that a row of a strip is paired with comes so much later, and the next pair's first.
  static constexpr int64_t kMate = kNarrow ? 1 : 16, kNext = kNarrow ? 2 : 1;
  static constexpr int64_t kLine = Sides::kLines, kStrip = FactorRow<F>::kPair * 2;  // floats
  float* data;
  int64_t panel;

  TL_NARROWS TL_INLINE static void put(float* to, VecF x, VecF y) {
    const __m512bh both = _mm512_cvtne2ps_pbh(y, x);
    const Pack<uint16_t, 32> order{0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                   8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    _mm512_storeu_si512(to,
                        _mm512_permutexvar_epi16(bitcast<__m512i>(order), reinterpret_cast<__m512i>(both)));
  }
  TL_INLINE static void put(float* to, const FloatParts<false>& x, const FloatParts<false>& y) {
    store_pairs<false>(x, y, to, 16 * kLine);
  }
};

// Likewise of a strip of rows, which become factors of three products.
template <class T>
TL_NARROWS void differentiate_strip(const Attention& c, const BackwardRow<T>& r, const Scores<T>& scores,
                                    Sums<float> slopes, int64_t first, Kept<float>& kept,
                                    const AttentionTensor& mask, FactorPanels<Factor<T>> p_right,
                                    FactorPanels<Factor<T>> d_right, char* d_left) {
  using F = Factor<T>;
  using Panels = FactorPanels<F>;
  using Term = typename FactorRow<F>::Term;
  const auto scale = static_cast<float>(c.scale);
  for (int64_t pair = 0; pair < 16; ++pair) {
    const int64_t rows[2] = {pair * Panels::kNext, pair * Panels::kNext + Panels::kMate};
    const Differentiator<F> of[2] = {differentiator<T>(c, r, scores, first + rows[0], kept),
                                     differentiator<T>(c, r, scores, first + rows[1], kept)};
    const int64_t line = first / Panels::kLine * Panels::kStrip + pair * Panels::kLine;
    for (int64_t k = 0; k < scores.pairs(); ++k) {
      VecF p[2][2], d[2][2];
      for (int i = 0; i < 2; ++i) {
        for (int v = 0; v < 2; ++v) {
          const Slopes<F> both =
              of[i](at(scores.row(rows[i]), 2 * k + v), at(slopes.row(rows[i]), 2 * k + v), 2 * k + v);
          if (mask.data) set(slopes.row(rows[i]), 2 * k + v, both.d);
          p[i][v] = both.p;
          d[i][v] = both.d * scale;
        }
      }
      const Term terms[2][2] = {{Term(d[0][0]), Term(d[0][1])}, {Term(d[1][0]), Term(d[1][1])}};
      for (int v = 0; v < 2; ++v) {
        Panels::put(p_right.data + k * p_right.panel + line + 16 * v, Term(p[0][v]), Term(p[1][v]));
        Panels::put(d_right.data + k * d_right.panel + line + 16 * v, terms[0][v], terms[1][v]);
      }
      for (int i = 0; i < 2; ++i) {
        float* to = FactorRow<F>::within(d_left, first + rows[i], scores.pairs()) + k * FactorRow<F>::kPair;
        FactorRow<F>::put_in_squares(to, terms[i][0], terms[i][1]);
      }
    }
  }
  for (int64_t i = 0; i < scores.queries; ++i) add_to_mask<T>(mask, scores, i, slopes.row(i));
}
#endif

// What a tile gives to the gradients: its probabilities, and its scores' gradients as either side.
struct BackwardFactors {
  Side probabilities, slopes, right_slopes;
};
template <class T>
BackwardFactors backward_factors(const Attention& c, const AttentionGradients& g, BackwardMemory<T>& memory,
                                 const BackwardRow<T>& r, int64_t key, int64_t n) {
  const Sides* sides = memory.sides;
  const int64_t strip = sides ? Sides::kLines : r.rows;
  for (int64_t i = 0; i < r.rows; i += strip) {
    const Scores<T> scores{
        c, memory.scores, r.at.batch, r.at.head, r.at.row + i, key, least(strip, r.rows - i), n};
    const auto products = [&](const Sides* by) {
      scores.compute(by, rows_of<T>(sides, r.query, i), memory.keys.turned(key));
      multiply<T>(by, scores.queries, n, c.shape.value_size, rows_of<T>(sides, r.grad, i),
                  memory.values.turned(key), memory.slopes, false);
    };
    products(sides);
    // What is added to the mask's gradient cannot be replaced later.
    if (kInParts<T> && sides && g.mask.data &&
        (any_nan(scores, scores.rows) || any_nan(scores, memory.slopes)))
      products(nullptr);
    if (!sides) {
      differentiate<T>(c, r, scores, memory.slopes, memory.kept, g);
      const Side s{factors<T>(memory.scores)}, d{factors<T>(memory.slopes)};
      return {s, d, d};
    }
#if TL_ISA_LEVEL >= 4
    if constexpr (!std::is_same_v<T, double>) {
      using F = Factor<T>;
      const int64_t panel = whole(r.rows) * FactorRow<F>::kPair / 16;
      const auto floats = [](Packed& p) { return reinterpret_cast<float*>(p.data()); };
      std::fill(scores.row(scores.queries), scores.row(strip), Scores<T>::lowest);
      differentiate_strip<T>(c, r, scores, memory.slopes, i, memory.kept, g.mask,
                             {floats(memory.probabilities), panel}, {floats(memory.right_slopes), panel},
                             memory.left_slopes.data());
    }
#endif
  }
  return {{{}, memory.probabilities.data(), r.rows},
          {{}, memory.left_slopes.data(), n},
          {{}, memory.right_slopes.data(), r.rows}};
}

// Returns how many rows they are.
template <class T>
int64_t backward_row(const Attention& c, const AttentionGradients& g, BackwardMemory<T>& memory,
                     Place place) {
  using A = Compute<T>;
  const AttentionShape& s = c.shape;
  const BackwardRow<T> r(c, g, memory, place);
  const int64_t end = c.causal ? least(s.keys, place.row + r.rows) : s.keys;
  if (end == 0) std::fill_n(memory.grad_query.data, r.rows * memory.grad_query.stride, A(0));
  memory.kept.draw(place, r.rows, end);
  memory.keys.reach(place.batch, r.key_head, end);
  memory.values.reach(place.batch, r.key_head, end);
  const Session session(memory.sides);
  for (int64_t key = 0; key < end; key += memory.width) {
    const int64_t n = least(memory.width, end - key);
    const BackwardFactors f = backward_factors<T>(c, g, memory, r, key, n);
    multiply<T>(memory.sides, s.value_size, n, r.rows, r.turned_grad, f.probabilities,
                {memory.grad_value.data + key, memory.grad_value.stride}, true);
    multiply<T>(memory.sides, r.rows, s.size, n, f.slopes, memory.keys.straight(key), memory.grad_query,
                key > 0);
    multiply<T>(memory.sides, s.size, n, r.rows, r.turned_query, f.right_slopes,
                {memory.grad_key.data + key, memory.grad_key.stride}, true);
  }
  return r.rows;
}

// The gradients of a key head and of the query heads that share it. Returns whether they are sure.
template <class T>
bool backward_head(const Attention& c, const AttentionGradients& g, BackwardMemory<T>& memory, Place head) {
  using A = Compute<T>;
  const AttentionShape& s = c.shape;
  const int64_t shared = s.heads / s.key_heads;
  const bool in_parts = kInParts<T> && memory.sides;
  bool good = true;
  std::fill_n(memory.grad_key.data, memory.grad_key.stride * room(memory.sides, s.size), A(0));
  std::fill_n(memory.grad_value.data, memory.grad_value.stride * room(memory.sides, s.value_size), A(0));
  for (int64_t i = head.head * shared; i < (head.head + 1) * shared; ++i) {
    for (int64_t row = 0; row < s.queries; row += tile_queries(c)) {
      const Place at{head.batch, i, row};
      const int64_t rows = backward_row<T>(c, g, memory, at);
      good = good && (!in_parts || all_sure(memory.grad_query, rows, s.size));
      if (g.query.data) put<T>(g.query, at, rows, s.size, memory.grad_query);
    }
  }
  if (g.key.data) put_turned<T>(g.key, head, s.keys, s.size, memory.grad_key);
  if (g.value.data) put_turned<T>(g.value, head, s.keys, s.value_size, memory.grad_value);
  return good && (!in_parts || (all_sure(memory.grad_key, s.size, s.keys) &&
                                all_sure(memory.grad_value, s.value_size, s.keys)));
}

// Replaces what is unsure of a key head's gradients.
template <class T>
void backward_exactly(const Attention& c, const AttentionGradients& g, Place head) {
  const AttentionShape& s = c.shape;
  const int64_t shared = s.heads / s.key_heads, first = head.head * shared;
  BackwardMemory<T> memory(c, nullptr);
  HeadCopy<T> query(first, shared, s.queries, s.size), key(head.head, 1, s.keys, s.size),
      value(head.head, 1, s.keys, s.value_size);
  backward_head<T>(c, {g.grad, query.tensor(), key.tensor(), value.tensor(), {}}, memory, head);
  for (int64_t i = first; i < first + shared; ++i) query.replace_unsure(g.query, {head.batch, i, 0});
  key.replace_unsure(g.key, head);
  value.replace_unsure(g.value, head);
}

template <class T>
void backward(const Attention& c, const AttentionGradients& g) {
  const AttentionShape& s = c.shape;
  const int64_t tasks = s.batch * s.key_heads;
  // Heads may share elements of the mask's gradient: then they go one after another.
  parallel_for(0, tasks, g.mask.data ? tasks : 1, [&](int64_t begin, int64_t end) {
    BackwardMemory<T> memory(c, packing<T>(c));
    for (int64_t i = begin; i < end; ++i) {
      const Place head{i / s.key_heads, i % s.key_heads, 0};
      const bool good = backward_head<T>(c, g, memory, head);
      if constexpr (kInParts<T>) {
        if (!good) backward_exactly<T>(c, g, head);
      }
    }
  });
}

}  // namespace

using AttentionKernel = void (*)(const Attention&);
using AttentionBackwardKernel = void (*)(const Attention&, const AttentionGradients&);

// By dtype, from Float16 on.
extern const AttentionKernel attentions[4] = {&forward<Half>, &forward<BFloat16>, &forward<float>,
                                              &forward<double>};
extern const AttentionBackwardKernel attention_backwards[4] = {&backward<Half>, &backward<BFloat16>,
                                                               &backward<float>, &backward<double>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(using AttentionKernel = void (*)(const Attention&);
          using AttentionBackwardKernel = void (*)(const Attention&, const AttentionGradients&);
          extern const AttentionKernel attentions[4];
          extern const AttentionBackwardKernel attention_backwards[4])

namespace tl::cpu {

static int column(DType dtype) { return static_cast<int>(dtype) - static_cast<int>(DType::Float16); }

void attention(DType dtype, const Attention& call) { TL_SELECT(attentions)[column(dtype)](call); }

void attention_backward(DType dtype, const Attention& call, const AttentionGradients& gradients) {
  TL_SELECT(attention_backwards)[column(dtype)](call, gradients);
}

}  // namespace tl::cpu
#endif
