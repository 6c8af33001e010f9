// Embedding bags of tables of integers: checks.
#include "iter/dtypes.h"
#include "kernels/cpu/index/index.h"
#include "kernels/cpu/index/quantized_bags.h"
#include "ops.h"
#include "ops/index/bag_bounds.h"
#include "ops/shared/copy.h"

namespace tl {

namespace {

constexpr const char* kName = "_quantized_embedding_bag";

// Bytes of integers in a row.
int64_t checked_bytes(const Tensor& weight, int64_t bits) {
  TL_CHECK(bits == 8 || bits == 4 || bits == 2, Runtime, kName, "(): bits must be 8, 4 or 2, got ", bits);
  TL_CHECK(weight.dim() == 2 && weight.dtype() == DType::UInt8, Runtime, kName,
           "(): weight must be a matrix of uint8, got ", scalar_type_name(weight.dtype()), " of shape ",
           weight.sizes());
  const int64_t tail = bits == 8 ? 8 : 4;
  TL_CHECK(weight.size(1) >= tail, Runtime, kName, "(): a row of weight must have ", tail,
           " bytes for its scale and bias, got rows of ", weight.size(1));
  return weight.size(1) - tail;
}

// Dense int64 indices; those below 0 name no row.
Tensor checked_rows(const Tensor& t, int64_t rows) {
  TL_CHECK(t.dim() == 1 && (t.dtype() == DType::Int64 || t.dtype() == DType::Int32), Runtime, kName,
           "(): indices must be a vector of int64 or int32, got ", scalar_type_name(t.dtype()), " of shape ",
           t.sizes());
  const Tensor dense = to_contiguous(to_dtype(t, DType::Int64));
  const int64_t* data = dense.ptr<int64_t>();
  const int64_t bad = cpu::find_out_of_bounds(data, dense.numel(), -1, rows);
  TL_CHECK(bad == dense.numel(), Runtime, "Index ", bad, " is out of bounds: ", data[bad], ", range 0 to ",
           rows);
  return dense;
}

Tensor quantized_embedding_bag(const Tensor& weight, int64_t bits, const Tensor& indices,
                               const Tensor& offsets, int64_t mode, OptTensor factors,
                               bool include_last_offset) {
  const int64_t bytes = checked_bytes(weight, bits), width = bytes * (8 / bits);
  TL_CHECK(mode == 0 || mode == 1, Runtime, kName, "(): mode must be 0 (sum) or 1 (mean), got ", mode);
  TL_CHECK(offsets.dim() == 1, Runtime, kName, "(): offsets must be a vector, got the shape ",
           offsets.sizes());
  TL_CHECK(!factors || factors->numel() == indices.numel(), Runtime, kName,
           "(): per_sample_weights must have one number an index, got ", factors ? factors->numel() : 0,
           " for ", indices.numel(), " indices");
  const int64_t count = offsets.numel() - (include_last_offset ? 1 : 0);
  TL_CHECK(count >= 0, Runtime, "include_last_offset: number of offsets should be at least 1");
  const Tensor out = empty(DimVector{count, width}, {DType::Float32, weight.device()});
  if (out.is_meta()) return out;
  const Tensor index = checked_rows(indices, weight.size(0)), table = to_contiguous(weight);
  const BagBounds bounds(offsets, index.numel(), include_last_offset);
  const Tensor own = factors ? to_contiguous(to_dtype(*factors, DType::Float32)) : Tensor();
  cpu::sum_quantized_bags({table.ptr<uint8_t>(), bytes, table.size(1), static_cast<int>(bits)},
                          {count, index.ptr<int64_t>(), bounds.offsets.ptr<int64_t>(),
                           own ? own.ptr<float>() : nullptr, mode == 1},
                          out.ptr<float>());
  return out;
}

}  // namespace

TL_KERNEL(_quantized_embedding_bag, quantized_embedding_bag)

}  // namespace tl
