// isa: all bf16, by hand
// Convolution of bfloat16 by AMX tiles: rows are output channels, columns positions of pair planes, so that a
// tile of columns is read where it lies, at an offset for each tap. Sums stay in the tiles until they are
// whole.
#include "kernels/cpu/conv/tile_conv.h"

#if defined(__AVX512BF16__)
#include "kernels/cpu/conv/packed_weight.h"
#include "kernels/cpu/conv/pair_planes.h"
#include "kernels/cpu/gemm/amx_tiles.h"
#include "kernels/cpu/loops/workspace.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int64_t kSide = 16, kRows = 2 * kSide, kCols = 2 * kSide, kTile = kSide * kSide;

// Tiles of 16 rows by 32 channels, in the order in which a product reads them: rows, taps, channels.
class WeightTiles {
 public:
  WeightTiles(const Convolution& c, const PairPlanes& planes)
      : c_(c),
        blocks_(planes.blocks()),
        taps_(c.axis[0].taps * c.axis[1].taps * c.axis[2].taps),
        halves_(ceil_div(c.rows, kRows) * 2),
        tiles_(c.groups * halves_ * terms() * kTile) {
    parallel_for(0, c.groups * halves_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        pack(tiles_.data() + i * terms() * kTile, i / halves_, i % halves_);
    });
  }

  int64_t terms() const { return taps_ * blocks_; }  // tiles along a row
  int64_t taps() const { return taps_; }
  const float* rows(int64_t group, int64_t row) const {
    return tiles_.data() + (group * halves_ + row / kSide) * terms() * kTile;
  }

 private:
  void pack(float* to, int64_t group, int64_t half) const {
    for (int64_t t = 0; t < taps_; ++t) {
      const Tap tap(c_, t);
      for (int64_t block = 0; block < blocks_; ++block) {
        for (int64_t r = 0; r < kSide; ++r, to += kSide)
          _mm512_storeu_si512(to, words(group, half * kSide + r, tap, block * PairPlanes::kChannels));
      }
    }
  }

  // 32 channels of a row, which floats hold without loss.
  __m512i words(int64_t group, int64_t row, const Tap& tap, int64_t channel) const {
    const ConvolutionWeight& w = c_.weight;
    const int64_t count = row < c_.rows ? c_.channels - channel : 0;
    const float* from = reinterpret_cast<const float*>(w.data) + group * w.group + row * w.row +
                        channel * w.channel + tap.t[0] * w.tap[0] + tap.t[1] * w.tap[1] + tap.t[2] * w.tap[2];
    return _mm512_or_si512(
        _mm512_srli_epi32(every_other(from, count), 16),
        _mm512_and_si512(every_other(from + w.channel, count - 1), _mm512_set1_epi32(-65536)));
  }

  // The bits of up to 16 channels, of which `count` counts those between them as well.
  __m512i every_other(const float* from, int64_t count) const {
    if (count <= 0) return __m512i{};
    const auto lanes = static_cast<__mmask16>((1u << std::min<int64_t>((count + 1) / 2, kSide)) - 1);
    const __m512i index = _mm512_mullo_epi32(_mm512_set1_epi32(static_cast<int>(2 * c_.weight.channel)),
                                             bitcast<__m512i>(iota<VecI>()));
    return _mm512_mask_i32gather_epi32(__m512i{}, lanes, index, from, sizeof(float));
  }

  const Convolution& c_;
  int64_t blocks_, taps_, halves_;
  Workspace<float> tiles_;
};

// Where the tiles of columns lie for each tap.
struct ColumnTiles {
  const float* first;  // of a group's planes, at the first column
  const int64_t* offsets;
  int64_t taps, blocks, plane;
};

template <bool two>
TL_TILES void multiply(float* sums, const float* rows, const float* below, const ColumnTiles& columns) {
  clear_sums();
  const int64_t stride = columns.plane * static_cast<int64_t>(sizeof(float));
  for (int64_t t = 0; t < columns.taps; ++t) {
    const float* b = columns.first + columns.offsets[t];
    for (int64_t k = 0; k < columns.blocks; ++k, b += kSide * columns.plane, rows += kTile, below += kTile) {
      _tile_loadd(4, rows, 64);
      if (two) _tile_loadd(5, below, 64);
      _tile_loadd(6, b, stride);
      _tile_loadd(7, b + kSide, stride);
      add_products<float, two>();
    }
  }
  store_sums<two>(sums, kCols);
}

// Sums with bias to the positions of 32 columns.
class ColumnOutput {
 public:
  ColumnOutput(const Convolution& c, const PairPlanes& planes, int64_t image, int64_t first) : c_(c) {
    const int64_t end = std::min(first + kCols, planes.span());
    for (int64_t p = first, count; p < end; p += count) {
      const int64_t q0 = p / planes.pitch(0), q1 = p % planes.pitch(0) / planes.pitch(1),
                    q2 = p % planes.pitch(1);
      count = std::min(end - p, planes.pitch(1) - q2);
      if (q1 >= c.axis[1].out || q2 >= c.axis[2].out) continue;
      runs_[n_runs_++] = {image * c.out.batch + q0 * c.out.axis[0] + q1 * c.out.axis[1] + q2 * c.out.axis[2],
                          static_cast<int>(p - first), static_cast<int>(std::min(count, c.axis[2].out - q2))};
    }
  }

  // `rows` rows of a group from row i on.
  void finish(const float* sums, int64_t group, int64_t i, int64_t rows) const {
    const int64_t row = group * c_.rows + i;
    for (int r = 0; r < n_runs_; ++r) {
      BFloat16* out = reinterpret_cast<BFloat16*>(c_.out.data) + row * c_.out.channel + runs_[r].offset;
      if (c_.out.channel == 1 && c_.out.axis[2] != 1) {
        for (int64_t h = 0; h < rows; h += kSide)
          store_pixels(out + h, sums + h * kCols + runs_[r].at, row + h, std::min(rows - h, kSide),
                       runs_[r].count);
        continue;
      }
      for (int64_t h = 0; h < rows; ++h)
        store_row(out + h * c_.out.channel, sums + h * kCols + runs_[r].at, bias(row + h), runs_[r].count);
    }
  }

 private:
  struct Run {  // of positions in a row
    int64_t offset;
    int at, count;
  };

  float bias(int64_t row) const {
    return c_.bias ? reinterpret_cast<const float*>(c_.bias)[row * c_.bias_stride] : 0.0f;
  }

  void store_row(BFloat16* out, const float* sums, float bias, int count) const {
    for (int j = 0; j < count; j += kSide) {
      const VecF v = read<VecF>(reinterpret_cast<const char*>(sums + j)) + bias;
      const int n = std::min<int>(count - j, kSide);
      if (c_.out.axis[2] == 1) {
        store_partial<BFloat16>(reinterpret_cast<char*>(out + j), n, v);
      } else {
        for (int l = 0; l < n; ++l)
          store_one<BFloat16>(reinterpret_cast<char*>(out + (j + l) * c_.out.axis[2]), v[l]);
      }
    }
  }

  // Channels lie together: the sums of 16 positions are transposed.
  void store_pixels(BFloat16* out, const float* sums, int64_t row, int64_t rows, int count) const {
    for (int j = 0; j < count; j += kSide) {
      VecF square[kSide];
      for (int64_t r = 0; r < kSide; ++r)
        square[r] = r < rows ? read<VecF>(reinterpret_cast<const char*>(sums + r * kCols + j)) + bias(row + r)
                             : VecF{};
      RegisterTranspose<float>::transpose(square);
      for (int l = 0; l < std::min<int>(count - j, kSide); ++l)
        store_partial<BFloat16>(reinterpret_cast<char*>(out + (j + l) * c_.out.axis[2]),
                                static_cast<int>(rows), square[l]);
    }
  }

  const Convolution& c_;
  int n_runs_ = 0;
  Run runs_[kCols];
};

class TileProduct {
 public:
  explicit TileProduct(const Convolution& c) : c_(c), planes_(c), weight_(c, planes_) {
    for (int64_t t = 0; t < weight_.taps(); ++t) offsets_.push_back(planes_.offset(t));
  }

  void run() const {
    const int64_t images = std::clamp<int64_t>(kWords / planes_.image(), 1, c_.batch);
    const Workspace<float> words(images * planes_.image());
    for (int64_t n = 0; n < c_.batch; n += images) {
      const int64_t some = std::min(images, c_.batch - n);
      planes_.copy(words.data(), n, some);
      multiply_images(words.data(), n, some);
    }
  }

 private:
  static constexpr int64_t kWords = 1 << 21;
  static constexpr int64_t kGroup = 8;  // tiles of columns that share a pass over the weights

  // Tiles are independent: how they are shared out changes no result.
  void multiply_images(const float* words, int64_t first, int64_t images) const {
    const int64_t columns = images * tiles_of_image(), shares = ceil_div(columns, kGroup),
                  tiles = ceil_div(c_.rows, kRows), tasks = c_.groups * shares,
                  parts = std::clamp<int64_t>(num_threads() / tasks, 1, tiles);
    const int64_t work = weight_.terms() * kTile * ceil_div(tiles, parts) * kGroup * kCols;
    parallel_for(0, tasks * parts, (1 << 23) / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      const TileSession session;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t share = i / parts % shares, part = i % parts;
        some_columns(words, first, i / parts / shares,
                     {share * kGroup, std::min((share + 1) * kGroup, columns)},
                     {tiles * part / parts, tiles * (part + 1) / parts});
      }
    });
  }

  int64_t tiles_of_image() const { return ceil_div(planes_.span(), kCols); }

  void some_columns(const float* words, int64_t first, int64_t group, TapRange columns, TapRange rows) const {
    alignas(64) float sums[kRows * kCols + kSide];
    std::vector<ColumnOutput> outputs;
    for (int64_t j = columns.begin; j < columns.end; ++j)
      outputs.emplace_back(c_, planes_, first + j / tiles_of_image(), j % tiles_of_image() * kCols);
    for (int64_t tile = rows.begin; tile < rows.end; ++tile) {
      const int64_t row = tile * kRows, count = std::min(c_.rows - row, kRows);
      const float* a = weight_.rows(group, row);
      const float* below = a + weight_.terms() * kTile;
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const int64_t image = j / tiles_of_image(), at = j % tiles_of_image() * kCols;
        const ColumnTiles b{words + planes_.group(image, group) + at, offsets_.data(), weight_.taps(),
                            planes_.blocks(), planes_.size()};
        (count > kSide ? &multiply<true> : &multiply<false>)(sums, a, below, b);
        outputs[static_cast<size_t>(j - columns.begin)].finish(sums, group, row, count);
      }
    }
  }

  const Convolution& c_;
  PairPlanes planes_;
  WeightTiles weight_;
  std::vector<int64_t> offsets_;
};

}  // namespace

extern const TileConvolution bfloat16_convolution = [](const Convolution& c) { TileProduct(c).run(); };

}  // namespace tl::cpu::TL_ISA_NAMESPACE
#endif

#if TL_ISA_LEVEL == 1
#include <cstdlib>

#include "base/cpu_capability.h"

#if defined(TL_ISA_X86)
namespace tl::cpu::v4bf16 {
extern const TileConvolution bfloat16_convolution;
}  // namespace tl::cpu::v4bf16
#endif

namespace tl::cpu {

namespace {

// The copy of an image is not much larger than what is read and written, and most columns are positions.
bool fits(const Convolution& c) {
  constexpr int64_t kLeast = 8, kMostElements = 1 << 24;
  constexpr int64_t kFarChannel = 1 << 25;  // channels' distances in 32 bits
  if (c.channels < kLeast || c.rows < kLeast || std::abs(c.weight.channel) > kFarChannel) return false;
  int64_t elements = 1, positions = 1;
  for (const ConvolutionAxis& a : c.axis) {
    const int64_t reach = (a.taps - 1) * std::abs(a.tap_step);
    if (a.taps < 1 || a.out < 1 || a.step > a.in || reach > a.in + 2 * a.step ||
        std::abs(a.first) > a.in + reach)
      return false;
    elements *= a.out + (reach + a.step - 1) / a.step;
    positions *= a.out;
    if (elements > kMostElements) return false;
  }
  return elements <= 4 * positions + 64;
}

}  // namespace

TileConvolution tile_convolution(const Convolution& c) {
#if defined(TL_ISA_X86)
  if (cpu_has_tiles() && fits(c)) return v4bf16::bfloat16_convolution;
#endif
  return nullptr;
}

}  // namespace tl::cpu
#endif
