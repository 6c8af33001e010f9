// A tensor: element type, device, geometry and a share in a storage; layers hang their data on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/small_vector.h"
#include "tensor/storage.h"
#include "tl/c_api.h"

struct _object;  // PyObject

namespace tl {

enum class Layout : uint8_t { Strided = TL_STRIDED, SparseCoo, SparseCsr, SparseCsc, SparseBsr, SparseBsc };
enum class MemoryFormat : uint8_t {
  Contiguous = TL_CONTIGUOUS,
  Preserve = TL_PRESERVE,
  ChannelsLast = TL_CHANNELS_LAST,
  ChannelsLast3d = TL_CHANNELS_LAST_3D,
};

struct WeakCell;  // tensor/weak.h
struct Slot;      // tensor/slots.h

struct TensorImpl {
  enum Flag : uint16_t {
    Contiguous = 1,        // strides are those of a fresh tensor of this shape
    Inference = 2,         // made under inference_mode
    OwnsPython = 4,        // the impl keeps its Python object alive, not the other way round
    PrivateVersion = 8,    // x.data: counts its own changes
    MultiOutputView = 16,  // one of several views a call returned
    NoGradView = 32,       // the view was taken while gradients were off
    Conjugated = 64,       // the elements are the conjugates of those in memory
    Negated = 128,         // the elements are the negatives of those in memory
    Parameter = 256,       // lives longer than what is computed from it
  };
  static constexpr uint16_t kConjNegBits = Conjugated | Negated;  // the layer `lazybits` carries them out
  static constexpr int kInlineDims = 5;

  std::atomic<int32_t> refs{1};
  DType dtype;
  Device device;
  Layout layout = Layout::Strided;
  uint8_t ndim = 0;
  uint16_t flags = 0;
  std::atomic<uint64_t> bits{0};
  Storage* storage = nullptr;
  int64_t offset = 0;
  int64_t numel = 1;
  int64_t* dims = inline_dims;   // sizes, then strides
  void* autograd = nullptr;      // the autograd layer's slot
  TensorImpl* base = nullptr;    // what this is a view of; owned
  struct _object* py = nullptr;  // the Python object; needs the GIL
  Slot* slots = nullptr;         // the other layers'
  std::atomic<WeakCell*> weak{nullptr};
  uint32_t own_version = 0;
  int64_t inline_dims[2 * kInlineDims];

  bool has(Flag flag) const { return flags & flag; }
  void set(Flag flag, bool on) { flags = static_cast<uint16_t>(on ? flags | flag : flags & ~flag); }
  void set_dtype(DType d) {
    dtype = d;
    constexpr uint64_t stored = uint64_t{1} << TL_LAYER_STORED;
    if (is_stored_only(d)) [[unlikely]]
      bits.fetch_or(stored, std::memory_order_relaxed);
    else if (bits.load(std::memory_order_relaxed) & stored) [[unlikely]]
      bits.fetch_and(~stored, std::memory_order_relaxed);
  }
  uint16_t conj_neg_bits() const { return flags & kConjNegBits; }
  IntSpan sizes() const { return {dims, ndim}; }
  IntSpan strides() const { return {dims + ndim, ndim}; }
  void* data() const {
    if (!storage || (!storage->data && !settle(*storage))) return nullptr;
    // Not the sum of a pointer and a number: without elements, the offset may lie anywhere.
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(storage->data) +
                                   static_cast<uintptr_t>(wrapped_mul(offset, item_size(dtype))));
  }
  uint64_t all_bits() const {
    return bits.load(std::memory_order_relaxed) |
           (storage ? storage->bits.load(std::memory_order_relaxed) : 0);
  }
  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release();
  void destroy();
};

// Raises unless all dimensions are non-negative and their product fits; 1 for no dimensions.
int64_t checked_numel(IntSpan sizes);

// Handles cross the C interface as bare pointers and are read back as tensors in place.
class [[gnu::may_alias]] Tensor {
 public:
  Tensor() = default;
  static Tensor adopt(TensorImpl* impl) {
    Tensor t;
    t.impl_ = impl;
    return t;
  }
  static Tensor share(TensorImpl* impl) {
    if (impl) impl->retain();
    return adopt(impl);
  }
  Tensor(const Tensor& o) : impl_(o.impl_) {
    if (impl_) impl_->retain();
  }
  Tensor(Tensor&& o) noexcept : impl_(o.impl_) { o.impl_ = nullptr; }
  Tensor& operator=(Tensor o) noexcept {
    std::swap(impl_, o.impl_);
    return *this;
  }
  ~Tensor() {
    if (impl_) impl_->release();
  }

  explicit operator bool() const { return impl_; }
  TensorImpl* impl() const { return impl_; }
  TensorImpl* operator->() const { return impl_; }
  TensorImpl* detach_handle() {
    auto* p = impl_;
    impl_ = nullptr;
    return p;
  }
  bool same(const Tensor& o) const { return impl_ == o.impl_; }

  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->device; }
  Layout layout() const { return impl_->layout; }
  int64_t dim() const { return impl_->ndim; }
  int64_t numel() const { return impl_->numel; }
  int64_t offset() const { return impl_->offset; }
  IntSpan sizes() const { return impl_->sizes(); }
  IntSpan strides() const { return impl_->strides(); }
  int64_t size(int64_t d) const { return sizes()[d]; }
  int64_t stride(int64_t d) const { return strides()[d]; }
  Storage* storage() const { return impl_->storage; }
  void* data() const { return impl_->data(); }
  template <class T>
  T* ptr() const {
    return static_cast<T*>(impl_->data());
  }
  bool is_contiguous() const { return impl_->has(TensorImpl::Contiguous); }
  bool is_meta() const { return impl_->device.is_meta(); }
  bool is_sparse() const { return impl_->layout != Layout::Strided; }
  int64_t itemsize() const { return item_size(impl_->dtype); }
  int64_t byte_stride(int64_t d) const { return wrapped_mul(stride(d), itemsize()); }

 private:
  TensorImpl* impl_ = nullptr;
};

struct TensorOptions {
  DType dtype = DType::Float32;
  Device device = {};
};

Tensor empty(IntSpan sizes, TensorOptions options);
Tensor empty_strided(IntSpan sizes, IntSpan strides, TensorOptions options);
Tensor on_storage(StoragePtr storage, DType dtype, IntSpan sizes, IntSpan strides, int64_t offset);
// Same storage, another geometry; knows its base. The caller has checked the bounds.
Tensor view_of(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset);
Tensor view_of(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset, DType dtype);
// The same tensor for storing away: geometry, conjugate and negative bits only, no slots, no bits of other
// layers, no base.
Tensor alias(const Tensor& t);
// Conjugates or negates a tensor once more: one that was is no longer.
void toggle_conj_neg_bits(TensorImpl& t, uint16_t conj_neg_bits);
// Gives `t` another storage share and geometry in place (set_, resize_).
void set_geometry(TensorImpl& t, IntSpan sizes, IntSpan strides, int64_t offset);
void set_storage(TensorImpl& t, StoragePtr storage);
// resize_: keeps the elements that fit in storage order.
void resize(const Tensor& t, IntSpan sizes);
// Likewise, with the strides of a dense tensor.
void resize(const Tensor& t, IntSpan sizes, IntSpan strides);

uint32_t version(const TensorImpl& t);
void bump_version(TensorImpl& t);
void set_version(TensorImpl& t, uint32_t version);  // hides writes from what has kept the tensor

}  // namespace tl
