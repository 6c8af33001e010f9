/* What extensions need beside tensors and operators: the facts of a tensor in one call, random generators.
 * A third table, in the capsule `tl_core._C.extension_v1`; the conventions of `tl/c_api.h` hold for every
 * entry. */
#ifndef TL_EXTENSION_H
#define TL_EXTENSION_H

#include "tl/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TL_EXTENSION_CAPSULE "tl_core._C.extension_v1"

/* The name of a capsule with a `TlLayerEntry`: a kernel that Python registers where it takes a function. The
 * entry must outlive the process. */
#define TL_KERNEL_CAPSULE "tl_core.kernel"

/* The facts of a tensor, as they are at the call. Sizes and strides are borrowed from the tensor. */
typedef struct TlView {
  void* data; /* first element, or NULL (meta, empty) */
  const int64_t* sizes;
  const int64_t* strides;
  int64_t numel;
  int64_t dtype;  /* TL_DTYPE_OF */
  int64_t device; /* TL_DEVICE_OF */
  int32_t ndim;
  int32_t is_contiguous;
} TlView;

typedef struct TlExtension {
  size_t struct_size;
  uint32_t major, minor;

  void (*tensor_view)(const TlTensor* t, TlView* out);

  void (*generator_retain)(TlGenerator* g);
  void (*generator_release)(TlGenerator* g);         /* accepts NULL */
  int64_t (*generator_device)(const TlGenerator* g); /* TL_DEVICE_OF */
} TlExtension;

#ifdef __cplusplus
}
#endif
#endif /* TL_EXTENSION_H */
