#include "dispatch/fallback.h"

#include <cstring>

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

// The arguments of a call with the device's tensors replaced by host copies.
class HostCall {
 public:
  HostCall(const Operator& op, const TlValue* args, int n_args) : op_(op), args_(args, args + n_args) {
    originals_.assign(args, args + n_args);
    for (auto& v : args_) move(v);
    check_devices();
  }

  int run(TlValue* rets, int n_rets) {
    return call(op_, args_.data(), static_cast<int>(args_.size()), rets, n_rets);
  }

  void write_back() const {
    for (size_t i = 0; i < args_.size(); ++i)
      if (op_.written_mask >> i & 1) write_back(originals_[i], args_[i]);
  }

  // Results go to the device, and a result that is a written argument is that argument.
  void deliver(TlValue* rets, int n_rets) {
    const int first_out = static_cast<int>(args_.size()) - n_rets;
    for (int i = 0; i < n_rets; ++i) {
      if (op_.info.variant == TL_INPLACE)
        replace(rets[i], originals_[0]);
      else if (op_.info.variant == TL_OUT)
        replace(rets[i], originals_[first_out + i]);
      else
        lift(rets[i]);
    }
  }

 private:
  // Tensors in lists and indices may lie on the CPU, like numbers in 0-d tensors.
  void check_devices() const {
    for (const auto& v : originals_) {
      if (v.tag != TL_TENSOR) continue;
      const auto& t = *reinterpret_cast<TensorImpl*>(v.u.t);
      TL_CHECK(t.device == device_ || (t.device.is_cpu() && t.ndim == 0), Runtime, op_.info.name,
               ": Expected all tensors to be on the same device, but found at least two devices, ",
               device_name(device_), " and ", device_name(t.device), "!");
    }
  }

  static bool foreign(const TensorImpl* t) { return t && !t->device.is_cpu(); }

  TensorImpl* host_copy(TensorImpl* t) {
    if (!foreign(t)) return t;
    device_ = t->device;
    keep_.push_back(to_host(Tensor::share(t)));
    return keep_.back().impl();
  }

  void move(TlValue& v) {
    if (v.tag == TL_TENSOR) {
      v.u.t = reinterpret_cast<TlTensor*>(host_copy(reinterpret_cast<TensorImpl*>(v.u.t)));
    } else if (v.tag == TL_TENSOR_LIST) {
      auto* list = static_cast<TensorImpl* const*>(v.u.p);
      auto& copy = lists_.emplace_back(list, list + v.len);
      for (auto& t : copy) t = host_copy(t);
      v.u.p = copy.data();
    } else if (v.tag == TL_DEVICE) {
      device_ = settled(device_from_abi(v.u.i));
      v.u.i = device_to_abi({});
    }
  }

  static void write_back(const TlValue& original, const TlValue& host) {
    if (original.tag == TL_TENSOR) return write_back(original.u.t, host.u.t);
    if (original.tag != TL_TENSOR_LIST) return;
    for (uint32_t i = 0; i < original.len; ++i)
      write_back(static_cast<TlTensor* const*>(original.u.p)[i], static_cast<TlTensor* const*>(host.u.p)[i]);
  }
  static void write_back(TlTensor* original, TlTensor* host) {
    Tensor dst = Tensor::share(reinterpret_cast<TensorImpl*>(original));
    Tensor src = Tensor::share(reinterpret_cast<TensorImpl*>(host));
    if (dst.same(src)) return;
    if (!std::ranges::equal(dst.sizes(), src.sizes())) resize(dst, src.sizes());
    copy_across(dst, src);
    bump_version(*dst.impl());
  }

  static void replace(TlValue& ret, const TlValue& by) {
    release(ret);
    ret = owned(Tensor::share(reinterpret_cast<TensorImpl*>(by.u.t)));
  }

  Tensor lifted(TensorImpl* t) const { return to_device(Tensor::share(t), device_); }
  void lift(TlValue& v) {
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

  const Operator& op_;
  std::vector<TlValue> args_, originals_;
  std::vector<std::vector<TensorImpl*>> lists_;
  std::vector<Tensor> keep_;
  Device device_;
};

void run_on_host(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  HostCall host(op, args, n_args);
  if (host.run(rets, n_rets) != 0) throw_pending();
  host.write_back();
  host.deliver(rets, n_rets);
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
    const bool extension = device >= DeviceType::Extension0 && device_registered(device);
    if (extension && device_entry(device).def.cpu_fallback)
      return run_on_host(op, args, n_args, rets, n_rets);
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
