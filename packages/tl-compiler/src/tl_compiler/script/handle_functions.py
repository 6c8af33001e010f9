"""Functions of PyTorch's native module on graphs and on handles of modules."""

from __future__ import annotations

from typing import Any

from .freezing import freeze_module
from .module_handle import ModuleHandle

__all__ = ["freeze_handle", "inline_calls"]


def inline_calls(graph: Any) -> None:
    """Puts the operators of called functions in the place of the calls of a graph: `torch._C._jit_pass_inline`.

    Args:
        graph: the graph.
    """
    graph.inline()


def freeze_handle(
    module: ModuleHandle,
    preservedAttrs: list[str] | None = None,
    freezeInterfaces: bool = True,
    preserveParameters: bool = False,
) -> ModuleHandle:
    """Returns the frozen form of a module: `torch._C._freeze_module`.

    Args:
        module: the handle of the module.
        preservedAttrs: the names of attributes and methods that stay.
        freezeInterfaces: without effect: modules that interfaces declare are frozen like others.
        preserveParameters: whether parameters stay attributes.

    Raises:
        RuntimeError: as `torch.jit.freeze` raises it.
    """
    return ModuleHandle(freeze_module(module._module, tuple(preservedAttrs or ()), preserveParameters))
