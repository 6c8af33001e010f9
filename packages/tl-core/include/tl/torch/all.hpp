// What `#include <torch/torch.h>` brings.
#ifndef TL_TORCH_ALL_HPP
#define TL_TORCH_ALL_HPP

#include <tl/torch/aten.hpp>
#include <tl/torch/autograd.hpp>
#include <tl/torch/custom_class.hpp>
#include <tl/torch/logging.hpp>
#include <tl/torch/spaces.hpp>
#if defined(TORCH_API_INCLUDE_EXTENSION_H) && __has_include(<pybind11/pybind11.h>)
#include <tl/torch/pybind.hpp>  // an extension's `#include <torch/torch.h>` has its bindings, too
#endif

#endif  // TL_TORCH_ALL_HPP
