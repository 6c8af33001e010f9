// Sparse tensors: indices, values and compressed pointers hang in a slot; the storage only counts writes.
#include "tensor/sparse.h"

#include <utility>

#include "tensor/geometry.h"
#include "tensor/slots.h"

namespace tl {

namespace {
void destroy_parts(void* data) { delete static_cast<SparseParts*>(data); }
constexpr TlSlotType kSlotType{sizeof(TlSlotType), destroy_parts, nullptr, nullptr};
}  // namespace

const char* layout_name(Layout layout) {
  constexpr const char* kNames[] = {"Strided",   "Sparse",    "SparseCsr", "SparseCsc",
                                    "SparseBsr", "SparseBsc", "Jagged",    "Mkldnn"};
  return kNames[static_cast<int>(layout)];
}

Tensor sparse_tensor(IntSpan sizes, SparseParts parts, Layout layout) {
  // The storage has no bytes: it counts the writes.
  StoragePtr storage = new_storage(0, parts.values.device());
  Tensor t = on_storage(std::move(storage), parts.values.dtype(), sizes, DimVector(sizes.size()), 0);
  t->layout = layout;
  t->set(TensorImpl::Contiguous, false);
  set_parts(*t.impl(), std::move(parts));
  return t;
}

const SparseParts& parts_of(const TensorImpl& t) {
  return *static_cast<const SparseParts*>(get_slot(t, TL_LAYER_SPARSE));
}

void set_parts(TensorImpl& t, SparseParts parts) {
  constexpr uint64_t kBits = uint64_t{1} << TL_LAYER_SPARSE | uint64_t{1} << TL_LAYER_SPARSE_PARTS;
  t.bits.fetch_or(kBits, std::memory_order_relaxed);
  set_slot(t, TL_LAYER_SPARSE, new SparseParts(std::move(parts)), &kSlotType);
}

bool has_dense_gradient(const Tensor& t) {
  const uint64_t bits = t->all_bits();
  return (bits >> TL_LAYER_AUTOGRAD & 1) && !(bits & TL_BIT_STORED_GRADIENT);
}

Tensor of_values(Tensor made) {
  made->bits.fetch_or(TL_BIT_STORED_GRADIENT, std::memory_order_relaxed);
  return made;
}

Tensor with_gradient_of(Tensor result, const Tensor& source) {
  return source->bits.load(std::memory_order_relaxed) & TL_BIT_STORED_GRADIENT ? of_values(std::move(result))
                                                                               : result;
}

void set_sparse(TensorImpl& t, IntSpan sizes, SparseParts parts) {
  set_geometry(t, DimVector(sizes), DimVector(sizes.size()), 0);
  t.set(TensorImpl::Contiguous, false);
  set_parts(t, std::move(parts));
}

}  // namespace tl
