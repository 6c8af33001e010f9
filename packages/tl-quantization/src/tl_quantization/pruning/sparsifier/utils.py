"""Names of modules and tensors, and the parametrization of a tensor with zeros."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_nn import Module
from tl_nn.utils import parametrize

__all__ = [
    "FakeSparsity",
    "fqn_to_module",
    "get_arg_info_from_tensor_fqn",
    "module_contains_param",
    "module_to_fqn",
    "swap_module",
]


class FakeSparsity(Module):
    """A parametrization that multiplies a tensor with a mask. State dicts don't have the mask.

    Args:
        mask (Tensor): 0 for the elements that become zero, else 1.

    Example:
        >>> import tl_core
        >>> FakeSparsity(tl_core.tensor([1.0, 0.0]))(tl_core.tensor([3.0, 4.0]))
        tensor([3., 0.])
    """

    mask: Tensor

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, x: Tensor) -> Tensor:
        """The product. Raises AssertionError for another shape."""
        if self.mask.shape != x.shape:
            raise AssertionError(
                f"mask must have the shape {tuple(x.shape)}, but got {tuple(self.mask.shape)}"
            )
        return self.mask * x

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """An empty dictionary: the sparsifier's state has the mask."""
        return {}


def module_contains_param(module: Module, parametrization: type[Module]) -> bool:
    """Whether a tensor of a module has a parametrization of a class.

    Args:
        module: the module.
        parametrization: the class.
    """
    if not parametrize.is_parametrized(module):
        return False
    return any(
        isinstance(part, parametrization) for parts in module.parametrizations.values() for part in parts
    )


def swap_module(mod: Module, mapping: dict[type[Module], type[Module]]) -> Module:
    """Replaces a module whose class is in a table by `from_dense` of the entry, with its hooks.

    Args:
        mod: the module.
        mapping: the classes by the class they replace.
    """
    kind = parametrize.type_before_parametrizations(mod)
    if kind not in mapping:
        return mod
    target: Any = mapping[kind]
    result: Module = target.from_dense(mod)
    for hook in mod._forward_pre_hooks.values():
        result.register_forward_pre_hook(hook)
    for forward_hook in mod._forward_hooks.values():
        result.register_forward_hook(forward_hook)
    return result


def module_to_fqn(model: Module, module: Module, prefix: str = "") -> str | None:
    """The name of a module below another, or None if it isn't there.

    Args:
        model: the module above.
        module: the module.
        prefix: the beginning of the name.

    Example:
        >>> import tl_nn
        >>> model = tl_nn.Sequential(tl_nn.Linear(1, 1))
        >>> module_to_fqn(model, model[0])
        '0'
    """
    if module is model:
        return ""
    for name, child in model.named_children():
        inner = module_to_fqn(child, module, ".")
        if isinstance(inner, str):
            return prefix + name + inner
    return None


def fqn_to_module(model: Module | None, path: str) -> Module | None:
    """The module of a name, or None.

    Args:
        model: the module above.
        path: the name.
    """
    for part in filter(None, path.split(".")):
        model = getattr(model, part, None)
    return model


def get_arg_info_from_tensor_fqn(model: Module, tensor_fqn: str) -> dict[str, Any]:
    """The module of a tensor and both names.

    Args:
        model: the module above.
        tensor_fqn: the tensor's name, such as `layer.weight`.

    Example:
        >>> import tl_nn
        >>> info = get_arg_info_from_tensor_fqn(tl_nn.Sequential(tl_nn.Linear(1, 1)), "0.weight")
        >>> info["module_fqn"], info["tensor_name"]
        ('0', 'weight')
    """
    module_fqn, _, tensor_name = tensor_fqn.rpartition(".")
    return {
        "module_fqn": module_fqn,
        "module": fqn_to_module(model, module_fqn),
        "tensor_name": tensor_name,
        "tensor_fqn": tensor_fqn,
    }
