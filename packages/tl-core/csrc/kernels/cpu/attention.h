// softmax(scale * query key' + mask) value, in tiles: the matrix of probabilities never stands in memory.
#pragma once

#include "base/dtype.h"
#include "kernels/cpu/loop.h"

namespace tl::cpu {

// Four dimensions: batch, head, row, column. Strides count elements; data may be null.
struct AttentionTensor {
  char* data = nullptr;
  int64_t batch = 0, head = 0, row = 0, column = 0;
};

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
};

struct AttentionGradients {
  AttentionTensor grad, query, key, value, mask;  // mask: summed into, unless null
};

void attention(DType dtype, const Attention& call);
void attention_backward(DType dtype, const Attention& call, const AttentionGradients& gradients);

}  // namespace tl::cpu
