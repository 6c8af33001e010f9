// isa: all, by hand
// Int8 convolutions by indirection: a tile of pixels times packed weights, as an int8 product whose rows are
// runs of bytes. The idea of the pointers is XNNPACK's (Dukhan, 2019). Depthwise convolutions go tap by tap.
#include <algorithm>

#include "base/cpu_capability.h"
#include "kernels/cpu/conv/int8_image.h"
#include "kernels/cpu/gemm/int8_amx.h"
#include "kernels/cpu/gemm/int8_epilogue.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int64_t kBlockTiles = 16;  // tiles whose pointers are written together

int64_t pixels(const Int8Convolution& c) { return c.batch * c.output.product(); }
int64_t whole(int64_t columns) { return int8_panels(columns) * kPanelColumns; }

// A group's part of the epilogue, with the sums that complete its own.
struct Group {
  Int8Epilogue to;
  const int32_t *shift, *b_zero;
  const int8_t* packed;
  int64_t number;
};

class Tiles {
 public:
  Tiles(const Int8Convolution& c, const Int8Image& image, const Group& group)
      : c_(c),
        image_(image),
        group_(group),
        row_sums_(group.b_zero ? pixels(c) : 0),
        writer_(group.to, group.shift, group.b_zero, row_sums_.data()) {}

  void run() const {
#if TL_ISA_LEVEL >= 4
    if (cpu_has_tiles()) return run_on_tiles();
#endif
    const int64_t rows = kBlockTiles * kInt8TileRows, blocks = (pixels(c_) + rows - 1) / rows;
    const int64_t groups = (int8_panels(c_.columns) + kInt8TilePanels - 1) / kInt8TilePanels;
    const int64_t parts = blocks < 16 ? groups : 1;  // a block's pointers are written for each part
    const int64_t work = rows * image_.runs() * image_.quads() * kQuad * kTileColumns * groups / parts;
    parallel_for(0, blocks * parts, (1 << 20) / (work + 64) + 1, [&](int64_t begin, int64_t end) {
      Workspace<const uint8_t*> pointers(rows * image_.runs());
      for (int64_t task = begin; task < end; ++task) {
        const int64_t first = task / parts * rows, part = task % parts;
        const int64_t last = std::min(pixels(c_), first + rows);
        point(first, last, pointers.data());
        for (int64_t g = part_begin(part, parts, groups); g < part_begin(part + 1, parts, groups); ++g)
          multiply(first, last, g * kInt8TilePanels, pointers.data());
      }
    });
  }

 private:
  const Int8Convolution& c_;
  const Int8Image& image_;
  const Group& group_;
  Workspace<int32_t> row_sums_;
  Int8Writer writer_;

#if TL_ISA_LEVEL >= 4
  // On AMX, whose rows lie at even distances: the bytes of 32 pixels are copied together.
  void run_on_tiles() const {
    const int64_t blocks = (pixels(c_) + kAmxRows - 1) / kAmxRows;
    const int64_t work = kAmxRows * image_.runs() * image_.quads() * int8_panels(c_.columns) * 8;
    const int64_t quads = image_.runs() * image_.quads(), row = int8_row_bytes(quads * kQuad);
    const PanelEnds ends(group_.packed, quads, int8_panels(c_.columns));
    parallel_for(0, blocks, (1 << 20) / (work + 64) + 1, [&](int64_t begin, int64_t end) TL_TILES {
      const TileSession session;
      const Workspace<uint8_t> bytes(kAmxRows * row);
      Int8Image::Cursor cursor(image_, group_.number);
      cursor.seek(begin * kAmxRows);
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * kAmxRows, last = std::min(pixels(c_), first + kAmxRows);
        AmxBlock block{bytes.data(), row, quads, static_cast<int>(last - first), 0, nullptr, nullptr, 0};
        if (image_.is_matrix() && !group_.b_zero && quads % kAmxQuads == 0 && last - first == kAmxRows) {
          block.row = quads * kQuad;
          block.a = image_.data() + first * block.row;
        } else {
          if (image_.is_matrix()) cursor.seek(first);
          for (int64_t p = first; p < last; ++p, cursor.next())
            gather(cursor, p, bytes.data() + (p - first) * row);
        }
        multiply_on_tiles(first, last, block, ends);
      }
    });
  }

  void gather(const Int8Image::Cursor& cursor, int64_t pixel, uint8_t* to) const {
    cursor.copy(to);
    if (!group_.b_zero) return;
    uint32_t sum = 0;
    for (int64_t b = 0; b < image_.runs() * image_.quads() * kQuad; ++b) sum += to[b];
    row_sums_.data()[pixel] = static_cast<int32_t>(sum);
  }

  TL_TILES void multiply_on_tiles(int64_t first, int64_t last, AmxBlock block, const PanelEnds& ends) const {
    alignas(64) int32_t sums[kAmxRows * kTileColumns];
    block.panel_bytes = block.quads * kPanelColumns * kQuad;
    for (int64_t panel = 0; panel < int8_panels(c_.columns); panel += kInt8TilePanels) {
      const int64_t column = panel * kPanelColumns;
      block.panels = group_.packed + panel * block.panel_bytes;
      block.ends = ends.of(panel);
      block.count = static_cast<int>(std::min<int64_t>(int8_panels(c_.columns) - panel, kInt8TilePanels));
      amx_multiply(block, sums);
      writer_(sums, first, column, static_cast<int>(last - first),
              static_cast<int>(std::min<int64_t>(c_.columns - column, kTileColumns)));
    }
  }
#endif

  // Pointers, tile by tile: [run][pixel].
  void point(int64_t first, int64_t last, const uint8_t** to) const {
    Int8Image::Cursor cursor(image_, group_.number);
    cursor.seek(first);
    for (int64_t p = first; p < last; p += kInt8TileRows) {
      const int64_t count = std::min<int64_t>(last - p, kInt8TileRows);
      for (int64_t i = 0; i < count; ++i, cursor.next()) cursor.point(to + i, count);
      if (group_.b_zero)
        for (int64_t i = 0; i < count; ++i) row_sums_.data()[p + i] = row_sum(to + i, count);
      to += count * image_.runs();
    }
  }

  int32_t row_sum(const uint8_t* const* runs, int64_t step) const {
    uint32_t sum = 0;
    for (int64_t r = 0; r < image_.runs(); ++r)
      for (int64_t b = 0; b < image_.quads() * kQuad; ++b) sum += runs[r * step][b];
    return static_cast<int32_t>(sum);
  }

  void multiply(int64_t first, int64_t last, int64_t panel, const uint8_t* const* pointers) const {
    const int64_t bytes = image_.runs() * image_.quads() * kPanelColumns * kQuad,
                  column = panel * kPanelColumns;
    const int panels = static_cast<int>(std::min<int64_t>(int8_panels(c_.columns) - panel, kInt8TilePanels));
    const int columns = static_cast<int>(std::min<int64_t>(c_.columns - column, kTileColumns));
    alignas(64) int32_t sums[kInt8TileRows * kTileColumns];
    for (int64_t p = first; p < last; p += kInt8TileRows) {
      const int count = static_cast<int>(std::min<int64_t>(last - p, kInt8TileRows));
      const Int8Tile tile{pointers, image_.runs(), image_.quads(), group_.packed + panel * bytes, bytes};
      int8_tile(count, panels, false)(tile, sums);
      writer_(sums, p, column, count, columns);
      pointers += count * image_.runs();
    }
  }
};

void by_tiles(const Int8Convolution& c, const Int8Image& image, const Int8Epilogue& to) {
  const int64_t columns = whole(c.columns), bytes = columns * image.runs() * image.quads() * kQuad;
  Workspace<int32_t> shift(columns);
  for (int64_t g = 0; g < c.groups; ++g) {
    const int32_t* b_zero = c.b_zero ? c.b_zero + g * columns : nullptr;
    fill_shift({c.x_zero, c.kernel.product() * c.channels, c.column_sums + g * columns, b_zero}, columns,
               shift.data());
    Group group{to, shift.data(), b_zero, c.packed + g * bytes, g};
    group.to.out += g * c.columns * int8_output_bytes(to.kind);
    group.to.scale += g * columns;
    group.to.added += g * columns;
    Tiles(c, image, group).run();
  }
}

constexpr int64_t kPixels = 4;  // that a depthwise convolution computes together

// ---- one channel a group ----------------------------------------------------------------------------------

// sums + x * w for x of eight bits and w of eight bits and a sign.
TL_INLINE VecI add_product(VecI sums, VecI x, VecI w) {
#if TL_ISA_LEVEL >= 4
  __m512i s = bitcast<__m512i>(sums);
  asm("vpdpwssd %2, %1, %0" : "+v"(s) : "v"(bitcast<__m512i>(x)), "v"(bitcast<__m512i>(w)));
  return bitcast<VecI>(s);
#elif TL_ISA_LEVEL >= 3
  return sums + bitcast<VecI>(_mm256_madd_epi16(bitcast<__m256i>(x), bitcast<__m256i>(w)));
#else
  return sums + x * w;
#endif
}

struct Tap {
  const uint8_t* x;
  int64_t step;  // to the next pixel
};

// The sums of P pixels and up to 64 channels.
template <int P>
void add_taps(const Tap* taps, int64_t count, int64_t channel, int columns, const int32_t* weights,
              int64_t row, int32_t* sums) {
  for (int v = 0; v < columns; v += kLanesI) {
    VecI sum[P] = {};
    for (int64_t t = 0; t < count; ++t) {
      const VecI w = vector_at<VecI>(weights + t * row + channel + v);
      for (int i = 0; i < P; ++i) {
        const VecI x = wide(vector_at<Bytes>(taps[t].x + i * taps[t].step + channel + v), VecI{});
        sum[i] = add_product(sum[i], x, w);
      }
    }
    for (int i = 0; i < P; ++i) write(reinterpret_cast<char*>(sums + i * kTileColumns + v), sum[i]);
  }
}

void depthwise(const Int8Convolution& c, const Int8Image& image, const Int8Epilogue& to) {
  const int64_t row = whole(c.groups), taps = c.kernel.product();
  Workspace<int32_t> weights(taps * row), shift(row);
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t g = 0; g < row; ++g) {
      const int32_t zero = c.b_zero && g < c.groups ? c.b_zero[g] : 0;
      weights.data()[t * row + g] = g < c.groups ? c.packed[t * c.groups + g] - zero : 0;
    }
  for (int64_t g = 0; g < row; ++g) {
    uint32_t sum = 0;
    for (int64_t t = 0; t < taps; ++t) sum += static_cast<uint32_t>(weights.data()[t * row + g]);
    shift.data()[g] = static_cast<int32_t>(0u - sum * static_cast<uint32_t>(c.x_zero));
  }
  const Int8Writer writer(to, shift.data(), nullptr, nullptr);
  parallel_for(0, pixels(c), (1 << 18) / (taps * row * 4 + 64) + 1, [&](int64_t begin, int64_t end) {
    Workspace<const uint8_t*> pointers(taps);
    Workspace<Tap> steps(taps);
    Int8Image::Cursor cursor(image, 0);
    cursor.seek(begin);
    alignas(64) int32_t sums[kPixels * kTileColumns];
    for (int64_t p = begin, count; p < end; p += count, cursor.advance(count)) {
      count = cursor.inner_pixels(std::min(end - p, kPixels)) < kPixels ? 1 : kPixels;
      cursor.point(pointers.data(), 1);
      for (int64_t t = 0; t < taps; ++t) steps.data()[t] = {pointers.data()[t], cursor.step(t / c.kernel[2])};
      for (int64_t g = 0; g < c.groups; g += kTileColumns) {
        const int columns = static_cast<int>(std::min<int64_t>(c.groups - g, kTileColumns));
        (count == 1 ? &add_taps<1> : &add_taps<kPixels>)(steps.data(), taps, g, columns, weights.data(), row,
                                                         sums);
        writer(sums, p, g, static_cast<int>(count), columns);
      }
    }
  });
}

void convolve(const Int8Convolution& c, const Int8Epilogue& to) {
  const Int8Image image(c);
  c.depthwise ? depthwise(c, image, to) : by_tiles(c, image, to);
}

}  // namespace

extern void (*const int8_convolution)(const Int8Convolution&, const Int8Epilogue&) = &convolve;

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern void (*const int8_convolution)(const Int8Convolution&, const Int8Epilogue&))

namespace tl::cpu {

void convolve_int8(const Int8Convolution& c, const Int8Epilogue& to) {
  if (c.batch * c.output.product() * c.groups * c.columns == 0) return;
#if defined(TL_ISA_X86)
  // Processors with AVX-512 but without VNNI take the kernels of AVX2.
  if (isa_level() == 2 && !cpu_has_vnni()) return v3::int8_convolution(c, to);
#endif
  TL_SELECT(int8_convolution)(c, to);
}

}  // namespace tl::cpu
#endif
