"""Programs over operators: the ONNX model is valid and computes what the program computes.

The models run in onnxruntime where it is installed, and otherwise in the reference evaluator of the package onnx.
"""

import importlib.util
import warnings

import pytest

import tl_core as tl
from tl_core.pytree import tree_leaves

onnx = pytest.importorskip("onnx", reason="the export to ONNX is an extra")
pytest.importorskip("onnxscript", reason="the export to ONNX is an extra")

from onnx_programs import DYNAMIC, PROGRAMS  # noqa: E402

from tl_compiler.onnx import export  # noqa: E402

HAS_RUNTIME = importlib.util.find_spec("onnxruntime") is not None
# The reference evaluator of onnx 1.23 computes these differently: the axis of CumSum, the axes of Scan, the indices of
# MaxPool.
ONLY_RUNTIME = ("cumulative", "cumprod", "max_pool_indices")


def check(program, function, args):
    with tl.no_grad():
        expected = [value for value in tree_leaves(function(*args)) if isinstance(value, tl.Tensor)]
    actual = program(*args) if HAS_RUNTIME else program.call_reference(*args)
    assert len(actual) == len(expected)
    for result, target in zip(actual, expected, strict=True):
        rtol = 2e-3 if target.dtype == tl.float16 else 1e-4
        tl.testing.assert_close(result, target.detach(), rtol=rtol, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_models_compute_what_programs_compute(name):
    function, args = PROGRAMS[name]
    program = export(function, args)
    onnx.checker.check_model(program.model_proto, full_check=True)
    if name in ONLY_RUNTIME and not HAS_RUNTIME:
        pytest.skip("the reference evaluator computes another result")
    check(program, function, args)


@pytest.mark.parametrize("name", DYNAMIC)
def test_models_take_other_sizes(name):
    function, args, rest = DYNAMIC[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = export(function, args, dynamic_shapes=tuple({0: "n"} if a.dim() else None for a in args))
    onnx.checker.check_model(program.model_proto, full_check=True)
    assert "n" in [str(n) for n in program.model.graph.inputs[0].shape]
    check(program, function, args)
    check(program, function, rest)
