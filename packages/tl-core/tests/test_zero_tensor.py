"""Zeros without memory. The answers are recorded from PyTorch 2.13."""

import copy
import pickle

import pytest

import tl_core as tl
from tl_core.compat.zero_tensor import _efficientzerotensor as zeros
from tl_core.functions.private import _is_zerotensor

ONES = tl.ones(2, 3)

# The sizes, dtype of the result, and whether it is such zeros.
CALLS = {
    "add of zeros": (lambda z: z + z, (2, 3), tl.float32, True),
    "add with alpha": (lambda z: tl.add(z, z, alpha=2), (2, 3), tl.float32, True),
    "sub of zeros": (lambda z: z - z, (2, 3), tl.float32, True),
    "add": (lambda z: z + ONES, (2, 3), tl.float32, False),
    "add, zeros second": (lambda z: ONES + z, (2, 3), tl.float32, False),
    "add, broadcast": (lambda z: tl.ones(4, 2, 3) + z, (4, 2, 3), tl.float32, False),
    "add of a number": (lambda z: z + 1, (2, 3), tl.float32, False),
    "add, promoted": (lambda z: ONES.long() + z, (2, 3), tl.float32, False),
    "rsub": (lambda z: 1 - z, (2, 3), tl.float32, False),
    "sub": (lambda z: ONES - z, (2, 3), tl.float32, False),
    "mul": (lambda z: z * ONES, (2, 3), tl.float32, True),
    "mul, zeros second": (lambda z: ONES * z, (2, 3), tl.float32, True),
    "mul, broadcast": (lambda z: tl.ones(4, 2, 3) * z, (4, 2, 3), tl.float32, True),
    "mul by a number": (lambda z: 2 * z, (2, 3), tl.float32, True),
    "mul by a complex number": (lambda z: z * 1j, (2, 3), tl.complex64, True),
    "mul of integers": (lambda z: zeros(2, dtype=tl.int64) * tl.ones(2), (2,), tl.float32, True),
    "div": (lambda z: z / ONES, (2, 3), tl.float32, True),
    "div by a number": (lambda z: z / 2, (2, 3), tl.float32, True),
    "div of integers": (lambda z: zeros(2, dtype=tl.int64) / 2, (2,), tl.float32, True),
    "div, floor": (lambda z: tl.div(z, ONES, rounding_mode="floor"), (2, 3), tl.float32, False),
    "dot": (lambda z: tl.dot(tl.ones(3), z[0]), (), tl.float32, True),
    "vdot": (
        lambda z: tl.vdot(zeros(2, dtype=tl.complex64), zeros(2, dtype=tl.complex64)),
        (),
        tl.complex64,
        True,
    ),
    "mm": (lambda z: z @ tl.ones(3, 2), (2, 2), tl.float32, False),
    "exp": (lambda z: z.exp(), (2, 3), tl.float32, False),
    "neg": (lambda z: -z, (2, 3), tl.float32, False),
    "square": (lambda z: z**2, (2, 3), tl.float32, False),
    "sum": (lambda z: z.sum(), (), tl.float32, False),
    "cat": (lambda z: tl.cat([z, z]), (4, 3), tl.float32, False),
    "where": (lambda z: tl.where(ONES > 0, z, ONES), (2, 3), tl.float32, False),
    "double": (lambda z: z.double(), (2, 3), tl.float64, False),
    "zeros_like": (lambda z: tl.zeros_like(z), (2, 3), tl.float32, False),
    "clone": (lambda z: z.clone(), (2, 3), tl.float32, False),
    "view": (lambda z: z.view(6), (6,), tl.float32, True),
    "reshape": (lambda z: z.reshape(3, 2), (3, 2), tl.float32, True),
    "flatten": (lambda z: z.flatten(), (6,), tl.float32, True),
    "transposed, reshaped": (lambda z: z.t().reshape(6), (6,), tl.float32, False),
    "t": (lambda z: z.t(), (3, 2), tl.float32, True),
    "permute": (lambda z: z.permute(1, 0), (3, 2), tl.float32, True),
    "select": (lambda z: z[0], (3,), tl.float32, True),
    "narrow": (lambda z: z.narrow(0, 0, 1), (1, 3), tl.float32, True),
    "split": (lambda z: z.split(1)[0], (1, 3), tl.float32, True),
    "unbind": (lambda z: z.unbind()[1], (3,), tl.float32, True),
    "expand": (lambda z: z.expand(4, 2, 3), (4, 2, 3), tl.float32, True),
    "unsqueeze": (lambda z: z.unsqueeze(0), (1, 2, 3), tl.float32, True),
    "diagonal": (lambda z: z.diagonal(), (2,), tl.float32, True),
    "as_strided": (lambda z: z.as_strided((2,), (1,)), (2,), tl.float32, True),
    "view of a dtype": (lambda z: z.view(tl.int32), (2, 3), tl.int32, True),
    "detach": (lambda z: z.detach(), (2, 3), tl.float32, True),
    "contiguous": (lambda z: z.contiguous(), (2, 3), tl.float32, True),
    "transposed, contiguous": (lambda z: z.t().contiguous(), (3, 2), tl.float32, False),
    "real": (lambda z: zeros(2, dtype=tl.complex64).real, (2,), tl.float32, True),
    "view_as_real": (lambda z: tl.view_as_real(zeros(2, dtype=tl.complex64)), (2, 2), tl.float32, True),
    "to its dtype": (lambda z: z.to(tl.float32), (2, 3), tl.float32, True),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    call, sizes, dtype, is_zero = CALLS[name]
    z = zeros((2, 3))
    result, expected = call(z), call(tl.zeros(2, 3))
    assert (tuple(result.shape), result.dtype, result._is_zerotensor()) == (sizes, dtype, is_zero)
    assert tl.equal(result.clone(), expected.clone())
    assert tl.equal(tl.zeros_like(z), tl.zeros(2, 3))


@pytest.mark.parametrize(
    "write",
    [
        lambda z: z.fill_(1),
        lambda z: z.zero_(),
        lambda z: z.add_(1),
        lambda z: z.mul_(2),
        lambda z: z.copy_(ONES),
        lambda z: z.__setitem__(0, 1),
        lambda z: tl.add(ONES, 1, out=z),
        lambda z: z.t().fill_(1),
    ],
)
def test_writes_are_refused(write):
    with pytest.raises(RuntimeError, match="ZeroTensors are immutable"):
        write(zeros(2, 3))


def test_the_results_of_clone_are_ordinary():
    copy_of = zeros(2, 3).clone()
    assert type(copy_of) is tl.Tensor
    assert copy_of.fill_(2).sum() == 12
    assert ONES.clone().copy_(zeros(2, 3)).sum() == 0


def test_arrays_of_zeros():
    pytest.importorskip("numpy", reason="the result is an array of numpy's")
    assert zeros(2).numpy(force=True).tolist() == [0.0, 0.0]


def test_forms_and_properties():
    assert zeros(2, 3).shape == zeros([2, 3]).shape == zeros((2, 3)).shape
    assert zeros(2, dtype=tl.float64).dtype == tl.float64
    assert zeros(2, device="meta")._is_zerotensor()
    assert zeros(0, 3).numel() == 0 and zeros(()).item() == 0.0
    assert _is_zerotensor(zeros(2)) and not _is_zerotensor(ONES)
    assert zeros(2, 3).stride() == (3, 1) and zeros(2, 3).data_ptr() == 0
    assert repr(zeros(2)) == "tensor([0., 0.])"
    for call in (lambda: zeros(2).numpy(), lambda: zeros(2).tolist(), lambda: pickle.dumps(zeros(2))):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(RuntimeError):
        copy.deepcopy(zeros(2))
    with pytest.raises(RuntimeError):
        zeros(-1)
    with pytest.raises(RuntimeError, match="strided"):
        zeros(2, layout=tl.sparse_coo)
