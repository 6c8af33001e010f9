/* Gradients, for extensions: tl-autograd's own table, in the capsule `tl_autograd._C.autograd_v1`. The
 * conventions of `tl/c_api.h` hold for every entry. `tl_import_autograd` imports tl_autograd. */
#ifndef TL_AUTOGRAD_H
#define TL_AUTOGRAD_H

#include "tl/python.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TL_AUTOGRAD_CAPSULE "tl_autograd._C.autograd_v1"

/* What `record` is told of an output, one byte each. */
enum {
  TL_OUTPUT_PLAIN = 0,
  TL_OUTPUT_WRITTEN = 1, /* it is an input that was written in place */
  TL_OUTPUT_CONSTANT = 2 /* it has no gradient */
};

/* The gradients of the outputs of a call in, those of its inputs out. `grads` are borrowed and NULL where
 * undefined. `out` starts as NULLs: for each input with a byte in `needs` it gets an owned tensor, or stays
 * NULL where the gradient is zero. With `create_graph`, what it calls is recorded. */
typedef int (*TlBackward)(void* ctx, TlTensor* const* grads, int n_outputs, const uint8_t* needs,
                          TlTensor** out, int n_inputs, int create_graph);

/* For `backward` and `gradients`, added up. */
enum { TL_RETAIN_GRAPH = 1, TL_CREATE_GRAPH = 2, TL_ALLOW_UNUSED = 4 };

/* For `record`. */
typedef struct TlNodeDef {
  size_t struct_size;
  const char* name; /* copied: the name of `grad_fn` */
  void* ctx;
  TlBackward backward;
  void (*release)(void* ctx); /* frees what was saved, as no other backward follows; may be NULL */
  void (*destroy)(void* ctx); /* may be NULL */
} TlNodeDef;

/* Called with a gradient, borrowed. `replacement` may get an owned tensor that stands for it. */
typedef int (*TlGradientHook)(void* ctx, TlTensor* grad, TlTensor** replacement);

typedef struct TlAutograd {
  size_t struct_size;
  uint32_t major, minor;

  int (*requires_grad)(TlTensor* t); /* 1, 0 or -1 */
  int (*set_requires_grad)(TlTensor* t, int on);
  int (*is_leaf)(TlTensor* t);                  /* 1, 0 or -1 */
  int (*grad)(TlTensor* t, TlTensor** out);     /* owned, or NULL if there is none */
  int (*set_grad)(TlTensor* t, TlTensor* grad); /* grad NULL: none */
  int (*retain_grad)(TlTensor* t);
  /* `destroy` (may be NULL) is called when the hook is gone. */
  int (*add_hook)(TlTensor* t, TlGradientHook hook, void* ctx, void (*destroy)(void* ctx));

  /* Adds gradients to the leaves, or to `inputs` alone if there are any. `grads`, or an entry of it, may be
   * NULL for a tensor of one element. */
  int (*backward)(TlTensor* const* outputs, TlTensor* const* grads, int n_outputs, TlTensor* const* inputs,
                  int n_inputs, int graph_flags);
  /* Writes owned gradients of the inputs to `out`; with TL_ALLOW_UNUSED, NULL where an input is not used. */
  int (*gradients)(TlTensor* const* outputs, TlTensor* const* grads, int n_outputs, TlTensor* const* inputs,
                   int n_inputs, int graph_flags, TlTensor** out);

  /* Makes `outputs`, which somebody computed from `inputs` without recording, results of one node. `kinds`
   * may be NULL: all are plain. 1: recorded; 0: no input requires a gradient, or recording is off; -1. Takes
   * over `ctx` in every case: where no node is left, it is destroyed. */
  int (*record)(const TlNodeDef* node, TlTensor* const* inputs, int n_inputs, TlTensor* const* outputs,
                const uint8_t* kinds, int n_outputs);
} TlAutograd;

/* The table; NULL with a Python exception if tl_autograd cannot be imported or is too old. */
static inline const TlAutograd* tl_import_autograd(void) {
  return (const TlAutograd*)tl_import_table(TL_AUTOGRAD_CAPSULE, sizeof(TlAutograd));
}

#ifdef __cplusplus
}
#endif
#endif /* TL_AUTOGRAD_H */
