// The CPU fallback: arguments are copied to the host, its kernel runs, what was written is copied back.
#include "dispatch/cpu_fallback.h"

#include <cstring>

#include "dispatch/substituted_call.h"
#include "tensor/device_registry.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
// The stretch of memory a tensor's elements lie in, as a one-dimensional tensor on the host.
Tensor span_on_host(const Tensor& t) {
  const int64_t bytes = span_bytes(t.sizes(), t.strides(), t.itemsize());
  Tensor host = empty(DimVector{bytes}, {DType::UInt8, {}});
  if (bytes) device_entry(t.device().type).copy_to_host(t.device().index, host.data(), t.data(), bytes);
  return host;
}

Tensor to_host(const Tensor& t) {
  Tensor host = span_on_host(t);
  StoragePtr storage = StoragePtr::share(host.storage());
  return on_storage(std::move(storage), t.dtype(), t.sizes(), t.strides(), 0);
}

void from_host(const Tensor& dst, const Tensor& host) {
  const int64_t bytes = span_bytes(dst.sizes(), dst.strides(), dst.itemsize());
  if (bytes)
    device_entry(dst.device().type).copy_from_host(dst.device().index, dst.data(), host.data(), bytes);
}

const Operator& copy_op() {
  static const Operator& op = operator_named("copy_");
  return op;
}

void copy_on_host(const Tensor& dst, const Tensor& src) { call_typed<Tensor>(copy_op(), dst, src, false); }

// The call with host copies of the device's tensors.
class HostCall final : public SubstitutedCall {
 public:
  using SubstitutedCall::SubstitutedCall;

 private:
  Tensor stand_in(const Tensor& t, int) override {
    if (t.device().is_cpu()) return {};
    device_ = t.device();
    return to_host(t);
  }

  void replace_other(TlValue& v) override {
    if (v.tag != TL_DEVICE) return;
    device_ = settled(device_from_abi(v.u.i));
    v.u.i = device_to_abi({});
  }

  // Tensors in lists and indices may lie on the CPU, like numbers in 0-d tensors.
  void check() const override {
    for (const auto& v : originals_) {
      if (v.tag != TL_TENSOR) continue;
      const auto& t = *reinterpret_cast<TensorImpl*>(v.u.t);
      TL_CHECK(t.device == device_ || (t.device.is_cpu() && t.ndim == 0), Runtime, op_.info.name,
               ": Expected all tensors to be on the same device, but found at least two devices, ",
               device_name(device_), " and ", device_name(t.device), "!");
    }
  }

  int call(const TlValue* args, int n_args, TlValue* rets, int n_rets) override {
    return tl::call(op_, args, n_args, rets, n_rets);
  }

  void write_back(const Tensor& given, const Tensor& written) override {
    copy_across(given, written);
    bump_version(*given.impl());
  }

  Tensor lifted(TensorImpl* t) const { return to_device(Tensor::share(t), device_); }
  void lift(TlValue& v) const override {
    if (v.tag == TL_TENSOR) {
      Tensor moved = lifted(reinterpret_cast<TensorImpl*>(v.u.t));
      release(v);
      v = owned(std::move(moved));
    } else if (v.tag == TL_TENSOR_LIST) {
      auto tensors = TakeResult<std::vector<Tensor>>::take(v);
      for (auto& t : tensors) t = lifted(t.impl());
      v = owned(std::move(tensors));
    }
  }

  Device device_;
};

void run_on_host(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  HostCall(op, args, n_args).run(rets, n_rets);
}
}  // namespace

int call_on_host(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  return guarded([&] { run_on_host(op, args, n_args, rets, n_rets); });
}

int run_without_kernel(const Operator& op, DeviceType device, const TlValue* args, int n_args, TlValue* rets,
                       int n_rets) noexcept {
  return guarded([&] {
    TL_CHECK(device != DeviceType::Meta, NotImplemented, "'", op.info.name,
             "' needs the values of its tensors, which the device 'meta' does not have");
    TL_CHECK(device_registered(device), NotImplemented, "Could not run '", op.info.name,
             "': no installed plug-in provides the device '", device_name(device), "'");
    const bool extension = device >= DeviceType::Extension0;
    if (extension && device_entry(device).def.cpu_fallback)
      return run_on_host(op, args, n_args, rets, n_rets);
    TL_CHECK(!op.added, NotImplemented, "Could not run '", op.info.name, "' with arguments from the '",
             device_name(device), "' backend: ", op.info.name, " does not have a kernel registered for ",
             device_name(device), ". Please use register_kernel to do so.");
    fail(ErrorKind::NotImplemented, "Could not run '", op.info.name, "' on the device '", device_name(device),
         "': it has no kernel there");
  });
}

void copy_across(const Tensor& dst, const Tensor& src) {
  if (dst.device().is_cpu()) return copy_on_host(dst, to_host(src));
  const bool dense = is_dense(dst.sizes(), dst.strides());
  Tensor host = dense ? empty_strided(dst.sizes(), dst.strides(), {dst.dtype(), {}}) : to_host(dst);
  copy_on_host(host, src.device().is_cpu() ? src : to_host(src));
  from_host(dst, host);
}

Tensor to_device(const Tensor& t, Device device) {
  device = settled(device);
  Tensor out = empty_strided(t.sizes(), preserved_strides(t.sizes(), t.strides()), {t.dtype(), device});
  if (t.numel() && !device.is_meta()) copy_across(out, t);
  return out;
}

}  // namespace tl
