// The packed weights of int8 layers: scales, zero points and biases as the kernels take them.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/cpu/gemm/int8.h"
#include "kernels/cpu/loops/workspace.h"
#include "tensor/tensor.h"

namespace tl {

inline int64_t whole_panels(int64_t n) { return cpu::int8_panels(n) * cpu::kPanelColumns; }

// A weight of some columns, a scale for each, as the operators take it.
struct Int8Weight {
  const Tensor &packed, &sums, &scales;
  OptTensor zero_points, bias;
  int64_t groups = 1;

  int64_t columns() const { return scales.numel(); }
};

// Raises for vectors of another length, type or device than a weight has. `sums`: the length of column_sums.
void check_int8_weight(const Int8Weight& weight, const Tensor& input, int64_t sums);
// Raises for a scale that is no positive number, and for a zero point that is no byte. `name` stands before
// both.
void check_qparams(const char* name, double scale, int64_t zero_point, bool is_signed);

// The factors of an epilogue, for whole panels of each group.
class Int8Factors {
 public:
  explicit Int8Factors(const Int8Weight& w)
      : w_(w),
        group_(w.columns() / w.groups),
        size_(w.groups * whole_panels(group_)),
        scale_(size_),
        added_(size_),
        zeros_(w.zero_points ? size_ : 0) {
    if (w.zero_points) spread(*w.zero_points, zeros_.data());
  }

  const float* scale() const { return scale_.data(); }
  const float* added() const { return added_.data(); }
  const int32_t* zero_points() const { return w_.zero_points ? zeros_.data() : nullptr; }

  // Of sums that become floats: scale and bias.
  void of_floats(float input_scale) {
    spread(w_.scales, scale_.data());
    for (int64_t j = 0; j < size_; ++j) scale_.data()[j] *= input_scale;
    if (w_.bias)
      spread(*w_.bias, added_.data());
    else
      std::fill_n(added_.data(), size_, 0.0f);
  }

  // Of sums that become bytes: the bias in the unit of the sums, the scale in that of the output.
  void of_bytes(float input_scale, float output_scale) {
    of_floats(input_scale);
    for (int64_t j = 0; j < size_; ++j) {
      if (added_.data()[j] != 0.0f) added_.data()[j] /= scale_.data()[j];
      scale_.data()[j] /= output_scale;
    }
  }

 private:
  const Int8Weight& w_;
  int64_t group_, size_;
  cpu::base::Workspace<float> scale_, added_;
  cpu::base::Workspace<int32_t> zeros_;

  // A number for each column, zeros at the end of each group.
  template <class T>
  void spread(const Tensor& from, T* to) const {
    const int64_t step = from.stride(0), room = whole_panels(group_);
    const T* x = from.ptr<T>();
    for (int64_t g = 0; g < w_.groups; ++g, to += room, x += group_ * step) {
      for (int64_t j = 0; j < group_; ++j) to[j] = x[j * step];
      std::fill(to + group_, to + room, T{});
    }
  }
};

// How a layer's result is quantized. Without a scale, the result is float32.
struct Int8Result {
  std::optional<double> scale;
  std::optional<int64_t> zero_point;
  bool relu, is_signed;

  // Raises unless both are there, as `check_qparams` has them, or neither.
  void check() const;
  DType dtype() const { return !scale ? DType::Float32 : is_signed ? DType::Int8 : DType::UInt8; }
  // The epilogue of a result whose rows have some columns. The factors get their values.
  cpu::Int8Epilogue epilogue(const Tensor& result, int64_t columns, double input_scale,
                             Int8Factors& factors) const;
};

// The scale and the zero point with which integers from 0 to `top` cover a range and 0.
struct ByteParams {
  float scale;
  int32_t zero_point;
};
ByteParams choose_byte_params(const cpu::FloatRange& range, int top);
// Raises for a range that isn't finite.
void check_range(const cpu::FloatRange& range);

}  // namespace tl
