// The sliding blocks of images as columns, and back.
#include <array>

#include "base/checked.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"
#include "ops/shared/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

namespace {

using Pair = std::array<int64_t, 2>;

Pair pair_of(const char* name, IntSpan given) {
  TL_CHECK(given.size() == 1 || given.size() == 2, Runtime, "It is expected ", name,
           " equals to 2, but got size ", given.size());
  return {given[0], given.back()};
}

struct Blocks {
  Pair size, kernel, dilation, padding, stride, count;

  Blocks(Pair image, IntSpan kernel_size, IntSpan dilations, IntSpan paddings, IntSpan strides)
      : size(image),
        kernel(pair_of("kernel_size", kernel_size)),
        dilation(pair_of("dilation", dilations)),
        padding(pair_of("padding", paddings)),
        stride(pair_of("stride", strides)) {
    check();
    for (int d = 0; d < 2; ++d) {
      const int64_t room =
          checked_add(size[d], checked_mul(2, padding[d])) - checked_mul(dilation[d], kernel[d] - 1) - 1;
      count[d] = room < 0 ? -1 : room / stride[d] + 1;
    }
  }

  int64_t taps() const { return checked_mul(kernel[0], kernel[1]); }
  int64_t total() const { return checked_mul(count[0], count[1]); }

 private:
  void check() const {
    const auto above = [](const char* name, const char* part, const Pair& p) {
      TL_CHECK(p[0] > 0 && p[1] > 0, Runtime, name, " should be greater than zero, but got ", part,
               "_height: ", p[0], " ", part, "_width: ", p[1]);
    };
    above("kernel size", "kernel", kernel);
    above("dilation", "dilation", dilation);
    above("stride", "stride", stride);
    TL_CHECK(padding[0] >= 0 && padding[1] >= 0, Runtime,
             "padding should be non-negative, but got pad_height: ", padding[0], " pad_width: ", padding[1]);
  }
};

// The image's elements that a tap meets, and the columns' row of that tap, as views of one shape.
struct Meeting {
  Tensor image, columns;
};

// `columns` has the shape (n, channels * taps, blocks), dense in its last dimension.
Meeting meeting(const Tensor& image, const Tensor& columns, const Blocks& b, int64_t tap) {
  const Pair t{tap / b.kernel[1], tap % b.kernel[1]};
  DimVector shape{image.size(0), image.size(1)}, of_image{image.stride(0), image.stride(1)},
      of_columns{columns.stride(0), columns.stride(1) * b.taps()};
  int64_t from = image.offset(), to = columns.offset() + tap * columns.stride(1);
  for (int d = 0; d < 2; ++d) {
    const int64_t at = t[d] * b.dilation[d] - b.padding[d];
    const int64_t begin = at < 0 ? (-at - 1) / b.stride[d] + 1 : 0;
    const int64_t end = at >= b.size[d] ? 0 : std::min(b.count[d], (b.size[d] - 1 - at) / b.stride[d] + 1);
    if (end <= begin) return {};
    const int64_t step = columns.stride(2) * (d == 0 ? b.count[1] : 1);
    shape.push_back(end - begin);
    of_image.push_back(wrapped_mul(image.stride(d + 2), b.stride[d]));
    of_columns.push_back(step);
    from += (begin * b.stride[d] + at) * image.stride(d + 2);
    to += begin * step;
  }
  return {view_of(image, shape, of_image, from), view_of(columns, shape, of_columns, to)};
}

void check_type(const char* name, const Tensor& t) {
  TL_CHECK(t.dtype() == DType::Bool || !is_integral(t.dtype(), true), NotImplemented, "\"", name,
           "_out_cpu\" not implemented for '", scalar_type_name(t.dtype()), "'");
}

bool has_image(const Tensor& t, int64_t dims) {
  if (t.dim() != dims && t.dim() != dims + 1) return false;
  for (int64_t d = t.dim() == dims ? 0 : 1; d < t.dim(); ++d)
    if (t.size(d) == 0) return false;
  return true;
}

Tensor checked_out(Out out, IntSpan shape, const Tensor& like) {
  check_out_dtype(out, like.dtype());
  return prepare_out(out, shape, {like.dtype(), like.device()});
}

void check_positions(const char* what, const Blocks& b) {
  TL_CHECK(b.count[0] >= 1 && b.count[1] >= 1, Runtime, "Given ", what, " (", b.size[0], ", ", b.size[1],
           "), kernel_size=(", b.kernel[0], ", ", b.kernel[1], "), dilation=(", b.dilation[0], ", ",
           b.dilation[1], "), padding=(", b.padding[0], ", ", b.padding[1],
           "), calculated shape of the array of sliding blocks as (", b.count[0], ", ", b.count[1],
           "), but its components must be at least one.");
}

// A view with a batch in front.
Tensor with_batch(const Tensor& t, int64_t dims) { return t.dim() == dims ? ops::unsqueeze(t, 0) : t; }

Tensor im2col(const Tensor& self, IntSpan kernel_size, IntSpan dilation, IntSpan padding, IntSpan stride,
              Out out) {
  TL_CHECK(
      has_image(self, 3), Runtime,
      "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
      "input, but got: ",
      self.sizes());
  check_type("im2col", self);
  const int64_t n = self.dim();
  const Blocks b({self.size(n - 2), self.size(n - 1)}, kernel_size, dilation, padding, stride);
  check_positions("input with spatial size", b);
  DimVector shape{checked_mul(self.size(n - 3), b.taps()), b.total()};
  if (n == 4) shape.insert(0, self.size(0));
  const Tensor result = checked_out(out, shape, self);
  if (result.is_meta() || result.numel() == 0) return result;
  const Tensor image = with_batch(self, 3), columns = with_batch(result, 2);
  fill_elements(result, Scalar(0));
  for (int64_t t = 0; t < b.taps(); ++t) {
    const Meeting m = meeting(image, columns, b, t);
    if (m.image) copy_elements(m.columns, m.image);
  }
  return result;
}

void check_columns(const Tensor& self, const Blocks& b) {
  const int64_t n = self.dim(), rows = self.size(n - 2), columns = self.size(n - 1);
  TL_CHECK(rows % b.taps() == 0, Runtime,
           "Expected size of input's dimension 1 to be divisible by the product of "
           "kernel_size, but got input.size(1)=",
           rows, " and kernel_size=(", b.kernel[0], ", ", b.kernel[1], ").");
  check_positions("output size", b);
  TL_CHECK(columns == b.total(), Runtime, "Given output_size=(", b.size[0], ", ", b.size[1],
           "), kernel_size=(", b.kernel[0], ", ", b.kernel[1], "), dilation=(", b.dilation[0], ", ",
           b.dilation[1], "), padding=(", b.padding[0], ", ", b.padding[1], "), stride=(", b.stride[0], ", ",
           b.stride[1],
           "), expected size of input's dimension 2 to match the calculated number of sliding blocks ",
           b.count[0], " * ", b.count[1], " = ", b.total(), ", but got input.size(2)=", columns, ".");
}

// Taps are added in order, so that the sums have one order.
Tensor col2im(const Tensor& self, IntSpan output_size, IntSpan kernel_size, IntSpan dilation, IntSpan padding,
              IntSpan stride, Out out) {
  TL_CHECK(
      has_image(self, 2), Runtime,
      "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions "
      "for input, but got: ",
      self.sizes());
  const Pair size = pair_of("output_size", output_size);
  TL_CHECK(size[0] > 0 && size[1] > 0, Runtime,
           "Expected output spatial size to be positive, but got: output_size=(", size[0], ", ", size[1],
           ").");
  check_type("col2im", self);
  const Blocks b(size, kernel_size, dilation, padding, stride);
  check_columns(self, b);
  const int64_t n = self.dim();
  DimVector shape{self.size(n - 2) / b.taps(), b.size[0], b.size[1]};
  if (n == 3) shape.insert(0, self.size(0));
  const Tensor result = checked_out(out, shape, self);
  if (result.is_meta() || result.numel() == 0) return result;
  const Tensor image = with_batch(result, 3), columns = with_batch(isolate(self, result), 2);
  fill_elements(result, Scalar(0));
  for (int64_t t = 0; t < b.taps(); ++t) {
    const Meeting m = meeting(image, columns, b, t);
    if (m.image) ops::add_(m.image, m.columns);
  }
  return result;
}

}  // namespace

TL_KERNEL(im2col, im2col)
TL_KERNEL(col2im, col2im)

}  // namespace tl
