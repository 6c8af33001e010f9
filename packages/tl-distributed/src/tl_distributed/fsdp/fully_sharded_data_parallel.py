"""Sharded training by a wrapper: not there yet; its name is, as programs ask whether a module is one."""

from __future__ import annotations

from typing import Any

from tl_nn import Module, Parameter

from . import api
from .api import *  # noqa: F403 - the settings are names of this module as well
from .api import missing

__all__ = ["FlatParameter", "FullyShardedDataParallel", *api.__all__]


class FlatParameter(Parameter):
    """The parameters of a wrapped module as one; none is made yet.

    Example:
        >>> import tl_nn
        >>> from tl_distributed import fsdp
        >>> isinstance(tl_nn.Linear(1, 1).weight, fsdp.FlatParameter)
        False
    """


class FullyShardedDataParallel(Module):
    """Would train a module with sharded parameters.

    Args:
        module: the module.
        options: as in PyTorch.

    Raises:
        NotImplementedError: always.

    Example:
        >>> import tl_nn
        >>> from tl_distributed import fsdp
        >>> fsdp.FullyShardedDataParallel(tl_nn.Linear(1, 1))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        NotImplementedError: FullyShardedDataParallel: ...
    """

    def __init__(self, module: Module, *args: Any, **options: Any) -> None:
        missing("FullyShardedDataParallel")

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrapped modules of a model: none.

        Args:
            module: the model.
            root_only: whether the outermost alone are asked for.
        """
        return [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
