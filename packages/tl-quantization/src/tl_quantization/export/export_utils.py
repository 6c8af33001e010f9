"""Facts of exported models, and functions as modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_compiler.fx import GraphModule
from tl_nn import Module

__all__ = ["WrapperModule", "model_is_exported"]


class WrapperModule(Module):
    """A module whose `forward` is a function, so that the function can be exported.

    Args:
        fn: the function.

    Example:
        >>> WrapperModule(abs)(-1)
        1
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function."""
        return self.fn(*args, **kwargs)


def model_is_exported(m: Any) -> bool:
    """Whether a module is the result of `export`: a graph module whose inputs have recorded values.

    Args:
        m: the module.

    Example:
        >>> import tl_core, tl_nn as nn
        >>> from tl_compiler.export import export_for_training
        >>> model = nn.ReLU()
        >>> model_is_exported(model), model_is_exported(export_for_training(model, (tl_core.ones(1),)).module())
        (False, True)
    """
    return isinstance(m, GraphModule) and any("val" in node.meta for node in m.graph.nodes)
