// Tensors: geometry in one block, flags of contiguity computed once, views that share storage and version.
#include "tensor/tensor.h"

#include <algorithm>
#include <cstring>

#include "base/allocator.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/thread_local.h"
#include "tensor/geometry.h"
#include "tensor/hollow.h"
#include "tensor/python_hook.h"
#include "tensor/quantizer.h"
#include "tensor/slots.h"
#include "tensor/sparse.h"
#include "tensor/view_origin.h"
#include "tensor/weak.h"

namespace tl {

namespace {
TensorImpl* new_impl(DType dtype, Device device) {
  auto* t = new (allocate(sizeof(TensorImpl))) TensorImpl;
  t->set_dtype(dtype);
  t->device = device;
  t->set(TensorImpl::Inference, thread_locals().inference);
  return t;
}

void free_dims(TensorImpl& t) {
  if (t.dims != t.inline_dims) deallocate(t.dims, 2 * t.ndim * sizeof(int64_t));
}

// Sizes and strides may point into the old geometry.
void write_geometry(TensorImpl& t, IntSpan sizes, IntSpan strides) {
  const int n = static_cast<int>(sizes.size());
  TL_CHECK(n <= 64, Runtime, "tensors with more than 64 dimensions are not supported, got ", n);
  int64_t* dims =
      n <= TensorImpl::kInlineDims ? t.inline_dims : static_cast<int64_t*>(allocate(2 * n * sizeof(int64_t)));
  if (n > 0) {  // an empty span may be null
    std::memmove(dims, sizes.data(), n * sizeof(int64_t));
    std::memmove(dims + n, strides.data(), n * sizeof(int64_t));
  }
  free_dims(t);
  t.dims = dims;
  t.ndim = static_cast<uint8_t>(n);
}

// In place of what the tensor has, which stays as it is where the new one is refused.
void replace_geometry(TensorImpl& t, IntSpan sizes, IntSpan strides) {
  const int64_t numel = checked_numel(sizes);
  write_geometry(t, sizes, strides);
  t.numel = numel;
  t.set(TensorImpl::Contiguous, is_contiguous(t.sizes(), t.strides()));
}

// Of a fresh tensor.
void init_geometry(TensorImpl& t, IntSpan sizes, IntSpan strides) {
  const int n = static_cast<int>(sizes.size());
  if (n > TensorImpl::kInlineDims) return replace_geometry(t, sizes, strides);
  // One pass for the few dimensions that nearly all have.
  int64_t numel = 1;
  bool wraps = false, contiguous = true;
  for (int d = n - 1; d >= 0; --d) {
    t.inline_dims[d] = sizes[d];
    t.inline_dims[n + d] = strides[d];
    contiguous &= sizes[d] == 1 || strides[d] == numel;
    wraps |= __builtin_mul_overflow(numel, sizes[d], &numel);
  }
  t.ndim = static_cast<uint8_t>(n);
  t.numel = wraps ? checked_numel(sizes) : numel;
  t.set(TensorImpl::Contiguous, contiguous || t.numel == 0);
}

int64_t storage_bytes(IntSpan sizes, IntSpan strides, int64_t itemsize) {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last = checked_add(last, checked_mul(sizes[d] - 1, strides[d]));
  }
  return checked_mul(checked_add(last, 1), itemsize);
}
}  // namespace

void TensorImpl::release() {
  // A sole owner needs no atomic read-modify-write.
  if (refs.load(std::memory_order_acquire) == 1 && !weak.load(std::memory_order_relaxed)) {
    refs.store(0, std::memory_order_relaxed);
    destroy();
  } else if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    destroy();
  }
}

namespace {
PythonRelease g_python_release = nullptr;
}
void set_python_release(PythonRelease release) { g_python_release = release; }
void release_python(TensorImpl& t) {
  if (g_python_release) g_python_release(t);
}

void TensorImpl::destroy() {
  if (has(OwnsPython) && py) release_python(*this);
  if (weak.load(std::memory_order_relaxed)) forget(*this);
  if (autograd || slots) clear_slots(*this);
  if (base) base->release();
  if (storage) IntrusivePtr<Storage>::adopt(storage);
  free_dims(*this);
  this->~TensorImpl();
  deallocate(this, sizeof(TensorImpl));
}

int64_t checked_numel(IntSpan sizes) {
  int64_t numel = 1;
  bool empty = false;
  for (int64_t s : sizes) {
    TL_CHECK(s >= 0, Runtime, "Trying to create tensor with negative dimension ", s, ": ", sizes);
    empty |= s == 0;
  }
  if (empty) return 0;
  for (int64_t s : sizes) numel = checked_mul(numel, s);
  return numel;
}

namespace {
// Sizes and their contiguous strides, in one pass; raises for sizes that are negative or too many elements.
void init_contiguous(TensorImpl& t, IntSpan sizes) {
  const int n = static_cast<int>(sizes.size());
  if (n > TensorImpl::kInlineDims) {
    t.numel = checked_numel(sizes);
    return write_geometry(t, sizes, contiguous_strides(sizes));
  }
  int64_t step = 1, least = 1;
  bool wraps = false;
  for (int d = n - 1; d >= 0; --d) {
    t.inline_dims[d] = sizes[d];
    t.inline_dims[n + d] = step;
    least = std::min(least, sizes[d]);
    wraps |= __builtin_mul_overflow(step, std::max<int64_t>(sizes[d], 1), &step);
  }
  t.ndim = static_cast<uint8_t>(n);
  t.numel = least > 0 ? step : 0;
  // Strides of a tensor without elements may wrap around.
  if (least < 0 || (wraps && least > 0)) [[unlikely]]
    checked_numel(sizes);
}
}  // namespace

Tensor empty(IntSpan sizes, TensorOptions options) {
  auto t = Tensor::adopt(new_impl(options.dtype, options.device));
  init_contiguous(*t.impl(), sizes);
  const int64_t bytes = checked_mul(t->numel, item_size(options.dtype));
  t->storage = new_storage(static_cast<size_t>(bytes), options.device).detach();
  t->set(TensorImpl::Contiguous, true);
  return t;
}

Tensor empty_strided(IntSpan sizes, IntSpan strides, TensorOptions options) {
  checked_numel(sizes);
  auto t = Tensor::adopt(new_impl(options.dtype, options.device));
  const int64_t bytes = storage_bytes(sizes, strides, item_size(options.dtype));
  t->storage = new_storage(static_cast<size_t>(bytes), options.device).detach();
  init_geometry(*t.impl(), sizes, strides);
  return t;
}

Tensor on_storage(StoragePtr storage, DType dtype, IntSpan sizes, IntSpan strides, int64_t offset) {
  checked_numel(sizes);
  auto t = Tensor::adopt(new_impl(dtype, storage->device));
  t->storage = storage.detach();
  t->offset = offset;
  init_geometry(*t.impl(), sizes, strides);
  return t;
}

namespace {
constexpr uint64_t kStoredBit = uint64_t{1} << TL_LAYER_STORED;
constexpr uint64_t kOwnBits =
    uint64_t{1} << TL_LAYER_LAZYBITS | uint64_t{1} << TL_LAYER_SPARSE | kStoredBit | kHollowBit;

[[gnu::cold]] void copy_own_bits(TensorImpl& t, const TensorImpl& src) {
  if (src.layout != Layout::Strided) set_parts(t, parts_of(src));
  keep_quantizer(t, src);
  toggle_conj_neg_bits(t, src.conj_neg_bits());
  t.bits.fetch_or(src.bits.load(std::memory_order_relaxed) & kHollowBit, std::memory_order_relaxed);
}
}  // namespace

Tensor alias(const Tensor& src) {
  auto t = Tensor::adopt(new_impl(src.dtype(), src.device()));
  t->storage = src->storage;
  if (t->storage) t->storage->refs.fetch_add(1, std::memory_order_relaxed);
  t->layout = src->layout;
  t->offset = src->offset;
  t->own_version = src->own_version;
  t->numel = src->numel;
  write_geometry(*t.impl(), src.sizes(), src.strides());
  t->flags = src->flags & (TensorImpl::Contiguous | TensorImpl::PrivateVersion | TensorImpl::Inference);
  if (src->bits.load(std::memory_order_relaxed) & kOwnBits) [[unlikely]]
    copy_own_bits(*t.impl(), *src.impl());
  return t;
}

namespace {
// Below the layer autograd gradients are off as well, but so are all layers above it.
bool without_gradients() {
  constexpr uint64_t kAutograd = uint64_t{1} << TL_LAYER_AUTOGRAD;
  return (thread_locals().excluded & (2 * kAutograd - 1)) == kAutograd;
}

constexpr uint16_t kUnrecorded = TensorImpl::NoGradView | kInferenceView;
constexpr uint16_t kTaken = TensorImpl::MultiOutputView | kUnrecorded;
constexpr uint64_t kAutogradBit = uint64_t{1} << TL_LAYER_AUTOGRAD;

// How a view was taken stays with the views of it, unless they are taken in another way themselves.
uint16_t view_flags(const TensorImpl& src) {
  const auto memory = static_cast<uint16_t>(src.flags & (TensorImpl::PrivateVersion | TensorImpl::Inference));
  if (without_gradients())
    return memory |
           (thread_locals().inference ? kInferenceView : static_cast<uint16_t>(TensorImpl::NoGradView));
  return static_cast<uint16_t>(memory | (src.base ? src.flags & kTaken : 0));
}

// A view that was taken without recording: autograd has to see writes to it.
void note_unrecorded(TensorImpl& view) {
  if (!view.has(TensorImpl::PrivateVersion)) view.own_version = version(view);
  const uint64_t of_base = view.base->bits.load(std::memory_order_relaxed) & kAutogradBit;
  view.bits.fetch_or(of_base, std::memory_order_relaxed);
}
}  // namespace

TensorImpl* base_for_views(TensorImpl& t) {
  const auto recorded = [](const TensorImpl& x) {
    return x.bits.load(std::memory_order_relaxed) & kAutogradBit;
  };
  return t.base && (recorded(*t.base) || !recorded(t)) ? t.base : &t;
}

void drop_base(TensorImpl& t) {
  if (!t.base) return;
  std::exchange(t.base, nullptr)->release();
  t.flags &= static_cast<uint16_t>(~kTaken);
  if (!t.autograd) t.bits.fetch_and(~kAutogradBit, std::memory_order_relaxed);
}

bool written_since_taken(const TensorImpl& view) {
  return view.base && (view.flags & kUnrecorded) && !view.has(TensorImpl::PrivateVersion) &&
         view.own_version != version(view);
}

Tensor view_of(const Tensor& src, IntSpan sizes, IntSpan strides, int64_t offset, DType dtype) {
  auto t = Tensor::adopt(new_impl(dtype, src.device()));
  t->storage = src->storage;
  if (t->storage) t->storage->refs.fetch_add(1, std::memory_order_relaxed);
  t->offset = offset;
  t->own_version = src->own_version;
  t->flags = view_flags(*src.impl());
  init_geometry(*t.impl(), sizes, strides);
  if (src->bits.load(std::memory_order_relaxed) & kStoredBit) [[unlikely]]
    keep_quantizer(*t.impl(), *src.impl());
  if (src->has(TensorImpl::Inference)) return t;  // nobody records what is done to it
  t->base = base_for_views(*src.impl());
  t->base->retain();
  if (t->flags & kUnrecorded) [[unlikely]]
    note_unrecorded(*t.impl());
  return t;
}

Tensor view_of(const Tensor& src, IntSpan sizes, IntSpan strides, int64_t offset) {
  return view_of(src, sizes, strides, offset, src.dtype());
}

void toggle_conj_neg_bits(TensorImpl& t, uint16_t conj_neg_bits) {
  constexpr uint64_t bit = uint64_t{1} << TL_LAYER_LAZYBITS;
  t.flags ^= conj_neg_bits;
  if (t.conj_neg_bits())
    t.bits.fetch_or(bit, std::memory_order_relaxed);
  else
    t.bits.fetch_and(~bit, std::memory_order_relaxed);
}

void set_geometry(TensorImpl& t, IntSpan sizes, IntSpan strides, int64_t offset) {
  replace_geometry(t, sizes, strides);
  t.offset = offset;
}

void set_storage(TensorImpl& t, StoragePtr storage) {
  if (t.storage) IntrusivePtr<Storage>::adopt(t.storage);
  t.device = storage->device;
  t.storage = storage.detach();
}

void resize(const Tensor& t, IntSpan sizes) {
  if (!std::ranges::equal(t.sizes(), sizes)) resize(t, sizes, contiguous_strides(sizes));
}

void resize(const Tensor& t, IntSpan sizes, IntSpan strides) {
  const int64_t numel = checked_numel(sizes);
  const int64_t bytes = checked_mul(checked_add(t.offset(), numel), t.itemsize());
  if (numel && static_cast<size_t>(bytes) > t.storage()->bytes)
    resize_storage(*t.storage(), static_cast<size_t>(bytes));
  set_geometry(*t.impl(), DimVector(sizes), strides, t.offset());
}

uint32_t version(const TensorImpl& t) {
  if (t.has(TensorImpl::PrivateVersion)) return t.own_version;
  return t.storage ? t.storage->version.load(std::memory_order_relaxed) : 0;
}

void bump_version(TensorImpl& t) {
  if (t.has(TensorImpl::PrivateVersion)) {
    ++t.own_version;
  } else if (t.storage) {
    t.storage->version.fetch_add(1, std::memory_order_relaxed);
  }
}

void set_version(TensorImpl& t, uint32_t version) {
  if (t.has(TensorImpl::PrivateVersion)) {
    t.own_version = version;
  } else if (t.storage) {
    t.storage->version.store(version, std::memory_order_relaxed);
  }
}

}  // namespace tl
