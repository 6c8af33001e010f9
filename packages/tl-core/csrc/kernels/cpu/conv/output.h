// Write-out of a panel: adds the bias and stores tiles of sums to the positions of the result.
#pragma once

#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

template <class T>
class PanelOutput {
 public:
  static constexpr int W = kLanes<T>, kCols = Tile<T>::kCols;
  static constexpr int kRoom = Tile<T>::kRows * kCols + W;  // of the sums

  explicit PanelOutput(const Convolution& c) : c_(c) {}

  void clear() { n_runs_ = 0; }

  void add(const PositionRun& run) {
    int64_t offset = run.n * c_.out.batch;
    for (int d = 0; d < kConvolutionAxes; ++d) offset += run.q[d] * c_.out.axis[d];
    if (n_runs_ && c_.axis_out_dense()) {
      Run& last = runs_[n_runs_ - 1];
      if (last.offset + last.count == offset && last.at + last.count == run.at) {
        last.count += run.count;
        return;
      }
    }
    runs_[n_runs_++] = {offset, run.at, run.count};
  }

  // Prefetches `rows` rows from row i on before the sums for them are there.
  void prefetch(int64_t group, int64_t i, int rows) const {
    const T* out = first_row(group * c_.rows + i);
    for (int r = 0; r < rows; ++r, out += c_.out.channel) {
      for (int s = 0; s < n_runs_; ++s)
        cpu::TL_ISA_NAMESPACE::prefetch<true>(out + runs_[s].offset, runs_[s].count * sizeof(T));
    }
  }

  // The sums of `rows` rows from row i on, into the result.
  void finish(const T* sums, int64_t group, int64_t i, int rows, bool first) const {
    const int64_t row = group * c_.rows + i;
    T* out = first_row(row);
    for (int r = 0; r < rows; ++r, out += c_.out.channel, sums += kCols) {
      const T bias =
          c_.bias && first ? reinterpret_cast<const T*>(c_.bias)[(row + r) * c_.bias_stride] : T(0);
      for (int s = 0; s < n_runs_; ++s) {
        const Run& run = runs_[s];
        if (c_.axis_out_dense())
          finish_dense(out + run.offset, sums + run.at, run.count, bias, first);
        else
          finish_strided(out + run.offset, sums + run.at, run.count, bias, first);
      }
    }
  }

 private:
  // Contiguous elements of the result, or a row's with a stride.
  struct Run {
    int64_t offset;
    int at, count;
  };

  T* first_row(int64_t row) const { return reinterpret_cast<T*>(c_.out.data) + row * c_.out.channel; }

  static void finish_dense(T* out, const T* sums, int count, T bias, bool first) {
    using V = Vec<T>;
    for (int j = 0; j < count; j += W) {
      const int left = std::min(count - j, W);
      char* to = reinterpret_cast<char*>(out + j);
      const V sum = read<V>(reinterpret_cast<const char*>(sums + j));
      if (left == W)
        write(to, sum + (first ? broadcast<V>(bias) : read<V>(to)));
      else
        store_partial<T>(to, left, sum + (first ? broadcast<V>(bias) : load_partial<T>(to, left)));
    }
  }

  void finish_strided(T* out, const T* sums, int count, T bias, bool first) const {
    const int64_t stride = c_.out.axis[2];
    for (int j = 0; j < count; ++j) out[j * stride] = sums[j] + (first ? bias : out[j * stride]);
  }

  const Convolution& c_;
  int n_runs_ = 0;
  Run runs_[kCols];
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE
