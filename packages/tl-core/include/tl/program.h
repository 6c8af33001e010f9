/* The derivative of an operator, as data.
 *
 * A row's formula is compiled at build time to a TlProgram. The core only carries it; whoever differentiates
 * runs it. A program says what to keep of a call (`saved`), and for each differentiable argument, or group of
 * them, how its gradient follows from the gradients of the results (`blocks`). Operators are called by
 * handle, so a derivative is differentiable in turn.
 *
 * An undefined gradient is a value of tag TL_NONE. It flows through: a call that meets one where its operator
 * demands a tensor yields TL_NONE without calling.
 */
#ifndef TL_PROGRAM_H
#define TL_PROGRAM_H

#include "tl/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TL_PROGRAM_FORMAT 1

typedef enum TlSource { TL_SOURCE_ARG = 0, TL_SOURCE_RESULT = 1 } TlSource;

/* What is kept of an argument or a result. Of a tensor list it is kept element by element. */
typedef enum TlMeta {
  TL_META_VALUE = 0, /* the thing itself: a tensor stays alive, a result without its place in the graph */
  TL_META_SHAPE = 1,
  TL_META_STRIDES = 2,
  TL_META_OFFSET = 3,
  TL_META_NDIM = 4,
  TL_META_NUMEL = 5,
  TL_META_DTYPE = 6,
  TL_META_DEVICE = 7,
  TL_META_LAYOUT = 8,
  TL_META_IS_COMPLEX = 9,
  TL_META_IS_FLOATING = 10,
  TL_META_IS_TENSOR = 11, /* of an operand: a tensor, not a number */
  TL_META_COUNT = 12,     /* of a list: its length */
} TlMeta;

typedef struct TlSaved {
  uint8_t source; /* TlSource */
  uint8_t index;  /* of the argument or result */
  uint8_t meta;   /* TlMeta */
  uint8_t reserved;
  uint32_t blocks; /* bit b: block b reads it; kept only if one of those blocks is needed */
} TlSaved;

/* An operand is a 16-bit word: kind in the upper four bits, index in the lower twelve. */
typedef enum TlOperandKind {
  TL_OPERAND_CONST = 0,
  TL_OPERAND_SAVED = 1,
  TL_OPERAND_GRAD = 2,  /* the gradient of result `index` */
  TL_OPERAND_GRADS = 3, /* the list of the gradients of all results */
  TL_OPERAND_REGISTER = 4,
  TL_OPERAND_NEEDS = 5,     /* whether target `index` of the program is needed */
  TL_OPERAND_NEEDS_ALL = 6, /* the same for every target of the block, as a bool list */
} TlOperandKind;
#define TL_OPERAND(kind, index) ((uint16_t)(((kind) << 12) | (index)))
#define TL_OPERAND_KIND(word) ((word) >> 12)
#define TL_OPERAND_INDEX(word) ((word) & 0x0fff)

typedef enum TlStepCode {
  TL_STEP_CALL = 0, /* op(inputs) to registers target, target + 1, … */
  TL_STEP_ARITH =
      1, /* like CALL, but evaluated directly (`arith`) if no input is a tensor; as a sum or difference, an
            undefined operand counts as zero; a product with the number 1 is the other operand */
  TL_STEP_CONJ = 2, /* like CALL; a real tensor or number is passed on */
  TL_STEP_MOVE = 3,
  TL_STEP_JUMP = 4,        /* to step `op` */
  TL_STEP_JUMP_UNLESS = 5, /* to step `op` if input 0 is false */
  TL_STEP_UNARY = 6,       /* `arith`: TL_ARITH_NEG, NOT, ABS, LEN, PROD, DEFINED, RANGE, LIST_SUM */
  TL_STEP_META = 7,        /* `arith`: TlMeta of a tensor (or list) that is at hand */
  TL_STEP_INDEX = 8,       /* list[int] */
  TL_STEP_SLICE = 9,       /* list[start:stop], either may be None */
  TL_STEP_LIST = 10,       /* a list of the inputs */
  TL_STEP_ZIP = 11,        /* a list of lists; stops with the shortest */
  TL_STEP_NEXT =
      12, /* inputs: list, counter register. At the end: jump to step `op`. Else target = list[counter++] */
  TL_STEP_APPEND = 13, /* input 0 to the list in register target */
} TlStepCode;

typedef enum TlArith {
  TL_ARITH_ADD = 0,
  TL_ARITH_SUB = 1,
  TL_ARITH_MUL = 2,
  TL_ARITH_DIV = 3,
  TL_ARITH_FLOORDIV = 4,
  TL_ARITH_MOD = 5,
  TL_ARITH_POW = 6,
  TL_ARITH_EQ = 7,
  TL_ARITH_NE = 8,
  TL_ARITH_LT = 9,
  TL_ARITH_LE = 10,
  TL_ARITH_GT = 11,
  TL_ARITH_GE = 12,
  TL_ARITH_IS = 13, /* only with None */
  TL_ARITH_IS_NOT = 14,
  TL_ARITH_IN = 15,
  TL_ARITH_MIN = 16,
  TL_ARITH_MAX = 17,
  TL_ARITH_NEG = 18,
  TL_ARITH_NOT = 19,
  TL_ARITH_ABS = 20,
  TL_ARITH_LEN = 21,
  TL_ARITH_PROD = 22,
  TL_ARITH_DEFINED = 23,
  TL_ARITH_RANGE = 24,
  TL_ARITH_LIST_SUM = 25,
} TlArith;

#define TL_NO_OPERATOR 0xffff

typedef struct TlStep {
  uint8_t code;  /* TlStepCode */
  uint8_t arith; /* TlArith or TlMeta, by code */
  uint8_t n_inputs;
  uint8_t n_results;
  uint16_t target; /* register */
  uint16_t inputs; /* where they start in `operands` */
  uint16_t op;     /* index in `ops`, or the step to jump to */
} TlStep;

/* An argument with a gradient. A tensor-list argument is one target; its gradient is a list. */
typedef struct TlTarget {
  uint8_t arg;
  uint8_t is_list;
  uint16_t count; /* of a list: the index in `saved` of its length */
} TlTarget;

/* The steps that make the gradients of targets [first_target, first_target + n_targets), run if one of them
 * is needed. */
typedef struct TlBlock {
  uint16_t first_target, n_targets;
  uint16_t first_step, n_steps;
  uint16_t results; /* where the n_targets results start in `operands` */
} TlBlock;

enum {
  TL_PROGRAM_ELEMENTWISE =
      1, /* reserved for compilers: every block is elementwise in gradients and saved tensors */
};

typedef struct TlProgram {
  uint16_t format; /* TL_PROGRAM_FORMAT */
  uint16_t flags;
  uint16_t n_targets, n_saved, n_blocks, n_steps, n_operands, n_consts, n_ops, n_registers;
  const TlTarget* targets;
  const TlSaved* saved;
  const TlBlock* blocks;
  const TlStep* steps;
  const uint16_t* operands;
  const TlValue* consts;
  const char* const* ops; /* operator names, resolved at first use */
} TlProgram;

#ifdef __cplusplus
}
#endif
#endif /* TL_PROGRAM_H */
