// Names of `torch::stable`: tensors, operators and registrations of PyTorch's stable interface, over the
// tables.
#ifndef TL_TORCH_STABLE_HPP
#define TL_TORCH_STABLE_HPP

#include <cstring>
#include <tl/torch/headeronly.hpp>
#include <tl/torch/stable_words.hpp>

namespace torch {
TL_FACE {
  namespace stable {
  using c10::Device;
  using headeronly::IntHeaderOnlyArrayRef;
  using headeronly::ScalarType;
  using DeviceType = c10::DeviceType;

  // ---- devices ----------------------------------------------------------------------------------------------------
  namespace accelerator {
  using DeviceIndex = int32_t;
  using StreamId = int64_t;
  [[noreturn, gnu::cold, gnu::noinline]] inline void refuse_accelerator(const char* what) {
    c10::face::fail<c10::Error>("", what, ": there is no accelerator, tl runs on the CPU");
  }
  class DeviceGuard {
   public:
    explicit DeviceGuard(DeviceIndex) { refuse_accelerator("DeviceGuard"); }
    void set_index(DeviceIndex) { refuse_accelerator("DeviceGuard"); }
  };
  class Stream {
   public:
    explicit Stream(StreamId id) : id_(id) {}
    StreamId id() const { return id_; }

   private:
    StreamId id_;
  };
  inline Stream getCurrentStream(DeviceIndex) { refuse_accelerator("getCurrentStream"); }
  inline DeviceIndex getCurrentDeviceIndex() { refuse_accelerator("getCurrentDeviceIndex"); }
  }  // namespace accelerator
  using accelerator::DeviceIndex;

  // ---- operators --------------------------------------------------------------------------------------------------
  using OptionalType = std::optional<ScalarType>;
  using OptionalLayout = std::optional<c10::Layout>;
  using OptionalDevice = std::optional<Device>;
  using OptionalFormat = std::optional<c10::MemoryFormat>;
  inline at::TensorOptions options_of(OptionalType dtype, OptionalLayout layout, OptionalDevice device,
                                      std::optional<bool> pin_memory) {
    at::TensorOptions o;
    o.dtype_ = dtype, o.layout_ = layout, o.device_ = device, o.pinned_ = pin_memory;
    return o;
  }

  using at::flatten;
  using at::matmul;
  using at::reshape;
  using at::select;
  using at::squeeze;
  using at::transpose;
  using at::unsqueeze;
  inline Tensor empty_like(const Tensor& self) { return at::empty_like(self); }
  inline Tensor clone(const Tensor& self) { return self.clone(); }
  inline Tensor fill_(const Tensor& self, double value) { return at::Tensor(self).fill_(value); }
  inline Tensor zero_(const Tensor& self) { return at::Tensor(self).zero_(); }
  inline Tensor copy_(const Tensor& self, const Tensor& src, std::optional<bool> non_blocking = {}) {
    return at::Tensor(self).copy_(src, non_blocking.value_or(false));
  }
  inline Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
    return self.narrow(dim, start, length);
  }
  inline Tensor view(const Tensor& self, IntHeaderOnlyArrayRef size) { return self.view(size); }
  inline Tensor contiguous(const Tensor& self, c10::MemoryFormat f = c10::MemoryFormat::Contiguous) {
    return self.contiguous(f);
  }
  inline Tensor pad(const Tensor& self, IntHeaderOnlyArrayRef pad, std::string_view mode = "constant",
                    double value = 0) {
    return at::pad(self, pad, mode, value);
  }
  inline Tensor amax(const Tensor& self, int64_t dim, bool keepdim = false) {
    return at::amax(self, dim, keepdim);
  }
  inline Tensor amax(const Tensor& self, IntHeaderOnlyArrayRef dims, bool keepdim = false) {
    return at::amax(self, dims, keepdim);
  }
  inline Tensor sum(const Tensor& self, c10::OptionalIntArrayRef dim = {}, bool keepdim = false,
                    OptionalType dtype = {}) {
    return at::sum(self, dim, keepdim, dtype);
  }
  inline Tensor& sum_out(Tensor& out, const Tensor& self, c10::OptionalIntArrayRef dim = {},
                         bool keepdim = false, OptionalType dtype = {}) {
    return at::sum_out(out, self, dim, keepdim, dtype);
  }
  inline Tensor subtract(const Tensor& self, const Tensor& other, double alpha = 1) {
    return at::sub(self, other, alpha == int64_t(alpha) ? at::Scalar(int64_t(alpha)) : at::Scalar(alpha));
  }
  inline Tensor empty(IntHeaderOnlyArrayRef size, OptionalType dtype = {}, OptionalLayout layout = {},
                      OptionalDevice device = {}, std::optional<bool> pin_memory = {},
                      OptionalFormat f = {}) {
    return at::empty(size, options_of(dtype, layout, device, pin_memory), f);
  }
  inline Tensor full(IntHeaderOnlyArrayRef size, double value, OptionalType dtype = {},
                     OptionalLayout layout = {}, OptionalDevice device = {},
                     std::optional<bool> pin_memory = {}) {
    return at::full(size, value, options_of(dtype, layout, device, pin_memory));
  }
  inline Tensor new_empty(const Tensor& self, IntHeaderOnlyArrayRef size, OptionalType dtype = {},
                          OptionalLayout layout = {}, OptionalDevice device = {},
                          std::optional<bool> pin_memory = {}) {
    return self.new_empty(size, options_of(dtype, layout, device, pin_memory));
  }
  inline Tensor new_zeros(const Tensor& self, IntHeaderOnlyArrayRef size, OptionalType dtype = {},
                          OptionalLayout layout = {}, OptionalDevice device = {},
                          std::optional<bool> pin_memory = {}) {
    return self.new_zeros(size, options_of(dtype, layout, device, pin_memory));
  }
  inline Tensor to(const Tensor& self, OptionalType dtype = {}, OptionalLayout layout = {},
                   OptionalDevice device = {}, std::optional<bool> pin_memory = {}, bool non_blocking = false,
                   bool copy = false, OptionalFormat f = {}) {
    return self.to(options_of(dtype, layout, device, pin_memory), non_blocking, copy, f);
  }
  inline Tensor to(const Tensor& self, const Device& device, bool non_blocking = false, bool copy = false,
                   OptionalFormat f = {}) {
    return to(self, OptionalType(), OptionalLayout(), device, std::nullopt, non_blocking, copy, f);
  }
  inline Tensor from_blob(void* data, IntHeaderOnlyArrayRef sizes, IntHeaderOnlyArrayRef strides,
                          Device device, ScalarType dtype, int64_t storage_offset = 0,
                          c10::Layout layout = c10::Layout::Strided) {
    auto* first = static_cast<char*>(data) + storage_offset * int64_t(c10::elementSize(dtype));
    return at::from_blob(first, sizes, strides, options_of(dtype, layout, device, {}));
  }
  template <class D, class = decltype(std::declval<D&>()(std::declval<void*>()))>
  Tensor from_blob(void* data, IntHeaderOnlyArrayRef sizes, IntHeaderOnlyArrayRef strides, Device device,
                   ScalarType dtype, D deleter, int64_t storage_offset = 0,
                   c10::Layout layout = c10::Layout::Strided) {
    auto* first = static_cast<char*>(data) + storage_offset * int64_t(c10::elementSize(dtype));
    return at::from_blob(
        first, sizes, strides, [=](void*) mutable { deleter(data); }, options_of(dtype, layout, device, {}));
  }

  // ---- threads ----------------------------------------------------------------------------------------------------
  using at::parallel_for;
  inline uint32_t get_num_threads() { return uint32_t(at::get_num_threads()); }
  inline uint32_t get_thread_idx() { return uint32_t(at::get_thread_num()); }
  }  // namespace stable
}
}  // namespace torch

#endif  // TL_TORCH_STABLE_HPP
