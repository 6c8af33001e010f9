"""The shapes of outputs and gradients, under a name that programs of the reference import."""

import pytest

import tl_core as tl
from tl_autograd.gradient_shapes import _calculate_shape
from tl_core.nested import nested_tensor


def test_shapes_with_and_without_a_batch():
    out, grad = tl.ones(10, 5), tl.ones(5, 10)
    assert _calculate_shape(out, grad, False) == ((10, 5), (5, 10))
    assert _calculate_shape(out, tl.ones(3, 10, 5), True) == ((10, 5), (10, 5))


def test_nested_tensors_have_a_row_for_each_component():
    nested = nested_tensor([tl.ones(2, 5), tl.ones(3, 5)])
    shape, grad_shape = _calculate_shape(nested, nested, False)
    assert shape.tolist() == grad_shape.tolist() == [[2, 5], [3, 5]]
    with pytest.raises(RuntimeError, match="Nested Tensor"):
        _calculate_shape(tl.ones(2), nested, True)
