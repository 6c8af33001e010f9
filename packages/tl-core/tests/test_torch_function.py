"""`__torch_function__` and its modes: who is asked, with which function and arguments."""

from __future__ import annotations

import inspect
import re
import types
from typing import ClassVar

import pytest

import tl_core as tl
from tl_core import overrides


class Logged(tl.Tensor):
    log: ClassVar[list] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


class Duck:
    """No tensor at all."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, types, args, kwargs


class Declining:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


@pytest.fixture
def x():
    result = tl.ones(2, 2).as_subclass(Logged)
    Logged.log.clear()
    return result


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: x + 1, "add"),
        (lambda x: 1 + x, "add"),
        (lambda x: x - 1, "sub"),
        (lambda x: 1 - x, "__rsub__"),
        (lambda x: x * x, "mul"),
        (lambda x: x / 2, "div"),
        (lambda x: x**2, "pow"),
        (lambda x: 2**x, "__rpow__"),
        (lambda x: x @ x, "matmul"),
        (lambda x: -x, "neg"),
        (lambda x: x > 1, "gt"),
        (lambda x: x[0], "__getitem__"),
        (lambda x: x.__setitem__(0, 1), "__setitem__"),
        (lambda x: x.dim(), "dim"),
        (lambda x: x.size(0), "size"),
        (lambda x: x.tolist(), "tolist"),
        (lambda x: x.shape, "__get__"),
        (lambda x: x.T, "__get__"),
        (lambda x: len(x), "__len__"),
        (lambda x: repr(x), "__repr__"),
        (lambda x: tl.cat([x, x]), "cat"),
        (lambda x: tl.allclose(x, x), "allclose"),
    ],
)
def test_the_function_is_named(x, call, expected):
    call(x)
    assert [f.__name__ for f in Logged.log] == [expected]


def test_functions_can_be_compared(x):
    x + x
    tl.exp(x)
    x.shape  # noqa: B018
    assert Logged.log == [tl.Tensor.add, tl.exp, tl.Tensor.shape.__get__]


def test_any_object_may_take_a_call_over():
    name, types, args, kwargs = tl.add(Duck(), tl.ones(1), alpha=2)
    assert (name, types, kwargs) == ("add", (Duck,), {"alpha": 2})
    assert isinstance(args[0], Duck)
    assert tl.sum(Duck())[0] == "sum"
    assert tl.cat([tl.ones(1), Duck()])[0] == "cat"
    assert tl.ones(2).add(Duck())[0] == "add"
    assert (tl.ones(2) + Duck())[0] == "add"


def test_if_all_decline_the_error_names_them():
    with pytest.raises(TypeError, match=r"no implementation found for .*add.*__torch_function__.*Declining"):
        tl.add(tl.ones(1), Declining())


def test_disabled_overrides_are_not_asked(x):
    with overrides.DisableTorchFunctionSubclass():
        result = x + 1
    assert Logged.log == []
    assert type(result) is tl.Tensor


def test_modes_see_every_call_and_nest():
    records = []

    class Mode(overrides.TorchFunctionMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            records.append((self.name, func.__name__))
            return func(*args, **(kwargs or {}))

    with Mode("outer"):
        tl.ones(1)
        with Mode("inner"):
            tl.ones(1) + 1
    tl.ones(1)
    assert records == [
        ("outer", "ones"),
        ("inner", "ones"),
        ("outer", "ones"),
        ("inner", "add"),
        ("outer", "add"),
    ]


def test_a_mode_may_answer_itself():
    class Answer(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 42 if func is tl.exp else func(*args, **(kwargs or {}))

    with Answer():
        assert tl.exp(tl.ones(1)) == 42
        assert tl.sum(tl.ones(2)).item() == 2.0


def test_errors_leave_modes_as_they_were():
    class Failing(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise LookupError(func.__name__)

    with pytest.raises(LookupError, match="ones"), Failing():
        tl.ones(1)
    assert tl.ones(1).tolist() == [1.0]


def test_regions_without_layers_nest():
    from tl_core.dispatch.modes import no_dispatch, no_transforms

    with no_dispatch(), no_transforms(), no_dispatch():
        assert (tl.ones(2) + 1).tolist() == [2, 2]


# ---- which functions are seen


class Seen:
    """No tensor either; it keeps the functions that it is asked for."""

    functions: ClassVar[list] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.functions.append(func)


class SeenTensor(tl.Tensor):
    __torch_function__ = Seen.__torch_function__


OVERRIDABLE = overrides.get_overridable_functions()
METHODS = OVERRIDABLE.pop(tl.Tensor)
DUMMIES = overrides.get_testing_overrides()


def seen(function, *first):
    """What is seen of a call with nothing but such objects."""
    Seen.functions.clear()
    parameters = list(inspect.signature(DUMMIES[function]).parameters.values())[len(first) :]
    needed = [
        p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    positional = [*first, *(Seen() for p in needed if p.kind is not p.KEYWORD_ONLY)] or [Seen()]
    try:
        function(*positional, **{p.name: Seen() for p in needed if p.kind is p.KEYWORD_ONLY})
    except TypeError as error:
        # our answer, which is None
        assert re.search(
            "__repr__ returned|should return|an integer is required|returned non-int|interpreted as an integer",
            str(error),
        )
    return Seen.functions


@pytest.mark.parametrize(
    "function", [f for result in OVERRIDABLE.values() for f in result], ids=overrides.resolve_name
)
def test_an_overridable_function_is_seen(function):
    assert seen(function) == [function]


@pytest.mark.parametrize("method", METHODS, ids=overrides.resolve_name)
def test_an_overridable_method_is_seen(method):
    result = seen(method, tl.ones(2, 2).as_subclass(SeenTensor))
    if isinstance(method, types.WrapperDescriptorType):  # `a + b` is seen as Tensor.add
        assert len(result) == 1 and overrides.is_tensor_method_or_property(result[0])
    else:
        assert result == [method]


def test_functions_that_are_not_seen():
    ignored = overrides.get_ignored_functions()
    assert {tl.zeros, tl.from_numpy, tl.Tensor.as_subclass} <= ignored
    assert not ignored & DUMMIES.keys()
    assert overrides.resolve_name(tl.zeros) == "torch.zeros"


def test_names_and_dummies():
    assert overrides.resolve_name(tl.add) == "torch.add"
    assert overrides.resolve_name(tl.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"
    assert overrides.is_tensor_method_or_property(tl.Tensor.shape.__get__)
    assert DUMMIES[tl.add](1, other=2) == -1
    with pytest.raises(TypeError):
        DUMMIES[tl.add](1, 2, 3)


def test_a_function_of_its_own_that_can_be_overridden():
    @overrides.wrap_torch_function(lambda a, b=None: (b,))
    def second(a, b=None):
        return b

    assert second(1, 2) == 2
    assert second(Duck(), 2) == 2
    assert second(1, b=Duck())[0] == "second"


@pytest.mark.parametrize("name", ["erf", "psi", "expit", "gammaln", "softmax", "log1p"])
def test_functions_of_second_names_are_their_own(name):
    function = getattr(tl.special, name)
    assert function is not getattr(tl, name, None)
    assert function.__name__ == f"special_{name}"
    assert function(Duck(), *([0] if name == "softmax" else []))[0] == f"special_{name}"
    assert overrides.resolve_name(function) == f"torch.special.{name}"


def test_methods_are_called_by_the_first_of_their_names():
    assert tl.Tensor.storage.__name__ == "storage"
    assert tl.Tensor.__dlpack__.__name__ == "__dlpack__"


def test_older_forms_of_reshape():
    x = tl.arange(6)
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        assert x.resize(2, 3).shape == (2, 3)
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="requested resize to 4 "):
        x.resize(4)
    with pytest.warns(UserWarning):
        assert x.resize_as(tl.ones(3, 2)).shape == (3, 2)


def test_copies_of_the_parts_of_sparse_tensors():
    from tl_core.functions import private as functions

    x = tl.eye(3).to_sparse().coalesce()
    for name in ("indices", "values", "_indices", "_values"):
        part, copied = getattr(x, name)(), getattr(functions, f"{name}_copy")(x)
        assert part.tolist() == copied.tolist()
        assert part.data_ptr() != copied.data_ptr()
    for layout, names in (("csr", ("crow", "col")), ("csc", ("ccol", "row"))):
        x = getattr(tl.eye(3), f"to_sparse_{layout}")()
        for name in names:
            result = getattr(functions, f"{name}_indices_copy")(x)
            assert result.tolist() == getattr(x, f"{name}_indices")().tolist()
    assert not functions.is_distributed(tl.ones(1))
    assert functions._conj_copy(tl.tensor([1j])).tolist() == [-1j]
    assert functions._neg_view_copy(tl.tensor([1])).tolist() == [-1]


def test_indices_in_a_list_are_asked():
    class Asked(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, len(args)

    x = tl.ones(3)
    assert x[[Asked(), Asked()]] == ("__getitem__", 2)
    assert x[[0, Asked()]] == ("__getitem__", 2)
    x[[Asked(), 0]] = 5.0  # the class did nothing
    assert x.tolist() == [1.0, 1.0, 1.0]
