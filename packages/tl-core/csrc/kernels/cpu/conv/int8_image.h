// The bytes that an int8 convolution reads: where they lie, or as a copy with padding.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/parallel.h"
#include "kernels/cpu/conv/int8_conv.h"
#include "kernels/cpu/loops/workspace.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// The bytes of a tap and the ones after it along the last axis may be read as one run.
class Int8Image {
 public:
  class Cursor;

  explicit Int8Image(const Int8Convolution& c) : c_(c), line_(c.groups * c.channels + kVecBytes) {
    channels_ = c.depthwise ? 1 : padded_channels(c.channels);
    pixel_ = c.depthwise ? int8_panels(c.groups) * kPanelColumns : c.groups * channels_;
    size_ = c.size;
    padding_ = c.padding;
    x_ = c.x;
    const bool few = !c.depthwise && channels_ <= 16 && c.kernel[2] > 1;
    if (pixel_ != c.groups * c.channels || c.flip || (few && c.groups == 1)) copy();
    taps_ = copy_ && !c.depthwise && c.groups == 1 && c.dilation[2] == 1 ? c.kernel[2] : 1;
    std::memset(line_.data(), c.x_zero, static_cast<size_t>(c.groups * c.channels + kVecBytes));
  }

  int64_t runs() const { return c_.kernel.product() / taps_; }
  int64_t quads() const { return taps_ * channels_ / kQuad; }
  int64_t channels() const { return channels_; }

  // Whether the output's pixels read the image's pixels, one each, in order.
  bool is_matrix() const {
    const auto all = [](const Axes& axes, int64_t n) { return axes[0] == n && axes[1] == n && axes[2] == n; };
    return !copy_ && c_.groups == 1 && all(c_.kernel, 1) && all(c_.stride, 1) && all(c_.padding, 0);
  }
  const uint8_t* data() const { return x_; }

 private:
  const Int8Convolution& c_;
  int64_t channels_, pixel_, taps_ = 1;  // bytes of a group and of a pixel; taps of a run
  Axes size_, padding_;
  const uint8_t* x_;
  Workspace<uint8_t> line_;  // a pixel of zeros
  std::optional<Workspace<uint8_t>> copy_;

  bool within(int64_t i, int axis) const { return i >= 0 && i < size_[axis]; }

  // An image with the padding around it; bytes between groups are 0.
  void copy() {
    for (int i = 0; i < 3; ++i) size_.n[i] += 2 * c_.padding[i];
    padding_ = {{0, 0, 0}};
    const int64_t plane = size_[1] * size_[2] * pixel_;
    copy_.emplace(c_.batch * size_[0] * plane);
    x_ = copy_->data();
    parallel_for(0, c_.batch * size_[0], (1 << 16) / (plane + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t i = p % size_[0] - c_.padding[0];
        const uint8_t* from = nullptr;
        if (i >= 0 && i < c_.size[0])
          from = c_.x + (p / size_[0] * c_.size[0] + i) * c_.size[1] * c_.size[2] * c_.groups * c_.channels;
        copy_plane(from, copy_->data() + p * plane);
      }
    });
  }

  void copy_plane(const uint8_t* from, uint8_t* to) const {
    const int64_t row = size_[2] * pixel_, inner = c_.size[2] * c_.groups * c_.channels;
    const int64_t before = c_.padding[2] * pixel_;
    for (int64_t j = 0; j < size_[1]; ++j, to += row) {
      const int64_t at = j - c_.padding[1];
      const bool inside = from && at >= 0 && at < c_.size[1];
      if (!inside || c_.padding[2]) fill(to, inside ? before : row);
      if (!inside) continue;
      copy_row(from + at * inner, to + before);
      fill(to + row - before, before);
    }
  }

  // Whole pixels of zeros.
  void fill(uint8_t* to, int64_t bytes) const {
    if (pixel_ == c_.groups * c_.channels) {
      std::memset(to, c_.x_zero, static_cast<size_t>(bytes));
      return;
    }
    for (int64_t b = 0; b < bytes; ++b)
      to[b] = padding_byte(b % pixel_) ? 0 : static_cast<uint8_t>(c_.x_zero);
  }
  bool padding_byte(int64_t b) const { return c_.depthwise ? b >= c_.groups : b % channels_ >= c_.channels; }

  void copy_row(const uint8_t* from, uint8_t* to) const {
    const int64_t groups = c_.depthwise ? 1 : c_.groups, channels = c_.depthwise ? c_.groups : c_.channels;
    const int64_t room = c_.depthwise ? pixel_ : channels_;
    int64_t g = 0;
#if TL_ISA_LEVEL >= 3
    if (channels == 3 && room == 4) {  // four pixels of three channels at once
      const __m128i spread = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
      const __m128i flip = _mm_set1_epi32(c_.flip * 0x010101);
      for (; (g + 4) * 3 + 4 <= c_.size[2] * groups * 3; g += 4, from += 12, to += 16) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_xor_si128(_mm_shuffle_epi8(x, spread), flip));
      }
    }
#endif
    for (; g < c_.size[2] * groups; ++g, from += channels, to += room) {
      for (int64_t b = 0; b < channels; ++b) to[b] = static_cast<uint8_t>(from[b] ^ c_.flip);
      for (int64_t b = channels; b < room; ++b) to[b] = 0;
    }
  }
};

// Copies any number of bytes.
TL_INLINE void copy_run(uint8_t* to, const uint8_t* from, int64_t bytes) {
#if TL_ISA_LEVEL >= 4
  int64_t i = 0;
  for (; i + 64 <= bytes; i += 64) _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
  if (i == bytes) return;
  const __mmask64 rest = (uint64_t{1} << (bytes - i)) - 1;
  _mm512_mask_storeu_epi8(to + i, rest, _mm512_maskz_loadu_epi8(rest, from + i));
#else
  std::memcpy(to, from, static_cast<size_t>(bytes));
#endif
}

// Walks over the output's pixels: where the runs of each begin.
class Int8Image::Cursor {
 public:
  Cursor(const Int8Image& image, int64_t group)
      : image_(image),
        c_(image.c_),
        offset_(group * image.channels_),
        height_(c_.kernel[0] * c_.kernel[1]),
        rows_(height_) {}

  void seek(int64_t pixel) {
    for (int i = 2; i >= 0; --i) {
      at_[i] = pixel % c_.output[i];
      pixel /= c_.output[i];
    }
    batch_ = pixel;
    begin_row();
  }
  void next() {
    first_ += c_.stride[2];
    if (++at_[2] < c_.output[2]) return;
    at_[2] = 0;
    for (int i = 1; i >= 0 && ++at_[i] == c_.output[i]; --i) {
      at_[i] = 0;
      if (i == 0) ++batch_;
    }
    begin_row();
  }

  // At most `most` pixels of this row from here on whose taps are all inside the image's rows; at least 1.
  int64_t inner_pixels(int64_t most) const {
    const int64_t last = first_ + (c_.kernel[2] - 1) * c_.dilation[2], room = image_.size_[2] - 1 - last;
    if (first_ < 0 || room < 0) return 1;
    return std::min({most, c_.output[2] - at_[2], room / c_.stride[2] + 1});
  }
  void advance(int64_t pixels) {
    at_[2] += pixels - 1;
    first_ += (pixels - 1) * c_.stride[2];
    next();
  }
  // How far the taps of a row of the kernel are from those of the next pixel.
  int64_t step(int64_t row) const { return rows_.data()[row] ? c_.stride[2] * image_.pixel_ : 0; }

  // Pointers to the runs, `step` apart.
  void point(const uint8_t** to, int64_t step) const {
    const int64_t pixel = image_.pixel_, width = c_.kernel[2], between = c_.dilation[2];
    for (int64_t r = 0; r < height_; ++r) {
      const uint8_t* row = rows_.data()[r];
      for (int64_t e = 0, k = first_; e < width; e += image_.taps_, k += between, to += step)
        *to = row && image_.within(k, 2) ? row + k * pixel : image_.line_.data();
    }
  }

  // The bytes of all runs, one run after another.
  void copy(uint8_t* to) const {
    const int64_t pixel = image_.pixel_, width = c_.kernel[2], between = c_.dilation[2];
    const int64_t tap = image_.channels_, last = first_ + (width - 1) * between;
    const bool joined = between == 1 && c_.groups == 1 && first_ >= 0 && last < image_.size_[2];
    for (int64_t r = 0; r < height_; ++r) {
      const uint8_t* row = rows_.data()[r];
      if (row && joined) {
        copy_run(to, row + first_ * pixel, width * tap);
        to += width * tap;
        continue;
      }
      for (int64_t e = 0, k = first_; e < width; ++e, k += between, to += tap)
        copy_run(to, row && image_.within(k, 2) ? row + k * pixel : image_.line_.data(), tap);
    }
  }

 private:
  const Int8Image& image_;
  const Int8Convolution& c_;
  int64_t offset_, height_;         // of the group; rows of the kernel
  Workspace<const uint8_t*> rows_;  // where the image's rows begin, null outside
  int64_t at_[3], batch_ = 0, first_ = 0;

  void begin_row() {
    first_ = at_[2] * c_.stride[2] - image_.padding_[2];
    const Axes& size = image_.size_;
    const uint8_t* image = image_.x_ + batch_ * size.product() * image_.pixel_ + offset_;
    for (int64_t a = 0, r = 0; a < c_.kernel[0]; ++a) {
      for (int64_t b = 0; b < c_.kernel[1]; ++b, ++r) {
        const int64_t i = at_[0] * c_.stride[0] - image_.padding_[0] + a * c_.dilation[0];
        const int64_t j = at_[1] * c_.stride[1] - image_.padding_[1] + b * c_.dilation[1];
        const bool inside = image_.within(i, 0) && image_.within(j, 1);
        rows_.data()[r] = inside ? image + (i * size[1] + j) * size[2] * image_.pixel_ : nullptr;
      }
    }
  }
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
