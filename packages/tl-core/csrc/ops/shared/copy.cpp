// copy_, clone, to, fill_ and resize_: elements between tensors of any layout, dtype and device.
#include "ops/shared/copy.h"

#include <cstring>

#include "dispatch/cpu_fallback.h"
#include "dispatch/python.h"
#include "dispatch/thread_state.h"
#include "iter/dtypes.h"
#include "iter/loop_nest.h"
#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/loops/copy.h"
#include "kernels/cpu/loops/staging.h"
#include "ops.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/known_values.h"
#include "ops/shared/out.h"
#include "ops/shared/uninitialized_fill.h"
#include "ops/shared/warn.h"
#include "tensor/device_registry.h"
#include "tensor/geometry.h"

namespace tl {

// Memory of one layout is copied in chunks, past the cache where it is large; anything else is a nest of
// strided conversions.
void copy_elements(const Tensor& dst, const Tensor& src) {
  check_is_no_batch(src, "the elements");
  check_is_no_batch(dst, "the elements");
  if (dst.numel() == 0) return;
  const bool same_layout = dst.dtype() == src.dtype() && std::ranges::equal(dst.sizes(), src.sizes()) &&
                           std::ranges::equal(dst.strides(), src.strides()) &&
                           is_dense(dst.sizes(), dst.strides());
  if (same_layout) {
    const int64_t size = dst.itemsize();
    const bool streams = dst.numel() >= cpu::kStreamedBytes / size;
    parallel_for(0, dst.numel(), kGrain * 4, [&](int64_t begin, int64_t end) {
      char* to = dst.ptr<char>() + begin * size;
      const char* from = src.ptr<char>() + begin * size;
      if (!streams) {
        std::memcpy(to, from, (end - begin) * size);
        return;
      }
      cpu::stream_copy(to, from, (end - begin) * size);
      cpu::end_streams();
    });
    return;
  }
  LoopNest nest(dst.sizes());
  nest.add(dst);
  nest.add_broadcast(src);
  nest.plan();
  const cpu::ElementwiseLoop loop = cpu::cast_loop(dst.dtype(), src.dtype());
  TL_CHECK(loop, NotImplemented, "\"copy_kernel\" not implemented for '",
           scalar_type_name(is_number(src.dtype()) ? dst.dtype() : src.dtype()), "'");
  nest.run([&](char* const* d, const int64_t* s, int64_t n0, int64_t n1) { loop(d, s, n0, n1, nullptr); });
}

Tensor to_contiguous(const Tensor& t) {
  if (stands_for_others(t)) [[unlikely]]
    return ops::contiguous(t);
  if (t.is_contiguous()) return t;
  Tensor out = empty(t.sizes(), {t.dtype(), t.device()});
  if (!t.is_meta()) copy_elements(out, t);
  return out;
}

// Fills a dense tensor larger than the caches with non-temporal stores of one block of the value.
void fill_streamed(const Tensor& dst, const char* value) {
  constexpr int64_t kBlock = 4096;
  alignas(64) char block[kBlock];
  const int64_t size = dst.itemsize(), bytes = dst.numel() * size;
  for (int64_t i = 0; i < kBlock; i += size) std::memcpy(block + i, value, size);
  parallel_for(0, bytes / kBlock + 1, kGrain / kBlock * size, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * kBlock; i < std::min(end * kBlock, bytes); i += kBlock)
      cpu::stream_copy(dst.ptr<char>() + i, block, std::min(kBlock, bytes - i));
    cpu::end_streams();
  });
}

void fill_elements(const Tensor& dst, const Scalar& value) {
  if (dst.numel() == 0 || dst.is_meta()) return;
  check_is_no_batch(dst, "the elements");
  alignas(16) char bytes[16] = {};
  if (is_number(dst.dtype())) {
    if (is_integral(dst.dtype(), true)) value.check_fits(dst.dtype());
    value.store(dst.dtype(), bytes);
  } else {
    TL_CHECK(value.is_integral() && !value.to_bool(), NotImplemented, "\"fill_cpu\" not implemented for '",
             scalar_type_name(dst.dtype()), "'");
  }
  if (dst.numel() >= cpu::kStreamedBytes / dst.itemsize() && is_dense(dst.sizes(), dst.strides()))
    return fill_streamed(dst, bytes);
  LoopNest nest(dst.sizes());
  nest.add(dst);
  nest.add_number(bytes);
  nest.plan();
  const cpu::ElementwiseLoop loop = cpu::copy_loop(dst.itemsize());
  nest.run([&](char* const* d, const int64_t* s, int64_t n0, int64_t n1) { loop(d, s, n0, n1, nullptr); });
}

void fill(const Tensor& dst, const Scalar& value) {
  if (dst.device().is_cpu())
    fill_elements(dst, value);
  else if (!dst.is_meta())
    ops::fill__Scalar(dst, value);
}

Tensor to_dtype(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  if (stands_for_others(t)) [[unlikely]]
    return ops::_to_copy(t, {.dtype = dtype});
  Tensor out = empty_strided(t.sizes(), preserved_strides(t.sizes(), t.strides()), {dtype, t.device()});
  if (!t.is_meta()) copy_elements(out, t);
  return out;
}

namespace {
DimVector strides_like(const Tensor& t, MemoryFormat format) {
  return format == MemoryFormat::Preserve ? preserved_strides(t.sizes(), t.strides())
                                          : strides_for(t.sizes(), format);
}

bool ranges_overlap(const Tensor& a, const Tensor& b) {
  const char *pa = a.ptr<char>(), *pb = b.ptr<char>();
  return pa < pb + span_bytes(b.sizes(), b.strides(), b.itemsize()) &&
         pb < pa + span_bytes(a.sizes(), a.strides(), a.itemsize());
}

Tensor copy_(const Tensor& self, const Tensor& src, bool) {
  const DimVector shape = broadcast_shapes(self.sizes(), src.sizes());
  TL_CHECK(std::ranges::equal(shape, self.sizes()), Runtime, "output with shape ", self.sizes(),
           " doesn't match the broadcast shape ", shape);
  check_no_internal_overlap(self);
  check_no_partial_overlap(self, src);
  if (self.same(src) || self.is_meta() || self.numel() == 0) return self;
  if (is_complex(src.dtype()) && !is_complex(self.dtype()))
    warn("Casting complex values to real discards the imaginary part");
  if (self.device() == src.device() && self.device().is_cpu()) {
    const bool aliased = self.storage() == src.storage() && ranges_overlap(self, src) &&
                         !(self.data() == src.data() && std::ranges::equal(self.strides(), src.strides()));
    copy_elements(self, aliased ? ops::clone(src, MemoryFormat::Preserve) : src);
    return self;
  }
  TL_CHECK(!src.is_meta(), NotImplemented, "Cannot copy out of meta tensor; no data!");
  copy_across(self, src);
  return self;
}

Tensor copy_number(const Tensor& self, const Scalar& src, bool non_blocking) {
  return ops::copy_(self, ops::scalar_tensor(src, {.dtype = scalar_dtype(src)}), non_blocking);
}

Tensor clone(const Tensor& self, std::optional<MemoryFormat> format) {
  Tensor out = empty_strided(self.sizes(), strides_like(self, format.value_or(MemoryFormat::Preserve)),
                             {self.dtype(), self.device()});
  if (self.is_meta()) return out;
  if (self.device().is_cpu())
    copy_elements(out, self);
  else
    copy_across(out, self);
  return out;
}

Tensor contiguous(const Tensor& self, MemoryFormat format) {
  TL_CHECK(format != MemoryFormat::Preserve, Runtime,
           "preserve memory format is unsupported by the contiguous operator");
  const auto stored = [&] {
    return format == MemoryFormat::Contiguous
               ? self.is_contiguous()
               : std::ranges::equal(strides_for(self.sizes(), format), self.strides());
  };
  const std::optional<bool> said = contiguous_by_handler(self, format);
  return (said ? *said : stored()) ? self : ops::clone(self, format);
}

Tensor to_copy(const Tensor& self, const FactoryOptions& options, bool, std::optional<MemoryFormat> format) {
  const auto& [dtype, layout, device, pin_memory] = options;
  TL_CHECK(!layout || *layout == Layout::Strided, NotImplemented, "to(layout=…) supports torch.strided only");
  const Device to = settled(device.value_or(self.device()));
  const DType type = dtype.value_or(self.dtype());
  TL_CHECK(!self.is_meta() || to.is_meta(), NotImplemented, "Cannot copy out of meta tensor; no data!");
  Tensor out =
      empty_strided(self.sizes(), strides_like(self, format.value_or(MemoryFormat::Preserve)), {type, to});
  if (!out.is_meta()) {
    NoGradGuard no_grad;
    ops::copy_(out, self);
  }
  return out;
}

Tensor to(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device, bool non_blocking,
          bool copy, std::optional<MemoryFormat> format) {
  const bool same_dtype = !dtype || *dtype == self.dtype();
  const bool same_device = !device || settled(*device) == self.device();
  const bool same_format = !format || *format == MemoryFormat::Preserve ||
                           std::ranges::equal(strides_for(self.sizes(), *format), self.strides());
  if (same_dtype && same_device && same_format && !copy) return self;
  return ops::_to_copy(self, {.dtype = dtype, .device = device}, non_blocking, format);
}

Tensor to_dtype_form(const Tensor& self, DType dtype, bool non_blocking, bool copy,
                     std::optional<MemoryFormat> format) {
  return to(self, dtype, std::nullopt, non_blocking, copy, format);
}
Tensor to_device_form(const Tensor& self, std::optional<Device> device, std::optional<DType> dtype,
                      bool non_blocking, bool copy, std::optional<MemoryFormat> format) {
  return to(self, dtype, device, non_blocking, copy, format);
}
Tensor to_layout_form(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                      bool non_blocking, bool copy, std::optional<MemoryFormat> format) {
  return to(self, dtype, device, non_blocking, copy, format);
}
Tensor to_other_form(const Tensor& self, const Tensor& other, bool non_blocking, bool copy,
                     std::optional<MemoryFormat> format) {
  return to(self, other.dtype(), other.device(), non_blocking, copy, format);
}

// Elements that share memory get the same value, so that they needn't be apart.
Tensor fill_scalar(const Tensor& self, const Scalar& value) {
  value.check_fits(self.dtype());
  if (self.device().is_cpu() || self.is_meta()) fill_elements(self, value);
  return self;
}
Tensor fill_tensor(const Tensor& self, const Tensor& value) {
  TL_CHECK(value.dim() == 0, Runtime, "fill_ only supports 0-dimension value tensor but got tensor with ",
           value.dim(), " dimensions.");
  // The value may be an element of the tensor that is written: x.fill_(x[0]).
  return ops::copy_(self, isolate(value, self));
}
template <class Value>
Tensor filled(const Tensor& self, const Value& value) {
  Tensor out = ops::empty_like(self);
  if constexpr (std::is_same_v<Value, Scalar>)
    return ops::fill__Scalar(out, value);
  else
    return ops::fill_(out, value);
}

Tensor zero_(const Tensor& self) { return fill_scalar(self, 0); }

Tensor resize_(const Tensor& self, IntSpan size, std::optional<MemoryFormat> format) {
  const size_t bytes = self.storage()->bytes;
  if (format && *format != MemoryFormat::Preserve)
    resize(self, size, strides_for(size, *format));
  else
    resize(self, size);
  fill_uninitialized_after(self, bytes);
  return self;
}

Tensor resize_as_(const Tensor& self, const Tensor& like, std::optional<MemoryFormat> format) {
  if (format != MemoryFormat::Preserve) return ops::resize_(self, like.sizes(), format);
  const size_t bytes = self.storage()->bytes;
  resize(self, like.sizes(), preserved_strides(like.sizes(), like.strides()));
  fill_uninitialized_after(self, bytes);
  return self;
}

Scalar local_scalar_dense(const Tensor& self) {
  TL_CHECK(self.numel() == 1, Runtime, "a Tensor with ", self.numel(),
           " elements cannot be converted to Scalar");
  return load_scalar(self.dtype(), self.data());
}

Tensor sum_to_size(const Tensor& self, IntSpan size) {
  if (size.empty()) return ops::sum(self);
  const int64_t missing = self.dim() - static_cast<int64_t>(size.size());
  TL_CHECK(missing >= 0, Runtime, "size {", size, "} is not expandable to size {", self.sizes(), "}.");
  DimVector dims;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const int64_t wanted = d < missing ? 1 : size[d - missing];
    TL_CHECK(wanted == 1 || wanted == self.size(d), Runtime, "size {", size, "} is not expandable to size {",
             self.sizes(), "}.");
    if (d < missing || (wanted == 1 && self.size(d) != 1)) dims.push_back(d);
  }
  Tensor out = dims.empty() ? self : ops::sum_dim_IntList(self, IntSpan(dims), true);
  return missing ? ops::view(out.is_contiguous() ? out : ops::contiguous(out), size) : out;
}
}  // namespace

TL_KERNEL(copy_, copy_)
TL_KERNEL(copy_number, copy_number)
TL_KERNEL(clone, clone)
TL_KERNEL(contiguous, contiguous)
TL_KERNEL(_to_copy, to_copy)
TL_KERNEL(to_dtype, to_dtype_form)
TL_KERNEL(to_device, to_device_form)
TL_KERNEL(to_dtype_layout, to_layout_form)
TL_KERNEL(to_other, to_other_form)
TL_KERNEL(fill__Scalar, fill_scalar)
TL_KERNEL(fill__Tensor, fill_tensor)
TL_KERNEL(fill_Scalar, filled<Scalar>)
TL_KERNEL(fill_Tensor, filled<Tensor>)
TL_KERNEL(zero_, zero_)
TL_KERNEL(resize_, resize_)
TL_KERNEL(resize_as_, resize_as_)
TL_KERNEL(_local_scalar_dense, local_scalar_dense)
TL_KERNEL(sum_to_size, sum_to_size)

}  // namespace tl
