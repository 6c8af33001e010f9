"""Error notes of modules: the path to the module that failed, its parameters, the shapes of its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tl_core import Tensor, strided

# The errors of operators. All other exceptions, such as control flow of a program, pass unchanged.
NOTED_ERRORS = (RuntimeError, ValueError, TypeError, IndexError)
_KEY = "_tl_module"


class _ModulePath:
    """Path from the outermost module that an error has left to the module that raised it."""

    def __init__(self, module: Any, message: str, arguments: str):
        self.outermost, self.message, self.path = module, message, ""
        self.text = f"{type(module).__name__}({_own_repr(module)}) got {arguments}"

    def text_with_path(self) -> str:
        return f"{self.message}\n  in {self.path}{': ' if self.path else ''}{self.text}"

    def leave(self, module: Any) -> None:
        """Prepends the name of the submodule as the error leaves its parent."""
        name = _name_in(module, self.outermost)
        self.path = f"{name}.{self.path}" if self.path else name
        self.outermost = module


def add_error_notes(module: Any, error: Exception, args: tuple, kwargs: dict[str, Any]) -> None:
    """Adds to the error's message, or lengthens the path that an inner module has put there.

    Args:
        module: the module whose call failed.
        error: the exception of its forward.
        args: the positional arguments of the call.
        kwargs: its keyword arguments.
    """
    path_of_error = error.__dict__.get(_KEY)
    if path_of_error is None:
        if len(error.args) != 1 or not isinstance(error.args[0], str) or str(error) != error.args[0]:
            return
        path_of_error = error.__dict__[_KEY] = _ModulePath(
            module, error.args[0], _describe_arguments(args, kwargs)
        )
    elif path_of_error.outermost is not module:
        path_of_error.leave(module)
    error.args = (path_of_error.text_with_path(),)


def _own_repr(module: Any) -> str:
    return "" if module._modules else module.extra_repr().replace("\n", " ")


def _name_in(module: Any, inner: Any) -> str:
    return next((name for name, m in module.named_modules() if m is inner), type(inner).__name__)


def _describe_arguments(args: tuple, kwargs: dict[str, Any]) -> str:
    parts = [_describe(a) for a in args] + [f"{k}={_describe(v)}" for k, v in kwargs.items()]
    return ", ".join(parts) or "no arguments"


def _describe(value: Any) -> str:
    if isinstance(value, Tensor):
        return _shape(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_few(value))}]"
    return repr(value) if isinstance(value, (int, float, str, type(None))) else type(value).__name__


def _few(values: Any) -> Iterator[str]:
    for i, value in enumerate(values):
        if i == 4:
            yield f"… {len(values) - 4} more"
            return
        yield _describe(value)


def _shape(t: Tensor) -> str:
    dtype = "" if str(t.dtype) == "torch.float32" else f" {str(t.dtype).removeprefix('torch.')}"
    if t.is_nested and t.layout is strided:
        return f"(nested: {len(t)} tensors){dtype}"
    return f"{tuple(t.shape)}{dtype}"
