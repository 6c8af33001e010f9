// Attention forward, tile by tile of the queries.
#pragma once

#include "kernels/cpu/attention/dropout_mask.h"
#include "kernels/cpu/attention/online_softmax.h"
#include "kernels/cpu/attention/tile_gemm.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {  // a part of attention.cpp

template <class T>
struct ForwardMemory {
  using A = OpMath<T>;
  const TileGemm* tile_gemm;
  DropoutMask<A> dropout_mask;
  int64_t width;  // of a tile of scores
  Scratch<A> numbers, sums, query;
  Sums<A> scores, output;
  OnlineSoftmaxState<A> running;
  A log_sums[kQueries];
  Packed packed_query, factors;
  HeadTiles<T> keys, values;
  ForwardMemory(const Attention& c, const TileGemm* tile_gemm)
      : tile_gemm(tile_gemm),
        dropout_mask(c),
        width(tile_keys(c, tile_gemm && kSplitBf16<T> ? 1024 : 256)),
        numbers((tile_gemm ? TileGemm::kTileRows : kQueries) * apart(width)),
        sums(kQueries * room(tile_gemm, c.shape.value_size)),
        query(kReadsAsIs<T> ? 1 : kQueries * c.shape.size + 1),
        scores{numbers.data(), apart(width)},
        output{sums.data(), room(tile_gemm, c.shape.value_size)},
        packed_query(tile_gemm, kQueries, c.shape.size),
        factors(tile_gemm, TileGemm::kTileRows, width),
        keys(tile_gemm, c.key, width, c.shape.keys, c.shape.size, HeadTiles<T>::kTransposed),
        values(tile_gemm, c.value, width, c.shape.keys, c.shape.value_size, HeadTiles<T>::kRowMajor) {}
};

// Adds what keys give to rows from `first` of the tile on.
template <class T>
void attend(const Attention& c, ForwardMemory<T>& memory, const Scores<T>& s, PackedOperand query,
            int64_t first) {
  using A = OpMath<T>;
  using Row = FactorRow<Factor<T>>;
  const int64_t n = c.shape.value_size;
  const Sums<A> output{memory.output.row(first), memory.output.stride};
  s.compute(memory.tile_gemm, query, memory.keys.transposed(s.key));
  A block_max[kQueries] = {}, rescale[kQueries], shifts[kQueries];
  for (int64_t i = 0; i < s.queries; ++i) block_max[i] = largest(s.row(i), s.pairs()) * s.factor();
  memory.running.raise(first, s.queries, block_max, rescale, shifts);
  const PackedOperand probabilities{factors<T>(s.rows), memory.factors.data(), s.keys};
  for (int64_t i = 0; i < s.queries; ++i) {
    float* squares = memory.tile_gemm ? Row::within(memory.factors.data(), i, s.pairs()) : nullptr;
    memory.running.sums[first + i] +=
        exponentials<Factor<T>>(s.pairs(), s.factor(), shifts[i], memory.dropout_mask.row(first + i, s.key),
                                memory.dropout_mask.scale(), {s.row(i), squares});
    if (s.key > 0 && rescale[i] != 1) scale_row(output.row(i), n, rescale[i]);
  }
  multiply<T>(memory.tile_gemm, s.queries, n, s.keys, probabilities, memory.values.row_major(s.key), output,
              s.key > 0);
}

// Attention of a tile of queries over all tiles of keys, in ascending order.
template <class T>
void attend_tile(const Attention& c, ForwardMemory<T>& memory, RowIndex at, int64_t rows) {
  using A = OpMath<T>;
  const AttentionShape& s = c.shape;
  const TileGemm* tile_gemm = memory.tile_gemm;
  const int64_t key_head = at.head / (s.heads / s.key_heads), strip = tile_gemm ? TileGemm::kTileRows : rows;
  const PackedOperand query =
      memory.packed_query.left(tile<T>(c.query, at, rows, s.size, memory.query.data()), rows, s.size);
  const auto visible = [&](int64_t row) { return c.causal ? least(s.keys, at.row + row) : s.keys; };
  const int64_t end = visible(room(tile_gemm, rows));
  memory.running.clear();
  if (end == 0) std::fill_n(memory.output.data, rows * memory.output.stride, A(0));
  memory.dropout_mask.draw(at, rows, end);
  memory.keys.reach(at.batch, key_head, end);
  memory.values.reach(at.batch, key_head, end);
  const TileConfig session(tile_gemm);
  for (int64_t key = 0; key < end; key += memory.width) {
    for (int64_t i = 0; i < rows; i += strip) {
      const int64_t n = least(memory.width, visible(i + strip) - key);
      if (n <= 0) continue;
      attend<T>(c, memory, {c, memory.scores, at.batch, at.head, at.row + i, key, least(strip, rows - i), n},
                rows_of<T>(tile_gemm, query, i), i);
    }
  }
}

template <class T>
void normalize(const Attention& c, ForwardMemory<T>& memory, int64_t rows) {
  using A = OpMath<T>;
  const OnlineSoftmaxState<A>& r = memory.running;
  for (int64_t k = 0; k * kLanes<A> < rows; ++k)
    set(memory.log_sums, k,
        select<Vec<A>>(at(r.sums, k) == A(0), Vec<A>{} + std::numeric_limits<A>::infinity(),
                       at(r.row_max, k) + log(at(r.sums, k))));
  for (int64_t i = 0; i < rows; ++i)
    scale_row(memory.output.row(i), c.shape.value_size, r.sums[i] == 0 ? A(0) : A(1) / r.sums[i]);
}

template <class T>
void forward_tile(const Attention& c, ForwardMemory<T>& memory, RowIndex at) {
  using A = OpMath<T>;
  const AttentionShape& s = c.shape;
  const int64_t rows = least(tile_queries(c), s.queries - at.row);
  attend_tile<T>(c, memory, at, rows);
  normalize<T>(c, memory, rows);
  if constexpr (kSplitBf16<T>) {
    if (memory.tile_gemm && !all_certain(memory.output, rows, s.value_size)) {
      ForwardMemory<T> exact(c, nullptr);
      attend_tile<T>(c, exact, at, rows);
      normalize<T>(c, exact, rows);
      replace_suspect(memory.output, exact.output, rows, s.value_size);
      replace_suspect<A>({memory.log_sums, 0}, {exact.log_sums, 0}, 1, rows);
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

}  // namespace

}  // namespace tl::cpu::TL_ISA_NAMESPACE
