// softmax(scale * query key' + mask) value, in tiles: the matrix of probabilities never stands in memory.
#pragma once

#include "base/dtype.h"
#include "base/mt19937.h"
#include "kernels/cpu/loops/loop_table.h"

namespace tl {
class Generator;
}

namespace tl::cpu {

// Four dimensions: batch, head, row, column. Strides count elements; data may be null.
struct AttentionTensor {
  char* data = nullptr;
  int64_t batch = 0, head = 0, row = 0, column = 0;
};

inline constexpr int64_t kDropoutTileRows = 64, kRngStateWords = Mt19937::kWords + 2;
// How many tiles of kDropoutTileRows so many queries take, up to the largest number.
constexpr int64_t dropout_tiles(int64_t queries) {
  return queries / kDropoutTileRows + (queries % kDropoutTileRows != 0);
}

// `heads` is a multiple of `key_heads`: neighbouring query heads share keys and values.
struct AttentionShape {
  int64_t batch, heads, key_heads, queries, keys, size, value_size;
};

// Tensors are of the call's dtype; `log_sums`, `mask` unless it is bool, and `grad_mask` are of its compute
// type. log_sums is dense (batch, heads, queries).
struct Attention {
  AttentionShape shape;
  AttentionTensor query, key, value, output, mask;
  bool mask_is_bool, causal;
  double scale;
  void* log_sums;
  const int32_t* rng_states = nullptr;  // with dropout
  double dropout = 0;
};

// Where the tiles' parts of a dense mask of probabilities (heads, queries, keys) begin in the generator's
// stream, which passes over the mask: (heads, tiles, kRngStateWords) numbers, with tiles of kDropoutTileRows
// queries.
void save_dropout_states(Generator& g, int64_t heads, int64_t queries, int64_t keys, int32_t* rng_states);

// For the rows of a tile, whether each of the first `seen` of `keys` elements is kept; rows follow one
// another.
void fill_dropout_mask(const int32_t* draw, int64_t rows, int64_t keys, int64_t visible, double dropout,
                       uint8_t* dropout_mask);

struct AttentionGradients {
  AttentionTensor grad, query, key, value, mask;  // mask: summed into, unless null
};

void attention(DType dtype, const Attention& call);
void attention_backward(DType dtype, const Attention& call, const AttentionGradients& gradients);

}  // namespace tl::cpu
