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

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// Of a tile, at most.
constexpr int64_t kQueries = 128, kKeys = 256;

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Rows of a tile: few where half of a tile is hidden, as many as a mask is drawn for, else as even as the
// products' 32 rows at a time allow.
int64_t tile_queries(const Attention& c) {
  if (c.causal || c.draws) return kDrawnRows;
  const int64_t tiles = (c.shape.queries + kQueries - 1) / kQueries,
                even = (c.shape.queries + tiles - 1) / tiles;
  return (even + 31) / 32 * 32;
}

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

// Writes dense rows, each multiplied by a factor of its own unless that is null.
template <class T>
void put(const AttentionTensor& t, Place at, int64_t rows, int64_t columns, const Compute<T>* from,
         const Compute<T>* factors) {
  using A = Compute<T>;
  constexpr int W = kLanes<A>;
  for (int64_t i = 0; i < rows; ++i) {
    char* to = address<T>(t, {at.batch, at.head, at.row + i});
    const A* row = from + i * columns;
    const A factor = factors ? factors[i] : A(1);
    int64_t j = 0;
    if (t.column == 1) {
      for (; j + W <= columns; j += W)
        store<T>(to + j * static_cast<int64_t>(sizeof(T)),
                 read<Vec<A>>(reinterpret_cast<const char*>(row + j)) * factor);
    }
    for (; j < columns; ++j)
      store_one<T>(to + j * t.column * static_cast<int64_t>(sizeof(T)), row[j] * factor);
  }
}

// Likewise what is the transpose of all a head's rows.
template <class T>
void put_turned(const AttentionTensor& t, Place head, int64_t rows, int64_t columns, const Compute<T>* from) {
  using A = Compute<T>;
  constexpr int64_t W = kLanes<A>, size = sizeof(A);
  Scratch<A> some(W * columns);
  for (int64_t i = 0; i < rows; i += W) {
    const int64_t n = least(W, rows - i);
    int64_t j = 0;
    for (; n == W && j + W <= columns; j += W)
      Square<A>::transpose(reinterpret_cast<char*>(some.data() + j), columns * size,
                           reinterpret_cast<const char*>(from + j * rows + i), rows * size);
    for (; j < columns; ++j)
      for (int64_t r = 0; r < n; ++r) some[r * columns + j] = from[j * rows + i + r];
    put<T>(t, {head.batch, head.head, i}, n, columns, some.data(), nullptr);
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
  constexpr int64_t kFew = 8, kNarrow = 96;  // products of so few are not worth it
  const bool narrow = !std::is_same_v<T, BFloat16> && c.shape.size + c.shape.value_size < kNarrow;
  return std::is_same_v<T, double> || narrow || c.shape.queries < kFew ? nullptr : sides(dtype_of<Factor<T>>);
}

// Memory for one packed side.
class Packed {
 public:
  Packed(const Sides* sides, int64_t lines, int64_t terms)
      : sides_(sides), memory_(sides ? sides->bytes(lines, terms) : 1) {}

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
  HeadTiles(const Sides* sides, const AttentionTensor& t, int64_t rows, int64_t columns, int ways)
      : sides_(sides),
        tensor_(t),
        rows_(rows),
        columns_(columns),
        step_(sides ? sides->bytes(columns, kKeys) : 0),
        ways_(ways),
        values_(kReadsAsIs<T> ? 1 : rows * columns + 1),
        packed_((rows + kKeys - 1) / kKeys * step_ * 2 + 1) {}

  static constexpr int kStraight = 1, kTurned = 2;

  // Makes ready those of a head that begin before a row.
  void reach(int64_t batch, int64_t head, int64_t end) {
    if (batch != head_.batch || head != head_.head) head_ = {batch, head, 0};
    for (; head_.row < end; head_.row += kKeys) prepare(head_.row);
  }
  Side straight(int64_t row) const { return {view(row), sides_ ? packed(row, 0) : nullptr, rows_from(row)}; }
  Side turned(int64_t row) const {
    return {cpu::TL_ISA_NAMESPACE::turned(view(row)), sides_ ? packed(row, 1) : nullptr, columns_};
  }

 private:
  int64_t rows_from(int64_t row) const { return least(kKeys, rows_ - row); }
  char* packed(int64_t row, int way) const { return packed_.data() + (row / kKeys * 2 + way) * step_; }
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
  int64_t rows_, columns_, step_;
  int ways_;
  Workspace<Compute<T>> values_;
  Workspace<char> packed_;
  Place head_{-1, -1, 0};
};

template <class T>
void product(const Product& p) {
  if constexpr (!std::is_same_v<Factor<T>, Compute<T>>)
    matmul_in_float(p);
  else
    p.packed_a ? matmul_floats(p) : matmul(dtype_of<Compute<T>>, p);
}
// c = alpha a b, or c += a b.
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, Side a, Side b, MatrixView c, Compute<T> alpha) {
  product<T>({m, n, k, a.view, b.view, c, {}, &alpha, nullptr, a.packed, b.packed, b.terms});
}
template <class T>
void accumulate(int64_t m, int64_t n, int64_t k, Side a, Side b, MatrixView c) {
  const Compute<T> one = 1;
  product<T>({m, n, k, a.view, b.view, c, c, &one, &one, a.packed, b.packed, b.terms});
}

// ---- scores -----------------------------------------------------------------------------------------------

// A tile of scores: `keys` of a row's `kKeys` places are filled, the places behind them hold -infinity.
template <class T>
struct Scores {
  using A = Compute<T>;
  using V = Vec<A>;
  static constexpr int W = kLanes<A>;
  static constexpr A lowest = -std::numeric_limits<A>::infinity();
  const Attention& call;
  A* data;
  int64_t batch, head, query, key, queries, keys;

  A* row(int64_t i) const { return data + i * kKeys; }
  int64_t steps() const { return (keys + W - 1) / W; }
  // How many keys the row's query may look at.
  int64_t visible(int64_t i) const {
    if (!call.causal) return keys;
    const int64_t n = query + i + 1 - key;
    return n < 0 ? 0 : least(n, keys);
  }
  void compute(Side q, Side turned_keys) const {
    multiply<T>(queries, keys, call.shape.size, q, turned_keys, dense(data, kKeys),
                static_cast<A>(call.scale));
    for (int64_t i = 0; i < queries; ++i) {
      if (call.mask.data) apply_mask(i);
      A* const s = row(i);
      for (int64_t j = visible(i); j < steps() * W; ++j) s[j] = lowest;
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
MatrixView factors(Compute<T>* rows) {
  return dense(rows, kKeys * static_cast<int64_t>(sizeof(Compute<T>) / sizeof(Factor<T>)));
}

// exp(x - shift), no more exact than a factor can hold.
template <class F>
TL_INLINE Vec<Compute<F>> exponential(Vec<Compute<F>> x, Compute<F> shift) {
  if constexpr (std::is_same_v<F, BFloat16>) {
    constexpr float log2_e = 0x1.715476p0f;
    const VecF low = VecF{} + kFarBelow<float>, y = fma(x, VecF{} + log2_e, VecF{} - shift * log2_e);
    const VecF bounded = select<VecF>(y < low, low, y), n = nearest_whole(bounded, 1.0f);
    return scale<VecF>(polynomial(bounded - n, 0x1.c3f76p-5f, 0x1.f0de1ap-3f, 0x1.62f31ap-1f, 0x1.fff692p-1f),
                       n);
  } else {
    return exp(x - shift);
  }
}

// Turns a row of scores into exponentials, as factors or not; keeps the running maximum and sum. Returns the
// factor for what was summed before.
template <class F, class A>
A online_softmax(A* row, int64_t steps, A& top, A& sum) {
  using V = Vec<A>;
  constexpr int64_t bytes = kLanes<A> * sizeof(F);
  constexpr A infinity = std::numeric_limits<A>::infinity();
  const auto larger = [](V a, V b) { return select<V>(a < b, b, a); };  // a NaN shows in its exponential
  V best[4];
  for (V& b : best) b = broadcast<V>(-infinity);
  int64_t i = 0;
  for (; i + 4 <= steps; i += 4) {
    for (int k = 0; k < 4; ++k) best[k] = larger(best[k], at(row, i + k));
  }
  for (; i < steps; ++i) best[0] = larger(best[0], at(row, i));
  const A peak = folded(larger(larger(best[0], best[1]), larger(best[2], best[3])), larger);
  const A higher = maximum(top, peak), shift = higher == -infinity ? A(0) : higher;
  V total{};
  for (i = 0; i < steps; ++i) {
    const V e = exponential<F>(at(row, i), shift);
    store<F>(reinterpret_cast<char*>(row) + i * bytes, e);
    total += e;
  }
  const A factor = top == higher ? A(1) : exp(broadcast<V>(top - shift))[0];
  sum = sum * factor + sum_of_lanes(total);
  top = higher;
  return factor;
}

template <class A>
void scale_row(A* row, int64_t n, A factor) {
  for (int64_t j = 0; j < n; ++j) row[j] *= factor;
}

// ---- dropout ----------------------------------------------------------------------------------------------

// What dropout leaves of a row of tiles' probabilities.
template <class A>
class Kept {
 public:
  explicit Kept(const Attention& c) : c_(c), bytes_(c.draws ? kDrawnRows * c.shape.keys + kLanes<A> : 0) {}

  // For rows from `at` on, as far as keys are seen.
  void draw(Place at, int64_t rows, int64_t seen) {
    if (!c_.draws) return;
    const int64_t tile =
        (at.batch * c_.shape.heads + at.head) * drawn_tiles(c_.shape.queries) + at.row / kDrawnRows;
    draw_kept(c_.draws + tile * kDrawnState, rows, c_.shape.keys, seen, c_.dropout, bytes_.data());
  }
  // A tile's row i, from a key on; the vectors of its end may hold anything that is finite.
  void apply(A* row, int64_t i, int64_t key, int64_t steps) {
    if (!c_.draws) return;
    using V = Vec<A>;
    const char* kept = reinterpret_cast<const char*>(bytes_.data()) + i * c_.shape.keys + key;
    const A scale = static_cast<A>(1 / (1 - c_.dropout));
    for (int64_t k = 0; k < steps; ++k)
      set(row, k, select<V>(load<bool, A>(kept + k * kLanes<A>), at(row, k) * scale, V{}));
  }

 private:
  const Attention& c_;
  Scratch<uint8_t, 4096> bytes_;
};

// ---- forward ----------------------------------------------------------------------------------------------

template <class T>
struct ForwardMemory {
  using A = Compute<T>;
  Kept<A> kept;
  Scratch<A> scores, output, query;
  Packed packed_query, factors;
  HeadTiles<T> keys, values;
  ForwardMemory(const Attention& c, const Sides* sides)
      : kept(c),
        scores(kQueries * kKeys),
        output(kQueries * c.shape.value_size),
        query(kReadsAsIs<T> ? 1 : kQueries * c.shape.size + 1),
        packed_query(sides, kQueries, c.shape.size),
        factors(sides, kQueries, kKeys),
        keys(sides, c.key, c.shape.keys, c.shape.size, HeadTiles<T>::kTurned),
        values(sides, c.value, c.shape.keys, c.shape.value_size, HeadTiles<T>::kStraight) {}
};

template <class T>
void finish(const Attention& c, Place at, int64_t rows, const Compute<T>* output, const Compute<T>* tops,
            const Compute<T>* sums) {
  using A = Compute<T>;
  A factors[kQueries];
  A* log_sums = static_cast<A*>(c.log_sums) + (at.batch * c.shape.heads + at.head) * c.shape.queries + at.row;
  for (int64_t i = 0; i < rows; ++i) {
    factors[i] = sums[i] == 0 ? A(0) : A(1) / sums[i];
    log_sums[i] =
        sums[i] == 0 ? std::numeric_limits<A>::infinity() : tops[i] + log(broadcast<Vec<A>>(sums[i]))[0];
  }
  put<T>(c.output, at, rows, c.shape.value_size, output, factors);
}

template <class T>
void forward_tile(const Attention& c, ForwardMemory<T>& memory, Place at) {
  using A = Compute<T>;
  const AttentionShape& s = c.shape;
  const int64_t rows = least(tile_queries(c), s.queries - at.row),
                key_head = at.head / (s.heads / s.key_heads);
  const Side q =
      memory.packed_query.left(tile<T>(c.query, at, rows, s.size, memory.query.data()), rows, s.size);
  A* const output = memory.output.data();
  A tops[kQueries], sums[kQueries];
  for (int64_t i = 0; i < rows; ++i) tops[i] = Scores<T>::lowest, sums[i] = 0;
  for (int64_t j = 0; j < rows * s.value_size; ++j) output[j] = 0;
  const int64_t end = c.causal ? least(s.keys, at.row + rows) : s.keys;
  memory.kept.draw(at, rows, end);
  memory.keys.reach(at.batch, key_head, end);
  memory.values.reach(at.batch, key_head, end);
  for (int64_t key = 0; key < end; key += kKeys) {
    const int64_t n = least(kKeys, end - key);
    const Scores<T> scores{c, memory.scores.data(), at.batch, at.head, at.row, key, rows, n};
    scores.compute(q, memory.keys.turned(key));
    for (int64_t i = 0; i < rows; ++i) {
      const auto softmax = c.draws ? &online_softmax<A, A> : &online_softmax<Factor<T>, A>;
      const A factor = softmax(scores.row(i), scores.steps(), tops[i], sums[i]);
      if (factor != 1) scale_row(output + i * s.value_size, s.value_size, factor);
      if (!c.draws) continue;
      memory.kept.apply(scores.row(i), i, key, scores.steps());
      to_factors<T>(scores.row(i), scores.steps());
    }
    accumulate<T>(rows, s.value_size, n, memory.factors.left(factors<T>(scores.data), rows, n),
                  memory.values.straight(key), dense(output, s.value_size));
  }
  finish<T>(c, at, rows, output, tops, sums);
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
  Kept<A> kept;
  Scratch<A> scores, slopes, query, grad, output;
  Scratch<A> grad_query, grad_key, grad_value;
  Packed packed_query, turned_query, packed_grad, turned_grad, factors;
  HeadTiles<T> keys, values;
  BackwardMemory(const Attention& c, const Sides* sides) : BackwardMemory(c, sides, c.shape) {}
  BackwardMemory(const Attention& c, const Sides* sides, const AttentionShape& s)
      : kept(c),
        scores(kQueries * kKeys),
        slopes(kQueries * kKeys),
        query(copied * s.size + 1),
        grad(copied * s.value_size + 1),
        output(copied * s.value_size + 1),
        grad_query(kQueries * s.size + 1),
        grad_key(s.keys * s.size + 1),
        grad_value(s.keys * s.value_size + 1),
        packed_query(sides, kQueries, s.size),
        turned_query(sides, s.size, kQueries),
        packed_grad(sides, kQueries, s.value_size),
        turned_grad(sides, s.value_size, kQueries),
        factors(sides, kKeys, kQueries),
        keys(sides, c.key, s.keys, s.size, kBoth),
        values(sides, c.value, s.keys, s.value_size, HeadTiles<T>::kTurned) {}
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

// Scores become probabilities, slopes (the gradients of probabilities) those of scores; both as dropout left
// them.
template <class T>
void differentiate_scores(const Attention& c, const BackwardRow<T>& r, const Scores<T>& scores,
                          Compute<T>* slopes, Kept<Compute<T>>& kept, const AttentionGradients& g) {
  using A = Compute<T>;
  const A* log_sums = static_cast<const A*>(c.log_sums) +
                      (r.at.batch * c.shape.heads + r.at.head) * c.shape.queries + r.at.row;
  const A scale = static_cast<A>(c.scale);
  for (int64_t i = 0; i < r.rows; ++i) {
    A *const s = scores.row(i), *const d = slopes + i * kKeys;
    kept.apply(d, i, scores.key, scores.steps());
    for (int64_t k = 0; k < scores.steps(); ++k) {
      const auto p = exponential<Factor<T>>(at(s, k), log_sums[i]);
      set(s, k, p);
      set(d, k, select<Vec<A>>(p == 0, Vec<A>{}, p * (at(d, k) - r.products[i])));
    }
    kept.apply(s, i, scores.key, scores.steps());
    if (g.mask.data) {
      const AttentionTensor& m = g.mask;
      A* to = reinterpret_cast<A*>(m.data) + r.at.batch * m.batch + r.at.head * m.head +
              (r.at.row + i) * m.row + scores.key * m.column;
      for (int64_t j = 0; j < scores.visible(i); ++j) to[j * m.column] += d[j];
    }
    for (int64_t k = 0; k < scores.steps(); ++k) set(d, k, at(d, k) * scale);
    to_factors<T>(s, scores.steps());
    to_factors<T>(d, scores.steps());
  }
}

template <class T>
void backward_row(const Attention& c, const AttentionGradients& g, BackwardMemory<T>& memory, Place place) {
  using A = Compute<T>;
  const AttentionShape& s = c.shape;
  const BackwardRow<T> r(c, g, memory, place);
  A *const scores_at = memory.scores.data(), *const slopes = memory.slopes.data();
  for (int64_t j = 0; j < r.rows * s.size; ++j) memory.grad_query[j] = 0;
  const int64_t end = c.causal ? least(s.keys, place.row + r.rows) : s.keys;
  memory.kept.draw(place, r.rows, end);
  memory.keys.reach(place.batch, r.key_head, end);
  memory.values.reach(place.batch, r.key_head, end);
  for (int64_t key = 0; key < end; key += kKeys) {
    const int64_t n = least(kKeys, end - key);
    const Scores<T> scores{c, scores_at, place.batch, place.head, place.row, key, r.rows, n};
    scores.compute(r.query, memory.keys.turned(key));
    multiply<T>(r.rows, n, s.value_size, r.grad, memory.values.turned(key), dense(slopes, kKeys), 1);
    differentiate_scores<T>(c, r, scores, slopes, memory.kept, g);
    const MatrixView factors_at = factors<T>(scores_at), slopes_at = factors<T>(slopes);
    accumulate<T>(s.value_size, n, r.rows, r.turned_grad, memory.factors.right(factors_at, r.rows, n),
                  dense(memory.grad_value.data() + key, s.keys));
    accumulate<T>(r.rows, s.size, n, memory.factors.left(slopes_at, r.rows, n), memory.keys.straight(key),
                  dense(memory.grad_query.data(), s.size));
    accumulate<T>(s.size, n, r.rows, r.turned_query, memory.factors.right(slopes_at, r.rows, n),
                  dense(memory.grad_key.data() + key, s.keys));
  }
  if (g.query.data)
    put<T>(g.query, place, r.rows, s.size, memory.grad_query.data(), static_cast<A*>(nullptr));
}

template <class T>
void backward(const Attention& c, const AttentionGradients& g) {
  const AttentionShape& s = c.shape;
  const int64_t shared = s.heads / s.key_heads, tasks = s.batch * s.key_heads;
  // Heads may share elements of the mask's gradient: then they go one after another.
  parallel_for(0, tasks, g.mask.data ? tasks : 1, [&](int64_t begin, int64_t end) {
    BackwardMemory<T> memory(c, packing<T>(c));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / s.key_heads, key_head = i % s.key_heads;
      for (int64_t j = 0; j < s.keys * s.size; ++j) memory.grad_key[j] = 0;
      for (int64_t j = 0; j < s.keys * s.value_size; ++j) memory.grad_value[j] = 0;
      for (int64_t head = key_head * shared; head < (key_head + 1) * shared; ++head)
        for (int64_t row = 0; row < s.queries; row += tile_queries(c))
          backward_row<T>(c, g, memory, {batch, head, row});
      const Place at{batch, key_head, 0};
      if (g.key.data) put_turned<T>(g.key, at, s.keys, s.size, memory.grad_key.data());
      if (g.value.data) put_turned<T>(g.value, at, s.keys, s.value_size, memory.grad_value.data());
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
