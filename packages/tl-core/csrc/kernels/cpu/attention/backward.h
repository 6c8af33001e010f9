// Attention backward, head by head.
//
// With S = scale Q K' + mask, P = softmax(S) by rows, and O = P V: dV = P' dO and dP = dO V'. The softmax's
// Jacobian gives dS = P o (dP - rowsum(P o dP)), and rowsum(P o dP) = rowsum(dO o (P V)) = rowsum(dO o O), a
// number per row that needs no pass over the keys. P is recomputed from S and the saved log_sum_exp. Then
// dQ = scale dS K and dK = scale dS' Q (Dao et al., 2022; Dao, FlashAttention-2, 2023).
#pragma once

#include "kernels/cpu/attention/forward.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {  // a part of attention.cpp

template <class T>
struct BackwardMemory {
  using A = OpMath<T>;
  static constexpr int64_t copied = kReadsAsIs<T> ? 0 : kQueries;
  static constexpr int kBoth = HeadTiles<T>::kRowMajor | HeadTiles<T>::kTransposed;
  const TileGemm* tile_gemm;
  DropoutMask<A> dropout_mask;
  int64_t width;  // of a tile of scores
  Scratch<A> numbers, dscore_data, query, grad, output;
  Scratch<A> query_sums, key_sums, value_sums;
  Sums<A> scores, grad_probs, grad_query, grad_key, grad_value;
  Packed packed_query, transposed_query, packed_grad, transposed_grad, probabilities, left_dscores,
      right_dscores;
  HeadTiles<T> keys, values;
  BackwardMemory(const Attention& c, const TileGemm* tile_gemm) : BackwardMemory(c, tile_gemm, c.shape) {}
  BackwardMemory(const Attention& c, const TileGemm* tile_gemm, const AttentionShape& s)
      : tile_gemm(tile_gemm),
        dropout_mask(c),
        width(tile_keys(c, tile_gemm && kSplitBf16<T> ? 128 : 256)),
        numbers((tile_gemm ? TileGemm::kTileRows : kQueries) * apart(width)),
        dscore_data((tile_gemm ? TileGemm::kTileRows : kQueries) * apart(width)),
        query(copied * s.size + 1),
        grad(copied * s.value_size + 1),
        output(copied * s.value_size + 1),
        query_sums(kQueries * room(tile_gemm, s.size)),
        key_sums(room(tile_gemm, s.keys) * room(tile_gemm, s.size)),
        value_sums(room(tile_gemm, s.keys) * room(tile_gemm, s.value_size)),
        scores{numbers.data(), apart(width)},
        grad_probs{dscore_data.data(), apart(width)},
        grad_query{query_sums.data(), room(tile_gemm, s.size)},
        grad_key{key_sums.data(), room(tile_gemm, s.keys)},
        grad_value{value_sums.data(), room(tile_gemm, s.keys)},
        packed_query(tile_gemm, kQueries, s.size),
        transposed_query(tile_gemm, s.size, kQueries),
        packed_grad(tile_gemm, kQueries, s.value_size),
        transposed_grad(tile_gemm, s.value_size, kQueries),
        probabilities(tile_gemm, width, kQueries),
        left_dscores(tile_gemm, kQueries, width),
        right_dscores(tile_gemm, width, kQueries),
        keys(tile_gemm, c.key, width, s.keys, s.size, kBoth),
        values(tile_gemm, c.value, width, s.keys, s.value_size, HeadTiles<T>::kTransposed) {}
};

template <class F>
Vec<OpMath<F>> elements(MatrixView m, int64_t i, int64_t j, int n) {
  constexpr int64_t size = sizeof(F);
  const char* from = m.data + (i * m.row_stride + j * m.column_stride) * size;
  return m.column_stride == 1 ? load_partial<F>(from, n) : load_strided<F>(from, m.column_stride * size, n);
}

// The sum over a row of gradient times output.
template <class F>
OpMath<F> row_product(MatrixView a, MatrixView b, int64_t i, int64_t n) {
  constexpr int W = kLanes<OpMath<F>>;
  Vec<OpMath<F>> sum{};
  for (int64_t j = 0; j < n; j += W) {
    const int left = static_cast<int>(least(W, n - j));
    sum = fma(elements<F>(a, i, j, left), elements<F>(b, i, j, left), sum);
  }
  return horizontal_sum(sum);
}

// What the tiles of one row of tiles share.
template <class T>
struct BackwardRow {
  using A = OpMath<T>;
  RowIndex at;
  int64_t rows, key_head;
  PackedOperand query, transposed_query, grad, transposed_grad;
  A products[kQueries];

  BackwardRow(const Attention& c, const AttentionGradients& g, BackwardMemory<T>& memory, RowIndex index)
      : at(index),
        rows(least(tile_queries(c), c.shape.queries - index.row)),
        key_head(index.head / (c.shape.heads / c.shape.key_heads)) {
    const int64_t n = c.shape.value_size;
    query = {tile<T>(c.query, at, rows, c.shape.size, memory.query.data())};
    grad = {tile<T>(g.grad, at, rows, n, memory.grad.data())};
    transposed_query = memory.transposed_query.left(transposed(query.view), c.shape.size, rows);
    transposed_grad = memory.transposed_grad.left(transposed(grad.view), n, rows);
    query = memory.packed_query.left(query.view, rows, c.shape.size);
    grad = memory.packed_grad.left(grad.view, rows, n);
    const MatrixView output = tile<T>(c.output, at, rows, n, memory.output.data());
    for (int64_t i = 0; i < rows; ++i) products[i] = row_product<Factor<T>>(grad.view, output, i, n);
  }
};

// From a vector of scores and the gradients of the probabilities: the probabilities and the scores'
// gradients; as dropout leaves them, which tells what it keeps.
template <class F>
struct ScoreGradients {
  using V = Vec<OpMath<F>>;
  V p, d;
};
template <class F>
struct SoftmaxBackward {
  using A = OpMath<F>;
  using V = Vec<A>;
  A factor, log_sum, product;
  const char* dropout_mask;
  A dropout_scale;

  TL_INLINE V remaining(V v, int64_t k) const {
    return dropout_mask ? select<V>(load<bool, A>(dropout_mask + k * kLanes<A>), v * dropout_scale, V{}) : v;
  }
  TL_INLINE ScoreGradients<F> operator()(V score, V grad_prob, int64_t k) const {
    const V p = exponential<F>(score, factor, log_sum);
    const V d = select<V>(p == A(0), V{}, p * (remaining(grad_prob, k) - product));
    return {remaining(p, k), d};
  }
};
template <class T>
SoftmaxBackward<Factor<T>> differentiator(const Attention& c, const BackwardRow<T>& r, const Scores<T>& s,
                                          int64_t i, DropoutMask<OpMath<T>>& dropout_mask) {
  using A = OpMath<T>;
  if (i >= r.rows) return {s.factor(), 0, 0, nullptr, 0};
  const A* log_sums =
      static_cast<const A*>(c.log_sums) + (r.at.batch * c.shape.heads + r.at.head) * c.shape.queries;
  return {s.factor(), log_sums[r.at.row + i], r.products[i], dropout_mask.row(i, s.key),
          dropout_mask.scale()};
}

// In a tile of scores, or of what goes with them.
template <class T>
bool any_nan(const Scores<T>& s, Sums<OpMath<T>> numbers) {
  auto none = Vec<OpMath<T>>{} == Vec<OpMath<T>>{};
  for (int64_t i = 0; i < s.queries; ++i)
    for (int64_t k = 0; k < 2 * s.pairs(); ++k) none &= at(numbers.row(i), k) == at(numbers.row(i), k);
  return any(~none);
}

template <class T>
void add_to_mask(const AttentionTensor& m, const Scores<T>& s, int64_t i, const OpMath<T>* grad_probs) {
  if (!m.data) return;
  using A = OpMath<T>;
  constexpr int64_t W = kLanes<A>;
  auto* to = reinterpret_cast<A*>(m.data) + s.batch * m.batch + s.head * m.head + (s.query + i) * m.row +
             s.key * m.column;
  const int64_t n = s.visible(i);
  int64_t j = 0;
  for (; m.column == 1 && j + W <= n; j += W) set(to + j, 0, at(to + j, 0) + at(grad_probs + j, 0));
  for (; j < n; ++j) to[j * m.column] += grad_probs[j];
}

// Scores become probabilities, slopes (the gradients of probabilities) those of scores.
template <class T>
void differentiate(const Attention& c, const BackwardRow<T>& r, const Scores<T>& scores,
                   Sums<OpMath<T>> grad_probs, DropoutMask<OpMath<T>>& dropout_mask,
                   const AttentionGradients& g) {
  using A = OpMath<T>;
  const A scale = static_cast<A>(c.scale);
  const int64_t steps = 2 * scores.pairs();
  for (int64_t i = 0; i < r.rows; ++i) {
    A *const s = scores.row(i), *const d = grad_probs.row(i);
    const auto softmax_backward = differentiator<T>(c, r, scores, i, dropout_mask);
    for (int64_t k = 0; k < steps; ++k) {
      const auto both = softmax_backward(at(s, k), at(d, k), k);
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
// A packed right operand: VNNI pairs of rows, in panels of 32 columns.
template <class F>
struct FactorPanels {
  static constexpr bool kNarrow = std::is_same_v<F, BFloat16>;
  // The row that a row of a strip is paired with comes so much later, and the next pair's first.
  static constexpr int64_t kMate = kNarrow ? 1 : 16, kNext = kNarrow ? 2 : 1;
  static constexpr int64_t kLine = TileGemm::kTileRows, kStrip = FactorRow<F>::kPair * 2;  // floats
  float* data;
  int64_t panel;

  TL_NARROWS TL_INLINE static void put(float* to, VecF x, VecF y) {
    const __m512bh both = _mm512_cvtne2ps_pbh(y, x);
    const Pack<uint16_t, 32> order{0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                   8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    _mm512_storeu_si512(to,
                        _mm512_permutexvar_epi16(bitcast<__m512i>(order), reinterpret_cast<__m512i>(both)));
  }
  TL_INLINE static void put(float* to, const SplitBf16<false>& x, const SplitBf16<false>& y) {
    store_pairs<false>(x, y, to, 16 * kLine);
  }
};

// Likewise for a strip of rows on AMX: P and dS are packed as operands of the three GEMMs that give dQ, dK
// and dV.
template <class T>
TL_NARROWS void differentiate_strip(const Attention& c, const BackwardRow<T>& r, const Scores<T>& scores,
                                    Sums<float> grad_probs, int64_t first, DropoutMask<float>& dropout_mask,
                                    const AttentionTensor& mask, FactorPanels<Factor<T>> p_right,
                                    FactorPanels<Factor<T>> d_right, char* d_left) {
  using F = Factor<T>;
  using Panels = FactorPanels<F>;
  using Term = typename FactorRow<F>::Term;
  const auto scale = static_cast<float>(c.scale);
  for (int64_t pair = 0; pair < 16; ++pair) {
    const int64_t rows[2] = {pair * Panels::kNext, pair * Panels::kNext + Panels::kMate};
    const SoftmaxBackward<F> of[2] = {differentiator<T>(c, r, scores, first + rows[0], dropout_mask),
                                      differentiator<T>(c, r, scores, first + rows[1], dropout_mask)};
    const int64_t line = first / Panels::kLine * Panels::kStrip + pair * Panels::kLine;
    for (int64_t k = 0; k < scores.pairs(); ++k) {
      VecF p[2][2], d[2][2];
      for (int i = 0; i < 2; ++i) {
        for (int v = 0; v < 2; ++v) {
          const ScoreGradients<F> both =
              of[i](at(scores.row(rows[i]), 2 * k + v), at(grad_probs.row(rows[i]), 2 * k + v), 2 * k + v);
          if (mask.data) set(grad_probs.row(rows[i]), 2 * k + v, both.d);
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
  for (int64_t i = 0; i < scores.queries; ++i) add_to_mask<T>(mask, scores, i, grad_probs.row(i));
}
#endif

// The operands of a tile's gradients: P, and dS packed as left and as right operand.
struct BackwardFactors {
  PackedOperand probabilities, left_dscores, right_dscores;
};
// Recomputes P and dS of a tile, strip by strip, and packs them.
template <class T>
BackwardFactors backward_factors(const Attention& c, const AttentionGradients& g, BackwardMemory<T>& memory,
                                 const BackwardRow<T>& r, int64_t key, int64_t n) {
  const TileGemm* tile_gemm = memory.tile_gemm;
  const int64_t strip = tile_gemm ? TileGemm::kTileRows : r.rows;
  for (int64_t i = 0; i < r.rows; i += strip) {
    const Scores<T> scores{
        c, memory.scores, r.at.batch, r.at.head, r.at.row + i, key, least(strip, r.rows - i), n};
    const auto products = [&](const TileGemm* by) {
      scores.compute(by, rows_of<T>(tile_gemm, r.query, i), memory.keys.transposed(key));
      multiply<T>(by, scores.queries, n, c.shape.value_size, rows_of<T>(tile_gemm, r.grad, i),
                  memory.values.transposed(key), memory.grad_probs, false);
    };
    products(tile_gemm);
    // What is added to the mask's gradient cannot be replaced later.
    if (kSplitBf16<T> && tile_gemm && g.mask.data &&
        (any_nan(scores, scores.rows) || any_nan(scores, memory.grad_probs)))
      products(nullptr);
    if (!tile_gemm) {
      differentiate<T>(c, r, scores, memory.grad_probs, memory.dropout_mask, g);
      const PackedOperand s{factors<T>(memory.scores)}, d{factors<T>(memory.grad_probs)};
      return {s, d, d};
    }
#if TL_ISA_LEVEL >= 4
    if constexpr (!std::is_same_v<T, double>) {
      using F = Factor<T>;
      const int64_t panel = whole(r.rows) * FactorRow<F>::kPair / 16;
      const auto floats = [](Packed& p) { return reinterpret_cast<float*>(p.data()); };
      std::fill(scores.row(scores.queries), scores.row(strip), Scores<T>::lowest);
      differentiate_strip<T>(c, r, scores, memory.grad_probs, i, memory.dropout_mask, g.mask,
                             {floats(memory.probabilities), panel}, {floats(memory.right_dscores), panel},
                             memory.left_dscores.data());
    }
#endif
  }
  return {{{}, memory.probabilities.data(), r.rows},
          {{}, memory.left_dscores.data(), n},
          {{}, memory.right_dscores.data(), r.rows}};
}

// Returns how many rows they are.
template <class T>
int64_t backward_row(const Attention& c, const AttentionGradients& g, BackwardMemory<T>& memory,
                     RowIndex index) {
  using A = OpMath<T>;
  const AttentionShape& s = c.shape;
  const BackwardRow<T> r(c, g, memory, index);
  const int64_t end = c.causal ? least(s.keys, index.row + r.rows) : s.keys;
  if (end == 0) std::fill_n(memory.grad_query.data, r.rows * memory.grad_query.stride, A(0));
  memory.dropout_mask.draw(index, r.rows, end);
  memory.keys.reach(index.batch, r.key_head, end);
  memory.values.reach(index.batch, r.key_head, end);
  const TileConfig session(memory.tile_gemm);
  for (int64_t key = 0; key < end; key += memory.width) {
    const int64_t n = least(memory.width, end - key);
    const BackwardFactors f = backward_factors<T>(c, g, memory, r, key, n);
    multiply<T>(memory.tile_gemm, s.value_size, n, r.rows, r.transposed_grad, f.probabilities,
                {memory.grad_value.data + key, memory.grad_value.stride}, true);
    multiply<T>(memory.tile_gemm, r.rows, s.size, n, f.left_dscores, memory.keys.row_major(key),
                memory.grad_query, key > 0);
    multiply<T>(memory.tile_gemm, s.size, n, r.rows, r.transposed_query, f.right_dscores,
                {memory.grad_key.data + key, memory.grad_key.stride}, true);
  }
  return r.rows;
}

// The gradients of a key head and of the query heads that share it. Returns whether they are sure.
template <class T>
bool backward_head(const Attention& c, const AttentionGradients& g, BackwardMemory<T>& memory,
                   RowIndex head) {
  using A = OpMath<T>;
  const AttentionShape& s = c.shape;
  const int64_t shared = s.heads / s.key_heads;
  const bool split_bf16 = kSplitBf16<T> && memory.tile_gemm;
  bool good = true;
  std::fill_n(memory.grad_key.data, memory.grad_key.stride * room(memory.tile_gemm, s.size), A(0));
  std::fill_n(memory.grad_value.data, memory.grad_value.stride * room(memory.tile_gemm, s.value_size), A(0));
  for (int64_t i = head.head * shared; i < (head.head + 1) * shared; ++i) {
    for (int64_t row = 0; row < s.queries; row += tile_queries(c)) {
      const RowIndex at{head.batch, i, row};
      const int64_t rows = backward_row<T>(c, g, memory, at);
      good = good && (!split_bf16 || all_certain(memory.grad_query, rows, s.size));
      if (g.query.data) put<T>(g.query, at, rows, s.size, memory.grad_query);
    }
  }
  if (g.key.data) put_transposed<T>(g.key, head, s.keys, s.size, memory.grad_key);
  if (g.value.data) put_transposed<T>(g.value, head, s.keys, s.value_size, memory.grad_value);
  return good && (!split_bf16 || (all_certain(memory.grad_key, s.size, s.keys) &&
                                  all_certain(memory.grad_value, s.value_size, s.keys)));
}

// Replaces what is unsure of a key head's gradients.
template <class T>
void backward_exactly(const Attention& c, const AttentionGradients& g, RowIndex head) {
  const AttentionShape& s = c.shape;
  const int64_t shared = s.heads / s.key_heads, first = head.head * shared;
  BackwardMemory<T> memory(c, nullptr);
  HeadCopy<T> query(first, shared, s.queries, s.size), key(head.head, 1, s.keys, s.size),
      value(head.head, 1, s.keys, s.value_size);
  backward_head<T>(c, {g.grad, query.tensor(), key.tensor(), value.tensor(), {}}, memory, head);
  for (int64_t i = first; i < first + shared; ++i) query.replace_suspect(g.query, {head.batch, i, 0});
  key.replace_suspect(g.key, head);
  value.replace_suspect(g.value, head);
}

template <class T>
void backward(const Attention& c, const AttentionGradients& g) {
  const AttentionShape& s = c.shape;
  const int64_t tasks = s.batch * s.key_heads;
  // Heads may share elements of the mask's gradient: then they go one after another.
  parallel_for(0, tasks, g.mask.data ? tasks : 1, [&](int64_t begin, int64_t end) {
    BackwardMemory<T> memory(c, packing<T>(c));
    for (int64_t i = begin; i < end; ++i) {
      const RowIndex head{i / s.key_heads, i % s.key_heads, 0};
      const bool good = backward_head<T>(c, g, memory, head);
      if constexpr (kSplitBf16<T>) {
        if (!good) backward_exactly<T>(c, g, head);
      }
    }
  });
}

}  // namespace

}  // namespace tl::cpu::TL_ISA_NAMESPACE
