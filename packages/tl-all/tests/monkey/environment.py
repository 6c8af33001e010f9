"""What the expressions of the calls name: the module under test, and objects that misbehave."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

import tl
from tl.utils._python_dispatch import TorchDispatchMode

__all__ = ["Decimal", "Fraction", "np", "tl"]


class Number:
    """It says that it is a number, in every way."""

    def __float__(self) -> float:
        return 1.5

    def __int__(self) -> int:
        return 1

    def __index__(self) -> int:
        return 1

    def __complex__(self) -> complex:
        return 1j


class BadNumber:
    """It says so, and raises when it is asked."""

    def __float__(self) -> float:
        raise ZeroDivisionError("no float")

    def __index__(self) -> int:
        raise ZeroDivisionError("no index")

    def __bool__(self) -> bool:
        raise ZeroDivisionError("no truth")

    def __len__(self) -> int:
        raise ZeroDivisionError("no length")


class Everything:
    """It has every attribute that it is asked for."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self


class Answers:
    """Its `__torch_function__` returns one value, whatever is called."""

    def __init__(self, value: Any):
        self.value = value

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return next((a.value for a in args if isinstance(a, cls)), None)


class Raises:
    """Its `__torch_function__` raises."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise LookupError("no such function")


class _Lying(list):
    def __len__(self) -> int:
        return 3


class _Raising(list):
    def __iter__(self) -> Any:
        raise LookupError("no items")

    def __len__(self) -> int:
        raise LookupError("no length")

    def __getitem__(self, key: Any) -> Any:
        raise LookupError("no item")


class Subclass(tl.Tensor):
    """One that changes nothing."""


class Wrapper(tl.Tensor):
    """A tensor without memory around another; `answer` says what its handler returns."""

    @staticmethod
    def __new__(cls, inner: Any, answer: Any = None, **fields: Any) -> Any:
        result = tl.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, **fields)
        result.inner, result.answer = inner, answer
        return result

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        answer = next((a.answer for a in args if isinstance(a, cls)), None)
        plain = tl.utils._pytree.tree_map_only(cls, lambda t: t.inner, (args, kwargs or {}))
        return function(*plain[0], **plain[1]) if answer is None else answer(function, args, kwargs or {})


class _Mode(TorchDispatchMode):
    def __init__(self, answer: Any):
        super().__init__()
        self.answer = answer

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.answer(function, args, kwargs or {})


class _FunctionMode(tl.overrides.TorchFunctionMode):
    def __init__(self, answer: Any):
        super().__init__()
        self.answer = answer

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.answer(function, args, kwargs or {})


def under_dispatch_mode(answer: Any, call: Any) -> Any:
    """The call in a mode whose handler returns what `answer(function, args, kwargs)` does."""
    with _Mode(answer):
        return call()


def under_function_mode(answer: Any, call: Any) -> Any:
    """The same with a mode of `__torch_function__`."""
    with _FunctionMode(answer):
        return call()


_compiled = tl.compile(lambda call: call())


def in_region(call: Any) -> Any:
    """The call in a compiled region, where operators of many elements wait."""
    return _compiled(call)


def beside_readers(call: Any) -> Any:
    """What a call does to a tensor that waits, and which steps before and after it read."""

    def program() -> Any:
        x = tl.rand(40, 40) + 1
        before = [x * 2, x.t() - 1, x[3:].exp()]
        result = call(x)
        return result, before, x * 3

    return _compiled(program)


def wrapper_subclass() -> Any:
    """A tensor without memory, whose handler runs what it is asked for."""
    return Wrapper(tl.rand(2, 3))


def subclass() -> Any:
    """A tensor of a class of its own."""
    return tl.rand(2, 3).as_subclass(Subclass)


def fake_tensor() -> Any:
    """A tensor that has no values."""
    from tl._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode().from_tensor(tl.rand(2, 3))


def shrunk_storage() -> Any:
    """A tensor that reaches beyond its storage."""
    result = tl.arange(6.0).reshape(2, 3)
    result.untyped_storage().resize_(4)
    return result


def inference_tensor() -> Any:
    """One that no graph may hold."""
    with tl.inference_mode():
        return tl.rand(2, 3)


def cyclic_list() -> list:
    """A list that holds itself."""
    results: list = [1]
    results.append(results)
    return results


def deep_list() -> list:
    """500 lists in one another."""
    results: list = []
    for _ in range(500):
        results = [results]
    return results


def lying_list() -> list:
    """A list whose length is not that of what it holds."""
    return _Lying([1])


def raising_list() -> list:
    """A list that raises whatever it is asked."""
    return _Raising([1, 2])
