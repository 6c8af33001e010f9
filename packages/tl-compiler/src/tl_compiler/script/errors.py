"""Errors and warnings of programs of TorchScript."""

from __future__ import annotations

from typing import Any

__all__ = ["Error", "ScriptWarning", "TracerWarning", "TracingCheckError"]


class Error(RuntimeError):
    """A program of TorchScript has raised an exception.

    Example:
        >>> issubclass(Error, RuntimeError)
        True
    """


class ScriptWarning(Warning):
    """Warning of the compiler of TorchScript."""


class TracerWarning(Warning):
    """A trace may not hold for other inputs."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Accepted: the warnings of a trace come from its caller alone."""


class TracingCheckError(Exception):
    """A trace computes something else than the function.

    Args:
        graph_diff_error: the difference of the graphs of two runs, or None.
        tensor_compare_error: the difference of values, or None.
        extra_msg: further text.
    """

    def __init__(
        self, graph_diff_error: Any, tensor_compare_error: Any, extra_msg: str | None = None
    ) -> None:
        message = "Tracing failed sanity checks!\n"
        if extra_msg is not None:
            message += extra_msg + "\n"
        if graph_diff_error is not None:
            message += f"ERROR: Graphs differed across invocations!\n{_indent(graph_diff_error)}\n"
        if tensor_compare_error is not None:
            message += (
                "ERROR: Tensor-valued Constant nodes differed in value across invocations. This often indicates that "
                "the "
                f"tracer has encountered untraceable code.\n{_indent(tensor_compare_error)}\n"
            )
        super().__init__(message)


def _indent(text: str) -> str:
    return "\n".join(f"\t{line}" for line in text.splitlines())
