"""Tests that PyTorch's files write once for all devices, dtypes and arguments: here those of the CPU."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Test = Callable[..., Any]
Choice = tuple[str, dict[str, Any]]  # the ending of the name, and the arguments


class Subtest:
    """One choice of arguments with a name of its own."""

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Sequence[Any] = ()) -> None:
        self.values, self.name = arg_values, name


def parametrize(arg_str: str, arg_values: Any, name_fn: Any = None) -> Callable[[Test], Test]:
    """Notes with which arguments a test runs."""
    keys = [name.strip() for name in arg_str.split(",") if name.strip()]

    def decorate(test: Test) -> Test:
        choices = [_choice(keys, value, index) for index, value in enumerate(arg_values)]
        test.__dict__["choices"] = [choices, *test.__dict__.get("choices", [])]
        return test

    return decorate


def _choice(keys: list[str], value: Any, index: int) -> Choice:
    name = None
    if isinstance(value, Subtest):
        name, value = value.name, value.values
    arguments = dict(zip(keys, value if len(keys) > 1 else (value,), strict=True))
    return name or str(index), arguments


def dtypes(*values: Any) -> Callable[[Test], Test]:
    """Notes with which dtypes a test runs."""

    def decorate(test: Test) -> Test:
        test.__dict__.setdefault("dtypes", values)
        return test

    return decorate


def dtypes_of_cpu(*values: Any) -> Callable[[Test], Test]:
    """Notes with which dtypes a test runs on the CPU."""

    def decorate(test: Test) -> Test:
        test.__dict__["dtypes"] = values
        return test

    return decorate


def drop(*args: Any, **_: Any) -> Any:
    """A decorator: tests of another device, or made from tables of operators, are not run."""
    if len(args) == 1 and inspect.isfunction(args[0]) and args[0].__name__ != "<lambda>":  # no argument of it
        args[0].__dict__["drop"] = True
        return args[0]
    if len(args) == 1 and inspect.isclass(args[0]):
        return type(args[0].__name__, (), {})
    return drop


def instantiate_parametrized_tests(case: type) -> type:
    """Replaces each test of a class that has arguments by one for each choice."""
    for name, test in _tests(case):
        if "choices" in vars(test):
            delattr(case, name)
            for ending, arguments in _combinations(test):
                setattr(case, f"{name}_{ending}", _with(test, arguments))
    return case


def instantiate_device_type_tests(case: type, scope: dict[str, Any], except_for: Any = None,
                                  only_for: Any = None, **_: Any) -> None:  # fmt: skip
    """Puts a class with the tests for the CPU into a module, in the place of the one without a device."""
    del scope[case.__name__]
    if (only_for is not None and "cpu" not in only_for) or (except_for is not None and "cpu" in except_for):
        return
    body: dict[str, Any] = {"__module__": scope["__name__"], "__test__": True}
    for name, test in _tests(case):
        delattr(case, name)
        for ending, arguments in _with_devices(test):
            body["_".join(filter(None, (name, ending)))] = _with(test, arguments)
    for name in ("setUp", "tearDown"):  # tests call super(self.__class__, self).setUp()
        if name in vars(case):
            body[name] = vars(case)[name]
            delattr(case, name)
    scope[f"{case.__name__}CPU"] = type(f"{case.__name__}CPU", (case,), body)


def _tests(case: type) -> Iterator[tuple[str, Test]]:
    for name, test in list(vars(case).items()):
        if name.startswith("test") and inspect.isfunction(test):
            if "drop" in vars(test):
                delattr(case, name)
            else:
                yield name, test


def _combinations(test: Test) -> Iterator[Choice]:
    for combination in itertools.product(*test.__dict__.get("choices", [])):
        arguments = {key: value for _, part in combination for key, value in part.items()}
        yield "_".join(name for name, _ in combination), arguments


def _with_devices(test: Test) -> Iterator[Choice]:
    names = inspect.signature(test).parameters
    for ending, arguments in _combinations(test):
        if "device" in names:
            arguments["device"] = "cpu"
        keyword = "dtypes" if "dtypes" in names else "dtype"  # of several types
        for dtype in test.__dict__.get("dtypes", [None]):
            more = {keyword: dtype} if dtype is not None and keyword in names else {}
            yield "_".join(filter(None, (ending, "cpu", _dtype_name(dtype)))), arguments | more


def _dtype_name(dtype: Any) -> str:
    if dtype is None:
        return ""
    return "_".join(
        str(each).rpartition(".")[2] for each in (dtype if isinstance(dtype, tuple) else (dtype,))
    )


def _with(test: Test, arguments: dict[str, Any]) -> Test:
    @functools.wraps(test)
    def run(self: Any) -> Any:
        return test(self, **arguments)

    del run.__wrapped__  # pytest would ask its signature for fixtures
    run.__dict__.pop("choices", None)
    return run
