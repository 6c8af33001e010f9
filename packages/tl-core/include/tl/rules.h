/* How an operator is transformed, as data: a table that opgen writes from the rows' `jvp`, `batch` and
 * `inverse` fields, in the capsule `tl_core._C.rules_v1`. The core only carries it; whoever transforms reads
 * it.
 */
#ifndef TL_RULES_H
#define TL_RULES_H

#include "tl/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor's bit: it stands for a batch that a transform hides; its memory is that of one example. */
#define TL_BIT_HIDES_BATCH (UINT64_C(1) << 63)

#define TL_RULES_CAPSULE "tl_core._C.rules_v1"

/* A third source of what a program reads (`TlSaved::source`): index 0 is the size of the batch or, in a
 * program of an inverse, what the view is to be; 1 + i whether argument i is batched or, in a program of
 * tangents, the tangents of a list. */
#define TL_SOURCE_EXTRA 2

typedef enum TlJvpKind {
  TL_JVP_NONE = 0,      /* results have no tangent; `jvp_text` says why */
  TL_JVP_COMPOSITE = 1, /* by the parts */
  TL_JVP_LINEAR = 2,    /* the operator, on the tangents */
  TL_JVP_ELEMENTWISE =
      3, /* the derivative's program with the conjugate tangent for the gradient, conjugated */
  TL_JVP_DOUBLE_VJP = 4, /* the derivative of the derivative's program, which is linear in the gradient */
  TL_JVP_FORMULA = 5,    /* `jvp`; gradient i is the tangent of argument i */
} TlJvpKind;

typedef enum TlBatchKind {
  TL_BATCH_COMPOSITE = 0,   /* by the parts */
  TL_BATCH_ELEMENTWISE = 1, /* batches in front, ranks aligned */
  TL_BATCH_DIMS = 2,        /* batches in front; arguments by their roles */
  TL_BATCH_FRONT = 3,       /* leading dimensions are the operator's own batches */
  TL_BATCH_FOLD = 4,        /* the batch becomes a part of dimension 0 */
  TL_BATCH_RANDOM = 5,      /* by the transform's randomness */
  TL_BATCH_REFUSE = 6,      /* cannot be; `batch_text` says why */
  TL_BATCH_FORMULA = 7,     /* `batch`, on tensors with the batch in front */
  TL_BATCH_LOOP = 8,        /* one example after the other */
  TL_BATCH_INDEX = 9,       /* tensors as indices */
} TlBatchKind;

/* What an argument means where dimensions are counted. */
typedef enum TlArgRole {
  TL_ROLE_PLAIN = 0,
  TL_ROLE_DIM = 1,   /* the number of a dimension */
  TL_ROLE_DIMS = 2,  /* numbers of dimensions; none are all */
  TL_ROLE_SIZES = 3, /* the sizes of a tensor */
  TL_ROLE_SOME = 4,  /* numbers of dimensions; none are none */
} TlArgRole;

typedef struct TlRule {
  const char* op; /* the row's operator: `TlOperatorInfo::functional` of each of its forms */
  uint8_t jvp_kind, batch_kind;
  uint16_t reserved;
  uint32_t as_they_are; /* bit i: the batch program takes argument i without a batch as it is */
  const char* jvp_text; /* the row's keyword and its reason; "rule" for a program */
  const char* batch_text;
  const TlProgram* jvp;
  const TlProgram* batch;
  const uint8_t* roles;     /* TlArgRole, one an argument */
  const TlProgram* inverse; /* of a view: what its input is once the view is another; NULL if there is none */
} TlRule;

typedef struct TlRules {
  size_t struct_size;
  uint32_t major, minor;
  size_t rule_size; /* of one rule as the core was compiled: what readers step by */
  int n;
  const TlRule* rules;
} TlRules;

/* Rule i, for a reader whose TlRule may be shorter than the core's. */
static inline const TlRule* tl_rule(const TlRules* rules, int i) {
  return (const TlRule*)((const char*)rules->rules + (size_t)i * rules->rule_size);
}

#ifdef __cplusplus
}
#endif
#endif /* TL_RULES_H */
