/* The C interface of tl-core: one append-only table of functions, handed over as the capsule
 * `tl_core._C.api_v1`.
 *
 * Conventions that hold for every entry:
 *   - A function returns 0 on success and -1 on failure unless its comment says otherwise; functions that
 * return a pointer return NULL on failure. The error (kind, message) is then pending on the calling thread:
 * see `error_*`.
 *   - No entry lets a C++ exception through.
 *   - Handles are reference counted. A pointer is *borrowed* unless its comment says *owned*; an owned handle
 * is given back with `tensor_release`.
 *   - Sizes, strides and offsets count elements and are int64_t. Dtypes and devices carry DLPack's codes.
 *   - No entry needs the GIL. `tl/python.h` is the bridge to Python objects.
 */
#ifndef TL_C_API_H
#define TL_C_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TL_API_MAJOR 1
#define TL_API_MINOR 0
#define TL_API_CAPSULE "tl_core._C.api_v1"

/* The newest minor whose entries an extension uses. Entries of newer minors are hidden. */
#ifndef TL_API_TARGET
#define TL_API_TARGET TL_API_MINOR
#endif

typedef struct TlTensor TlTensor;         /* reference counted */
typedef struct TlWeakTensor TlWeakTensor; /* reference counted, does not keep the tensor's memory */
typedef struct TlGenerator TlGenerator;   /* reference counted */
typedef struct TlOperator TlOperator;     /* lives as long as the process */

/* ---- values -------------------------------------------------------------------------------------------- */

/* Lists and complex numbers are borrowed from the caller's frame as arguments, and owned by the caller as
 * results (free with `value_release`). Tags 0x40-0x7f are reserved for later minors, 0x80 and up for the
 * core's own use. */
typedef enum TlTag {
  TL_NONE = 0,
  TL_BOOL = 1,          /* i: 0 or 1 */
  TL_INT = 2,           /* i */
  TL_FLOAT = 3,         /* f */
  TL_COMPLEX = 4,       /* p: double[2] */
  TL_DTYPE = 5,         /* i: TL_DTYPE_OF(code, bits) */
  TL_DEVICE = 6,        /* i: TL_DEVICE_OF(type, index); index -1 = the current one */
  TL_LAYOUT = 7,        /* i: TlLayout */
  TL_MEMORY_FORMAT = 8, /* i: TlMemoryFormat */
  TL_STRING = 9,        /* p: const char*, len bytes, not necessarily ended by a zero */
  TL_TENSOR = 10,       /* t; argument borrowed, result owned */
  TL_GENERATOR = 11,    /* p: TlGenerator* */
  TL_STREAM = 12,       /* i: the number of the stream, len: TL_STREAM_DEVICE(type, index) */
  TL_SYMINT = 13,       /* p: opaque */
  TL_OBJECT = 14,       /* p: PyObject*; needs the GIL, but for `value_own` and `value_release` */
  TL_STORAGE = 15,      /* p: TlStorage* (tl/extension.h) */
  TL_CAPSULE = 16,      /* p: TlCapsule* (tl/extension.h): an object of an extension */
  TL_BOOL_LIST = 32,    /* p: const uint8_t[len] */
  TL_INT_LIST = 33,     /* p: const int64_t[len] */
  TL_FLOAT_LIST = 34,   /* p: const double[len] */
  TL_SCALAR_LIST = 35,  /* p: const TlValue[len], each bool, int, float or complex */
  TL_STRING_LIST = 36,  /* p: const TlValue[len] */
  TL_TENSOR_LIST = 37,  /* p: TlTensor* const[len]; as an optional list an entry may be NULL */
} TlTag;

typedef struct TlValue {
  uint32_t tag;
  uint32_t len; /* number of elements of a list, of bytes of a string */
  union {
    int64_t i;
    double f;
    const void* p;
    TlTensor* t;
  } u;
} TlValue;

/* DLPack's type codes; 0x80 and above are tl's own. An element takes whole bytes: integers of fewer than
 * eight bits one each, and the types that pack several numbers into a byte have 8 bits here. */
enum {
  TL_CODE_INT = 0,
  TL_CODE_UINT = 1,
  TL_CODE_FLOAT = 2,
  TL_CODE_BFLOAT = 4,
  TL_CODE_COMPLEX = 5,
  TL_CODE_BOOL = 6,
  TL_CODE_FLOAT8_E4M3FN = 10,
  TL_CODE_FLOAT8_E4M3FNUZ = 11,
  TL_CODE_FLOAT8_E5M2 = 12,
  TL_CODE_FLOAT8_E5M2FNUZ = 13,
  TL_CODE_FLOAT8_E8M0FNU = 14,
  TL_CODE_FLOAT4_E2M1FN = 17, /* two a byte */
  TL_CODE_BITS = 0x80,        /* without a meaning; so are the next three: 1, 2, 4 bits, packed */
  TL_CODE_BITS1X8 = 0x81,
  TL_CODE_BITS2X4 = 0x82,
  TL_CODE_BITS4X2 = 0x83,
  TL_CODE_QUINT = 0x84, /* quantized */
  TL_CODE_QINT = 0x85,
  TL_CODE_QUINT4X2 = 0x86,
  TL_CODE_QUINT2X4 = 0x87
};
#define TL_DTYPE_OF(code, bits) ((int64_t)(((uint32_t)(code) << 16) | (uint32_t)(bits)))
#define TL_DTYPE_CODE(dtype) ((int)((dtype) >> 16))
#define TL_DTYPE_BITS(dtype) ((int)((dtype) & 0xffff))

/* DLPack's device types; META has no memory, 0x80-0x87 are open to extensions (`device_register`). */
enum {
  TL_DEVICE_CPU = 1,
  TL_DEVICE_CUDA = 2,
  TL_DEVICE_META = 0x7f,
  TL_DEVICE_EXTENSION = 0x80,
  TL_DEVICE_LIMIT = 0x88
};
#define TL_DEVICE_OF(type, index) ((int64_t)(((uint64_t)(uint32_t)(index) << 32) | (uint32_t)(type)))
#define TL_DEVICE_TYPE(device) ((int)((device) & 0xffffffff))
#define TL_DEVICE_INDEX(device) ((int)((device) >> 32))
#define TL_STREAM_DEVICE(type, index) ((uint32_t)(type) << 16 | (uint16_t)(index))
#define TL_STREAM_DEVICE_TYPE(len) ((int)((len) >> 16))
#define TL_STREAM_DEVICE_INDEX(len) ((int)(int16_t)((len) & 0xffff))

typedef enum TlLayout {
  TL_STRIDED = 0,
  TL_SPARSE_COO = 1,
  TL_SPARSE_CSR = 2,
  TL_SPARSE_CSC = 3,
  TL_SPARSE_BSR = 4,
  TL_SPARSE_BSC = 5
} TlLayout;
typedef enum TlMemoryFormat {
  TL_CONTIGUOUS = 0,
  TL_PRESERVE = 1,
  TL_CHANNELS_LAST = 2,
  TL_CHANNELS_LAST_3D = 3
} TlMemoryFormat;

/* Every operator, kernel, layer and plug-in is called this way. `rets` come in as TL_NONE or, for an
 * operator's in-place and out= forms, as the borrowed tensor to be written (and resized where the reference
 * resizes); they go out owned. */
typedef int (*TlCall)(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets);

/* ---- errors -------------------------------------------------------------------------------------------- */

typedef enum TlErrorKind {
  TL_ERROR_NONE = 0,
  TL_ERROR_RUNTIME = 1,
  TL_ERROR_VALUE = 2,
  TL_ERROR_TYPE = 3,
  TL_ERROR_INDEX = 4,
  TL_ERROR_NOT_IMPLEMENTED = 5,
  TL_ERROR_OUT_OF_MEMORY = 6,
  TL_ERROR_OVERFLOW = 7,
  TL_ERROR_ATTRIBUTE = 8,
  TL_ERROR_IMPORT = 9,
  TL_ERROR_INTERRUPT = 10, /* Ctrl-C */
  TL_ERROR_LINALG = 11,
  TL_ERROR_ZERO_DIVISION = 12,
  TL_ERROR_KEY = 13,
  TL_ERROR_PYTHON = 14, /* a Python exception travels with the error (python.h) */
  TL_ERROR_OS = 15,
  TL_ERROR_BUFFER = 16,
  TL_ERROR_ASSERTION = 17,
  TL_ERROR_ACCELERATOR = 18, /* a device reports it, perhaps later than the call that failed */
} TlErrorKind;

/* ---- layers -------------------------------------------------------------------------------------------- */

/* The number of a layer. Bit `1 << layer` of a tensor, a storage or a thread switches it on. Numbers stay;
 * the core keeps the order in which a call meets the layers apart from them: `layer_order` of tl/extension.h.
 */
typedef enum TlLayer {
  TL_LAYER_OBSERVE = 0,  /* counting, profiling */
  TL_LAYER_AUTOCAST = 1, /* above transforms: a level sees operators in the types they run in */
  TL_LAYER_TRANSFORMS = 2,
  TL_LAYER_TRACE = 3,
  TL_LAYER_SPARSE_PARTS = 4, /* sparse tensors: operators that are made of others for them; the core's own */
  TL_LAYER_AUTOGRAD = 5,
  TL_LAYER_VIEW = 6,
  TL_LAYER_FUNCTIONALIZE = 7,
  TL_LAYER_LAZYBITS = 8,
  TL_LAYER_PYTHON = 9,
  TL_LAYER_CHECK = 10,  /* looks at results: numerics */
  TL_LAYER_SPARSE = 11, /* tensors without strides: the core's own */
  TL_LAYER_STORED = 12, /* element types that few operators take: the core's own */
  TL_LAYER_DEFER = 13,  /* elementwise work that waits for its neighbours */
  TL_LAYER_SHRUNK = 14, /* storages without the memory of their tensors: the core's own */
  TL_LAYER_HOLLOW = 15, /* tensors without memory that stand for others: the core's own */
  TL_LAYER_NAMES = 16,  /* names of dimensions: the core's own, the last one */
  TL_LAYER_BATCH = 17,  /* below transforms: tensors that are batches of examples; open to packages */
  TL_LAYER_MESH = 18,   /* above autograd: tensors that are spread over processes; open to packages */
} TlLayer;

/* What a layer does with one operator; call == NULL: it falls through. */
typedef struct TlLayerEntry { /* never grows: it is passed by value */
  TlCall call;
  void* ctx;
} TlLayerEntry;

/* Asked once an operator, when the layer is installed or the operator is registered, whichever is later. */
typedef int (*TlLayerBind)(void* user, const TlOperator* op, TlLayerEntry* out);

/* Data a layer hangs on a tensor. `destroy` runs when the tensor dies or the slot is overwritten, on any
 * thread, without the GIL. `traverse` (may be NULL) reports the Python objects reachable through the slot,
 * under the GIL, to `visit`. The type must outlive the process. */
typedef int (*TlVisit)(void* py_object, void* arg);
typedef struct TlSlotType {
  size_t struct_size;
  void (*destroy)(void* data);
  int (*traverse)(void* data, TlVisit visit, void* arg);
  void (*clear)(void* data); /* breaks cycles for the garbage collector; may be NULL */
} TlSlotType;

/* ---- operators ----------------------------------------------------------------------------------------- */

typedef enum TlVariant { TL_FUNCTIONAL = 0, TL_INPLACE = 1, TL_OUT = 2 } TlVariant;

typedef enum TlArgKind {
  TL_ARG_TENSOR = 0,
  TL_ARG_TENSOR_LIST = 1,
  TL_ARG_OPTIONAL_TENSOR_LIST = 2,
  TL_ARG_OPERAND = 3, /* tensor or number */
  TL_ARG_SCALAR = 4,
  TL_ARG_BOOL = 5,
  TL_ARG_INT = 6,
  TL_ARG_FLOAT = 7,
  TL_ARG_STRING = 8,
  TL_ARG_DTYPE = 9,
  TL_ARG_DEVICE = 10,
  TL_ARG_LAYOUT = 11,
  TL_ARG_MEMORY_FORMAT = 12,
  TL_ARG_GENERATOR = 13,
  TL_ARG_INT_LIST = 14,
  TL_ARG_FLOAT_LIST = 15,
  TL_ARG_BOOL_LIST = 16,
  TL_ARG_SCALAR_LIST = 17,
  TL_ARG_OBJECT = 18,
  TL_ARG_STRING_LIST = 19,
  TL_ARG_STORAGE = 20,
  TL_ARG_STREAM = 21,
  TL_ARG_CAPSULE = 22,
} TlArgKind;

typedef struct TlArgInfo {
  const char* name;
  uint8_t kind;     /* TlArgKind */
  uint8_t optional; /* None is accepted */
  uint8_t alias;    /* 0: none; 1, 2, …: alias set, as (a), (b) in a schema */
  uint8_t written;  /* the alias set is written, as in (a!) */
  uint8_t keyword_only;
  uint8_t has_default;
} TlArgInfo;

typedef struct TlOperatorInfo {
  const char* name;   /* "add.Tensor" */
  const char* schema; /* "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor" */
  int n_args, n_rets;
  const TlArgInfo* args;
  const TlArgInfo* rets; /* alias says which argument a result is a view of */
  uint8_t variant;       /* TlVariant */
  uint8_t is_view;       /* results alias an input without being written */
  uint8_t is_random;
  const TlOperator* functional;    /* the row's functional form; itself if it is one */
  const struct TlProgram* program; /* the derivative (tl/program.h), NULL if composite or none */
  const char* no_grad_reason;      /* why there is no derivative, or NULL */
  uint8_t is_composite;            /* made of other operators; differentiates through them */
} TlOperatorInfo;

/* What `op_register` is told of an operator. */
enum {
  TL_DEFINE_COMPOSITE = 1, /* it is made of other operators and differentiates through them */
  TL_DEFINE_RANDOM = 2     /* it draws random numbers */
};

/* For `op_register`. Strings and arrays are copied. */
typedef struct TlOperatorDef {
  size_t struct_size;
  const char* schema;
  TlCall call; /* the kernel for `device_type`, or for every device with device_type 0; may be NULL */
  void* ctx;
  int device_type;
  const struct TlProgram* program; /* must outlive the process; NULL: none */
  uint32_t flags;                  /* TL_DEFINE_… */
  uint32_t n_tags;
  const char* const* tags; /* names of tags, such as "pointwise" */
  /* The operator of which this one is the in-place form, or the form with `out`: its last arguments are then
   * keywords, written, one a result. NULL: it is a form of its own. */
  const TlOperator* functional;
} TlOperatorDef;

enum { TL_MARK_CONJUGATED = 1, TL_MARK_NEGATED = 2 };

enum {
  TL_VIEW_MULTI_OUTPUT = 1, /* one of several views that a call returned */
  TL_VIEW_NO_GRAD = 2       /* taken while gradients were off */
};

/* ---- devices ------------------------------------------------------------------------------------------- */

typedef struct TlAllocation {
  void* data;
  void* ctx; /* handed to `free` */
} TlAllocation;

typedef struct TlDeviceDef {
  size_t struct_size;
  const char* name; /* "toy": devices print as toy:0 */
  int device_count;
  void* user;
  int (*allocate)(void* user, int index, size_t bytes, TlAllocation* out);
  void (*free)(void* user, int index, TlAllocation allocation, size_t bytes);
  /* Copies bytes between this device and the host, and within it; both sides are dense. */
  int (*copy_to_host)(void* user, int index, void* host, const void* device, size_t bytes);
  int (*copy_from_host)(void* user, int index, void* device, const void* host, size_t bytes);
  int (*copy_within)(void* user, int index, void* to, const void* from, size_t bytes);
  int cpu_fallback; /* 1: an operator without a kernel here runs on the CPU, by copying there and back */
} TlDeviceDef;

typedef struct TlThreadState TlThreadState; /* a snapshot of a thread's modes */

/* ---- work that waits ------------------------------------------------------------------------------------ */

/* One loop over the elements of an operator that works element by element, as its kernel would run it. */
typedef void (*TlElementLoop)(char* const* data, const int64_t* strides, int64_t n0, int64_t n1,
                              const void* params);

enum { TL_LOOP_INPUTS = 3, TL_LOOP_OPERANDS = 4, TL_LOOP_PARAMS = 64 };

/* Operand 0 is the output, the inputs follow. An input comes from a tensor among the arguments, from the
 * output of a loop of the same call, or is a number. */
enum { TL_FROM_ARGUMENT = 0, TL_FROM_LOOP = 1, TL_FROM_NUMBER = 2 };
typedef struct TlLoopOperand { /* never grows: it lies in TlLoop */
  int source;                  /* TL_FROM_…; 0 for the output */
  int index;          /* of the argument, in the order of `args` with lists counted one by one, or the loop */
  int64_t dtype;      /* in memory: TL_DTYPE_OF */
  int64_t loop_dtype; /* as the loop reads or writes it; the type of a number too */
  int ndim;           /* the geometry, relative to the source's; a number has none */
  const int64_t* sizes;
  const int64_t* strides;
  int64_t offset;
  TlElementLoop convert; /* between the two types, n1 rows of n0 elements; NULL where they are the same */
  char number[16];
} TlLoopOperand;

typedef struct TlLoop { /* grows at its end: the core allocates it */
  const char* name;     /* of the function: "add"; lives as long as the process */
  TlElementLoop run;
  int n_inputs;
  TlLoopOperand operands[TL_LOOP_OPERANDS];
  char params[TL_LOOP_PARAMS]; /* the numbers that `run` is given */
} TlLoop;
typedef int (*TlLoopVisit)(void* user, const TlLoop* loop);

/* Who computes the memory of pending tensors. Each is called on any thread, with or without the GIL. */
typedef struct TlDeferral {
  size_t struct_size;
  int (*settle)(void* ctx);         /* somebody asks for the memory: gives it by `tensor_provide` */
  void (*drop)(void* ctx);          /* nobody holds the tensor any more */
  int (*open)(const void* storage); /* somebody may write to a storage that pending work reads */
} TlDeferral;

/* ---- the table ----------------------------------------------------------------------------------------- */

typedef struct TlApi {
  size_t struct_size;
  uint32_t major, minor;

  /* errors */
  void (*error_set)(int kind, const char* message);
  int (*error_kind)(void);            /* of the pending error; TL_ERROR_NONE: none is pending */
  const char* (*error_message)(void); /* borrowed until the next call of an error_ entry */
  void (*error_clear)(void);
  void* (*error_take)(void); /* owned: moves the pending error out, to be restored on another thread */
  void (*error_restore)(void* error); /* takes ownership */
  void (*error_drop)(void* error);

  /* tensors */
  void (*tensor_retain)(TlTensor* t);
  void (*tensor_release)(TlTensor* t); /* accepts NULL */
  int64_t (*tensor_refcount)(TlTensor* t);
  int (*tensor_ndim)(const TlTensor* t);
  const int64_t* (*tensor_sizes)(const TlTensor* t);
  const int64_t* (*tensor_strides)(const TlTensor* t);
  int64_t (*tensor_offset)(const TlTensor* t);
  int64_t (*tensor_numel)(const TlTensor* t);
  int64_t (*tensor_dtype)(const TlTensor* t);  /* TL_DTYPE_OF */
  int64_t (*tensor_device)(const TlTensor* t); /* TL_DEVICE_OF */
  int (*tensor_layout)(const TlTensor* t);
  void* (*tensor_data)(const TlTensor* t); /* first element, or NULL (meta, empty) */
  int (*tensor_is_contiguous)(const TlTensor* t);
  TlTensor* (*tensor_empty)(int ndim, const int64_t* sizes, int64_t dtype, int64_t device); /* owned */
  TlTensor* (*tensor_from_memory)(void* data, int ndim, const int64_t* sizes, const int64_t* strides,
                                  int64_t dtype, int64_t device, void (*free)(void* ctx),
                                  void* ctx); /* owned; free when unused */
  TlTensor* (*tensor_alias)(
      TlTensor* t); /* owned: same storage and geometry, no slots, no bits, same version counter */
  TlTensor* (*tensor_view_base)(TlTensor* t); /* the tensor `t` is a view of, or NULL; borrowed */
  int (*tensor_set_view_base)(TlTensor* t, TlTensor* base); /* base NULL: not a view any more */
  const void* (*tensor_storage_id)(const TlTensor* t);
  int64_t (*tensor_storage_bytes)(const TlTensor* t);
  uint32_t (*tensor_version)(const TlTensor* t);
  void (*tensor_bump_version)(TlTensor* t);
  int (*tensor_is_inference)(const TlTensor* t);

  TlWeakTensor* (*weak_from)(TlTensor* t); /* owned */
  TlTensor* (*weak_lock)(TlWeakTensor* w); /* owned, or NULL if the tensor is gone (no error is set) */
  void (*weak_release)(TlWeakTensor* w);

  /* slots and bits */
  void* (*slot_get)(const TlTensor* t, int layer);
  int (*slot_set)(TlTensor* t, int layer, void* data,
                  const TlSlotType* type);    /* destroys what was there; data may be NULL */
  void* (*slot_take)(TlTensor* t, int layer); /* moves it out without destroying it */
  uint64_t (*bits_get)(const TlTensor* t);    /* the tensor's own, without the storage's */
  void (*bits_set)(TlTensor* t, uint64_t bits, int on);
  uint64_t (*storage_bits_get)(const TlTensor* t);
  void (*storage_bits_set)(TlTensor* t, uint64_t bits, int on); /* seen by every tensor on the storage */

  /* thread state */
  uint64_t (*thread_included)(void);
  uint64_t (*thread_excluded)(void);
  void (*thread_include)(uint64_t bits, int on);
  void (*thread_exclude)(uint64_t bits, int on);
  int (*grad_enabled)(void);
  void (*set_grad_enabled)(int on);
  int (*inference_mode)(void);
  TlThreadState* (*thread_capture)(void);                 /* owned */
  TlThreadState* (*thread_restore)(TlThreadState* state); /* installs it; returns the previous one, owned */
  void (*thread_state_drop)(TlThreadState* state);
  int (*interrupted)(void); /* 1 if the running work should stop; the error to end with is then pending */

  /* operators */
  const TlOperator* (*op_find)(const char* name); /* "add.Tensor"; NULL with an error if there is none */
  const TlOperatorInfo* (*op_info)(const TlOperator* op);
  size_t (*op_count)(void);
  const TlOperator* (*op_at)(size_t index);
  int (*op_call)(const TlOperator* op, const TlValue* args, int n_args, TlValue* rets, int n_rets);
  /* The rest of a call: `layer` and those above it are excluded while it runs. */
  int (*op_call_below)(const TlOperator* op, int layer, const TlValue* args, int n_args, TlValue* rets,
                       int n_rets);
  void (*value_release)(TlValue* value); /* frees what an owned result holds and makes it TL_NONE */
  int (*op_register)(const TlOperatorDef* def, const TlOperator** out);
  int (*kernel_register)(const char* op, int device_type, TlCall call, void* ctx);
  int (*layer_install)(int layer, TlLayerBind bind, void* user);
  int (*device_register)(const TlDeviceDef* def, int* device_type); /* the device's type code comes back */

  /* the machine */
  /* A body that fails leaves its error pending: the call then returns -1 with the error of the first chunk
   * that failed. */
  int (*parallel_for)(int64_t begin, int64_t end, int64_t grain,
                      void (*body)(void* ctx, int64_t begin, int64_t end), void* ctx);
  int (*num_threads)(void);

  /* what autograd asks of tensors */
  int64_t (*tensor_storage_refcount)(
      const TlTensor* t); /* tensors and others that share the storage; 0: there is none */
  int (*tensor_view_flags)(const TlTensor* t);                 /* TL_VIEW_… */
  int (*tensor_matches)(const TlTensor* a, const TlTensor* b); /* 1 if sizes, dtype and device are the same */

  /* what kernels outside the core need */
  int (*value_own)(const TlValue* value,
                   TlValue* out); /* a copy that may be a result: memory of its own, tensors retained */
  /* The call on the CPU with copies of a device's tensors, for a kernel that does not handle these arguments
   * itself. */
  int (*op_call_on_host)(const TlOperator* op, const TlValue* args, int n_args, TlValue* rets, int n_rets);

  /* TL_MARK_…: what has yet to be done to the elements in memory. Kernels meet no marked tensors. */
  int (*tensor_marks)(const TlTensor* t);

  /* As `tensor_alias`, with another geometry, which is not checked: for tensors whose memory nobody reads. */
  TlTensor* (*tensor_alias_as)(TlTensor* t, int ndim, const int64_t* sizes, const int64_t* strides,
                               int64_t offset);
  /* Gives `t` the memory and conjugate and negative bits of `source`, and this geometry, which is not
   * checked; counts as no write. */
  int (*tensor_assume)(TlTensor* t, TlTensor* source, int ndim, const int64_t* sizes, const int64_t* strides,
                       int64_t offset);

  /* The element type (TL_DTYPE_OF) to which an elementwise operator promotes these tensors and numbers;
   * TL_NONE counts for nothing. -1 with an error if they have no common type. */
  int64_t (*common_dtype)(const TlValue* values, int n_values);

  /* Work that waits, for the package that installs the layer `defer`. */
  int (*deferral_install)(const TlDeferral* deferral);
  /* A tensor on the CPU without memory: `ctx` is handed to the functions of the deferral. */
  TlTensor* (*tensor_pending)(int ndim, const int64_t* sizes, const int64_t* strides, int64_t dtype,
                              void* ctx);         /* owned */
  void* (*tensor_pending_ctx)(const TlTensor* t); /* NULL: the tensor has its memory */
  /* A tensor on the storage, owned; NULL, without an error, if its last holder is letting it go. */
  TlTensor* (*storage_lock)(const void* storage);
  /* Gives the pending storage of `t` the memory of `source`, whose storage is left without; counts as no
   * write. */
  int (*tensor_provide)(TlTensor* t, TlTensor* source);
  /* Whether the memory's address has been handed out, or is another library's: it changes unseen. */
  int (*tensor_is_exposed)(const TlTensor* t);
  /* The loops of a call over these arguments, in their order. Nothing is computed: `rets` come out as
   * references, TL_INT: the index of a loop, or -1 - i for the i-th argument itself. 0, or 1 without an error
   * if the call is not made of such loops alone, or -1 with the error that the call would raise. With `args`
   * NULL: whether the operator ever is. */
  int (*op_loops)(const TlOperator* op, const TlValue* args, int n_args, TlValue* rets, int n_rets,
                  TlLoopVisit visit, void* user);
  /* As `op_call_below`, but what is called inside meets every layer: for a layer that only looks on. */
  int (*op_call_past)(const TlOperator* op, int layer, const TlValue* args, int n_args, TlValue* rets,
                      int n_rets);

  /* Appended entries go here; `abi/v1.txt` records the order. */
} TlApi;

/* In the capsule TL_API_CAPSULE. NULL with an error if the core is of another major or older than
 * `min_minor`. */
typedef const TlApi* (*TlGetApi)(uint32_t major, uint32_t min_minor);

#ifdef __cplusplus
}
#endif
#endif /* TL_C_API_H */
