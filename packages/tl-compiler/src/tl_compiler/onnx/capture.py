"""Strategies that turn a model into a program: one after another, until one succeeds."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import tl_core
import tl_nn
from tl_core.pytree import tree_leaves

from ..export import ExportedProgram
from ..export._trace import trace_program
from ..export.dynamic_shapes import Dim, refine_dynamic_shapes_from_suggested_fixes
from ..symbolic.errors import UserError
from .errors import OnnxExporterError

__all__ = ["STRATEGIES", "Attempt", "capture"]


class Attempt(NamedTuple):
    """A strategy and its result.

    Args:
        name: the name of the strategy.
        program: the program, or None.
        error: the error, or None.
    """

    name: str
    program: ExportedProgram | None
    error: Exception | None


def _module_of(function: Callable[..., Any]) -> Any:
    """A module that calls a function, with the function's signature."""

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function of C without a text
        pass
    else:
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        parameters = [p.replace(kind=_positional(p.kind)) for p in signature.parameters.values()]
        forward.__signature__ = signature.replace(parameters=[own, *parameters])  # type: ignore[attr-defined]  # for `inspect`
    name = getattr(function, "__name__", "Function")
    return type(name if name.isidentifier() else "Function", (tl_nn.Module,), {"forward": forward})()


def _positional(kind: Any) -> Any:
    return inspect.Parameter.POSITIONAL_OR_KEYWORD if kind is inspect.Parameter.POSITIONAL_ONLY else kind


def as_module(model: Any) -> Any:
    """The module of a model, which may be a function.

    Args:
        model: a module, an exported program or a function.

    Raises:
        OnnxExporterError: it is none of these.
    """
    if isinstance(model, (tl_nn.Module, ExportedProgram)):
        return model
    if callable(model):
        return _module_of(model)
    raise OnnxExporterError(
        f"export(): argument 'model' must be a module, an exported program or a function, got {type(model).__name__}"
    )


def _export(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any) -> ExportedProgram:
    try:
        return trace_program(model, args, kwargs, shapes, (), False)
    except UserError as error:
        ranges = _narrow_ranges(str(error), shapes)
        if ranges is None:
            raise
    return trace_program(model, args, kwargs, ranges, (), False)


def _narrow_ranges(message: str, shapes: Any) -> Any:
    """The dynamic sizes with the ranges that an error suggests. None if it suggests none, or numbers."""
    if shapes is None or "Suggested fixes" not in message:
        return None
    new = refine_dynamic_shapes_from_suggested_fixes(message, shapes)
    before, after = (tree_leaves(tree, is_leaf=lambda x: isinstance(x, Dim)) for tree in (shapes, new))
    numbers = [isinstance(b, int) and not isinstance(a, int) for a, b in zip(before, after, strict=True)]
    return None if any(numbers) else new


def _trace(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any) -> ExportedProgram:
    from .traced import program_of_run

    return program_of_run(model, args, kwargs)


# Names for reports, and the strategies in the order in which they are tried.
STRATEGIES: dict[str, Callable[..., ExportedProgram]] = {"export": _export, "trace": _trace}


def capture(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    shapes: Any,
    attempts: list[Attempt],
    needs_sizes: bool = False,
) -> ExportedProgram:
    """The program of a model.

    Args:
        model: the module.
        args: the example inputs.
        kwargs: those by keyword.
        shapes: the dynamic sizes.
        attempts: gets an entry for each strategy that was tried.
        needs_sizes: whether strategies that make all sizes constants are left out.

    Raises:
        OnnxExporterError: no strategy succeeded.
    """
    if isinstance(model, ExportedProgram):
        attempts.append(Attempt("program", model, None))
        return model
    for name, strategy in STRATEGIES.items():
        if needs_sizes and name == "trace":
            continue
        try:
            with tl_core.no_grad() if name == "trace" else contextlib.nullcontext():
                program = strategy(model, args, kwargs, shapes)
        except Warning:  # which the caller's filters turned into an error
            raise
        except (
            Exception
        ) as error:  # each strategy fails in its own way; the report and the error below name them all
            attempts.append(Attempt(name, None, error))
        else:
            attempts.append(Attempt(name, program, None))
            return program
    failures = "\n".join(f"- {a.name}: {type(a.error).__name__}: {a.error}" for a in attempts)
    raise OnnxExporterError(f"no strategy could capture {type(model).__name__}:\n{failures}") from attempts[
        0
    ].error
