// Resampling weights of one axis: a sparse matrix in CSR form, whose rows (outputs) list taps (input,
// weight). Pooling windows, interpolation and padding are products of such matrices, one an axis; so are
// their adjoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tl::cpu {

struct ResampleWeights {
  int64_t inputs = 1;
  std::vector<int64_t> begin{0};  // where the taps of each output begin, and where the last one's end
  std::vector<int64_t> index;     // of each tap's input
  std::vector<double> weight;     // of each tap
  std::vector<double> scale;      // each output's sum is multiplied by; empty: 1

  int64_t outputs() const { return static_cast<int64_t>(begin.size()) - 1; }
  void tap(int64_t input, double w = 1) {
    index.push_back(input);
    weight.push_back(w);
  }
  void reserve(int64_t outputs, int64_t taps) {  // `taps` for each output
    begin.reserve(static_cast<std::size_t>(outputs) + 1);
    index.reserve(static_cast<std::size_t>(outputs * taps));
    weight.reserve(static_cast<std::size_t>(outputs * taps));
  }
  void close() { begin.push_back(static_cast<int64_t>(index.size())); }  // the output's taps are complete
  bool is_identity() const;
};

ResampleWeights identity_weights(int64_t n);
// The adjoint; a tap's weight there is weight * scale here.
ResampleWeights transposed(const ResampleWeights& map);

// A tensor seen as [planes][depth][height][width][inner], dense, and the maps of its three axes.
struct SeparableResample {
  int64_t planes = 1, inner = 1;
  ResampleWeights axes[3];

  int64_t input_plane() const { return axes[0].inputs * axes[1].inputs * axes[2].inputs * inner; }
  int64_t output_plane() const { return axes[0].outputs() * axes[1].outputs() * axes[2].outputs() * inner; }
};

}  // namespace tl::cpu
