// What `#include <torch/torch.h>` brings.
#ifndef TL_TORCH_ALL_HPP
#define TL_TORCH_ALL_HPP

#include <tl/torch/aten.hpp>
#include <tl/torch/autograd.hpp>
#include <tl/torch/custom_class.hpp>

#endif  // TL_TORCH_ALL_HPP
