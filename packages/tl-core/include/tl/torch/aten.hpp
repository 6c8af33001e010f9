// What `#include <ATen/ATen.h>` brings.
#ifndef TL_TORCH_ATEN_HPP
#define TL_TORCH_ATEN_HPP

#include <atomic>
#include <bitset>
#include <cassert>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <deque>
#include <iomanip>
#include <iostream>
#include <map>
#include <mutex>
#include <numeric>
#include <queue>
#include <set>
#include <thread>
#include <tl/torch/creation.hpp>
#include <tl/torch/dispatch.hpp>
#include <tl/torch/facts.hpp>
#include <tl/torch/ivalue.hpp>
#include <tl/torch/modes.hpp>
#include <tl/torch/python_operators.hpp>
#include <tl/torch/tensor_data.hpp>
#include <unordered_set>

namespace torch {
TL_FACE {
  using Dtype = at::ScalarType;
  namespace indexing = at::indexing;
  using at::AutoGradMode;
  using at::NoGradGuard;
  using at::Tensor;
  using c10::nullopt;
  using c10::optional;
  using c10::ScalarType;
  namespace nn {
  namespace functional {}
  }  // namespace nn
  namespace utils {
  using at::flatten_dense_tensors;
  using at::unflatten_dense_tensors;
  }  // namespace utils
  namespace cuda {
  inline bool is_available() { return false; }
  inline int64_t device_count() { return 0; }
  }  // namespace cuda
}
}  // namespace torch

#endif  // TL_TORCH_ATEN_HPP
