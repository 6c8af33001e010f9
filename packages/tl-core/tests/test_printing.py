"""How tensors are written out: the texts the reference's documentation shows, and its rules for width and notation."""

from __future__ import annotations

import math

import pytest

import tl_core as tl


@pytest.fixture(autouse=True)
def default_options():
    yield
    tl.set_printoptions(profile="default")


def rows(*lines):
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (5, "tensor(5)"),
        (2.5, "tensor(2.5000)"),
        (True, "tensor(True)"),
        (-0.0, "tensor(-0.)"),
        ([], "tensor([])"),
        ([1.0, 2.0], "tensor([1., 2.])"),
        ([1.5, -2.0], "tensor([ 1.5000, -2.0000])"),
        ([1, -20, 300], "tensor([  1, -20, 300])"),
        ([True, False], "tensor([ True, False])"),
        ([0.0, 0.0], "tensor([0., 0.])"),
        ([math.nan, math.inf, -math.inf], "tensor([nan, inf, -inf])"),
        ([math.nan, 1.0, -math.inf], "tensor([nan, 1., -inf])"),
        ([math.nan, 1.5, 0.0], "tensor([   nan, 1.5000, 0.0000])"),
        ([1e-5], "tensor([1.0000e-05])"),
        ([1e-3, 12.0], "tensor([1.0000e-03, 1.2000e+01])"),
        ([123456789.0], "tensor([1.2346e+08])"),
        ([1.0, 2000.0], "tensor([1.0000e+00, 2.0000e+03])"),
        ([1.0, 1000.0], "tensor([   1., 1000.])"),
        ([0.001, 0.5], "tensor([0.0010, 0.5000])"),
        (1 + 2j, "tensor(1.+2.j)"),
        ([1.5 + 2j, -3.5 - 0.25j], "tensor([ 1.5000+2.0000j, -3.5000-0.2500j])"),
        ([[1, 2], [3, 4]], "tensor([[1, 2],\n        [3, 4]])"),
        (
            [[[1.0], [2.0]], [[3.0], [4.0]]],
            "tensor([[[1.],\n         [2.]],\n\n        [[3.],\n         [4.]]])",
        ),
    ],
)
def test_values(data, expected):
    assert repr(tl.tensor(data)) == expected
    assert str(tl.tensor(data)) == expected


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: tl.ones(2, dtype=tl.float64), "tensor([1., 1.], dtype=torch.float64)"),
        (lambda: tl.ones(2, dtype=tl.bfloat16), "tensor([1., 1.], dtype=torch.bfloat16)"),
        (lambda: tl.tensor([0.1], dtype=tl.float16), "tensor([0.1000], dtype=torch.float16)"),
        (lambda: tl.ones(2, dtype=tl.uint8), "tensor([1, 1], dtype=torch.uint8)"),
        (lambda: tl.ones(1, dtype=tl.complex128), "tensor([1.+0.j], dtype=torch.complex128)"),
        (lambda: tl.empty(0, dtype=tl.int64), "tensor([], dtype=torch.int64)"),
        (lambda: tl.empty(0, 3), "tensor([], size=(0, 3))"),
        (lambda: tl.empty(2, 0, dtype=tl.bool), "tensor([], size=(2, 0), dtype=torch.bool)"),
        (lambda: tl.empty(2, 3, device="meta"), "tensor(..., device='meta', size=(2, 3))"),
        (
            lambda: tl.empty(1, device="meta", dtype=tl.bool),
            "tensor(..., device='meta', size=(1,), dtype=torch.bool)",
        ),
    ],
)
def test_what_does_not_go_without_saying(make, expected):
    assert repr(make()) == expected


def test_long_rows_break_at_the_width():
    assert repr(tl.arange(25)) == rows(
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,",
        "        18, 19, 20, 21, 22, 23, 24])",
    )
    assert repr(tl.zeros(25, dtype=tl.float64)) == rows(
        "tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.,",
        "        0.], dtype=torch.float64)",
    )


def test_large_tensors_show_their_corners():
    assert repr(tl.arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    assert repr(tl.zeros(100, 100)) == rows(
        "tensor([[0., 0., 0.,  ..., 0., 0., 0.],",
        "        [0., 0., 0.,  ..., 0., 0., 0.],",
        "        [0., 0., 0.,  ..., 0., 0., 0.],",
        "        ...,",
        "        [0., 0., 0.,  ..., 0., 0., 0.],",
        "        [0., 0., 0.,  ..., 0., 0., 0.],",
        "        [0., 0., 0.,  ..., 0., 0., 0.]])",
    )
    assert "..." not in repr(tl.zeros(1000))


def test_options():
    tl.set_printoptions(precision=2)
    assert repr(tl.tensor([1.23456])) == "tensor([1.23])"
    tl.set_printoptions(sci_mode=True)
    assert repr(tl.tensor([1.5, 20.0])) == "tensor([1.50e+00, 2.00e+01])"
    tl.set_printoptions(profile="default", sci_mode=False)
    assert repr(tl.tensor([1e-5, 1.0])) == "tensor([0.0000, 1.0000])"
    tl.set_printoptions(threshold=3, edgeitems=1)
    assert repr(tl.arange(5)) == "tensor([0,  ..., 4])"
    tl.set_printoptions(profile="default", linewidth=20)
    assert repr(tl.arange(5)) == "tensor([0, 1, 2, 3,\n        4])"


def test_an_unknown_profile_is_refused():
    with pytest.raises(ValueError, match="unknown print profile 'loud'"):
        tl.set_printoptions(profile="loud")


def test_the_default_type_is_not_named():
    tl.set_default_dtype(tl.float64)
    try:
        assert repr(tl.tensor([1.5])) == "tensor([1.5000])"
        assert repr(tl.tensor([1.5], dtype=tl.float32)) == "tensor([1.5000], dtype=torch.float32)"
        assert repr(tl.tensor([1j])) == "tensor([0.+1.j])"
    finally:
        tl.set_default_dtype(tl.float32)


def test_gradients_are_told():
    pytest.importorskip("tl_autograd", reason="tl-autograd, which records derivatives, is not installed")
    x = tl.ones(2, requires_grad=True)
    assert repr(x) == "tensor([1., 1.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 2.], grad_fn=<MulBackward0>)"
    assert repr(x.sum()) == "tensor(2., grad_fn=<SumBackward0>)"
    assert repr(x.detach()) == "tensor([1., 1.])"


def test_formatting_one_element_uses_its_number():
    assert f"{tl.tensor(3.14159):.2f}" == "3.14"
    assert f"{tl.tensor(7):03d}" == "007"
    assert f"{tl.ones(2)}" == "tensor([1., 1.])"


def test_subclasses_and_parameters_name_themselves():
    class Point(tl.Tensor):
        pass

    assert repr(tl.ones(2).as_subclass(Point)) == "Point([1., 1.])"
    parameter = tl.Parameter(tl.ones(1), requires_grad=False)
    assert repr(parameter) == str(parameter) == f"{parameter}" == "Parameter containing:\ntensor([1.])"


def test_named_results():
    assert repr(tl.max(tl.tensor([[1.0, 2.0]]), 1)) == rows(
        "torch.return_types.max(", "values=tensor([2.]),", "indices=tensor([1]))"
    )
