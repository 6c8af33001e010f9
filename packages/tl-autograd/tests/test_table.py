"""The table of tl/autograd.h, used by an extension in C."""

from __future__ import annotations

import gc
import importlib.util
import shutil
import subprocess
import sysconfig
import warnings
from pathlib import Path
from typing import Any

import pytest

import tl_autograd
import tl_core as tl

SOURCE = r"""
#include "tl/autograd.h"

static const TlApi* api;
static const TlPython* bridge;
static const TlAutograd* autograd;
static int saved, released, destroyed, hooks;

static PyObject* finish(int status, PyObject* result) {
  if (status >= 0) return result ? result : Py_NewRef(Py_None);
  Py_XDECREF(result);
  bridge->raise_pending();
  return NULL;
}
static TlTensor* tensor(PyObject* o) { return o == Py_None ? NULL : bridge->unwrap(o); }

/* ---- a function: x * y, whose gradient is a call of operators that can be recorded ---- */
typedef struct Saved {
  TlTensor *x, *y;
  int trouble;
} Saved;
static int mul(TlTensor* a, TlTensor* b, TlTensor** out) {
  TlValue args[2] = {{TL_TENSOR, 0, {.t = a}}, {TL_TENSOR, 0, {.t = b}}}, ret = {TL_NONE, 0, {0}};
  if (api->op_call(api->op_find("mul.Tensor"), args, 2, &ret, 1) != 0) return -1;
  *out = ret.u.t;
  return 0;
}
static int mul_backward(void* ctx, TlTensor* const* grads, int n_outputs, const uint8_t* needs, TlTensor** out,
                        int n_inputs, int create_graph) {
  Saved* s = (Saved*)ctx;
  (void)n_outputs, (void)n_inputs, (void)create_graph;
  if (s->trouble == 1) {
    api->error_set(TL_ERROR_VALUE, "the gradient is not known");
    return -1;
  }
  if (s->trouble == 2) {
    int64_t sizes[1] = {17};
    out[0] = api->tensor_empty(1, sizes, api->tensor_dtype(s->x), api->tensor_device(s->x));
    return 0;
  }
  if (!grads[0]) return 0;
  if (needs[0] && mul(grads[0], s->y, &out[0]) != 0) return -1;
  if (needs[1] && mul(grads[0], s->x, &out[1]) != 0) return -1;
  return 0;
}
static void mul_release(void* ctx) {
  Saved* s = (Saved*)ctx;
  ++released;
  api->tensor_release(s->x);
  api->tensor_release(s->y);
  s->x = s->y = NULL;
}
static void mul_destroy(void* ctx) {
  Saved* s = (Saved*)ctx;
  ++destroyed;
  api->tensor_release(s->x);
  api->tensor_release(s->y);
  PyMem_RawFree(s);
}
/* product(x, y, trouble, kind) */
static PyObject* product(PyObject* self, PyObject* args) {
  PyObject *a, *b;
  int trouble, kind, grad = api->grad_enabled(), status;
  TlTensor *inputs[2], *output = NULL;
  uint8_t kinds[1];
  Saved* s;
  TlNodeDef def = {sizeof(TlNodeDef), "ProductBackward", NULL, mul_backward, mul_release, mul_destroy};
  (void)self;
  if (!PyArg_ParseTuple(args, "OOii", &a, &b, &trouble, &kind)) return NULL;
  inputs[0] = tensor(a), inputs[1] = tensor(b);
  api->set_grad_enabled(0);
  status = mul(inputs[0], inputs[1], &output);
  api->set_grad_enabled(grad);
  if (status != 0) return finish(status, NULL);
  s = (Saved*)PyMem_RawCalloc(1, sizeof(Saved));
  s->x = inputs[0], s->y = inputs[1], s->trouble = trouble;
  api->tensor_retain(s->x);
  api->tensor_retain(s->y);
  ++saved;
  def.ctx = s;
  kinds[0] = (uint8_t)kind;
  status = autograd->record(&def, inputs, 2, &output, kinds, 1);
  return finish(status, bridge->wrap(output));
}
static PyObject* counts(PyObject* self, PyObject* none) {
  (void)self, (void)none;
  return Py_BuildValue("(iiii)", saved, released, destroyed, hooks);
}

/* ---- a function that writes its input: x *= 3 ---- */
static int triple_backward(void* ctx, TlTensor* const* grads, int n_outputs, const uint8_t* needs, TlTensor** out,
                           int n_inputs, int create_graph) {
  TlValue args[2] = {{TL_TENSOR, 0, {.t = grads[0]}}, {TL_FLOAT, 0, {.f = 3}}}, ret = {TL_NONE, 0, {0}};
  (void)ctx, (void)n_outputs, (void)needs, (void)n_inputs, (void)create_graph;
  if (api->op_call(api->op_find("mul.Tensor"), args, 2, &ret, 1) != 0) return -1;
  out[0] = ret.u.t;
  return 0;
}
static PyObject* triple_(PyObject* self, PyObject* o) {
  TlTensor* t = tensor(o);
  TlNodeDef def = {sizeof(TlNodeDef), "TripleBackward", NULL, triple_backward, NULL, NULL};
  const uint8_t kind = TL_OUTPUT_WRITTEN;
  float* data = (float*)api->tensor_data(t);
  int64_t i;
  int status;
  (void)self;
  status = autograd->record(&def, &t, 1, &t, &kind, 1);
  if (status >= 0) {
    for (i = 0; i < api->tensor_numel(t); ++i) data[i] *= 3;
    api->tensor_bump_version(t);
  }
  return finish(status, NULL);
}

/* ---- tensors ---- */
static PyObject* facts(PyObject* self, PyObject* o) {
  const int requires_grad = autograd->requires_grad(tensor(o));
  const int leaf = requires_grad < 0 ? -1 : autograd->is_leaf(tensor(o));
  (void)self;
  return finish(leaf, leaf < 0 ? NULL : Py_BuildValue("(ii)", requires_grad, leaf));
}
static PyObject* require(PyObject* self, PyObject* args) {
  PyObject* o;
  int on;
  (void)self;
  if (!PyArg_ParseTuple(args, "Oi", &o, &on)) return NULL;
  return finish(autograd->set_requires_grad(tensor(o), on), NULL);
}
static PyObject* get_grad(PyObject* self, PyObject* o) {
  TlTensor* grad = NULL;
  const int status = autograd->grad(tensor(o), &grad);
  (void)self;
  return finish(status, grad ? bridge->wrap(grad) : NULL);
}
static PyObject* set_grad(PyObject* self, PyObject* args) {
  PyObject *o, *grad;
  (void)self;
  if (!PyArg_ParseTuple(args, "OO", &o, &grad)) return NULL;
  return finish(autograd->set_grad(tensor(o), tensor(grad)), NULL);
}
static PyObject* retain(PyObject* self, PyObject* o) {
  (void)self;
  return finish(autograd->retain_grad(tensor(o)), NULL);
}
static int double_gradient(void* ctx, TlTensor* grad, TlTensor** replacement) {
  TlValue args[2] = {{TL_TENSOR, 0, {.t = grad}}, {TL_INT, 0, {.i = *(int*)ctx}}}, ret = {TL_NONE, 0, {0}};
  if (*(int*)ctx == 0) {
    api->error_set(TL_ERROR_INDEX, "the hook has no factor");
    return -1;
  }
  if (api->op_call(api->op_find("mul.Tensor"), args, 2, &ret, 1) != 0) return -1;
  *replacement = ret.u.t;
  return 0;
}
static void drop_factor(void* ctx) {
  ++hooks;
  PyMem_RawFree(ctx);
}
static PyObject* scale_gradient(PyObject* self, PyObject* args) {
  PyObject* o;
  int factor, status;
  int* ctx;
  (void)self;
  if (!PyArg_ParseTuple(args, "Oi", &o, &factor)) return NULL;
  ctx = (int*)PyMem_RawMalloc(sizeof(int));
  *ctx = factor;
  status = autograd->add_hook(tensor(o), double_gradient, ctx, drop_factor);
  if (status != 0) PyMem_RawFree(ctx);
  return finish(status, NULL);
}
/* run(outputs, grads, inputs, retain_graph, create_graph, accumulate, allow_unused) */
static PyObject* run(PyObject* self, PyObject* args) {
  PyObject *outputs, *grads, *inputs, *result = NULL;
  int retain_graph, create, accumulate, allow_unused, flags, status, i, n, m;
  TlTensor *o[4], *g[4], *in[4], *found[4] = {0};
  (void)self;
  if (!PyArg_ParseTuple(args, "OOOiiii", &outputs, &grads, &inputs, &retain_graph, &create, &accumulate, &allow_unused))
    return NULL;
  n = (int)PyTuple_GET_SIZE(outputs), m = (int)PyTuple_GET_SIZE(inputs);
  for (i = 0; i < n; ++i) o[i] = tensor(PyTuple_GET_ITEM(outputs, i)), g[i] = tensor(PyTuple_GET_ITEM(grads, i));
  for (i = 0; i < m; ++i) in[i] = tensor(PyTuple_GET_ITEM(inputs, i));
  flags = (retain_graph ? TL_RETAIN_GRAPH : 0) | (create ? TL_CREATE_GRAPH : 0) | (allow_unused ? TL_ALLOW_UNUSED : 0);
  if (accumulate) return finish(autograd->backward(o, g, n, in, m, flags), NULL);
  status = autograd->gradients(o, g, n, in, m, flags, found);
  if (status == 0) {
    result = PyTuple_New(m);
    for (i = 0; i < m; ++i)
      PyTuple_SET_ITEM(result, i, found[i] ? bridge->wrap(found[i]) : Py_NewRef(Py_None));
  }
  return finish(status, result);
}
static PyObject* refusals(PyObject* self, PyObject* o) {
  TlNodeDef def = {8, "x", NULL, mul_backward, NULL, NULL};
  TlTensor* t = tensor(o);
  PyObject* list = PyList_New(0);
  const uint8_t unknown = 9, written = TL_OUTPUT_WRITTEN;
  TlTensor* other = api->tensor_alias(t);
  int i, status[5];
  (void)self;
  for (i = 0; i < 5; ++i) {
    if (i == 0) status[i] = autograd->record(&def, &t, 1, &other, NULL, 1);
    def.struct_size = sizeof def;
    if (i == 1) status[i] = autograd->record(&def, NULL, 1, &other, NULL, 1);
    if (i == 2) status[i] = autograd->record(&def, &t, 1, &other, &unknown, 1);
    if (i == 3) status[i] = autograd->record(&def, &t, 1, &other, &written, 1);
    if (i == 4) status[i] = autograd->record(&def, &t, 1, &t, NULL, 1);
    PyObject* line = PyUnicode_FromFormat("%d %d %s", status[i], api->error_kind(), api->error_message());
    PyList_Append(list, line);
    Py_DECREF(line);
    api->error_clear();
  }
  api->tensor_release(other);
  return list;
}

static PyMethodDef methods[] = {
    {"product", product, METH_VARARGS, NULL},   {"counts", counts, METH_NOARGS, NULL},
    {"triple_", triple_, METH_O, NULL},         {"facts", facts, METH_O, NULL},
    {"require", require, METH_VARARGS, NULL},   {"grad", get_grad, METH_O, NULL},
    {"set_grad", set_grad, METH_VARARGS, NULL}, {"retain", retain, METH_O, NULL},
    {"scale", scale_gradient, METH_VARARGS, NULL}, {"run", run, METH_VARARGS, NULL},
    {"refusals", refusals, METH_O, NULL},       {NULL, NULL, 0, NULL},
};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "table_client", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_table_client(void) {
  api = tl_import_api(0);
  bridge = api ? tl_import_python() : NULL;
  autograd = bridge ? tl_import_autograd() : NULL;
  return autograd ? PyModule_Create(&module) : NULL;
}
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The module of the source above."""
    python = sysconfig.get_path("include")
    if shutil.which("cc") is None or not (Path(python) / "Python.h").exists():
        pytest.skip("no C compiler or no headers of Python to build an extension with")
    folder = tmp_path_factory.mktemp("table")
    source, target = folder / "table_client.c", folder / "table_client.so"
    source.write_text(SOURCE)
    command = ["cc", "-std=c11", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{tl.get_include()}", f"-I{python}", str(source), "-o", str(target)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    spec = importlib.util.spec_from_file_location("table_client", target)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def leaf(*values: float) -> Any:
    """A leaf of float64 that requires a gradient."""
    return tl.tensor(values, dtype=tl.float64, requires_grad=True)


def test_a_node_differentiates_twice(client: Any) -> None:
    x, y = leaf(1, 2, 3), leaf(4, 5, 6)
    z = client.product(x, y, 0, 0)
    assert z.tolist() == [4, 10, 18]
    assert z.grad_fn.name() == "ProductBackward"
    first = tl_autograd.grad(z.sum(), [x, y], create_graph=True)
    assert [g.tolist() for g in first] == [[4, 5, 6], [1, 2, 3]]
    (second,) = tl_autograd.grad((first[0] * first[0]).sum(), [y])
    assert second.tolist() == [8, 10, 12]
    assert tl_autograd.gradcheck(lambda a, b: client.product(a, b, 0, 0), (x, y))


def test_a_node_without_a_gradient_of_one_input(client: Any) -> None:
    x, y = leaf(1, 2), tl.tensor([5.0, 7.0], dtype=tl.float64)
    client.product(x, y, 0, 0).sum().backward()
    assert x.grad.tolist() == [5, 7]
    assert y.grad is None


def test_what_is_saved_is_freed_once(client: Any) -> None:
    before = client.counts()
    z = client.product(leaf(1), leaf(2), 0, 0)
    z.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        z.backward()
    del z
    client.product(leaf(1), leaf(2), 0, 0)  # never differentiated
    client.product(tl.ones(1), tl.ones(1), 0, 0)  # not recorded
    with tl.no_grad():
        client.product(leaf(1), leaf(2), 0, 0)
    gc.collect()
    after = client.counts()
    assert [b - a for a, b in zip(before, after, strict=True)][:3] == [4, 1, 4]


def test_outputs_without_gradient(client: Any) -> None:
    z = client.product(leaf(1), leaf(2), 0, 2)
    assert not z.requires_grad and z.grad_fn is None


def test_errors_of_a_node(client: Any) -> None:
    with pytest.raises(ValueError, match="the gradient is not known"):
        client.product(leaf(1), leaf(2), 1, 0).backward()
    message = (
        r"^Function ProductBackward returned an invalid gradient at index 0 - got \[17\] but expected shape"
    )
    with pytest.raises(RuntimeError, match=message):
        client.product(leaf(1, 2), leaf(2, 3), 2, 0).sum().backward()


def test_an_input_that_is_written(client: Any) -> None:
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    client.triple_(y)
    assert y.tolist() == [3, 12]
    assert y.grad_fn.name() == "TripleBackward"
    y.sum().backward()
    assert x.grad.tolist() == [6, 12]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"):
        client.triple_(x)


def test_facts_of_tensors(client: Any) -> None:
    x = leaf(1)
    assert client.facts(x) == (1, 1)
    assert client.facts(x * 2) == (1, 0)
    assert client.facts(tl.ones(1)) == (0, 1)
    t = tl.ones(1)
    client.require(t, 1)
    assert t.requires_grad
    client.require(t, 0)
    assert not t.requires_grad
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require"):
        client.require(tl.ones(1, dtype=tl.int64), 1)
    with pytest.raises(TypeError, match=r"requires_grad\(\): argument 't' must be Tensor, not an undefined"):
        client.facts(None)


def test_gradients_of_tensors(client: Any) -> None:
    x = leaf(1, 2)
    assert client.grad(x) is None
    client.set_grad(x, tl.ones(2, dtype=tl.float64))
    assert client.grad(x).tolist() == [1, 1]
    (x * 3).sum().backward()
    assert client.grad(x).tolist() == [4, 4]
    client.set_grad(x, None)
    assert x.grad is None
    with pytest.raises(RuntimeError, match=r"assign a gradient of size '\[3\]' to a tensor of size '\[2\]'"):
        client.set_grad(x, tl.ones(3, dtype=tl.float64))
    y = x * 2
    client.retain(y)
    y.sum().backward()
    assert client.grad(y).tolist() == [1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert client.grad(x * 2) is None
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        client.retain(tl.ones(1))


def test_hooks(client: Any) -> None:
    x = leaf(1, 2)
    before = client.counts()[3]
    client.scale(x, 5)
    x.sum().backward()
    assert x.grad.tolist() == [5, 5]
    y = x * 2
    client.scale(y, 0)
    with pytest.raises(IndexError, match="the hook has no factor"):
        y.sum().backward()
    with pytest.raises(
        RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"
    ):
        client.scale(tl.ones(1), 2)
    del x, y
    gc.collect()
    assert client.counts()[3] == before + 2


def test_backward_and_gradients(client: Any) -> None:
    x, y, unused = leaf(1, 2), leaf(3, 4), leaf(5)
    z = x * y
    g = tl.tensor([10.0, 100.0], dtype=tl.float64)
    client.run((z,), (g,), (), 1, 0, 1, 0)
    assert (x.grad.tolist(), y.grad.tolist()) == ([30, 400], [10, 200])
    client.run((z,), (g,), (y,), 1, 0, 1, 0)
    assert (x.grad.tolist(), y.grad.tolist()) == ([30, 400], [20, 400])
    found = client.run((z,), (g,), (x, unused), 1, 0, 0, 1)
    assert (found[0].tolist(), found[1]) == ([30, 400], None)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        client.run((z,), (g,), (unused,), 1, 0, 0, 0)
    (first,) = client.run(((x * x * x).sum(),), (None,), (x,), 1, 1, 0, 0)
    (second,) = client.run((first.sum(),), (None,), (x,), 0, 0, 0, 0)
    assert (first.tolist(), second.tolist()) == ([3, 12], [6, 12])
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        client.run((z,), (None,), (), 0, 0, 1, 0)
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        client.run((tl.ones(1),), (None,), (), 0, 0, 1, 0)
    with pytest.raises(TypeError, match=r"backward\(\): argument 'outputs' must be Tensor, not an undefined"):
        client.run((None,), (None,), (), 0, 0, 1, 0)


def test_refusals(client: Any) -> None:
    assert client.refusals(leaf(1)) == [
        "-1 2 record(): TlNodeDef.struct_size is too small",
        "-1 3 record(): argument 'inputs' must be a list of Tensors, not a NULL pointer to 1",
        "-1 2 record(): output 0 has the unknown kind 9",
        "-1 2 record(): output 0 is said to be a written input, and is none",
        "-1 2 record(): output 0 is an input that was not written: an alias of it has to be returned",
    ]


def test_a_transform_is_refused(client: Any) -> None:
    func = pytest.importorskip("tl_autograd.func", reason="transforms are not installed")
    with pytest.raises(NotImplementedError, match=r"record\(\): input 0 belongs to a transform"):
        func.vmap(lambda a: client.product(a, a, 0, 0))(tl.ones(2, 2))
