"""`torch._subclasses.functional_tensor`, and the functions that begin and end regions without writes."""

import pytest

import tl_core as tl
from tl_autograd.compat.functional_tensor import (
    FunctionalTensor,
    FunctionalTensorMode,
    _disable_functionalization,
    _enable_functionalization,
    _from_functional_tensor,
    _is_functional_tensor,
    _sync,
    _to_functional_tensor,
    dispatch_functionalize,
)
from tl_core.subclasses.python_dispatch import TorchDispatchMode


class Calls(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def write(x):
    rows = x.view(4, 2)
    rows.add_(1)
    rows[0].mul_(2)
    return rows * rows


def functionalized(f, x, reapply_views):
    inside = _to_functional_tensor(x)
    _enable_functionalization(reapply_views=reapply_views)
    try:
        result = f(inside)
    finally:
        _disable_functionalization()
    return _from_functional_tensor(result), _from_functional_tensor(inside)


@pytest.mark.parametrize("reapply_views", [True, False])
def test_a_region_has_no_writes(reapply_views):
    x = tl.ones(2, 4)
    with Calls() as calls:
        result, value = functionalized(write, x, reapply_views)
    assert result.tolist() == [[16, 16], [4, 4], [4, 4], [4, 4]]
    assert value.tolist() == [[4, 4, 2, 2], [2, 2, 2, 2]]
    assert x.tolist() == [[1] * 4] * 2
    assert not [name for name in calls.names if name.partition(".")[2].split(".")[0].endswith("_")]
    assert ("aten.view_copy.default" in calls.names) is not reapply_views
    assert ("aten.view.default" in calls.names) is reapply_views


def test_a_tensor_without_writes_is_itself():
    x = tl.ones(2)
    assert functionalized(lambda t: t + 1, x, True)[1] is x


def test_tensors_of_regions():
    x = tl.zeros(2)
    inside = _to_functional_tensor(x)
    _sync(inside)
    assert _is_functional_tensor(inside) and not _is_functional_tensor(x)
    assert isinstance(inside, FunctionalTensor) and not isinstance(x, FunctionalTensor)
    assert not isinstance(1, FunctionalTensor) and issubclass(FunctionalTensor, tl.Tensor)
    for function in (_sync, _from_functional_tensor):
        with pytest.raises(RuntimeError, match="expected a functional tensor"):
            function(x)
    with FunctionalTensorMode():
        inside.add_(1)
        with pytest.raises(RuntimeError, match="nesting is not currently supported"):
            _enable_functionalization()
    assert _from_functional_tensor(inside).tolist() == [1, 1] and x.tolist() == [0, 0]


def test_a_thread_works_on_plain_tensors_between_regions():
    inside = _to_functional_tensor(tl.zeros(2))
    plain = tl.zeros(2)
    plain.add_(1)
    assert not _is_functional_tensor(plain)
    with FunctionalTensorMode():
        assert _is_functional_tensor(inside + 1)
    assert not _is_functional_tensor(tl.zeros(2) + 1)
    _disable_functionalization()  # outside of a region


def test_dispatch_functionalize():
    x = tl.ones(2, 4)
    result = dispatch_functionalize(lambda tree: {"result": write(tree["x"]), "number": 3})({"x": x})
    assert result["result"].tolist() == [[16, 16], [4, 4], [4, 4], [4, 4]] and result["number"] == 3
    assert x.tolist() == [[1] * 4] * 2
    with pytest.raises(ZeroDivisionError):
        dispatch_functionalize(lambda t: 1 / 0)(x)
    assert not _is_functional_tensor(tl.zeros(2) + 1)
