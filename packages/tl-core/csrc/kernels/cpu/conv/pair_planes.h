// Pair planes: bfloat16 images copied with their padding, two channels to a word, apart by phase of the
// steps. What a tap reads at consecutive positions lies together, over the ends of rows.
#pragma once

#include <immintrin.h>

#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/simd/transpose.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

// Element x of phase p is element x * step + p of the image.
class PhaseAxis {
 public:
  explicit PhaseAxis(const ConvolutionAxis& a) : a_(a) {
    int64_t last = quotient(0);
    first_ = last;
    for (int64_t t = 0; t < a.taps; ++t) {
      first_ = std::min(first_, quotient(t));
      last = std::max(last, quotient(t));
      if (std::ranges::find(phases_, remainder(t)) == phases_.end()) phases_.push_back(remainder(t));
    }
    size_ = a.out + last - first_;
  }

  int64_t size() const { return size_; }
  int64_t phases() const { return static_cast<int64_t>(phases_.size()); }
  // The phase that a tap reads, by its place among those that taps read, and the element at the first
  // position.
  int64_t phase(int64_t t) const { return std::ranges::find(phases_, remainder(t)) - phases_.begin(); }
  int64_t shift(int64_t t) const { return quotient(t) - first_; }
  // The image's element, which may lie outside; and those elements that lie inside.
  int64_t index(int64_t phase, int64_t x) const {
    return (first_ + x) * a_.step + phases_[static_cast<size_t>(phase)];
  }
  TapRange inside(int64_t phase) const {
    const int64_t p = phases_[static_cast<size_t>(phase)];
    const int64_t end = a_.in > p ? (a_.in - 1 - p) / a_.step + 1 : 0;
    return {std::clamp<int64_t>(-first_, 0, size_), std::clamp<int64_t>(end - first_, 0, size_)};
  }

 private:
  int64_t read(int64_t t) const { return a_.first + t * a_.tap_step; }
  int64_t remainder(int64_t t) const { return (read(t) % a_.step + a_.step) % a_.step; }
  int64_t quotient(int64_t t) const { return (read(t) - remainder(t)) / a_.step; }

  ConvolutionAxis a_;
  int64_t first_ = 0, size_ = 0;
  std::vector<int64_t> phases_;
};

class PairPlanes {
 public:
  static constexpr int64_t kPairs = 16, kChannels = 2 * kPairs;  // of a tile

  explicit PairPlanes(const Convolution& c)
      : c_(c),
        axis_{PhaseAxis(c.axis[0]), PhaseAxis(c.axis[1]), PhaseAxis(c.axis[2])},
        blocks_((c.channels + kChannels - 1) / kChannels),
        // an odd number of lines, so that rows of a tile fall into different sets of the cache
        size_((axis_[0].size() * pitch(0) + kRoom + 31) / 32 * 32 + 16) {}

  int64_t blocks() const { return blocks_; }  // of channels
  int64_t size() const { return size_; }      // words of a plane
  int64_t image() const { return c_.groups * phases() * blocks_ * kPairs * size_; }
  int64_t pitch(int axis) const { return axis == 2 ? 1 : axis_[axis + 1].size() * pitch(axis + 1); }
  int64_t span() const {  // positions, with those that are none between rows
    return (c_.axis[0].out - 1) * pitch(0) + (c_.axis[1].out - 1) * pitch(1) + c_.axis[2].out;
  }
  int64_t group(int64_t image, int64_t g) const {
    return (image * c_.groups + g) * phases() * blocks_ * kPairs * size_;
  }
  // Where a tap reads at the first position of a group's first plane.
  int64_t offset(int64_t t) const {
    const Tap tap(c_, t);
    int64_t phase = 0, at = 0;
    for (int d = 0; d < kConvolutionAxes; ++d) {
      phase = phase * axis_[d].phases() + axis_[d].phase(tap.t[d]);
      at += axis_[d].shift(tap.t[d]) * pitch(d);
    }
    return phase * blocks_ * kPairs * size_ + at;
  }

  // All groups of some images, one after another.
  void copy(float* planes, int64_t first, int64_t images) const {
    const int64_t parts = c_.groups * phases() * blocks_;
    parallel_for(0, images * parts, (1 << 12) / size_ + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t block = i % blocks_, phase = i / blocks_ % phases(),
                      g = i / blocks_ / phases() % c_.groups;
        const auto* from = reinterpret_cast<const uint16_t*>(c_.in.data) + (first + i / parts) * c_.in.batch +
                           (g * c_.channels + block * kChannels) * c_.in.channel;
        copy_block(planes + i * kPairs * size_, from, phase, c_.channels - block * kChannels);
      }
    });
  }

 private:
  static constexpr int W = 16;             // lanes
  static constexpr int64_t kRoom = 3 * W;  // a product's vectors read beyond the last position

  int64_t phases() const { return axis_[0].phases() * axis_[1].phases() * axis_[2].phases(); }

  struct Row {
    const uint16_t* from;  // element 0 of the phase
    int64_t phase;
    TapRange inside;
  };

  // Ascending: what a vector writes beyond a row is overwritten by the next.
  void copy_block(float* to, const uint16_t* from, int64_t phase, int64_t channels) const {
    const int64_t p2 = phase % axis_[2].phases(), p1 = phase / axis_[2].phases() % axis_[1].phases(),
                  p0 = phase / axis_[2].phases() / axis_[1].phases();
    int64_t at = 0;
    for (int64_t x0 = 0; x0 < axis_[0].size(); ++x0) {
      for (int64_t x1 = 0; x1 < axis_[1].size(); ++x1, at += axis_[2].size()) {
        const int64_t i0 = axis_[0].index(p0, x0), i1 = axis_[1].index(p1, x1);
        const bool inside = i0 >= 0 && i0 < c_.axis[0].in && i1 >= 0 && i1 < c_.axis[1].in;
        const Row row{inside ? from + i0 * c_.in.axis[0] + i1 * c_.in.axis[1] : from, p2,
                      inside ? axis_[2].inside(p2) : TapRange{0, 0}};
        c_.in.channel == 1 && c_.in.axis[2] != 1 ? copy_pixels(to + at, row, channels)
                                                 : copy_planes(to + at, row, channels);
      }
    }
    for (int64_t e = 0; e < kPairs; ++e)
      std::memset(to + e * size_ + at, 0, sizeof(float) * static_cast<size_t>(size_ - at));
  }

  const uint16_t* element(const Row& row, int64_t x) const {
    return row.from + axis_[2].index(row.phase, x) * c_.in.axis[2];
  }

  // Channels are far apart.
  void copy_planes(float* to, const Row& row, int64_t channels) const {
    const int64_t step = c_.axis[2].step * c_.in.axis[2];
    for (int64_t e = 0; e < kPairs; ++e, to += size_) {
      for (int64_t x = 0; x < axis_[2].size(); x += W) {
        const auto lo = static_cast<unsigned>(std::clamp<int64_t>(row.inside.begin - x, 0, W)),
                   hi = static_cast<unsigned>(std::clamp<int64_t>(row.inside.end - x, 0, W));
        __m512i words = {};
        for (int64_t half = 0; half < 2 && lo < hi && 2 * e + half < channels; ++half) {
          const __m512i channel = lanes(element(row, x + lo) + (2 * e + half) * c_.in.channel, step, lo, hi);
          words = _mm512_or_si512(words, half ? _mm512_slli_epi32(channel, 16) : channel);
        }
        _mm512_storeu_si512(to + x, words);
      }
    }
  }

  // Elements `step` apart in the low halves of the words lo..hi, the first of them at `p`.
  static __m512i lanes(const uint16_t* p, int64_t step, unsigned lo, unsigned hi) {
    const uint32_t mask = ((1u << hi) - 1) & ~((1u << lo) - 1);
    if (step == 1)
      return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(static_cast<__mmask16>(mask), p - lo));
    if (step == 2)  // the words' high halves are what lies between
      return _mm512_maskz_loadu_epi16(_pdep_u32(mask, 0x55555555), p - 2 * static_cast<int64_t>(lo));
    alignas(64) uint32_t words[W] = {};
    for (unsigned l = lo; l < hi; ++l) words[l] = p[(l - lo) * step];
    return _mm512_load_si512(words);
  }

  // Channels lie together: 16 pixels are transposed.
  void copy_pixels(float* to, const Row& row, int64_t channels) const {
    const auto mask = static_cast<__mmask32>(channels >= kChannels ? ~0u : (1u << channels) - 1);
    for (int64_t x = 0; x < axis_[2].size(); x += W) {
      Vec<float> square[W];
      for (int64_t l = 0; l < W; ++l) {
        const bool inside = x + l >= row.inside.begin && x + l < row.inside.end;
        square[l] =
            inside ? bitcast<Vec<float>>(_mm512_maskz_loadu_epi16(mask, element(row, x + l))) : Vec<float>{};
      }
      RegisterTranspose<float>::transpose(square);
      for (int64_t e = 0; e < kPairs; ++e)
        _mm512_storeu_si512(to + e * size_ + x, bitcast<__m512i>(square[e]));
    }
  }

  const Convolution& c_;
  PhaseAxis axis_[kConvolutionAxes];
  int64_t blocks_, size_;
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
