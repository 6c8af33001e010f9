// isa: all, by hand
// The online softmax of Milakov and Gimelshein (2018), tiled as by Dao et al. (FlashAttention, 2022).
#include "kernels/cpu/attention/attention.h"

#include "kernels/cpu/attention/backward.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

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
