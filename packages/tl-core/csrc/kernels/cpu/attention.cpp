// isa: all
// The online softmax of Milakov and Gimelshein (2018), tiled as by Dao et al. (FlashAttention, 2022).
#include "kernels/cpu/attention.h"

#include "base/parallel.h"
#include "kernels/cpu/fold.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/memory.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/select.h"
#include "kernels/cpu/vec_math.h"

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

template <class A>
MatrixView dense(A* data, int64_t columns) {
  return {reinterpret_cast<char*>(data), columns, 1};
}
MatrixView turned(MatrixView m) { return {m.data, m.column_stride, m.row_stride}; }

template <class T>
void product(const Product& p) {
  std::is_same_v<Factor<T>, Compute<T>> ? matmul(dtype_of<Compute<T>>, p) : matmul_in_float(p);
}
// c = alpha a b, or c += a b.
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, MatrixView a, MatrixView b, MatrixView c, Compute<T> alpha) {
  product<T>({m, n, k, a, b, c, {}, &alpha, nullptr});
}
template <class T>
void accumulate(int64_t m, int64_t n, int64_t k, MatrixView a, MatrixView b, MatrixView c) {
  const Compute<T> one = 1;
  product<T>({m, n, k, a, b, c, c, &one, &one});
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
  void compute(MatrixView q, MatrixView k) const {
    multiply<T>(queries, keys, call.shape.size, q, turned(k), dense(data, kKeys), static_cast<A>(call.scale));
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

// Turns a row of scores into exponentials; keeps the running maximum and sum. Returns the factor for what was
// summed before.
template <class A>
A online_softmax(A* row, int64_t steps, A& top, A& sum) {
  using V = Vec<A>;
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
    const V e = exp(at(row, i) - shift);
    set(row, i, e);
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
  static constexpr int64_t packed = kReadsAsIs<T> ? 0 : 1;
  Kept<A> kept;
  Scratch<A> scores, output, query, key, value;
  explicit ForwardMemory(const Attention& c) : ForwardMemory(c, c.shape) {}
  ForwardMemory(const Attention& c, const AttentionShape& s)
      : kept(c),
        scores(kQueries * kKeys),
        output(kQueries * s.value_size),
        query(packed * kQueries * s.size + 1),
        key(packed * kKeys * s.size + 1),
        value(packed * kKeys * s.value_size + 1) {}
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
  const MatrixView q = tile<T>(c.query, at, rows, s.size, memory.query.data());
  A* const output = memory.output.data();
  A tops[kQueries], sums[kQueries];
  for (int64_t i = 0; i < rows; ++i) tops[i] = Scores<T>::lowest, sums[i] = 0;
  for (int64_t j = 0; j < rows * s.value_size; ++j) output[j] = 0;
  const int64_t end = c.causal ? least(s.keys, at.row + rows) : s.keys;
  memory.kept.draw(at, rows, end);
  for (int64_t key = 0; key < end; key += kKeys) {
    const int64_t n = least(kKeys, end - key);
    const Place there{at.batch, key_head, key};
    const Scores<T> scores{c, memory.scores.data(), at.batch, at.head, at.row, key, rows, n};
    scores.compute(q, tile<T>(c.key, there, n, s.size, memory.key.data()));
    for (int64_t i = 0; i < rows; ++i) {
      const A factor = online_softmax(scores.row(i), scores.steps(), tops[i], sums[i]);
      if (factor != 1) scale_row(output + i * s.value_size, s.value_size, factor);
      memory.kept.apply(scores.row(i), i, key, scores.steps());
      to_factors<T>(scores.row(i), scores.steps());
    }
    accumulate<T>(rows, s.value_size, n, factors<T>(scores.data),
                  tile<T>(c.value, there, n, s.value_size, memory.value.data()), dense(output, s.value_size));
  }
  finish<T>(c, at, rows, output, tops, sums);
}

template <class T>
void forward(const Attention& c) {
  const AttentionShape& s = c.shape;
  const int64_t height = tile_queries(c), tiles = (s.queries + height - 1) / height,
                tasks = s.batch * s.heads * tiles;
  const int64_t cost = height * (s.keys + 1) * (s.size + s.value_size + 16);
  parallel_for(0, tasks, (1 << 19) / cost + 1, [&](int64_t begin, int64_t end) {
    ForwardMemory<T> memory(c);
    for (int64_t i = begin; i < end; ++i)
      forward_tile<T>(c, memory, {i / tiles / s.heads, i / tiles % s.heads, i % tiles * height});
  });
}

// ---- backward ---------------------------------------------------------------------------------------------

template <class T>
struct BackwardMemory {
  using A = Compute<T>;
  static constexpr int64_t packed = kReadsAsIs<T> ? 0 : 1;
  Kept<A> kept;
  Scratch<A> scores, slopes, query, key, value, grad, output;
  Scratch<A> grad_query, grad_key, grad_value;
  explicit BackwardMemory(const Attention& c) : BackwardMemory(c, c.shape) {}
  BackwardMemory(const Attention& c, const AttentionShape& s)
      : kept(c),
        scores(kQueries * kKeys),
        slopes(kQueries * kKeys),
        query(packed * kQueries * s.size + 1),
        key(packed * kKeys * s.size + 1),
        value(packed * kKeys * s.value_size + 1),
        grad(packed * kQueries * s.value_size + 1),
        output(packed * kQueries * s.value_size + 1),
        grad_query(kQueries * s.size + 1),
        grad_key(s.keys * s.size + 1),
        grad_value(s.keys * s.value_size + 1) {}
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
  MatrixView query, grad;
  A products[kQueries];

  BackwardRow(const Attention& c, const AttentionGradients& g, BackwardMemory<T>& memory, Place place)
      : at(place),
        rows(least(tile_queries(c), c.shape.queries - place.row)),
        key_head(place.head / (c.shape.heads / c.shape.key_heads)) {
    const int64_t n = c.shape.value_size;
    query = tile<T>(c.query, at, rows, c.shape.size, memory.query.data());
    grad = tile<T>(g.grad, at, rows, n, memory.grad.data());
    const MatrixView output = tile<T>(c.output, at, rows, n, memory.output.data());
    for (int64_t i = 0; i < rows; ++i) products[i] = row_product<Factor<T>>(grad, output, i, n);
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
      const auto p = exp(at(s, k) - log_sums[i]);
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
  for (int64_t key = 0; key < end; key += kKeys) {
    const int64_t n = least(kKeys, end - key);
    const Place there{place.batch, r.key_head, key};
    const MatrixView k = tile<T>(c.key, there, n, s.size, memory.key.data());
    const MatrixView v = tile<T>(c.value, there, n, s.value_size, memory.value.data());
    const Scores<T> scores{c, scores_at, place.batch, place.head, place.row, key, r.rows, n};
    scores.compute(r.query, k);
    multiply<T>(r.rows, n, s.value_size, r.grad, turned(v), dense(slopes, kKeys), 1);
    differentiate_scores<T>(c, r, scores, slopes, memory.kept, g);
    accumulate<T>(n, s.value_size, r.rows, turned(factors<T>(scores_at)), r.grad,
                  dense(memory.grad_value.data() + key * s.value_size, s.value_size));
    accumulate<T>(r.rows, s.size, n, factors<T>(slopes), k, dense(memory.grad_query.data(), s.size));
    accumulate<T>(n, s.size, r.rows, turned(factors<T>(slopes)), r.query,
                  dense(memory.grad_key.data() + key * s.size, s.size));
  }
  if (g.query.data)
    put<T>(g.query, place, r.rows, s.size, memory.grad_query.data(), static_cast<A*>(nullptr));
}

template <class T>
void backward(const Attention& c, const AttentionGradients& g) {
  using A = Compute<T>;
  const AttentionShape& s = c.shape;
  const int64_t shared = s.heads / s.key_heads, tasks = s.batch * s.key_heads;
  // Heads may share elements of the mask's gradient: then they go one after another.
  parallel_for(0, tasks, g.mask.data ? tasks : 1, [&](int64_t begin, int64_t end) {
    BackwardMemory<T> memory(c);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / s.key_heads, key_head = i % s.key_heads;
      for (int64_t j = 0; j < s.keys * s.size; ++j) memory.grad_key[j] = 0;
      for (int64_t j = 0; j < s.keys * s.value_size; ++j) memory.grad_value[j] = 0;
      for (int64_t head = key_head * shared; head < (key_head + 1) * shared; ++head)
        for (int64_t row = 0; row < s.queries; row += tile_queries(c))
          backward_row<T>(c, g, memory, {batch, head, row});
      const Place at{batch, key_head, 0};
      if (g.key.data) put<T>(g.key, at, s.keys, s.size, memory.grad_key.data(), static_cast<A*>(nullptr));
      if (g.value.data)
        put<T>(g.value, at, s.keys, s.value_size, memory.grad_value.data(), static_cast<A*>(nullptr));
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
