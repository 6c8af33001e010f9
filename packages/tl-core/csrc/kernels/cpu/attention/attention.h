// Scaled dot-product attention, softmax(scale * Q K' + mask) V, by tiles with an online softmax.
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

// Tensors are of the call's dtype; `log_sums`, `mask` unless it is bool, and `grad_mask` are of its opmath
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

// Saves the generator's state at the first element of each tile of a dense dropout mask (heads, queries,
// keys), and advances the generator past the mask: (heads, tiles, kRngStateWords) numbers, with tiles of
// kDropoutTileRows queries.
void save_dropout_states(Generator& g, int64_t heads, int64_t queries, int64_t keys, int32_t* rng_states);

// Generates the dropout mask of a tile's rows: 1 for each of the first `visible` of `keys` elements that
// dropout retains. Rows are contiguous.
void fill_dropout_mask(const int32_t* draw, int64_t rows, int64_t keys, int64_t visible, double dropout,
                       uint8_t* dropout_mask);

struct AttentionGradients {
  AttentionTensor grad, query, key, value, mask;  // mask: summed into, unless null
};

void attention(DType dtype, const Attention& call);
void attention_backward(DType dtype, const Attention& call, const AttentionGradients& gradients);

}  // namespace tl::cpu
