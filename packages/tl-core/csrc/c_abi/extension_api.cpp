// The functions behind the table of `tl/extension.h`.
#include "c_abi/extension_api.h"

#include "base/generator.h"
#include "dispatch/value.h"
#include "tensor/device_registry.h"

namespace tl::c_abi {

namespace {
Generator* generator(TlGenerator* g) { return reinterpret_cast<Generator*>(g); }

void tensor_view(const TlTensor* t, TlView* out) {
  const auto& impl = *reinterpret_cast<const TensorImpl*>(t);
  *out = {impl.data(),
          impl.dims,
          impl.dims + impl.ndim,
          impl.numel,
          dtype_to_abi(impl.dtype),
          device_to_abi(impl.device),
          impl.ndim,
          impl.has(TensorImpl::Contiguous)};
}

void generator_retain(TlGenerator* g) { generator(g)->retain(); }
void generator_release(TlGenerator* g) {
  if (g) generator(g)->release();
}
int64_t generator_device(const TlGenerator*) { return TL_DEVICE_OF(TL_DEVICE_CPU, -1); }

constexpr TlExtension kExtension = {
    sizeof(TlExtension), TL_API_MAJOR,      TL_API_MINOR,     tensor_view,
    generator_retain,    generator_release, generator_device,
};
}  // namespace

const TlExtension* get_extension() noexcept { return &kExtension; }

}  // namespace tl::c_abi
