// What `#include <torch/extension.h>` brings.
#ifndef TL_TORCH_EXTENSION_HPP
#define TL_TORCH_EXTENSION_HPP

#include <tl/torch/all.hpp>
#include <tl/torch/pybind.hpp>

#endif  // TL_TORCH_EXTENSION_HPP
