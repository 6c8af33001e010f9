// Resampling weights: the identity, and the transpose by counting sort of the taps.
#include "kernels/cpu/spatial/resample_weights.h"

namespace tl::cpu {

bool ResampleWeights::is_identity() const {
  if (outputs() != inputs || static_cast<int64_t>(index.size()) != inputs) return false;
  for (int64_t i = 0; i < inputs; ++i)
    if (begin[i] != i || index[i] != i || weight[i] != 1 || (!scale.empty() && scale[i] != 1)) return false;
  return true;
}

ResampleWeights identity_weights(int64_t n) {
  ResampleWeights map;
  map.inputs = n;
  for (int64_t i = 0; i < n; ++i) {
    map.tap(i);
    map.close();
  }
  return map;
}

ResampleWeights transposed(const ResampleWeights& map) {
  ResampleWeights out;
  out.inputs = map.outputs();
  const auto taps = map.index.size();
  out.begin.assign(static_cast<std::size_t>(map.inputs) + 1, 0);
  out.index.resize(taps);
  out.weight.resize(taps);
  for (int64_t i : map.index) ++out.begin[static_cast<std::size_t>(i) + 1];
  for (std::size_t i = 1; i < out.begin.size(); ++i) out.begin[i] += out.begin[i - 1];
  std::vector<int64_t> next(out.begin.begin(), out.begin.end() - 1);
  for (int64_t o = 0; o < map.outputs(); ++o)
    for (int64_t k = map.begin[o]; k < map.begin[o + 1]; ++k) {
      const int64_t at = next[map.index[k]]++;
      out.index[at] = o;
      out.weight[at] = map.weight[k] * (map.scale.empty() ? 1 : map.scale[o]);
    }
  return out;
}

}  // namespace tl::cpu
