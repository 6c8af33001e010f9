/* An extension in plain C on tl/c_api.h: an operator with kernel and derivative, one that fails inside
 * parallel work, and a layer that counts calls. */
#include <string.h>
#include <tl/program.h>
#include <tl/python.h>

static const TlApi* api;
static const TlPython* python;

static TlValue tensor_value(TlTensor* t) {
  TlValue v;
  memset(&v, 0, sizeof v);
  v.tag = TL_TENSOR;
  v.u.t = t;
  return v;
}

/* ---- plain::cube: x * x * x of float64, its derivative as a program ------------------------------------ */

static int fail(int kind, const char* message) {
  api->error_set(kind, message);
  return -1;
}

static TlTensor* dense(TlTensor* t) {
  TlValue args[2], result;
  memset(args, 0, sizeof args);
  memset(&result, 0, sizeof result);
  args[0] = tensor_value(t);
  args[1].tag = TL_MEMORY_FORMAT;
  args[1].u.i = TL_CONTIGUOUS;
  return api->op_call(api->op_find("clone"), args, 2, &result, 1) == 0 ? result.u.t : NULL;
}

struct Cube {
  const double* in;
  double* out;
};
static void cube_range(void* ctx, int64_t begin, int64_t end) {
  const struct Cube* c = (const struct Cube*)ctx;
  int64_t i;
  for (i = begin; i < end; ++i) c->out[i] = c->in[i] * c->in[i] * c->in[i];
}

static int cube(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  TlTensor *in, *out;
  struct Cube work;
  (void)ctx, (void)n_args, (void)n_rets;
  if (api->tensor_dtype(args[0].u.t) != TL_DTYPE_OF(TL_CODE_FLOAT, 64))
    return fail(TL_ERROR_TYPE, "plain::cube: argument 'self' must be of float64");
  in = dense(args[0].u.t);
  if (!in) return -1;
  out = api->tensor_empty(api->tensor_ndim(in), api->tensor_sizes(in), api->tensor_dtype(in),
                          api->tensor_device(in));
  if (out) {
    work.in = (const double*)api->tensor_data(in);
    work.out = (double*)api->tensor_data(out);
    if (api->parallel_for(0, api->tensor_numel(in), 4096, cube_range, &work) != 0) {
      api->tensor_release(out);
      out = NULL;
    }
  }
  api->tensor_release(in);
  if (!out) return -1;
  rets[0] = tensor_value(out);
  return 0;
}

/* g * (self * self * 3) */
static const TlTarget cube_targets[] = {{0, 0, 0}};
static const TlSaved cube_saved[] = {{TL_SOURCE_ARG, 0, TL_META_VALUE, 0, 1}};
static const uint16_t cube_operands[] = {
    TL_OPERAND(TL_OPERAND_SAVED, 0),    TL_OPERAND(TL_OPERAND_SAVED, 0), TL_OPERAND(TL_OPERAND_REGISTER, 0),
    TL_OPERAND(TL_OPERAND_CONST, 0),    TL_OPERAND(TL_OPERAND_GRAD, 0),  TL_OPERAND(TL_OPERAND_REGISTER, 1),
    TL_OPERAND(TL_OPERAND_REGISTER, 2),
};
static const TlStep cube_steps[] = {
    {TL_STEP_CALL, 0, 2, 1, 0, 0, 0},
    {TL_STEP_CALL, 0, 2, 1, 1, 2, 0},
    {TL_STEP_CALL, 0, 2, 1, 2, 4, 0},
};
static const TlBlock cube_blocks[] = {{0, 1, 0, 3, 6}};
static const TlValue cube_consts[] = {{TL_INT, 0, {3}}};
static const char* const cube_ops[] = {"mul.Tensor"};
static const TlProgram cube_program = {
    TL_PROGRAM_FORMAT,
    0,
    1,
    1,
    1,
    3,
    7,
    1,
    1,
    3,
    cube_targets,
    cube_saved,
    cube_blocks,
    cube_steps,
    cube_operands,
    cube_consts,
    cube_ops,
};

/* ---- plain::checked_sum: fails from within a chunk ----------------------------------------------------- */

static void check_range(void* ctx, int64_t begin, int64_t end) {
  const double* in = (const double*)ctx;
  int64_t i;
  for (i = begin; i < end; ++i)
    if (in[i] < 0) {
      api->error_set(TL_ERROR_VALUE, "plain::checked_sum: a negative element");
      return;
    }
}

static int checked_sum(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const double* in = (const double*)api->tensor_data(args[0].u.t);
  const int64_t n = api->tensor_numel(args[0].u.t);
  double sum = 0;
  int64_t i;
  (void)ctx, (void)n_args, (void)n_rets;
  if (api->parallel_for(0, n, 1000, check_range, (void*)in) != 0) return -1;
  for (i = 0; i < n; ++i) sum += in[i];
  memset(&rets[0], 0, sizeof rets[0]);
  rets[0].tag = TL_FLOAT;
  rets[0].u.f = sum;
  return 0;
}

/* ---- a layer that counts ------------------------------------------------------------------------------- */

enum { MAX_OPERATORS = 8192 };
static struct Count {
  const TlOperator* op;
  int64_t calls;
} counts[MAX_OPERATORS];
static int n_counts = 0;

static int count_call(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  struct Count* count = (struct Count*)ctx;
  ++count->calls;
  return api->op_call_below(count->op, TL_LAYER_FUNCTIONALIZE, args, n_args, rets, n_rets);
}

static int bind_count(void* user, const TlOperator* op, TlLayerEntry* out) {
  (void)user;
  /* Looking up others while being asked must be possible. */
  if (!api->op_find("add.Tensor")) return -1;
  if (n_counts == MAX_OPERATORS) return fail(TL_ERROR_RUNTIME, "too many operators to count");
  counts[n_counts].op = op;
  out->call = count_call;
  out->ctx = &counts[n_counts++];
  return 0;
}

static PyObject* set_counting(PyObject* self, PyObject* on) {
  (void)self;
  api->thread_include((uint64_t)1 << TL_LAYER_FUNCTIONALIZE, PyObject_IsTrue(on));
  Py_RETURN_NONE;
}

static PyObject* calls_of(PyObject* self, PyObject* name) {
  const TlOperator* op;
  int i;
  (void)self;
  op = api->op_find(PyUnicode_AsUTF8(name));
  if (!op) {
    python->raise_pending();
    return NULL;
  }
  for (i = 0; i < n_counts; ++i)
    if (counts[i].op == op) return PyLong_FromLongLong(counts[i].calls);
  Py_RETURN_NONE;
}

/* ---- the module ---------------------------------------------------------------------------------------- */

static PyObject* call_unary(const char* name, PyObject* argument) {
  TlTensor* t = python->unwrap(argument);
  TlValue args[1], result;
  memset(&result, 0, sizeof result);
  if (!t) return PyErr_Format(PyExc_TypeError, "expected a Tensor, got %s", Py_TYPE(argument)->tp_name);
  args[0] = tensor_value(t);
  if (api->op_call(api->op_find(name), args, 1, &result, 1) != 0) {
    python->raise_pending();
    return NULL;
  }
  return python->from_value(&result);
}

static PyObject* py_cube(PyObject* self, PyObject* argument) {
  (void)self;
  return call_unary("plain::cube", argument);
}
static PyObject* py_checked_sum(PyObject* self, PyObject* argument) {
  (void)self;
  return call_unary("plain::checked_sum", argument);
}
static PyObject* py_table_size(PyObject* self, PyObject* ignored) {
  (void)self, (void)ignored;
  return Py_BuildValue("(nn)", (Py_ssize_t)sizeof(TlApi), (Py_ssize_t)api->struct_size);
}
static PyObject* py_need_minor(PyObject* self, PyObject* minor) {
  (void)self;
  if (!tl_import_api((uint32_t)PyLong_AsLong(minor))) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"cube", py_cube, METH_O, NULL},
    {"checked_sum", py_checked_sum, METH_O, NULL},
    {"set_counting", set_counting, METH_O, NULL},
    {"calls_of", calls_of, METH_O, NULL},
    {"table_size", py_table_size, METH_NOARGS, NULL},
    {"need_minor", py_need_minor, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "plain_c", NULL, -1, methods, NULL, NULL, NULL, NULL};

static int register_op(const char* schema, TlCall call, const TlProgram* program) {
  TlOperatorDef def;
  memset(&def, 0, sizeof def);
  def.struct_size = sizeof def;
  def.schema = schema;
  def.call = call;
  def.program = program;
  return api->op_register(&def, NULL);
}

PyMODINIT_FUNC PyInit_plain_c(void) {
  python = tl_import_python();
  api = python ? tl_import_api(0) : NULL;
  if (!api) return NULL;
  if (register_op("plain::cube(Tensor self) -> Tensor", cube, &cube_program) != 0 ||
      register_op("plain::checked_sum(Tensor self) -> Scalar", checked_sum, NULL) != 0 ||
      api->layer_install(TL_LAYER_FUNCTIONALIZE, bind_count, NULL) != 0) {
    python->raise_pending();
    return NULL;
  }
  return PyModule_Create(&module);
}
