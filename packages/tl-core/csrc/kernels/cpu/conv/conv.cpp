// Convolution: choice among direct, implicit-GEMM and int64 kernels; other layouts and halves through dense
// planes.
#include "kernels/cpu/conv/conv.h"

#include <algorithm>

#include "base/parallel.h"
#include "iter/dtypes.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/conv/kernels.h"
#include "kernels/cpu/conv/tile_conv.h"
#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/loops/workspace.h"

namespace tl::cpu {

namespace {

using namespace base;

// ---- axes that are one ------------------------------------------------------------------------------------

bool passes_through(const ConvolutionAxis& a) {
  return a.taps == 1 && a.step == 1 && a.first == 0 && a.in == a.out;
}

// Axes that a kernel of one tap runs through become one long axis.
Convolution merged(Convolution c) {
  for (int d = kConvolutionAxes - 2; d >= 0; --d) {
    ConvolutionAxis &outer = c.axis[d], &last = c.axis[kConvolutionAxes - 1];
    const bool follows = c.in.axis[d] == c.in.axis[2] * last.in && c.out.axis[d] == c.out.axis[2] * last.out;
    if (!passes_through(outer) || !passes_through(last) || !(follows || outer.out == 1)) break;
    last.in = last.out = last.out * outer.out;
    outer.in = outer.out = 1;
  }
  return c;
}

// ---- the kernel that fits ---------------------------------------------------------------------------------

const ConvolutionKernels& kernels_for(DType dtype, const Convolution& c) {
  const int type = dtype == DType::Float64;
  return c.rows * c.channels <= 4 ? TL_SELECT(direct_convolutions)[type]
                                  : TL_SELECT(product_convolutions)[type];
}

// The weight's product copies rows with the padding around them, which may be wider than memory.
bool is_far(const ConvolutionAxis& a) {
  constexpr int64_t kFar = 1 << 24;
  const int64_t last = (a.out - 1) * a.step + a.first + (a.taps - 1) * a.tap_step;
  return a.first < -kFar || last > a.in + kFar;
}

// ---- int64: as it is written ------------------------------------------------------------------------------

int64_t integer_sum(const ConvolutionGeometry& g, int64_t n, int64_t row, const PositionRun& p) {
  const Convolution& c = g.c;
  const auto* in =
      reinterpret_cast<const int64_t*>(c.in.data) + n * c.in.batch + row / c.rows * c.channels * c.in.channel;
  const auto* w = reinterpret_cast<const int64_t*>(c.weight.data) + row / c.rows * c.weight.group +
                  row % c.rows * c.weight.row;
  uint64_t sum = 0;
  for (int64_t t = 0; t < g.taps(); ++t) {
    const Tap tap(c, t);
    int64_t from = 0, weight = 0;
    bool inside = true;
    for (int d = 0; d < kConvolutionAxes; ++d) {
      const int64_t i = g.read(d, p.q[d], tap.t[d]);
      inside = inside && i >= 0;
      from += i * c.in.axis[d];
      weight += tap.t[d] * c.weight.tap[d];
    }
    for (int64_t k = 0; inside && k < c.channels; ++k)
      sum += static_cast<uint64_t>(in[from + k * c.in.channel]) *
             static_cast<uint64_t>(w[weight + k * c.weight.channel]);
  }
  return static_cast<int64_t>(sum);
}

void convolve_integers(const Convolution& c) {
  const ConvolutionGeometry g(c);
  const int64_t rows = c.groups * c.rows;
  const auto* bias = reinterpret_cast<const int64_t*>(c.bias);
  parallel_for(0, c.batch * rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t p = 0; p < g.positions(); ++p) {
        PositionRun run;
        position_runs(c, p, p + 1, &run);
        auto* out =
            reinterpret_cast<int64_t*>(c.out.data) + i / rows * c.out.batch + i % rows * c.out.channel;
        for (int d = 0; d < kConvolutionAxes; ++d) out += run.q[d] * c.out.axis[d];
        const uint64_t start = bias ? static_cast<uint64_t>(bias[i % rows * c.bias_stride]) : 0;
        *out = static_cast<int64_t>(start + static_cast<uint64_t>(integer_sum(g, i / rows, i % rows, run)));
      }
    }
  });
}

// ---- other types and layouts: through planes of float or double -------------------------------------------

enum class Way { In, Out };

// The images [first, first + count) between their own layout and dense planes of another type.
void move_planes(Way way, DType dtype, const ConvolutionData& d, const ConvolutionAxis* axis,
                 int64_t channels, int64_t first, int64_t count, DType wide, char* planes) {
  if (channels == 0) return;
  const bool in = way == Way::In;
  const auto size = [&](int i) { return in ? axis[i].in : axis[i].out; };
  const int64_t item = item_size(dtype), wide_item = item_size(wide), n2 = size(2), n1 = size(1);
  const int64_t rows = size(0) * n1, plane = rows * n2;
  const bool one = d.axis[0] == d.axis[1] * n1 && d.axis[1] == d.axis[2] * n2;  // rows follow one another
  const int64_t parts = one ? 1 : rows, part = one ? plane : n2;
  const ElementwiseLoop loop = in ? cast_loop(wide, dtype) : cast_loop(dtype, wide);
  parallel_for(0, count * parts, (1 << 15) / (part * channels + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / parts, r = i % parts;
      char* image_row = d.data + ((first + n) * d.batch + r / n1 * d.axis[0] + r % n1 * d.axis[1]) * item;
      char* plane_row = planes + (n * channels * plane + r * n2) * wide_item;
      char* const data[] = {in ? plane_row : image_row, in ? image_row : plane_row};
      const int64_t f0 = d.channel * item, f1 = d.axis[2] * item, w0 = plane * wide_item, w1 = wide_item;
      if (in) {  // the output's densest dimension goes innermost
        const int64_t strides[] = {w1, f1, w0, f0};
        loop(data, strides, part, channels, nullptr);
      } else {
        const int64_t strides[] = {f0, w0, f1, w1};
        loop(data, strides, channels, part, nullptr);
      }
    }
  });
}

bool is_planar(const ConvolutionData& d) { return d.axis[kConvolutionAxes - 1] <= 2 || d.channel != 1; }

ConvolutionData dense_planes(char* data, int64_t channels, int64_t n0, int64_t n1, int64_t n2) {
  return {data, channels * n0 * n1 * n2, n0 * n1 * n2, {n1 * n2, n2, 1}};
}

// A convolution some images at a time, with operands in planes of `wide` where they aren't.
class InPlanes {
 public:
  InPlanes(DType dtype, const Convolution& c, bool move_in, bool move_out)
      : dtype_(dtype),
        wide_(opmath_type(dtype)),
        c_(c),
        in_(c.groups * c.channels * c.axis[0].in * c.axis[1].in * c.axis[2].in),
        out_(c.groups * c.rows * c.axis[0].out * c.axis[1].out * c.axis[2].out),
        images_(std::clamp<int64_t>(kElements / (in_ + out_ + 1), 1, c.batch)),
        move_in_(move_in),
        move_out_(move_out),
        in_planes_(move_in ? images_ * in_ * item_size(wide_) : 0),
        out_planes_(move_out ? images_ * out_ * item_size(wide_) : 0) {}

  void gather() {
    for (int64_t n = 0; n < c_.batch; n += images_) {
      const Convolution part = some(n);
      if (move_in_) planes_in(n, part.batch);
      kernels_for(wide_, part).gather(part);
      if (move_out_)
        move_planes(Way::Out, dtype_, c_.out, c_.axis, c_.groups * c_.rows, n, part.batch, wide_,
                    out_planes_.data());
    }
  }

 private:
  static constexpr int64_t kElements = 1 << 21;

  void planes_in(int64_t n, int64_t images) {
    move_planes(Way::In, dtype_, c_.in, c_.axis, c_.groups * c_.channels, n, images, wide_,
                in_planes_.data());
  }

  Convolution some(int64_t n) const {
    Convolution part = c_;
    part.batch = std::min(images_, c_.batch - n);
    const ConvolutionAxis* a = c_.axis;
    if (move_in_)
      part.in = dense_planes(in_planes_.data(), c_.groups * c_.channels, a[0].in, a[1].in, a[2].in);
    if (!move_in_) part.in.data += n * c_.in.batch * item_size(wide_);
    if (move_out_)
      part.out = dense_planes(out_planes_.data(), c_.groups * c_.rows, a[0].out, a[1].out, a[2].out);
    if (!move_out_) part.out.data += n * c_.out.batch * item_size(wide_);
    return merged(part);
  }

  DType dtype_, wide_;
  const Convolution& c_;
  int64_t in_, out_, images_;
  bool move_in_, move_out_;
  Workspace<char> in_planes_, out_planes_;
};

}  // namespace

void convolve(DType dtype, const Convolution& given) {
  Convolution c = given;
  if (c.batch == 0 || c.groups * c.rows == 0) return;
  // Images without elements have no address.
  if (std::ranges::any_of(c.axis, [](const ConvolutionAxis& a) { return a.in == 0; })) c.channels = 0;
  if (dtype == DType::Int64) return convolve_integers(c);
  const bool half = is_half(dtype);
  const Convolution whole = merged(c);
  if (dtype == DType::BFloat16) {
    if (const TileConvolution run = tile_convolution(whole)) return run(whole);
  }
  const bool move_in = half || !is_planar(whole.in), move_out = half || !is_planar(whole.out);
  if (!move_in && !move_out) return kernels_for(dtype, whole).gather(whole);
  InPlanes(dtype, c, move_in, move_out).gather();
}

void convolve_weight(DType dtype, const Convolution& c) {
  const Convolution whole = merged(c);
  const bool far = is_far(whole.axis[kConvolutionAxes - 1]);
  const ConvolutionKernels& kernels =
      far ? TL_SELECT(direct_convolutions)[dtype == DType::Float64] : kernels_for(dtype, whole);
  kernels.weight(whole);
}

}  // namespace tl::cpu
