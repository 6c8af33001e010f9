// Linear layers with weights of packed int8: checks, scales, and the product of bytes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "iter/dtypes.h"
#include "kernel_args.h"
#include "ops.h"
#include "ops/gemm/int8_weight.h"
#include "ops/shared/copy.h"

namespace tl {

void check_int8_weight(const Int8Weight& w, const Tensor& input, int64_t sums) {
  const auto check = [&](const Tensor& t, const char* name, DType dtype, int64_t size) {
    TL_CHECK(t.dtype() == dtype && t.numel() == size, Runtime, name, " must have ", size,
             " elements of type ", scalar_type_name(dtype), ", got ", scalar_type_name(t.dtype()),
             " of shape ", t.sizes());
    TL_CHECK(t.device() == input.device(), Runtime,
             "Expected all tensors to be on the same device, but found at least two devices, ",
             device_name(input.device()), " and ", device_name(t.device()), "! (", name, ")");
  };
  check(w.packed, "packed", DType::Int8, w.packed.numel());
  check(w.scales, "scales", DType::Float32, w.columns());
  check(w.sums, "column_sums", DType::Int32, sums);
  TL_CHECK(w.sums.is_contiguous(), Runtime, "column_sums must be contiguous, got strides ", w.sums.strides());
  for (const auto& [t, name, dtype] :
       {std::tuple{w.zero_points, "zero_points", DType::Int32}, std::tuple{w.bias, "bias", DType::Float32}}) {
    if (!t) continue;
    TL_CHECK(t->dim() == 1, Runtime, name, " must be a vector, got ", t->dim(), " dimensions");
    check(*t, name, dtype, w.columns());
  }
}

void check_qparams(const char* name, double scale, int64_t zero_point, bool is_signed) {
  TL_CHECK(scale > 0 && std::isfinite(scale), Runtime, name, "scale must be positive and finite, got ",
           scale);
  const int64_t low = is_signed ? -128 : 0, high = low + 255;
  TL_CHECK(zero_point >= low && zero_point <= high, Runtime, name, "zero_point must be from ", low, " to ",
           high, ", got ", zero_point);
}

void Int8Result::check() const {
  TL_CHECK(scale.has_value() == zero_point.has_value(), Runtime,
           "scale and zero_point must both be numbers or both be None, got None for ",
           scale ? "zero_point" : "scale");
  if (scale) check_qparams("", *scale, *zero_point, is_signed);
}

// A ReLU is a larger lower bound of the result's bytes.
cpu::Int8Epilogue Int8Result::epilogue(const Tensor& result, int64_t columns, double input_scale,
                                       Int8Factors& factors) const {
  const auto kind = scale ? cpu::Int8Output::Bytes : cpu::Int8Output::Float;
  if (scale)
    factors.of_bytes(static_cast<float>(input_scale), static_cast<float>(*scale));
  else
    factors.of_floats(static_cast<float>(input_scale));
  cpu::Int8Epilogue to{kind, result.ptr<char>(), columns * cpu::int8_output_bytes(kind), factors.scale(),
                       factors.added()};
  to.relu = relu;
  if (!scale) return to;
  to.zero_point = static_cast<int32_t>(*zero_point);
  to.low = is_signed ? -128 : 0;
  to.high = to.low + 255;
  if (relu) to.low = std::max(to.low, to.zero_point);
  return to;
}

namespace {

constexpr double kLeastScale = 6.1e-5f;

// A range that is so narrow that its scale would be too small is widened to the least scale.
void widen(float& low, float& high, double scale, int top) {
  const auto least = static_cast<float>(kLeastScale);
  if (low == 0.0f) {
    high = least * static_cast<float>(top);
  } else if (high == 0.0f) {
    low = -least * static_cast<float>(top);
  } else {
    const float growth = least / static_cast<float>(scale);
    low *= growth;
    high *= growth;
  }
}

}  // namespace

ByteParams choose_byte_params(const cpu::FloatRange& range, int top) {
  float low = std::min(range.low, 0.0f), high = std::max(range.high, 0.0f);
  double scale = (static_cast<double>(high) - low) / top;
  if (static_cast<float>(scale) == 0.0f || std::isinf(1.0f / static_cast<float>(scale))) scale = 0.1;
  if (scale < kLeastScale) {
    widen(low, high, scale, top);
    scale = kLeastScale;
  }
  const double of_low = low / scale, of_high = high / scale;
  const double zero = -std::abs(of_low) < top - std::abs(of_high) ? -of_low : top - of_high;
  return {static_cast<float>(scale),
          static_cast<int32_t>(std::nearbyint(std::clamp(zero, 0.0, double(top))))};
}

void check_range(const cpu::FloatRange& range) {
  TL_CHECK(!range.has_nan && std::isfinite(range.low) && std::isfinite(range.high), Runtime,
           "the range of input must be finite, but it is from ", range.low, " to ", range.high,
           range.has_nan ? " with NaN" : "");
}

namespace {

template <class T>
using Workspace = cpu::base::Workspace<T>;

// ---- the packed weight ------------------------------------------------------------------------------------

std::tuple<Tensor, Tensor> pack(const Tensor& weight) {
  TL_CHECK(weight.dim() == 2, Runtime, "weight must be a matrix, got ", weight.dim(), " dimensions");
  TL_CHECK(weight.dtype() == DType::Int8, Runtime, "weight must be of type int8, got ",
           scalar_type_name(weight.dtype()));
  const int64_t n = weight.size(0), k = weight.size(1);
  const DimVector shape{cpu::int8_panels(n), cpu::int8_quads(k), cpu::kPanelColumns * cpu::kQuad};
  const Tensor packed = empty(shape, {DType::Int8, weight.device()});
  const Tensor sums = empty(DimVector{whole_panels(n)}, {DType::Int32, weight.device()});
  if (!packed.is_meta())
    cpu::pack_int8({weight.ptr<int8_t>(), weight.stride(1), weight.stride(0)}, k, n, packed.ptr<int8_t>(),
                   sums.ptr<int32_t>());
  return {packed, sums};
}

int64_t last_size(const Tensor& t) { return t.size(t.dim() - 1); }

void check_weight(const Int8Weight& w, const Tensor& input) {
  TL_CHECK(input.dim() > 0, Runtime, "input must have at least one dimension");
  TL_CHECK(w.scales.dim() == 1, Runtime, "scales must be a vector, got ", w.scales.dim(), " dimensions");
  const int64_t n = w.columns(), k = last_size(input);
  check_int8_weight(w, input, whole_panels(n));
  const DimVector shape{cpu::int8_panels(n), cpu::int8_quads(k), cpu::kPanelColumns * cpu::kQuad};
  TL_CHECK(w.packed.dtype() == DType::Int8 && w.packed.is_contiguous() &&
               std::ranges::equal(w.packed.sizes(), shape),
           Runtime, "packed must be a contiguous tensor of int8 with the shape ", IntSpan(shape), " for ", k,
           " features of input and ", n, " scales, got ", scalar_type_name(w.packed.dtype()), " of shape ",
           w.packed.sizes());
}

DimVector output_shape(const Tensor& input, int64_t columns) {
  DimVector shape(input.sizes());
  shape.back() = columns;
  return shape;
}

// ---- numbers that are quantized at each call --------------------------------------------------------------

// One scale for all of the input, as the range of all elements has it.
Tensor linear_dynamic(const Int8LinearDynamicArgs& args) {
  const auto& [input, packed, column_sums, scales, zero_points, bias, reduce_range, relu] = args;
  const Int8Weight weight{packed, column_sums, scales, zero_points, bias};
  TL_CHECK(input.dtype() == DType::Float32, Runtime, "input must be of type Float, got ",
           scalar_type_name(input.dtype()));
  check_weight(weight, input);
  const Tensor result = empty(output_shape(input, weight.columns()), {DType::Float32, input.device()});
  if (result.is_meta() || result.numel() == 0) return result;
  const Tensor x = ops::contiguous(input);
  cpu::FloatRange range{0.0f, 0.0f, false};
  if (x.numel()) range = cpu::float_range(x.ptr<float>(), x.numel());
  check_range(range);
  const int top = reduce_range ? 127 : 255;
  const ByteParams params = choose_byte_params(range, top);
  const int64_t k = last_size(x), rows = result.numel() / weight.columns(), row = cpu::int8_row_bytes(k),
                readable = cpu::int8_readable_rows(rows);
  const Workspace<uint8_t> bytes(readable * row);
  cpu::quantize_rows({x.ptr<float>(), rows, k, 1.0f / params.scale, static_cast<float>(params.zero_point),
                      255.0f, bytes.data(), row});
  Int8Factors factors(weight);
  factors.of_floats(params.scale);
  cpu::Int8Epilogue to{cpu::Int8Output::Float, result.ptr<char>(), weight.columns() * 4, factors.scale(),
                       factors.added()};
  to.relu = relu;
  cpu::gemm_packed_int8(
      {rows, weight.columns(), k, bytes.data(), row, params.zero_point, packed.ptr<int8_t>(),
       column_sums.ptr<int32_t>(), factors.zero_points(), reduce_range, readable},
      to);
  return result;
}

// ---- quantized numbers ------------------------------------------------------------------------------------

// Rows of bytes as the product takes them; signed ones become unsigned, with their zero point.
struct ByteInput {
  Tensor x;
  Workspace<uint8_t> copy;
  const uint8_t* data;
  int64_t row;
  int32_t zero_point;

  ByteInput(const Tensor& input, int64_t zero)
      : x(ops::contiguous(input)),
        copy(copies(input) ? rows(input) * padded(input) : 0),
        data(copies(input) ? copy.data() : x.ptr<uint8_t>()),
        row(copies(input) ? padded(input) : last_size(input)),
        zero_point(static_cast<int32_t>(zero) + (is_signed(input) ? 128 : 0)) {
    const int64_t k = last_size(input);
    if (copies(input))
      cpu::copy_byte_rows({x.ptr<uint8_t>(), rows(input), k, k, 1,
                           static_cast<uint8_t>(is_signed(input) ? 128 : 0), copy.data(), row});
  }

  static bool is_signed(const Tensor& t) { return t.dtype() == DType::Int8; }
  static bool copies(const Tensor& t) { return is_signed(t) || last_size(t) % cpu::kQuad; }
  static int64_t padded(const Tensor& t) { return cpu::int8_row_bytes(last_size(t)); }
  static int64_t rows(const Tensor& t) { return last_size(t) ? t.numel() / last_size(t) : 0; }
};

// A result without a scale is the sum in floating numbers.
Tensor linear(const Int8LinearArgs& args) {
  const auto& [input, input_scale, input_zero_point, packed, column_sums, scales, zero_points, bias, scale,
               zero_point, relu] = args;
  TL_CHECK(input.dtype() == DType::UInt8 || input.dtype() == DType::Int8, Runtime,
           "input must be of type Byte or Char, got ", scalar_type_name(input.dtype()));
  const Int8Weight weight{packed, column_sums, scales, zero_points, bias};
  const bool is_signed = input.dtype() == DType::Int8;
  check_weight(weight, input);
  check_qparams("input_", input_scale, input_zero_point, is_signed);
  const Int8Result to{scale, zero_point, relu, is_signed};
  to.check();
  const Tensor result = empty(output_shape(input, weight.columns()), {to.dtype(), input.device()});
  if (result.is_meta() || result.numel() == 0) return result;
  const ByteInput x(input, input_zero_point);
  Int8Factors factors(weight);
  cpu::gemm_packed_int8(
      {result.numel() / weight.columns(), weight.columns(), last_size(input), x.data, x.row, x.zero_point,
       packed.ptr<int8_t>(), column_sums.ptr<int32_t>(), factors.zero_points()},
      to.epilogue(result, weight.columns(), input_scale, factors));
  return result;
}

}  // namespace

TL_KERNEL(_pack_int8, pack)
TL_KERNEL(_int8_linear_dynamic, linear_dynamic)
TL_KERNEL(_int8_linear, linear)

}  // namespace tl
