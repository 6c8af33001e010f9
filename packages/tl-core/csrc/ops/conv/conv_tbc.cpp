// Convolutions of sequences whose first dimension is time; made of other operators.
#include "ops.h"

namespace tl {

namespace {
const int64_t kToLast[] = {1, 2, 0}, kToFirst[] = {2, 0, 1}, kReversed[] = {2, 1, 0};
const int64_t kOne[] = {1}, kZero[] = {0};

void check_operands(const Tensor& self, const Tensor& weight, const Tensor& bias) {
  TL_CHECK(self.dim() == 3, Runtime,
           "Input must have 3 dims: time, batch, in_channel; conv_tbc got an input with ", self.dim());
  TL_CHECK(
      weight.dim() == 3, Runtime,
      "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels; conv_tbc got a weight with ",
      weight.dim());
  TL_CHECK(bias.dim() == 1, Runtime, "Bias must be 1-D; conv_tbc got a bias with ", bias.dim(), " dims");
  TL_CHECK(self.size(2) == weight.size(1), Runtime,
           "Input dim 2 (input channels) is not == dim 1 in the weight tensor: conv_tbc got ", self.size(2),
           " and ", weight.size(1));
  TL_CHECK(bias.size(0) == weight.size(2), Runtime,
           "Bias size must equal dim 2 in the weight tensor (output channels): conv_tbc got ", bias.size(0),
           " and ", weight.size(2));
}

Tensor conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
  check_operands(self, weight, bias);
  const Tensor result = ops::convolution(ops::permute(self, kToLast), ops::permute(weight, kReversed), &bias,
                                         kOne, DimVector{pad}, kOne, false, kZero, 1);
  return ops::permute(result, kToFirst);
}

std::tuple<Tensor, Tensor, Tensor> conv_tbc_backward(const Tensor& self, const Tensor& input,
                                                     const Tensor& weight, const Tensor& bias, int64_t pad) {
  check_operands(input, weight, bias);
  const uint8_t all[] = {1, 1, 1};
  const auto [by_input, by_weight, by_bias] = ops::convolution_backward(
      ops::permute(self, kToLast), ops::permute(input, kToLast), ops::permute(weight, kReversed),
      bias.sizes(), kOne, DimVector{pad}, kOne, false, kZero, 1, all);
  return {ops::permute(by_input, kToFirst), ops::permute(by_weight, kReversed), by_bias};
}
}  // namespace

TL_KERNEL(conv_tbc, conv_tbc)
TL_KERNEL(conv_tbc_backward, conv_tbc_backward)

}  // namespace tl
