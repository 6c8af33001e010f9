// isa: all, by hand
// Convolution as implicit GEMM: windows are gathered from the images while the packed operands are written.
#include <limits>

#include "kernels/cpu/conv/kernels.h"
#include "kernels/cpu/conv/padded_gemm.h"
#include "kernels/cpu/conv/weight_grad.h"
#include "kernels/cpu/conv/winograd.h"
#include "kernels/cpu/gemm/packed_product.h"
#include "kernels/cpu/loops/copy.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

// ---- the gather: rows are output channels, columns positions, the depth goes over channels and taps -------

// Lanes lo..hi of a tap's row come from `from` on in a channel; the others are padding.
struct Segment {
  int64_t from;
  int at, lo, hi;
};

template <class T>
class Panel {
 public:
  using S = Tile<T>;
  static constexpr int W = kLanes<T>, kCols = S::kCols;

  explicit Panel(const ConvolutionGeometry& g) : g_(g), c_(g.c), output_(g.c) {}

  // At the positions [begin, end) of a group.
  void set_positions(int64_t group, int64_t begin, int64_t end) {
    columns_ = static_cast<int>(end - begin);
    in_ = at<T>(c_.in.data, group * c_.channels * c_.in.channel);
    PositionRun runs[kCols];
    const int n = position_runs(c_, begin, end, runs);
    output_.clear();
    for (int i = 0; i < n; ++i) output_.add(runs[i]);
    find_segments(runs, n);
  }

  int columns() const { return columns_; }
  const PanelOutput<T>& output() const { return output_; }

  void clear(T* panel, int64_t depth) const {
    if (columns_ < kCols) std::memset(panel, 0, sizeof(T) * static_cast<size_t>(depth * kCols + W));
  }

  // Terms k..k + depth.
  void pack(T* panel, int64_t k, int64_t depth) const {
    const int64_t step = stride();
    if (step == 1)
      pack_with(panel, k, depth, 1);
    else if (step == 2)
      pack_with(panel, k, depth, 2);
    else
      pack_with(panel, k, depth, step);
  }

 private:
  void find_segments(const PositionRun* runs, int n) {
    const size_t taps = static_cast<size_t>(g_.taps());
    segments_.resize(taps * static_cast<size_t>(n + kCols / W));
    ends_.clear();
    n_segments_ = 0;
    for (int64_t t0 = 0; t0 < c_.axis[0].taps; ++t0) {
      for (int64_t t1 = 0; t1 < c_.axis[1].taps; ++t1) add_taps(runs, n, t0, t1);
    }
  }

  // The taps of the last axis.
  void add_taps(const PositionRun* runs, int n, int64_t t0, int64_t t1) {
    int64_t rows[kCols];
    bool outside[kCols];
    for (int i = 0; i < n; ++i) {
      const PositionRun& run = runs[i];
      const int64_t i0 = g_.read(0, run.q[0], t0), i1 = g_.read(1, run.q[1], t1);
      rows[i] = run.n * c_.in.batch + i0 * c_.in.axis[0] + i1 * c_.in.axis[1] + run.q[2] * stride();
      outside[i] = i0 < 0 || i1 < 0;
    }
    const ConvolutionAxis& a = c_.axis[2];
    for (int64_t t = 0; t < a.taps; ++t) {
      const TapRange inside = g_.row(t);
      // Where a tap far outside would lie is no address.
      const int64_t shift = inside.begin < inside.end ? (a.first + t * a.tap_step) * c_.in.axis[2] : 0;
      for (int i = 0; i < n; ++i)
        add_segments(runs[i], rows[i] + shift, outside[i] ? TapRange{0, 0} : inside);
      ends_.push_back(n_segments_);
    }
  }

  void add_segments(const PositionRun& run, int64_t from, TapRange inside) {
    const int lo = static_cast<int>(std::clamp<int64_t>(inside.begin - run.q[2], 0, run.count)),
              hi = static_cast<int>(std::clamp<int64_t>(inside.end - run.q[2], 0, run.count));
    for (int j = 0; j < run.count; j += W) {
      const int begin = std::clamp(lo - j, 0, W), end = std::clamp(hi - j, 0, W);
      segments_[n_segments_++] = {begin < end ? from + (j + begin) * stride() : 0, run.at + j, begin, end};
    }
  }

  int64_t stride() const { return c_.axis[2].step * c_.in.axis[2]; }

  // Ascending: what a segment's vector writes beyond it is overwritten by the next.
  TL_INLINE void pack_with(T* panel, int64_t k, int64_t depth, int64_t step) const {
    const size_t taps = ends_.size();
    const T* channel = in_ + k / static_cast<int64_t>(taps) * c_.in.channel;
    size_t tap = static_cast<size_t>(k) % taps, s = tap ? ends_[tap - 1] : 0;
    for (int64_t i = 0; i < depth; ++i, panel += kCols) {
      for (const size_t end = ends_[tap]; s < end; ++s) {
        const Segment& seg = segments_[s];
        write(reinterpret_cast<char*>(panel + seg.at),
              load_lanes<T>(channel + seg.from, step, seg.lo, seg.hi));
        if (taps == 1 && step == 1)
          __builtin_prefetch(channel + seg.from + kCols, 0, 2);  // for the next panel
      }
      if (++tap == taps) tap = 0, s = 0, channel += c_.in.channel;
    }
  }

  const ConvolutionGeometry& g_;
  const Convolution& c_;
  const T* in_ = nullptr;
  int columns_ = 0;
  std::vector<Segment> segments_;  // tap by tap
  size_t n_segments_ = 0;
  std::vector<size_t> ends_;  // of the taps' segments
  PanelOutput<T> output_;
};

template <class T>
class GatherProduct {
 public:
  using S = Tile<T>;
  static constexpr int kGroup = 6;  // panels that share a pass over the weights
  static constexpr int64_t kSlice =
      32;  // terms that are packed for all of them, so that pages are visited together

  explicit GatherProduct(const Convolution& c)
      : g_(c), c_(c), depth_(g_.taps() * c.channels), weight_(g_, depth_) {}

  // Panels and tiles are independent: how they are shared out changes no result.
  void run() const {
    const int64_t columns = c_.batch * g_.positions(), panels = ceil_div(columns, S::kCols),
                  tiles = ceil_div(c_.rows, S::kRows);
    const Division d = division(panels, tiles);
    const int64_t share = ceil_div(panels, d.shares), part = ceil_div(tiles, d.parts);
    const int64_t work = depth_.total * std::min(part * S::kRows, c_.rows) * share * S::kCols;
    const int64_t tasks = c_.groups * d.shares * d.parts;
    parallel_for(0, tasks, (1 << 21) / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      Workspace<T> packed(share * kRoom);
      std::vector<Panel<T>> gathered(static_cast<size_t>(share), Panel<T>(g_));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t number = i / d.parts % d.shares, rows = i % d.parts;
        const Task task{i / d.parts / d.shares, part_begin(number, d.shares, panels),
                        part_begin(number + 1, d.shares, panels), part_begin(rows, d.parts, tiles) * S::kRows,
                        std::min(part_begin(rows + 1, d.parts, tiles) * S::kRows, c_.rows)};
        some_panels(task, columns, gathered.data(), packed.data());
      }
    });
  }

 private:
  static constexpr int64_t kRoom = Tile<T>::kDepth * Tile<T>::kCols + 2 * kLanes<T>;

  struct Division {
    int64_t shares, parts;  // of the panels, and of the tiles of rows
  };

  // Such that the last thread is done soonest: every part of the rows gathers its panels again.
  Division division(int64_t panels, int64_t tiles) const {
    constexpr int64_t kGather = 3;  // tiles whose product takes as long
    const int64_t threads = num_threads(), least = std::max<int64_t>(ceil_div(panels, kGroup), 1);
    Division best{least, 1};
    if (threads == 1) return best;
    int64_t shortest = std::numeric_limits<int64_t>::max();
    for (int64_t parts = 1; parts <= std::min(tiles, 2 * threads); parts *= 2) {
      for (int64_t shares = least; shares <= std::min(panels, least + threads); ++shares) {
        const int64_t time = ceil_div(c_.groups * shares * parts, threads) * ceil_div(panels, shares) *
                             (ceil_div(tiles, parts) + kGather);
        if (time < shortest) shortest = time, best = {shares, parts};
      }
    }
    return best;
  }

  struct Task {
    int64_t group, first_panel, last_panel, first_row, last_row;
  };

  void some_panels(const Task& task, int64_t columns, Panel<T>* panels, T* packed) const {
    const int64_t count = task.last_panel - task.first_panel;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t begin = (task.first_panel + i) * S::kCols;
      panels[i].set_positions(task.group, begin, std::min(begin + S::kCols, columns));
    }
    for (int64_t block = 0; block == 0 || block < depth_.blocks; ++block) {
      const int64_t depth = depth_.blocks ? depth_.size(block) : 0;
      pack(panels, count, packed, depth_.begin(block), depth);
      for (int64_t row = task.first_row; row < task.last_row; row += S::kRows) {
        const WeightRows<T> a = depth ? weight_.rows(task.group, block, row) : WeightRows<T>{};
        const int rows = static_cast<int>(std::min<int64_t>(S::kRows, task.last_row - row));
        for (int64_t i = 0; i < count; ++i)
          one_tile(panels[i], a, packed + i * kRoom, depth, task.group, row, rows, block == 0);
      }
    }
  }

  static void pack(const Panel<T>* panels, int64_t count, T* packed, int64_t k, int64_t depth) {
    for (int64_t i = 0; i < count; ++i) panels[i].clear(packed + i * kRoom, depth);
    for (int64_t slice = 0; slice < depth; slice += kSlice) {
      for (int64_t i = 0; i < count; ++i)
        panels[i].pack(packed + i * kRoom + slice * S::kCols, k + slice, std::min(kSlice, depth - slice));
    }
  }

  void one_tile(const Panel<T>& panel, const WeightRows<T>& a, const T* b, int64_t depth, int64_t group,
                int64_t row, int rows, bool first) const {
    if (!first) panel.output().prefetch(group, row, rows);
    alignas(64) T sums[PanelOutput<T>::kRoom];
    const MicroKernel<T>* micros = weight_.micros(vectors_for<T>(panel.columns()));
    micros[rows - 1]({sums, S::kCols}, a.data, a.row, a.step, b, S::kCols, depth);
    panel.output().finish(sums, group, row, rows, first);
  }

  ConvolutionGeometry g_;
  const Convolution& c_;
  Depth<T> depth_;
  Weight<T> weight_;
};

// ---- few positions: they are the rows, and the columns output channels, so that vectors are full -----------

// With a copy of the weights alone: packing them takes longer than the product. Blocks of depth are those of
// GatherProduct, and so are the bits.
template <class T>
class FewPositionsProduct {
 public:
  using S = Tile<T>;

  explicit FewPositionsProduct(const Convolution& c)
      : g_(c),
        c_(c),
        positions_(c.batch * g_.positions()),
        depth_(g_.taps() * c.channels),
        copy_(suits() ? find_copy() : nullptr) {}

  // Whether it was possible.
  bool run() const {
    if (!copy_) return false;
    const Workspace<T> panel(depth_.total * S::kCols + 2 * kLanes<T>), sums(positions_ * c_.rows);
    Panel<T> gathered(g_);
    for (int64_t group = 0; group < c_.groups; ++group) {
      gathered.set_positions(group, 0, positions_);
      gathered.pack(panel.data(), 0, depth_.total);
      PackedProduct<T>({panel.data(), 1, S::kCols}, copy_ + group * size(), positions_, c_.rows, depth_.total,
                       depth_.block)
          .run(epilogue(sums.data(), group));
      write(sums.data(), group);
    }
    return true;
  }

 private:
  bool suits() const {
    return c_.packing && positions_ <= S::kCols && c_.rows >= S::kCols && depth_.total > 0 && is_in_order(c_);
  }
  int64_t size() const { return PackedProduct<T>::size(depth_.total, c_.rows); }

  const T* find_copy() const {
    const auto bytes = static_cast<size_t>(c_.groups * size()) * sizeof(T);
    const char* copy = c_.packing->form(Packing::FewPositions, bytes, [&](char* to) {
      for (int64_t group = 0; group < c_.groups; ++group)
        PackedProduct<T>::pack({at<T>(c_.weight.data, group * c_.weight.group), 1, c_.weight.row},
                               depth_.total, c_.rows, reinterpret_cast<T*>(to) + group * size());
    });
    return reinterpret_cast<const T*>(copy);
  }

  // Without a bias 0 is added, as in PanelOutput.
  Epilogue<T> epilogue(T* sums, int64_t group) const {
    static constexpr T kZero = 0;
    const T* bias = c_.bias ? reinterpret_cast<const T*>(c_.bias) + group * c_.rows * c_.bias_stride : &kZero;
    return {sums, c_.rows, 1, bias, 0, c_.bias ? c_.bias_stride : 0, 1, 1};
  }

  void write(T* sums, int64_t group) const {
    constexpr auto kItem = static_cast<int64_t>(sizeof(T));
    PositionRun runs[S::kCols];
    const int n = position_runs(c_, 0, positions_, runs);
    for (int i = 0; i < n; ++i) {
      const PositionRun& run = runs[i];
      int64_t to = run.n * c_.out.batch + group * c_.rows * c_.out.channel;
      for (int d = 0; d < kConvolutionAxes; ++d) to += run.q[d] * c_.out.axis[d];
      char* const data[] = {c_.out.data + to * kItem, reinterpret_cast<char*>(sums + run.at * c_.rows)};
      const int64_t strides[] = {c_.out.axis[2] * kItem, c_.rows * kItem, c_.out.channel * kItem, kItem};
      copy_loop(kItem)(data, strides, run.count, c_.rows, nullptr);
    }
  }

  ConvolutionGeometry g_;
  const Convolution& c_;
  int64_t positions_;
  Depth<T> depth_;
  const T* copy_;
};

template <class T>
void gather_product(const Convolution& c) {
  if (c.packing && FewPositionsProduct<T>(c).run()) return;
#if TL_ISA_LEVEL >= 4
  if constexpr (std::is_same_v<T, float>) {
    if (WinogradProduct::suits(c) && WinogradProduct(c).run()) return;
  }
#endif
  PlaneProduct<T>::pays(c) ? PlaneProduct<T>(c).run() : GatherProduct<T>(c).run();
}

// ---- the weight's gradient: rows are output channels, columns taps and channels, the depth positions ------

// Consecutive channels of a tap among the columns.
struct ColumnRun {
  int64_t tap, channel;
  int at, count;
};

// Some images of a group, channels innermost, with zeros where the last axis' taps read outside.
template <class T>
class PixelRows {
 public:
  PixelRows(const Convolution& c, int64_t images)
      : c_(c),
        dense_(c.in.channel == 1),
        before_(dense_ ? 0 : std::max<int64_t>(0, -lowest())),
        length_(before_ + std::max(c.axis[2].in, highest() + 1)),
        room_(dense_ ? 0 : images * rows() * length_ * c.channels) {}

  void read(int64_t group, int64_t first, int64_t images) {
    data_ = at<T>(c_.in.data, group * c_.channels * c_.in.channel + first * c_.in.batch);
    if (dense_) return;
    parallel_for(0, images * rows(), (1 << 14) / (length_ * c_.channels + 1) + 1,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) transpose_row(i / rows(), i % rows());
                 });
    data_ = room_.data() + before_ * c_.channels;
  }

  bool padded() const { return !dense_; }
  const T* row(int64_t image, int64_t i0, int64_t i1) const {
    if (dense_) return data_ + image * c_.in.batch + i0 * c_.in.axis[0] + i1 * c_.in.axis[1];
    return data_ + ((image * c_.axis[0].in + i0) * c_.axis[1].in + i1) * length_ * c_.channels;
  }
  int64_t pitch() const { return dense_ ? c_.in.axis[2] : c_.channels; }

 private:
  int64_t rows() const { return c_.axis[0].in * c_.axis[1].in; }
  int64_t lowest() const { return c_.axis[2].first; }
  int64_t highest() const {
    const ConvolutionAxis& a = c_.axis[2];
    return (a.out - 1) * a.step + a.first + (a.taps - 1) * a.tap_step;
  }

  void transpose_row(int64_t image, int64_t row) {
    const int64_t i0 = row / c_.axis[1].in, i1 = row % c_.axis[1].in, size = sizeof(T), n = c_.axis[2].in;
    const T* from = data_ + image * c_.in.batch + i0 * c_.in.axis[0] + i1 * c_.in.axis[1];
    T* to = room_.data() + (image * rows() + row) * length_ * c_.channels;
    std::memset(to, 0, static_cast<size_t>(before_ * c_.channels * size));
    to += before_ * c_.channels;
    std::memset(to + n * c_.channels, 0, static_cast<size_t>((length_ - before_ - n) * c_.channels * size));
    char* const data[] = {reinterpret_cast<char*>(to), reinterpret_cast<char*>(const_cast<T*>(from))};
    const int64_t strides[] = {size, c_.in.channel * size, c_.channels * size, c_.in.axis[2] * size};
    copy_loop(size)(data, strides, c_.channels, n, nullptr);
  }

  const Convolution& c_;
  bool dense_;
  int64_t before_, length_;
  Workspace<T> room_;
  const T* data_ = nullptr;
};

template <class T>
class WeightProduct {
 public:
  using S = Tile<T>;
  static constexpr int W = kLanes<T>, kCols = S::kCols;
  static constexpr int64_t kPositions = 2048;  // that images are joined to

  explicit WeightProduct(const Convolution& c)
      : g_(c),
        c_(c),
        columns_(g_.taps() * c.channels),
        pitch_(ceil_div(columns_, kCols) * kCols),
        images_(std::clamp<int64_t>(kPositions / std::max<int64_t>(g_.positions(), 1), 1, c.batch)),
        through_(passes_through(c)) {}

  void run_group(int64_t group) const {
    const int64_t tiles = ceil_div(c_.rows, S::kRows), most = images_ * g_.positions();
    Workspace<T> sums(c_.rows * pitch_), a(tiles * tile_room(most));
    PixelRows<T> pixels(c_, through_ ? 0 : images_);
    std::memset(sums.data(), 0, sizeof(T) * static_cast<size_t>(c_.rows * pitch_));
    for (int64_t n = 0; n < c_.batch; n += images_) {
      const int64_t images = std::min(images_, c_.batch - n);
      if (!through_) pixels.read(group, n, images);
      pack_rows_of(a.data(), group, n, images);
      const T* planes = at<T>(c_.in.data, group * c_.channels * c_.in.channel + n * c_.in.batch);
      multiply(sums.data(), a.data(), {pixels, planes}, images);
    }
    store(sums.data(), group);
  }

 private:
  struct Source {
    const PixelRows<T>& pixels;
    const T* planes;  // the images as they are
  };

  // One tap, and planes that lie as their positions: columns are packed from where they are.
  static bool passes_through(const Convolution& c) {
    const ConvolutionAxis& a = c.axis[2];
    return c.in.axis[2] == 1 && c.in.channel != 1 && c.axis[0].out * c.axis[1].out == 1 && a.taps == 1 &&
           a.step == 1 && a.first == 0 && a.in == a.out && c.axis[0].taps * c.axis[1].taps == 1 &&
           c.axis[0].first == 0 && c.axis[1].first == 0;
  }

  // Tiles are packed side by side: what a vector writes beyond the rows of one must not meet the next.
  static int64_t tile_room(int64_t positions) { return positions * S::kRows + W; }

  // Tile by tile: the gradient's channels of every position.
  void pack_rows_of(T* packed, int64_t group, int64_t first, int64_t images) const {
    const int64_t positions = images * g_.positions(), o1 = c_.axis[1].out, o2 = c_.axis[2].out;
    const bool whole = c_.out.axis[1] == o2 * c_.out.axis[2] && c_.out.axis[0] == o1 * c_.out.axis[1];
    const int64_t run = whole ? g_.positions() : o2;
    parallel_for(0, ceil_div(c_.rows, S::kRows), (1 << 14) / (positions * S::kRows + 1) + 1,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t tile = begin; tile < end; ++tile) {
                     for (int64_t p = 0; p < positions; p += run)
                       pack_run(packed + tile * tile_room(positions) + p * S::kRows, group, first,
                                tile * S::kRows, p, run);
                   }
                 });
  }

  void pack_run(T* to, int64_t group, int64_t first, int64_t row, int64_t p, int64_t run) const {
    PositionRun at_;
    position_runs(c_, p, p + 1, &at_);
    int64_t offset = (first + at_.n) * c_.out.batch + (group * c_.rows + row) * c_.out.channel;
    for (int d = 0; d < kConvolutionAxes; ++d) offset += at_.q[d] * c_.out.axis[d];
    const int rows = static_cast<int>(std::min<int64_t>(S::kRows, c_.rows - row));
    pack_rows<T>(to, {at<T>(c_.out.data, offset), c_.out.channel, c_.out.axis[2]}, rows, run);
  }

  void multiply(T* sums, const T* a, const Source& source, int64_t images) const {
    const Depth<T> depth(images * g_.positions());
    const int64_t work = depth.total * c_.rows * kCols;
    parallel_for(0, pitch_ / kCols, (1 << 21) / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      Workspace<T> panel(S::kDepth * kCols);
      for (int64_t i = begin; i < end; ++i) one_panel(sums, a, source, depth, i * kCols, panel.data());
    });
  }

  void one_panel(T* sums, const T* a, const Source& source, const Depth<T>& depth, int64_t column,
                 T* panel) const {
    ColumnRun runs[kCols];
    const int columns = static_cast<int>(std::min<int64_t>(kCols, columns_ - column)),
              vectors = vectors_for<T>(columns);
    const int n_runs = column_runs(source.pixels.padded(), column, columns, runs);
    if (columns < kCols) std::memset(panel, 0, sizeof(T) * S::kDepth * kCols);
    for (int64_t block = 0; block < depth.blocks; ++block) {
      const int64_t k = depth.begin(block), size = depth.size(block);
      if (through_) pack_planes(panel, source.planes + column * c_.in.channel, columns, k, size);
      for (int r = 0; r < n_runs && !through_; ++r) pack_columns_of(panel, source.pixels, runs[r], k, size);
      for (int64_t row = 0; row < c_.rows; row += S::kRows) {
        const int rows = static_cast<int>(std::min<int64_t>(S::kRows, c_.rows - row));
        alignas(64) T tile[S::kRows * kCols];
        const T* packed = a + row / S::kRows * tile_room(depth.total) + k * S::kRows;
        packed_micros(T{}, vectors)[rows - 1]({tile, kCols}, packed, 1, S::kRows, panel, kCols, size);
        add(sums + row * pitch_ + column, tile, rows, vectors * W);
      }
    }
  }

  void pack_planes(T* panel, const T* planes, int columns, int64_t k, int64_t size) const {
    for (const int64_t end = k + size; k < end;) {
      const int64_t n = k / g_.positions(), p = k % g_.positions(),
                    count = std::min(end - k, g_.positions() - p);
      pack_columns_as<Plain<T>>(panel, {planes + n * c_.in.batch + p, 1, c_.in.channel}, columns, count);
      panel += count * kCols;
      k += count;
    }
  }

  // With padding the taps of a row follow one another as channels do.
  int column_runs(bool padded, int64_t column, int columns, ColumnRun* runs) const {
    const bool joined = padded && c_.axis[2].tap_step == 1;
    const int64_t most = joined ? c_.channels * c_.axis[2].taps : c_.channels;
    int n = 0;
    for (int j = 0; j < columns; j += runs[n++].count) {
      const int64_t at_ = column + j;
      runs[n] = {at_ / c_.channels, at_ % c_.channels, j,
                 static_cast<int>(std::min<int64_t>(columns - j, most - at_ % most))};
    }
    return n;
  }

  // The columns of one tap for output positions [k, k + size), run by run along the width: zeros before, the
  // strided row, zeros behind what lies inside the image.
  void pack_columns_of(T* panel, const PixelRows<T>& pixels, const ColumnRun& run, int64_t k,
                       int64_t size) const {
    const Tap tap(c_, run.tap);
    const ConvolutionAxis& a = c_.axis[2];
    const TapRange inside = pixels.padded() ? TapRange{0, a.out} : g_.row(tap.t[2]);
    for (const int64_t end = k + size; k < end;) {
      PositionRun p;
      position_runs(c_, k, k + 1, &p);
      const int64_t count = std::min(end - k, a.out - p.q[2]), last = p.q[2] + count;
      const int64_t i0 = g_.read(0, p.q[0], tap.t[0]), i1 = g_.read(1, p.q[1], tap.t[1]);
      const bool outside = i0 < 0 || i1 < 0;
      const int64_t lo = outside ? last : std::clamp(inside.begin, p.q[2], last);
      const int64_t hi = outside ? last : std::clamp(inside.end, lo, last);
      const T* from = outside ? nullptr : pixels.row(p.n, i0, i1) + run.channel;
      const int64_t pitch = a.step * pixels.pitch();
      T* to = panel + run.at;
      clear(to, run.count, lo - p.q[2]);
      if (hi > lo)
        copy(to + (lo - p.q[2]) * kCols,
             from + (lo * a.step + a.first + tap.t[2] * a.tap_step) * pixels.pitch(), pitch, run.count,
             hi - lo);
      clear(to + (hi - p.q[2]) * kCols, run.count, last - hi);
      panel += count * kCols;
      k += count;
    }
  }

  static void clear(T* to, int columns, int64_t rows) {
    for (; rows > 0; --rows, to += kCols) std::memset(to, 0, sizeof(T) * static_cast<size_t>(columns));
  }

  static void copy(T* to, const T* from, int64_t pitch, int columns, int64_t rows) {
    if (columns == kCols) return copy_rows<kCols>(to, from, pitch, rows);
    for (; rows > 0; --rows, to += kCols, from += pitch) {
      for (int j = 0; j < columns; j += W)
        store_partial<T>(reinterpret_cast<char*>(to + j), std::min(W, columns - j),
                         load_partial<T>(reinterpret_cast<const char*>(from + j), std::min(W, columns - j)));
    }
  }
  template <int columns>
  static void copy_rows(T* to, const T* from, int64_t pitch, int64_t rows) {
    for (; rows > 0; --rows, to += kCols, from += pitch) {
      for (int j = 0; j < columns; j += W)
        write(reinterpret_cast<char*>(to + j), read<Vec<T>>(reinterpret_cast<const char*>(from + j)));
    }
  }

  void add(T* sums, const T* tile, int rows, int columns) const {
    for (int r = 0; r < rows; ++r, sums += pitch_, tile += kCols) {
      for (int j = 0; j < columns; j += W) {
        char* to = reinterpret_cast<char*>(sums + j);
        write(to, read<Vec<T>>(to) + read<Vec<T>>(reinterpret_cast<const char*>(tile + j)));
      }
    }
  }

  void store(const T* sums, int64_t group) const {
    const ConvolutionWeight& w = c_.weight;
    T* out = reinterpret_cast<T*>(w.data) + group * w.group;
    const int64_t taps = g_.taps();
    parallel_for(0, c_.rows, (1 << 14) / (columns_ + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t t = 0; t < taps; ++t) {
          const Tap tap(c_, t);
          T* to = out + row * w.row + tap.t[0] * w.tap[0] + tap.t[1] * w.tap[1] + tap.t[2] * w.tap[2];
          const T* from = sums + row * pitch_ + t * c_.channels;
          for (int64_t k = 0; k < c_.channels; ++k) to[k * w.channel] = from[k];
        }
      }
    });
  }

  ConvolutionGeometry g_;
  const Convolution& c_;
  int64_t columns_, pitch_, images_;
  bool through_;
};

template <class T>
void weight_product(const Convolution& c) {
  if (PlaneWeight<T>::pays(c)) return PlaneWeight<T>(c).run();
  const WeightProduct<T> product(c);
  parallel_for(0, c.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) product.run_group(g);
  });
}

}  // namespace

extern const ConvolutionKernels product_convolutions[2] = {
    {&gather_product<float>, &weight_product<float>}, {&gather_product<double>, &weight_product<double>}};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
