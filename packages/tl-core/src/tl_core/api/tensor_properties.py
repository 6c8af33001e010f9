"""The properties of Tensor that Python computes, and those of autograd before tl-autograd is loaded."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tl_core import _C, overrides
from tl_core._C import Tensor
from tl_core.base import backend_registry

__all__ = ["PROPERTIES", "load_autograd", "requires_grad_"]


def _assign_names(self: Tensor, names: Any) -> None:
    _C._set_names(self, names)


def load_autograd(feature: str) -> None:
    """Loads tl-autograd, which replaces the methods and properties that stand in for it.

    Args:
        feature: the feature that needs it, for the error.

    Raises:
        RuntimeError: the package is not installed.
    """
    if not backend_registry.load("autograd"):
        raise RuntimeError(
            f"{feature} needs the package tl-autograd: pip install tl-autograd, then import tl_autograd or tl"
        )


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Switches recording for a leaf on or off."""
    if requires_grad:
        load_autograd("requires_grad=True")
        return self.requires_grad_()
    return self


def _set_requires_grad(self: Tensor, on: bool) -> None:
    requires_grad_(self, on)


def _set_grad_dtype(self: Tensor, dtype: Any) -> None:
    load_autograd("Tensor.grad_dtype")
    self.grad_dtype = dtype


def _set_grad(self: Tensor, grad: Any) -> None:
    if grad is not None:
        load_autograd("Tensor.grad")
        self.grad = grad


class _Named(property):
    """A property that says its name, as those of the compiled type do."""

    __name__: str


def _asking(
    name: str, read: Callable[[Tensor], Any], write: Callable[[Tensor, Any], None] | None = None
) -> Any:
    """A property that asks the overrides before it answers."""

    def get(self: Tensor) -> Any:
        if overrides.has_torch_function_unary(self):
            return overrides.handle_torch_function(getattr(Tensor, name).__get__, (self,), self)
        return read(self)

    attribute = _Named(get, write)
    attribute.__name__ = name
    return attribute


def _of_no_graph(name: str, value: Any) -> Callable[[Tensor], Any]:
    """What reads a property before any graph exists: the same of all tensors, unless the overrides say otherwise."""
    getter: Callable[[Tensor], Any] = _asking(name, lambda self: value).fget
    return getter


def _no_cuda_interface(self: Tensor) -> Any:
    raise AttributeError(
        f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} "
        "If CUDA data is required use tensor.cuda() to copy tensor to device memory."
    )


def _volatile(self: Tensor) -> bool:
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=3)
    return False


def _set_volatile(self: Tensor, value: Any) -> None:
    text = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
    warnings.warn(text, UserWarning, stacklevel=2)


# Without tl-autograd, no operator is recorded. It replaces the properties of graphs when it is loaded.
PROPERTIES: dict[str, Any] = {
    "requires_grad": property(_of_no_graph("requires_grad", False), _set_requires_grad),
    "is_leaf": property(_of_no_graph("is_leaf", True)),
    "grad": property(_of_no_graph("grad", None), _set_grad),
    "_grad": _asking("_grad", lambda self: self.grad, lambda self, grad: setattr(self, "grad", grad)),
    "grad_dtype": _asking("grad_dtype", lambda self: self.dtype, _set_grad_dtype),
    "grad_fn": property(_of_no_graph("grad_fn", None)),
    "output_nr": property(_of_no_graph("output_nr", 0)),
    "retains_grad": property(_of_no_graph("retains_grad", False)),
    "_backward_hooks": property(lambda self: None),
    "_post_accumulate_grad_hooks": property(_of_no_graph("_post_accumulate_grad_hooks", None)),
    "names": property(_C._names_of, _assign_names, doc="A name or None a dimension."),
    "volatile": _asking("volatile", _volatile, _set_volatile),  # of older programs
    "__cuda_array_interface__": _asking("__cuda_array_interface__", _no_cuda_interface),
    "_cdata": _asking("_cdata", id),  # a number that no other living tensor has
}
