"""Modules that operators import at their first call."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "call", ["x.to_sparse().sin()", "tensor(d)", "x.to_dense()", "svd(x.reshape(1, 2))", "ops.aten.add(x, x)"]
)
def test_code_without_builtins_calls_operators(call):
    """What an operator imports at its first call isn't up to the builtins of the code that calls it."""
    text = f"""
import tl_core as tl
names = {{"__builtins__": {{}}, "x": tl.ones(2), "d": [1.0], "tensor": tl.tensor, "svd": tl.linalg.svd, "ops": tl.ops}}
exec("y = {call}", names)
assert names["y"] is not None
"""
    subprocess.run([sys.executable, "-c", text], check=True)
