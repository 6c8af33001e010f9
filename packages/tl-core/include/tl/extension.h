/* What extensions need beside tensors and operators: the facts of a tensor in one call, random generators,
 * warnings, modes, and the registration of kernels that can be taken back. A third table, in the capsule
 * `tl_core._C.extension_v1`; the conventions of `tl/c_api.h` hold for every entry. */
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

/* The facts of a tensor, as they are at the call. Sizes and strides are borrowed from the tensor. This struct
 * never grows: more facts come with another entry. */
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

typedef struct TlStorage TlStorage; /* memory that tensors share; reference counted */

/* An object of an extension, in the arguments and results of operators: `Capsule` in a schema. Python sees a
 * PyCapsule with the data and the name of the type. Reference counted. */
typedef struct TlCapsule TlCapsule;
typedef struct TlCapsuleType { /* must outlive the process; the address is the type */
  size_t struct_size;
  const char* name;
  void (*destroy)(void* data); /* when nobody holds the object, on any thread, with or without the GIL */
} TlCapsuleType;

/* The category of a warning: the class of Python. */
typedef enum TlWarning {
  TL_WARNING_USER = 0,
  TL_WARNING_DEPRECATION = 1,
  TL_WARNING_FUTURE = 2,
  TL_WARNING_RUNTIME = 3
} TlWarning;

typedef struct TlExtension {
  size_t struct_size;
  uint32_t major, minor;

  /* The sizes of structures of the core that readers get in arrays or by pointer: what they step by. */
  size_t argument_info_size; /* TlArgInfo */
  size_t operator_info_size; /* TlOperatorInfo */

  /* Where a tensor has its geometry, in bytes from the handle: `tl_numel`, `tl_ndim` and `tl_sizes` read it.
   */
  size_t numel_offset; /* int64_t */
  size_t ndim_offset;  /* uint8_t */
  size_t sizes_offset; /* const int64_t*: sizes, then strides */

  /* errors: what the pending one may carry beside its kind and message */
  void (*error_where_set)(const char* where);
  const char* (*error_where)(void); /* borrowed until the next call of an error_ entry; "": unknown */
  /* The error that led to the pending one, taken by `error_take`; takes ownership. In Python, the place is a
   * note of the exception, and the other error its cause. */
  void (*error_cause_set)(void* error);

  /* tensors */
  void (*tensor_view)(const TlTensor* t, TlView* out);

  /* storages */
  TlStorage* (*storage_of)(TlTensor* t); /* owned; NULL with an error if the tensor has none */
  TlStorage* (*storage_create)(int64_t bytes, int64_t device); /* owned; uninitialized */
  /* Owned; `free` is called when nobody holds the memory any more. */
  TlStorage* (*storage_from_memory)(void* data, int64_t bytes, int64_t device, void (*free)(void* ctx),
                                    void* ctx);
  void (*storage_retain)(TlStorage* s);
  void (*storage_release)(TlStorage* s); /* accepts NULL */
  int64_t (*storage_refcount)(const TlStorage* s);
  void* (*storage_data)(const TlStorage* s); /* NULL if there is none: meta, empty, or with an error */
  int64_t (*storage_bytes)(const TlStorage* s);
  int64_t (*storage_device)(const TlStorage* s);      /* TL_DEVICE_OF */
  int (*storage_resize)(TlStorage* s, int64_t bytes); /* keeps what fits */
  TlTensor* (*tensor_on_storage)(TlStorage* s, int ndim, const int64_t* sizes, const int64_t* strides,
                                 int64_t offset, int64_t dtype); /* owned; the geometry is checked */

  /* random generators, of the CPU */
  TlGenerator* (*generator_default)(void);         /* borrowed */
  TlGenerator* (*generator_create)(uint64_t seed); /* owned */
  void (*generator_retain)(TlGenerator* g);
  void (*generator_release)(TlGenerator* g);         /* accepts NULL */
  int64_t (*generator_device)(const TlGenerator* g); /* TL_DEVICE_OF */
  void (*generator_seed)(TlGenerator* g, uint64_t seed);
  uint64_t (*generator_initial_seed)(const TlGenerator* g);
  /* The next n numbers of 64 random bits, drawn under the generator's lock. */
  void (*generator_draw)(TlGenerator* g, uint64_t* out, size_t n);
  size_t (*generator_state_bytes)(void);
  void (*generator_get_state)(const TlGenerator* g, void* bytes);
  int (*generator_set_state)(TlGenerator* g, const void* bytes, size_t size);

  /* A warning of Python (TlWarning). -1 with the pending error if a filter turns it into one. */
  int (*warn)(int category, const char* message);

  /* modes of the thread */
  void (*set_inference_mode)(int on);
  int (*autocast_enabled)(int device_type);   /* 1, 0; -1 with an error for an unknown device */
  int64_t (*autocast_dtype)(int device_type); /* TL_DTYPE_OF; -1 with an error for an unknown device */

  /* operators that come and go */
  /* The kernel for a device from now on; `previous` (may be NULL) gets the one before. An entry with call ==
   * NULL: there is none. */
  int (*kernel_exchange)(const TlOperator* op, int device_type, TlLayerEntry entry, TlLayerEntry* previous);
  /* What a layer does with one operator, whoever the layer belongs to; call == NULL: it falls through. */
  int (*layer_entry_set)(const TlOperator* op, int layer, TlLayerEntry entry, TlLayerEntry* previous);
  int (*layer_entry_drop)(const TlOperator* op, int layer); /* the layer's own entry again */
  int (*layer_entry_get)(const TlOperator* op, int layer, TlLayerEntry* out);
  int (*op_set_composite)(const TlOperator* op, int on); /* it differentiates through its parts */
  int (*op_remove)(const TlOperator* op); /* an operator of `op_register`; its name is free again */

  /* A number for `slot_get` and `slot_set` that nobody else gets; the name says whose it is. -1 with a
   * ValueError if the name has a number already. */
  int (*slot_key)(const char* name);

  /* The numbers of all layers in the order in which a call meets them: their count comes back, and at most n
   * of them are written. */
  size_t (*layer_order)(int* out, size_t n);

  /* As `tensor_data`, for elements of the type (TL_DTYPE_OF); NULL without an error for those of another. */
  void* (*tensor_data_of)(const TlTensor* t, int64_t dtype);

  /* objects of extensions */
  TlCapsule* (*capsule_create)(void* data, const TlCapsuleType* type); /* owned; data is not NULL */
  void (*capsule_retain)(TlCapsule* c);
  void (*capsule_release)(TlCapsule* c); /* accepts NULL */
  /* The data; NULL with a TypeError for an object of another type. */
  void* (*capsule_data)(const TlCapsule* c, const TlCapsuleType* type);
} TlExtension;

/* The geometry of a tensor without a call. Unlike `tensor_view`, these do not compute the memory of a tensor
 * that waits for it. */
static inline int64_t tl_numel(const TlExtension* extension, const TlTensor* t) {
  return *(const int64_t*)((const char*)t + extension->numel_offset);
}
static inline int tl_ndim(const TlExtension* extension, const TlTensor* t) {
  return *((const uint8_t*)t + extension->ndim_offset);
}
/* Sizes, then strides; borrowed from the tensor. */
static inline const int64_t* tl_sizes(const TlExtension* extension, const TlTensor* t) {
  return *(const int64_t* const*)((const char*)t + extension->sizes_offset);
}

/* Argument or result i of an operator, for a reader whose TlArgInfo may be shorter than the core's. */
static inline const TlArgInfo* tl_argument(const TlExtension* extension, const TlArgInfo* infos, int i) {
  return (const TlArgInfo*)((const char*)infos + (size_t)i * extension->argument_info_size);
}

#ifdef __cplusplus
}
#endif
#endif /* TL_EXTENSION_H */
