"""`torch.jit.trace` and `torch.jit.trace_module`: runs become programs, and the programs are compared with the runs."""

from __future__ import annotations

import difflib
import functools
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import tl_core
import tl_nn
from tl_core.pytree import tree_map
from tl_core.subclasses.fake_exceptions import UnsupportedFakeTensorException
from tl_core.testing.comparison import assert_close

from ..fx.node import Node
from ..script.errors import TracerWarning, TracingCheckError
from ..script.script_function import ScriptFunction
from ..script.script_module import TopLevelTracedModule, TracedModule
from ..script.sources import fresh_name
from ..script.tracing_state import current_trace
from ..scripting.scripting import script as compile_program
from .building import TracedProgram, argument_names
from .code import check_examples
from .recording import Recording, record
from .repetition import repeat

__all__ = ["check_program", "trace", "trace_function", "trace_methods", "trace_module"]

Tensor = tl_core.Tensor


def _base(path: str) -> type:
    return TracedModule if path else TopLevelTracedModule


def _inputs(example: Any, keywords: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example, (Tensor, dict)):
        example = (example,)
    positional, keywords = tuple(example or ()), dict(keywords or {})
    check_examples((*positional, *keywords.values()))
    return positional, keywords


def _detach(value: Any) -> Any:
    return value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value


_CONTAINER = (
    "Encountering a {} at the output of the tracer might cause the trace to be incorrect, this is only valid if the "
    "container structure does not change based on the module's inputs. Consider using a constant container instead "
    "(e.g. for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely need this and "
    "know the side effects, pass strict=False to trace() to allow this behavior."
)


def _check_containers(result: Any, warns: bool) -> None:
    """Warns of a list as the result, and raises an error for a dictionary."""
    if isinstance(result, dict):
        raise RuntimeError(_CONTAINER.format("dict"))
    if isinstance(result, list) and warns and all(isinstance(item, Node) for item in result):
        warnings.warn(_CONTAINER.format("list"), TracerWarning, stacklevel=6)


def _record_run(module: Any, function: Any, inputs: Any, strict: bool, warns: bool = True) -> Recording:
    result = record(module, function, inputs, warns)
    if strict:
        _check_containers(result.result, warns)
    return result


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    module = getattr(function, "__module__", None) or "__main__"
    own = (
        name
        if name.isidentifier() and name != "<lambda>"
        else "lambda_function"
        if "<" in name
        else "function"
    )
    return fresh_name(f"__torch__.{own}" if module == "__main__" else f"__torch__.{module}.{own}")


def trace_function(
    function: Callable[..., Any], inputs: Any, strict: bool, warns: bool = True
) -> ScriptFunction:
    """Returns the function of a run.

    Args:
        function: the function.
        inputs: the examples by position and by name.
        strict: whether a list or dictionary as the result is an error.
        warns: whether Python's reading of a value warns.
    """
    empty = tl_nn.Module()
    traced = TracedProgram(empty, _base)
    recording = _record_run(empty, function, inputs, strict, warns)
    traced.declare([recording])
    names = argument_names(function, len(inputs[0]))
    qualified = traced.add_function(recording, _name_of(function), names, inputs)
    result = ScriptFunction(traced.program, qualified, function)
    result._recording = recording  # type: ignore[attr-defined]  # for checks
    return result


def trace_methods(
    module: Any, inputs: dict[str, Any], strict: bool, warns: bool = True
) -> tuple[Any, dict[str, Recording]]:
    """Returns the traced module of runs of methods, and the recordings by method.

    Args:
        module: the module.
        inputs: for each method, the examples by position and by name.
        strict: whether a list or dictionary as the result is an error.
        warns: whether Python's reading of a value warns.
    """
    if current_trace() is not None:
        raise RuntimeError("a trace is recorded already: trace can't be called inside of it")
    if any(part._backward_hooks for part in module.modules()):
        raise ValueError(f"Modules that have backward hooks assigned can't be compiled: {module}")
    traced = TracedProgram(module, _base)
    recordings = {}
    for name, examples in inputs.items():
        function = module if name == "forward" else getattr(module, name)
        recordings[name] = _record_run(module, function, examples, strict, warns)
    traced.declare(list(recordings.values()))
    for name, recording in recordings.items():
        names = argument_names(getattr(module, name), len(inputs[name][0]))
        traced.add_method(recording, name, names, inputs[name])
    return traced.build(), recordings


# ---- checks
def _random_operators(result: Any, name: str) -> list[str]:
    code = result.code if isinstance(result, ScriptFunction) else result._code_of(name)
    words = (
        "rand",
        "dropout",
        "bernoulli",
        "multinomial",
        "normal",
        "poisson",
        "exponential_",
        "uniform_",
        "rrelu",
    )
    return [line.strip() for line in code.splitlines() if any(f"torch.{w}" in line for w in words)]


def _differences(expected: Any, actual: Any, tolerance: float) -> str | None:
    if isinstance(expected, Tensor):
        if not isinstance(actual, Tensor):
            return f"the trace returns {type(actual).__name__}, the function a tensor"
        try:
            assert_close(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True, check_stride=False)
        except AssertionError as error:
            return str(error)
        return None
    if isinstance(expected, dict):
        return _differences(list(expected.values()), list(actual.values()), tolerance)
    if isinstance(expected, (list, tuple)):
        pairs = zip(expected, actual, strict=False)
        return next((d for a, b in pairs if (d := _differences(a, b, tolerance))), None)
    return None


def check_program(
    function: Any,
    traced: Any,
    again: Callable[[], Any],
    name: str,
    inputs: Any,
    tolerance: float,
    recording: Recording | None = None,
) -> None:
    """Compares a program with the function that it was traced of.

    Args:
        function: the function.
        traced: the program's function or module.
        again: returns a second trace.
        name: the name of the method.
        inputs: arguments by position and by name.
        tolerance: how far values may differ.
        recording: the trace, if the inputs are those of the trace. A second run is then compared with it.

    Raises:
        TracingCheckError: two traces differ.
    """
    own = tree_map(_detach, inputs[0]), tree_map(_detach, inputs[1])
    if recording is not None:
        repeats, expected = repeat(recording.calls, recording.value_of, function, own)
    else:
        repeats, expected = False, None
    if not repeats:
        with _second_run():
            _check_code(traced, again(), name)
        if recording is None:
            expected = function(*own[0], **own[1])
    _check_results(traced, expected, name, inputs, tolerance)


def _check_code(traced: Any, again: Any, name: str) -> None:
    """Raises TracingCheckError where the code of two traces differs."""
    first = traced.code if isinstance(traced, ScriptFunction) else traced._code_of(name)
    second = again.code if isinstance(again, ScriptFunction) else again._code_of(name)
    if not isinstance(traced, ScriptFunction) or first.partition("(")[2] != second.partition("(")[2]:
        graph_difference = _text_difference(first, second)
        if graph_difference:
            raise TracingCheckError(graph_difference, None)


def _check_results(traced: Any, expected: Any, name: str, inputs: Any, tolerance: float) -> None:
    """Warns where a program computes something else than its function."""
    method = traced if isinstance(traced, ScriptFunction) or name == "forward" else getattr(traced, name)
    actual = method(*tree_map(_detach, inputs[0]), **tree_map(_detach, inputs[1]))
    results = (
        zip(expected, actual, strict=False) if isinstance(expected, (tuple, list)) else [(expected, actual)]
    )
    for number, (value, other) in enumerate(results, 1):
        difference = _differences(value, other, tolerance)
        if difference is None:
            continue
        nodes = _random_operators(traced, name)
        if nodes:
            listed = "\n".join(f"\t{n}" for n in nodes)
            warnings.warn(
                f"Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n{listed}\n"
                "This may cause errors in trace checking. To disable trace checking, pass check_trace=False to "
                "torch.jit.trace()",
                TracerWarning,
                stacklevel=5,
            )
        warnings.warn(
            f"Output nr {number}. of the traced function does not match the corresponding output of the Python "
            f"function. Detailed error:\n{difference}",
            TracerWarning,
            stacklevel=5,
        )
        return


@contextmanager
def _second_run() -> Iterator[None]:
    """Raises TracingCheckError where a second run uses a tensor of the first."""
    try:
        yield
    except AssertionError as error:
        if "fake modes" not in str(error):
            raise
        raise TracingCheckError(
            "The second run uses a tensor of the first one, which the function keeps.", None
        ) from error


def _text_difference(first: str, second: str) -> str:
    a, b = (re.sub(r"___torch_mangle_\d+\.", "", t).splitlines() for t in (first, second))
    if a == b:
        return ""
    return "Graph diff:\n" + "\n".join(f"\t{line}" for line in difflib.ndiff(a, b))


def trace(
    function: Any,
    example: Any,
    keywords: Any,
    *,
    check: bool,
    check_inputs: Any,
    tolerance: float,
    strict: bool,
) -> Any:
    """Returns the program of a run. `tl_compiler.jit.trace` describes the errors.

    Args:
        function: the function or module.
        example: the arguments of the run.
        keywords: the arguments by name.
        check: whether a second run must compute the same.
        check_inputs: further inputs of such runs.
        tolerance: the difference that results may have.
        strict: whether lists and dictionaries as results are errors.
    """
    inputs = _inputs(example, keywords)
    owner = getattr(function, "__self__", None)
    if isinstance(function, tl_nn.Module):
        return trace_module(
            function,
            {"forward": inputs},
            check=check,
            check_inputs=check_inputs and [{"forward": _inputs(i, None)} for i in check_inputs],
            tolerance=tolerance,
            strict=strict,
        )
    if isinstance(owner, tl_nn.Module):
        if function.__name__ != "forward":
            raise AttributeError(
                f"trace doesn't support compiling individual module's functions, got {function.__qualname__}. Please "
                "use trace_module"
            )
        checks = check_inputs and [{"forward": _inputs(i, None)} for i in check_inputs]
        return trace_module(
            owner, {"forward": inputs}, check=check, check_inputs=checks, tolerance=tolerance, strict=strict
        )
    result = trace_function(function, inputs, strict)
    if check:
        recordings = [result._recording, *[None] * len(check_inputs or ())]  # type: ignore[attr-defined]
        examples = [inputs, *(_inputs(i, None) for i in check_inputs or ())]
        for more, recording in zip(examples, recordings, strict=True):
            again = functools.partial(trace_function, function, more, strict, warns=False)
            check_program(function, result, again, result.name, more, tolerance, recording)
    return result


@contextmanager
def _warnings_of_success() -> Iterator[None]:
    """Delivers the warnings of a block at its end, and none of a block that raises an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _has_programs(module: Any) -> bool:
    """Whether layers of a module state their programs, because calls of their kernels can't be recorded."""
    return any("_SCRIPT_SOURCE" in vars(kind) for part in module.modules() for kind in type(part).__mro__)


def _compile(module: Any, inputs: dict[str, Any], check: bool, tolerance: float) -> Any:
    """The program of a module's source, for a module whose runs can't be recorded.

    Quantized tensors have no fakes, so a run of quantized layers is none of operators on fakes.
    """
    result = compile_program(module, {})
    if check:
        with tl_core.no_grad():
            for name, examples in inputs.items():
                function = module if name == "forward" else getattr(module, name)
                own = tree_map(_detach, examples[0]), tree_map(_detach, examples[1])
                _check_results(result, function(*own[0], **own[1]), name, examples, tolerance)
    return result


def trace_module(
    module: Any, inputs: dict[str, Any], *, check: bool, check_inputs: Any, tolerance: float, strict: bool
) -> Any:
    """Returns the program of runs of methods. `tl_compiler.jit.trace_module` describes the errors.

    Args:
        module: the module.
        inputs: the arguments of each method, by its name.
        check: whether a second run must compute the same.
        check_inputs: further inputs of such runs.
        tolerance: the difference that results may have.
        strict: whether lists and dictionaries as results are errors.
    """
    try:
        with _warnings_of_success() if _has_programs(module) else nullcontext():
            result, recordings = trace_methods(module, inputs, strict)
    except (NotImplementedError, UnsupportedFakeTensorException):  # a quantized tensor, which has no fake
        if not _has_programs(module):
            raise
        return _compile(module, inputs, check, tolerance)
    if check:
        with tl_core.no_grad():
            for more in [inputs, *(check_inputs or ())]:
                again = functools.cache(lambda more=more: trace_methods(module, more, strict, warns=False)[0])
                for name, examples in more.items():
                    function = module if name == "forward" else getattr(module, name)
                    recording = recordings[name] if more is inputs else None
                    check_program(function, result, again, name, examples, tolerance, recording)
    return result
