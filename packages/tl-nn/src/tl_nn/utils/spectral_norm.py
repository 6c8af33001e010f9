"""Spectral normalization by a hook: the older form of `parametrizations.spectral_norm`."""

from __future__ import annotations

from typing import Any, TypeVar

import tl_core
from tl_core import Tensor, no_grad

from ..modules.module import Module
from ..parameter import Parameter
from .parametrizations import default_dim, unit

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

_M = TypeVar("_M", bound=Module)


class SpectralNorm:
    """The hook that computes the weight before each call.

    Args:
        name: the parameter's name.
        n_power_iterations: the iterations in each call in training.
        dim: the dimension of the outputs.
        eps: the least length divided by.
    """

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix whose rows are the outputs."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        """The weight divided by its largest singular value, which may be estimated anew first."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(unit(tl_core.mv(matrix.t(), u), self.eps))
                    u.copy_(unit(tl_core.mv(matrix, v), self.eps))
            u, v = u.clone(), v.clone()  # the next iteration would change tensors that backward needs
        return weight / tl_core.dot(u, tl_core.mv(matrix, v))

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for name in (self.name, f"{self.name}_u", f"{self.name}_v", f"{self.name}_orig"):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Register the hook, and the original in the place of the weight."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        norm = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        with no_grad():
            matrix = norm.reshape_weight_to_matrix(weight)
            u = unit(weight.new_empty(matrix.size(0)).normal_(0, 1), eps)
            v = unit(weight.new_empty(matrix.size(1)).normal_(0, 1), eps)
        del module._parameters[name]
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(norm)
        return norm


def spectral_norm(
    module: _M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> _M:
    """Divide a weight by its largest singular value, estimated by power iteration (Miyato et al., 2018).

    The older form of `parametrizations.spectral_norm`: the parameter is `weight_orig`, and the weight is computed
    before each call.

    Args:
        module (Module): The module.
        name (str): The weight, taken as a matrix.
        n_power_iterations (int): The number of iterations in each call in training.
        eps (float): The smallest length divided by.
        dim (int, optional): The dimension of the outputs, by default 0, and 1 for transposed convolutions.

    Raises:
        RuntimeError: If it is normalized already.

    Example:
        >>> import tl_nn
        >>> tl_nn.utils.spectral_norm(tl_nn.Linear(20, 40)).weight_u.shape
        torch.Size([40])
    """
    SpectralNorm.apply(module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: _M, name: str = "weight") -> _M:
    """Make a normalized weight a parameter again.

    Raises:
        ValueError: If it isn't normalized.

    Example:
        >>> import tl_nn
        >>> layer = tl_nn.utils.spectral_norm(tl_nn.Linear(3, 2))
        >>> layer = tl_nn.utils.remove_spectral_norm(layer)
        >>> [name for name, _ in layer.named_parameters()]
        ['bias', 'weight']
    """
    for number, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")
