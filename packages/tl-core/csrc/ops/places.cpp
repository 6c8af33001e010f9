#include "ops/places.h"

#include "ops.h"

namespace tl {

Tensor apart_from(const Tensor& target, const Tensor& positions) {
  return positions.storage() == target.storage() ? ops::clone(positions) : positions;
}

void run_gather(const LoopNest& nest, int64_t item_size, int64_t stride) {
  const cpu::ElementwiseLoop loop = cpu::gather_loop(item_size);
  const cpu::Places places{stride};
  nest.run([&](char* const* d, const int64_t* s, int64_t n0, int64_t n1) { loop(d, s, n0, n1, &places); });
}

void run_scatter(const LoopNest& nest, cpu::Combine combine, DType dtype, int64_t stride) {
  const cpu::ElementwiseLoop loop = cpu::scatter_loop(combine, dtype);
  const cpu::Places places{stride};
  nest.run_serial([&](char* const* d, const int64_t* s, int64_t n0, int64_t n1) {
    char* const data[] = {d[1], d[0], d[2]};
    const int64_t strides[] = {s[1], s[0], s[2], s[4], s[3], s[5]};
    loop(data, strides, n0, n1, &places);
  });
}

}  // namespace tl
