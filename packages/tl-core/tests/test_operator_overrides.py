"""`__torch_function__` of arguments that operators are called with by their full names."""

import pytest

import tl_core as tl
from tl_core import ops, overrides


class Other:
    """No tensor, but it takes calls over."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function, len(args)


@pytest.mark.parametrize("op", [ops.aten.add, ops.aten.add.Tensor, ops.aten.addmm.default])
def test_an_argument_takes_the_call_over(op):
    assert op(tl.ones(2), Other()) == (op, 2)
    assert op(Other(), tl.ones(2)) == (op, 2)


def test_a_mode_takes_the_call_over():
    seen = []

    class Watching(overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    with Watching():
        assert ops.aten.neg.default(tl.ones(1)).item() == -1
    assert ops.aten.neg.default in seen


def test_names_alone_take_tensors_only():
    with pytest.raises(TypeError, match="__torch_function__"):
        tl._C._call_operator(("add.Tensor",), tl.ones(2), Other())


def test_a_library_that_is_not_there():
    with pytest.raises(OSError, match="nowhere"):
        ops.load_library("/nowhere/lib.so")
