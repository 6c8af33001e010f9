// Interpolation: a grid read at other points.
#include <algorithm>
#include <cmath>

#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "ops/spatial/spatial.h"

namespace tl {

namespace {
using cpu::ResampleWeights;
using OptDouble = std::optional<double>;

enum class Method { Nearest, NearestExact, Linear, Cubic, SmoothLinear, SmoothCubic };

// One axis of an interpolation. Coordinates are computed as precisely as the elements: F is float or double.
template <class F>
struct Sampling {
  int64_t in, out;
  bool align;
  OptDouble factor;

  F plain_step =
      factor && *factor > 0 ? static_cast<F>(1.0 / *factor) : static_cast<F>(in) / static_cast<F>(out);
  F step = !align ? plain_step : out > 1 ? static_cast<F>(in - 1) / static_cast<F>(out - 1) : F(0);

  F source(int64_t o) const {
    return align ? step * static_cast<F>(o) : step * (static_cast<F>(o) + F(0.5)) - F(0.5);
  }
};

int64_t nearest(const Sampling<float>& s, int64_t o) {
  if (s.out == s.in) return o;
  if (s.out == 2 * s.in) return o / 2;
  return std::min(static_cast<int64_t>(std::floor(static_cast<float>(o) * s.plain_step)), s.in - 1);
}
int64_t nearest_exact(const Sampling<float>& s, int64_t o) {
  return std::min(static_cast<int64_t>(std::floor((static_cast<float>(o) + 0.5f) * s.plain_step)), s.in - 1);
}

template <class F>
void linear_taps(const Sampling<F>& s, int64_t o, ResampleWeights& map) {
  if (s.out == s.in) return map.tap(o);
  const F x = std::max(s.source(o), F(0));
  const int64_t i = std::min(static_cast<int64_t>(x), s.in - 1);
  const F t = std::clamp(x - static_cast<F>(i), F(0), F(1));
  map.tap(i, F(1) - t);
  map.tap(std::min(i + 1, s.in - 1), t);
}

// The cubic convolution kernel of Keys (1981).
template <class F>
F cubic(F x, F a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : F(0);
}

template <class F>
void cubic_taps(const Sampling<F>& s, int64_t o, ResampleWeights& map) {
  const F x = s.source(o), floor = std::floor(x);
  const auto i = static_cast<int64_t>(floor);
  for (int64_t k = -1; k <= 2; ++k)
    map.tap(std::clamp<int64_t>(i + k, 0, s.in - 1), cubic<F>(x - floor - static_cast<F>(k), F(-0.75)));
}

// Antialiased: where the result is coarser, the kernel is stretched to its step, and its weights sum to 1.
template <class F>
void smooth_taps(const Sampling<F>& s, int64_t o, bool is_cubic, ResampleWeights& map) {
  const F step = s.step, stretch = std::max(step, F(1)), reach = (is_cubic ? F(2) : F(1)) * stretch;
  const F center = step * (static_cast<F>(o) + F(0.5));
  const int64_t begin = std::max(static_cast<int64_t>(center - reach + F(0.5)), int64_t{0});
  const int64_t end = std::min(static_cast<int64_t>(center + reach + F(0.5)), s.in);
  F total = 0;
  std::vector<F> weights;
  for (int64_t i = begin; i < end; ++i) {
    const F x = (static_cast<F>(i) - center + F(0.5)) / stretch;
    weights.push_back(is_cubic ? cubic<F>(x, F(-0.5)) : std::max(F(1) - std::abs(x), F(0)));
    total += weights.back();
  }
  for (int64_t i = begin; i < end; ++i)
    map.tap(i, total != 0 ? weights[i - begin] / total : weights[i - begin]);
}

// The sparse matrix of one axis, of outputs begin..end: their inputs and weights. Nearest positions are
// rounded in float, as PyTorch 2.7 does.
template <class F>
ResampleWeights axis_weights(Method method, const Sampling<F>& s, int64_t begin, int64_t end) {
  const Sampling<float> rough{s.in, s.out, s.align, s.factor};
  ResampleWeights map;
  map.inputs = s.in;
  map.reserve(end - begin, method == Method::Linear ? 2 : method == Method::Cubic ? 4 : 1);
  for (int64_t o = begin; o < end; ++o) {
    switch (method) {
      case Method::Nearest:
        map.tap(nearest(rough, o));
        break;
      case Method::NearestExact:
        map.tap(nearest_exact(rough, o));
        break;
      case Method::Linear:
        linear_taps(s, o, map);
        break;
      case Method::Cubic:
        cubic_taps(s, o, map);
        break;
      default:
        smooth_taps(s, o, method == Method::SmoothCubic, map);
    }
    map.close();
  }
  return map;
}

struct Request {
  const char* op;
  Method method;
  bool align;
  DimVector in, out;
  OptDouble factors[3];

  ResampleWeights map(DType dtype, size_t a, int64_t begin, int64_t end) const {
    return dtype == DType::Float64
               ? axis_weights<double>(method, {in[a], out[a], align, factors[a]}, begin, end)
               : axis_weights<float>(method, {in[a], out[a], align, factors[a]}, begin, end);
  }
  std::vector<ResampleWeights> maps(DType dtype) const {
    std::vector<ResampleWeights> maps;
    for (size_t a = 0; a < out.size(); ++a) maps.push_back(map(dtype, a, 0, out[a]));
    return maps;
  }
  bool long_rows(const SpatialView& field) const {
    return out.size() == 1 && out[0] >= cpu::LongRows::kLong && field.inner() == 1 &&
           field.planes() < cpu::LongRows::kFew;
  }
};

void check_sizes(const Request& r, const Tensor& t) {
  const size_t n = r.out.size();
  TL_CHECK(std::ranges::all_of(r.in, [](int64_t s) { return s > 0; }) &&
               std::ranges::all_of(r.out, [](int64_t s) { return s > 0; }),
           Runtime, "Input and output sizes should be greater than 0, but got input (", IntSpan(r.in),
           ") and output (", IntSpan(r.out), ")");
  TL_CHECK(t.dim() == static_cast<int64_t>(n) + 2 && t.size(1) != 0, Runtime, r.op, ": Non-empty ", n + 2,
           "D data tensor expected but got a tensor with sizes ", t.sizes());
}

Tensor interpolated(const Tensor& self, const Request& r) {
  const SpatialView field(self, static_cast<int64_t>(r.out.size()));
  const DType dtype = self.dtype();
  if (self.is_meta() || self.numel() == 0 || !r.long_rows(field))
    return resampled(field, r.out, [&] { return r.maps(dtype); });
  const Tensor out = field.like(r.out, field.data().dtype());
  const auto piece = [&](int64_t begin, int64_t end) { return r.map(dtype, 0, begin, end); };
  cpu::resample_rows(out.dtype(), {field.planes(), r.in[0], r.out[0], piece}, out.ptr<char>(),
                     field.data().ptr<char>());
  return out;
}

// ---- grids of bytes ---------------------------------------------------------------------------------------
constexpr int kMostBits = 22;

// Taps of one input are one tap: it is rounded once.
ResampleWeights merged(const ResampleWeights& map) {
  ResampleWeights made;
  made.inputs = map.inputs;
  for (int64_t o = 0; o < map.outputs(); ++o) {
    for (int64_t t = map.begin[o]; t < map.begin[o + 1]; ++t) {
      if (t > map.begin[o] && map.index[t] == made.index.back())
        made.weight.back() += map.weight[t];
      else
        made.tap(map.index[t], map.weight[t]);
    }
    made.close();
  }
  return made;
}

// The weights rounded to multiples of 2^-bits whose numerators have 16 bits: as many as the largest allows.
int round_to_fixed_point(std::vector<double>& weights) {
  const double largest = std::max(0.0, *std::ranges::max_element(weights));
  int bits = 0;
  while (bits < kMostBits && 0.5 + std::ldexp(largest, bits + 1) < 1 << 15) ++bits;
  for (double& w : weights) w = std::ldexp(std::trunc(std::ldexp(w, bits) + std::copysign(0.5, w)), -bits);
  return bits;
}

// Whether all sums of bytes by the weights are exact in float: numerators below 2^24.
bool is_exact_in_float(const ResampleWeights& map, int bits) {
  for (int64_t o = 0; o < map.outputs(); ++o) {
    double total = 0;
    for (int64_t t = map.begin[o]; t < map.begin[o + 1]; ++t) total += std::abs(map.weight[t]);
    if (std::ldexp(255 * total, bits) >= 1 << 24) return false;
  }
  return true;
}

// One axis, rounded to whole numbers that bytes hold, which stay floats for the next axis.
Tensor resampled_bytes(const Tensor& self, const Request& r, size_t a) {
  ResampleWeights map = merged(r.map(DType::Float64, a, 0, r.out[a]));
  const int bits = round_to_fixed_point(map.weight);
  const DType dtype = is_exact_in_float(map, bits) ? DType::Float32 : DType::Float64;
  const SpatialView field(ops::to_dtype(self, dtype), 2);
  DimVector grid{field.size(0), field.size(1)};
  std::vector<ResampleWeights> maps{cpu::identity_weights(grid[0]), cpu::identity_weights(grid[1])};
  grid[a] = r.out[a];
  maps[a] = std::move(map);
  const Tensor sums = resampled(field, grid, [&] { return std::move(maps); });
  cpu::round_to_bytes(dtype, sums.ptr<char>(), sums.numel());
  return sums;
}

// Images are resampled as Pillow does it, and the reference: in fixed point, rounded after each axis, the
// last one first.
Tensor upsampled_image(const Tensor& self, const Request& r) {
  if (std::ranges::equal(r.in, r.out)) return ops::clone(self);
  Tensor bytes = self;
  for (const size_t a : {1, 0})
    if (r.in[a] != r.out[a]) bytes = resampled_bytes(bytes, r, a);
  return ops::to_dtype(bytes, DType::UInt8);
}

bool is_image(const Tensor& self, const Request& r) {
  const bool weighted = r.method != Method::Nearest && r.method != Method::NearestExact;
  return weighted && r.out.size() == 2 && !self.is_meta() && self.numel() > 0;
}

// uint8 is rounded to the nearest number, as the reference does.
Tensor upsampled(const Tensor& self, const Request& r, Out out) {
  check_sizes(r, self);
  TL_CHECK(is_floating(self.dtype()) || self.dtype() == DType::UInt8, NotImplemented, "\"", r.op,
           "\" not implemented for '", scalar_type_name(self.dtype()), "'");
  if (self.dtype() != DType::UInt8) return delivered(interpolated(self, r), self.dtype(), out);
  if (is_image(self, r)) return delivered(upsampled_image(self, r), DType::UInt8, out);
  const Tensor wide = interpolated(ops::to_dtype(self, DType::Float32), r);
  const Tensor bytes =
      wide.is_meta() ? wide : ops::clamp(ops::floor(ops::add(wide, Scalar(0.5))), Scalar(0), Scalar(255));
  return delivered(ops::to_dtype(bytes, DType::UInt8), DType::UInt8, out);
}

Tensor upsample_adjoint(const Tensor& g, IntSpan input_size, const Request& r, Out out) {
  const auto n = static_cast<int64_t>(r.out.size());
  TL_CHECK(g.dim() == n + 2 && static_cast<int64_t>(input_size.size()) == n + 2, Runtime, r.op,
           "_backward: expected a "
           "gradient and an input_size of ",
           n + 2, " dimensions, got ", g.sizes(), " and ", input_size);
  for (int64_t d = 0; d < n + 2; ++d)
    TL_CHECK(g.size(d) == (d < 2 ? input_size[d] : r.out[d - 2]), Runtime, r.op,
             "_backward: Expected grad_output to "
             "have the same shape as output; output.size(",
             d, ") = ", d < 2 ? input_size[d] : r.out[d - 2], " but got grad_output.size(", d,
             ") = ", g.size(d));
  return delivered(adjoint_resampled(SpatialView(g, n), r.in, [&] { return r.maps(g.dtype()); }), g.dtype(),
                   out);
}

DimVector checked_output(const char* op, IntSpan size, size_t n) {
  TL_CHECK(size.size() == n, Runtime, op, ": It is expected output_size equals to ", n, ", but got size ",
           size.size());
  return DimVector(size);
}

DimVector grid(IntSpan sizes, size_t n) {
  TL_CHECK(sizes.size() == n + 2, Runtime, "It is expected input_size equals to ", n + 2, ", but got size ",
           sizes.size());
  return DimVector(sizes.last(n));
}

// The schema's parameters: with or without align_corners, a factor for each axis.
template <auto names, Method method, class... Factors>
struct Upsample {
  static constexpr size_t n = sizeof...(Factors);
  static constexpr const char* op = names;

  static Request request(IntSpan in, IntSpan size, bool align, Factors... factors) {
    TL_CHECK(in.size() == n + 2, Runtime, op, ": It is expected input_size equals to ", n + 2,
             ", but got size ", in.size());
    return {op, method, align, grid(in, n), checked_output(op, size, n), {factors...}};
  }
  static Tensor plain(const Tensor& self, IntSpan size, Factors... factors, Out out) {
    return upsampled(self, request(self.sizes(), size, false, factors...), out);
  }
  static Tensor aligned(const Tensor& self, IntSpan size, bool align, Factors... factors, Out out) {
    return upsampled(self, request(self.sizes(), size, align, factors...), out);
  }
  static Tensor plain_adjoint(const Tensor& g, IntSpan size, IntSpan in, Factors... factors, Out out) {
    return upsample_adjoint(g, in, request(in, size, false, factors...), out);
  }
  static Tensor aligned_adjoint(const Tensor& g, IntSpan size, IntSpan in, bool align, Factors... factors,
                                Out out) {
    return upsample_adjoint(g, in, request(in, size, align, factors...), out);
  }
};

// The overloads with the size or the factors of the result.
struct Wanted {
  DimVector size;
  OptDouble factors[3];

  Wanted(const Tensor& input, std::optional<IntSpan> sizes, std::optional<std::span<const double>> scales) {
    TL_CHECK(sizes.has_value() != scales.has_value(), Runtime,
             "Must specify exactly one of output_size and scale_factors");
    const auto n = static_cast<size_t>(input.dim()) - 2;
    TL_CHECK((sizes ? sizes->size() : scales->size()) == n, Runtime, "expected a size or factor for each of ",
             n, " dimensions");
    for (size_t a = 0; a < n; ++a) {
      size.push_back(sizes
                         ? (*sizes)[a]
                         : static_cast<int64_t>(static_cast<double>(input.size(static_cast<int64_t>(a) + 2)) *
                                                (*scales)[a]));
      if (scales) factors[a] = (*scales)[a];
    }
  }
};
template <auto f, size_t n>
Tensor plain_vec(const Tensor& input, std::optional<IntSpan> size,
                 std::optional<std::span<const double>> scales) {
  const Wanted w(input, size, scales);
  if constexpr (n == 1) return f(input, w.size, w.factors[0]);
  if constexpr (n == 2) return f(input, w.size, w.factors[0], w.factors[1]);
  if constexpr (n == 3) return f(input, w.size, w.factors[0], w.factors[1], w.factors[2]);
}
template <auto f, size_t n>
Tensor aligned_vec(const Tensor& input, std::optional<IntSpan> size, bool align,
                   std::optional<std::span<const double>> scales) {
  const Wanted w(input, size, scales);
  if constexpr (n == 1) return f(input, w.size, align, w.factors[0]);
  if constexpr (n == 2) return f(input, w.size, align, w.factors[0], w.factors[1]);
  if constexpr (n == 3) return f(input, w.size, align, w.factors[0], w.factors[1], w.factors[2]);
}

#define TL_ONE OptDouble
#define TL_TWO OptDouble, OptDouble
#define TL_THREE OptDouble, OptDouble, OptDouble
#define TL_UPSAMPLE(name, method, form, ...)                        \
  constexpr char k_##name[] = #name;                                \
  using U_##name = Upsample<k_##name, Method::method, __VA_ARGS__>; \
  constexpr auto run_##name = &U_##name::form;                      \
  constexpr auto adjoint_##name = &U_##name::form##_adjoint;        \
  constexpr auto vec_##name = &form##_vec<&ops::name, U_##name::n>;
TL_UPSAMPLE(upsample_nearest1d, Nearest, plain, TL_ONE)
TL_UPSAMPLE(upsample_nearest2d, Nearest, plain, TL_TWO)
TL_UPSAMPLE(upsample_nearest3d, Nearest, plain, TL_THREE)
TL_UPSAMPLE(_upsample_nearest_exact1d, NearestExact, plain, TL_ONE)
TL_UPSAMPLE(_upsample_nearest_exact2d, NearestExact, plain, TL_TWO)
TL_UPSAMPLE(_upsample_nearest_exact3d, NearestExact, plain, TL_THREE)
TL_UPSAMPLE(upsample_linear1d, Linear, aligned, TL_ONE)
TL_UPSAMPLE(upsample_bilinear2d, Linear, aligned, TL_TWO)
TL_UPSAMPLE(upsample_trilinear3d, Linear, aligned, TL_THREE)
TL_UPSAMPLE(upsample_bicubic2d, Cubic, aligned, TL_TWO)
TL_UPSAMPLE(_upsample_bilinear2d_aa, SmoothLinear, aligned, TL_TWO)
TL_UPSAMPLE(_upsample_bicubic2d_aa, SmoothCubic, aligned, TL_TWO)
#undef TL_UPSAMPLE
}  // namespace

#define TL_UPSAMPLE_KERNELS(name)             \
  TL_KERNEL(name, *run_##name)                \
  TL_KERNEL(name##_backward, *adjoint_##name) \
  TL_KERNEL(name##_vec, *vec_##name)
TL_UPSAMPLE_KERNELS(upsample_nearest1d)
TL_UPSAMPLE_KERNELS(upsample_nearest2d)
TL_UPSAMPLE_KERNELS(upsample_nearest3d)
TL_UPSAMPLE_KERNELS(_upsample_nearest_exact1d)
TL_UPSAMPLE_KERNELS(_upsample_nearest_exact2d)
TL_UPSAMPLE_KERNELS(_upsample_nearest_exact3d)
TL_UPSAMPLE_KERNELS(upsample_linear1d)
TL_UPSAMPLE_KERNELS(upsample_bilinear2d)
TL_UPSAMPLE_KERNELS(upsample_trilinear3d)
TL_UPSAMPLE_KERNELS(upsample_bicubic2d)
TL_UPSAMPLE_KERNELS(_upsample_bilinear2d_aa)
TL_UPSAMPLE_KERNELS(_upsample_bicubic2d_aa)

}  // namespace tl
