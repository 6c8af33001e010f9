"""`__torch_function__` of arguments that operators are called with by their full names."""

import pytest

import tl_core as tl
from tl_core import overrides
from tl_core.operators import packets as ops


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
    records = []

    class Watching(overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            records.append(function)
            return function(*args, **(kwargs or {}))

    with Watching():
        assert ops.aten.neg.default(tl.ones(1)).item() == -1
    assert ops.aten.neg.default in records


def test_names_alone_take_tensors_only():
    with pytest.raises(TypeError, match="__torch_function__"):
        tl._C._call_operator(("add.Tensor",), tl.ones(2), Other())


def test_a_library_that_is_not_there():
    with pytest.raises(OSError, match="nowhere"):
        ops.load_library("/nowhere/lib.so")


def test_regions_in_which_nobody_is_asked():
    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return "mode"

    class Sub(tl.Tensor):
        pass

    x = Sub([1.0])
    with Mode():
        with overrides.DisableTorchFunction():
            assert type(tl.sum(x)) is tl.Tensor
            assert not overrides.has_torch_function((x,))
            with overrides._enable_torch_function():
                assert tl.sum(x) == "mode"
        assert tl.sum(x) == "mode"
    with overrides.DisableTorchFunctionSubclass():
        again = overrides._EnableTorchFunction()
        assert type(tl.sum(x)) is Sub
        del again
        assert type(tl.sum(x)) is tl.Tensor


def test_handlers_of_the_wrong_kind():
    class Plain:
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func

    with pytest.warns(UserWarning, match="as a plain method is deprecated"):
        assert tl.abs(Plain()) is tl.abs

    class Mode(overrides.TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func

    with pytest.raises(RuntimeError, match="classmethod is not supported"), Mode():
        pass
    with pytest.raises(TypeError, match="expected a sequence"):
        overrides.has_torch_function(object())


def test_the_dummy_of_an_operator_with_several_forms():
    dummy = overrides.get_testing_overrides()[tl.isin]
    assert dummy(1, 2) == -1
    with pytest.raises(TypeError, match="missing"):
        dummy(1)


@pytest.mark.parametrize(
    ("answer", "error"),
    [(-(2**63), ValueError), (-1, ValueError), (2**64, OverflowError), ("a", TypeError), (None, TypeError)],
)
def test_a_length_that_is_none(answer, error):
    class Answering(overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return answer

    x = tl.ones(2)
    with Answering(), pytest.raises(error):
        len(x)


def test_a_length_of_an_override():
    class Answering(overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return 7

    x = tl.ones(2)
    with Answering():
        assert len(x) == 7
