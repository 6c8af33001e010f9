"""Weight normalization by a hook: the older form of `parametrizations.weight_norm`."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from tl_core import Tensor

from ..modules.module import Module
from ..parameter import Parameter
from .parametrizations import norm_except

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

_M = TypeVar("_M", bound=Module)


class WeightNorm:
    """The hook that computes the weight before each call."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """The weight from its length and direction."""
        length, direction = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return direction * (length / norm_except(direction, self.dim))

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Register the hook, and length and direction in the place of the weight."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        norm = WeightNorm(name, dim)
        weight: Tensor = getattr(module, name)
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(norm_except(weight, norm.dim).detach()))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
        setattr(module, name, norm.compute_weight(module))
        module.register_forward_pre_hook(norm)
        return norm

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: _M, name: str = "weight", dim: int | None = 0) -> _M:
    """Train length and direction of a weight by themselves (Salimans and Kingma, 2016).

    The older form of `parametrizations.weight_norm`: the parameters are `weight_g` and `weight_v`, and the weight is
    computed before each call.

    Args:
        module (Module): The module.
        name (str): The weight.
        dim (int, optional): The dimension with a length for each index. None selects one length.

    Raises:
        RuntimeError: If it is normalized already.

    Example:
        >>> import warnings
        >>> import tl_nn
        >>> warnings.simplefilter("ignore")
        >>> tl_nn.utils.weight_norm(tl_nn.Linear(20, 40)).weight_g.shape
        torch.Size([40, 1])
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: _M, name: str = "weight") -> _M:
    """Make a normalized weight a parameter again.

    Raises:
        ValueError: If it isn't normalized.

    Example:
        >>> import tl_nn
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     layer = tl_nn.utils.weight_norm(tl_nn.Linear(3, 2))
        ...
        >>> layer = tl_nn.utils.remove_weight_norm(layer)
        >>> sorted(name for name, _ in layer.named_parameters())
        ['bias', 'weight']
    """
    for number, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
