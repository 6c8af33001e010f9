"""Operators of `prims`, which have no derivatives."""

import pytest

import tl_autograd  # noqa: F401 - requires_grad is its attribute
import tl_core as tl


def test_no_derivatives() -> None:
    x = tl.ones(3, requires_grad=True)
    result = tl.ops.prims.sin(x)
    assert result.requires_grad
    with pytest.raises((RuntimeError, NotImplementedError)):
        result.sum().backward()
