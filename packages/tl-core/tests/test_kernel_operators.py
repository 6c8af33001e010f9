"""Operators of aten that PyTorch keeps to its kernels.

Each line of kernel_operators.jsonl is a call of PyTorch 2.13: the operator, its arguments, those by keyword, and the
results. recorded_calls.py explains how tensors are written. The seed of calls that draw numbers is 0.
"""

import json
import struct
import sys
from pathlib import Path

import pytest

import tl_core as tl
from tl_core.functions import lapack
from tl_core.operators.packets import aten
from tl_core.pytree import tree_leaves
from tl_core.testing import assert_close

sys.path.insert(0, str(Path(__file__).parent))
from recorded_calls import as_given

CALLS = [
    json.loads(line) for line in (Path(__file__).parent / "kernel_operators.jsonl").read_text().splitlines()
]


def operator(name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(aten, packet), overload or "default")


def argument(value):
    return as_given(tl, value, None)


@pytest.mark.parametrize("number", range(len(CALLS)), ids=lambda i: f"{i}-{CALLS[i][0]}")
def test_what_pytorch_gives(number):
    name, args, kwargs, expected = CALLS[number]
    if name == "_cholesky_solve_helper" and lapack.library() is None:
        pytest.skip("no LAPACK")
    tl.manual_seed(0)
    results = operator(name)(*argument(args), **{k: argument(v) for k, v in kwargs.items()})
    expected = argument(expected)
    results = tree_leaves(results) if isinstance(results, (tuple, list)) else [results]
    assert len(results) == len(expected)
    for a, b in zip(results, expected, strict=True):
        if isinstance(b, tl.Tensor):
            assert_close(a, b, rtol=1e-6, atol=1e-8)
        else:
            assert a == b


def test_noise_is_written():
    x, noise = tl.tensor([-1.0, 2.0]), tl.zeros(2)
    out = aten.rrelu_with_noise(x, noise, 0.1, 0.3, True)
    assert noise[1] == 1 and 0.1 <= noise[0] <= 0.3
    assert out.equal(x * noise)
    assert aten.rrelu_with_noise_(x, noise, 0.1, 0.3, False) is x
    assert_close(x, tl.tensor([-0.2, 2.0]))


def test_sparse_tensors():
    x = tl.tensor([[0.0, 2.0], [3.0, 0.0]])
    sparse, grad = x.to_sparse(), tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert aten.to_dense_backward(grad, sparse, True).to_dense().tolist() == [[0, 2], [3, 0]]
    assert aten.to_dense_backward(sparse, x).tolist() == x.tolist()
    assert not aten._coalesced(sparse, False).is_coalesced()
    assert aten.copy_sparse_to_sparse_(tl.zeros(2, 2).to_sparse(), sparse).to_dense().equal(x)


def test_files(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(struct.pack("4i", 0, 1, 2, 3))
    assert aten.from_file(str(path), False, 4, dtype=tl.int32).tolist() == [0, 1, 2, 3]


def test_what_other_libraries_have():
    with pytest.raises(RuntimeError, match="MKL-DNN"):
        aten.to_mkldnn(tl.ones(2))
    assert not aten.is_vulkan_available() and not aten.cudnn_is_acceptable(tl.ones(2))
