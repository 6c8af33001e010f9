"""The base class of all neural network modules."""

from __future__ import annotations

import warnings
from typing import Any, Self

# Private names that client libraries look for here.
from .hooks import _global_backward_hooks as _global_backward_hooks
from .hooks import _global_backward_pre_hooks as _global_backward_pre_hooks
from .hooks import _global_forward_hooks as _global_forward_hooks
from .hooks import _global_forward_hooks_always_called as _global_forward_hooks_always_called
from .hooks import _global_forward_hooks_with_kwargs as _global_forward_hooks_with_kwargs
from .hooks import _global_forward_pre_hooks as _global_forward_pre_hooks
from .hooks import (
    _HooksMixin,
    register_module_backward_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from .registration import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from .state_dict import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX
from .state_dict import _IncompatibleKeys as _IncompatibleKeys
from .state_dict import _StateDictMixin
from .to import _ToMixin

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


class Module(_HooksMixin, _ToMixin, _StateDictMixin):
    """Base class of everything that computes with parameters.

    A subclass calls `super().__init__()`, assigns its parts, and defines `forward`. Assigning a
    `Parameter`, a `Buffer` or another module registers it: it is then found by
    `parameters`, `state_dict`, `to` and the other methods that reach all parts.

    Attributes:
        training : bool
            Whether the module is in training mode, see `train`.
        call_super_init : bool
            On the class: whether `__init__` passes its arguments on to the next base class.

    Examples:
        >>> import tl_core, tl_nn
        >>> class Scale(tl_nn.Module):
        ...     def __init__(self, size):
        ...         super().__init__()
        ...         self.factor = tl_nn.Parameter(tl_core.full((size,), 2.0))
        ...
        ...     def forward(self, input):
        ...         return input * self.factor
        >>> Scale(3)(tl_core.ones(3)).tolist()
        [2.0, 2.0, 2.0]
    """

    dump_patches: bool = False
    _compiled_call_impl: Any = None

    def train(self, mode: bool = True) -> Self:
        """Set training mode here and in every submodule; layers such as dropout behave accordingly.

        Raises:
            ValueError
                If `mode` isn't a bool.
        """
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, got {type(mode).__name__}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: the same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether gradients are recorded for all parameters: False freezes the module.

        Examples:
            >>> import tl_nn
            >>> frozen = tl_nn.Linear(2, 2).requires_grad_(False)
            >>> any(parameter.requires_grad for parameter in frozen.parameters())
            False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or set them to zero where `set_to_none` is False."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                _zero(parameter.grad)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Ask for the module's call to be compiled; there is no compiler yet, so it goes on running eagerly."""
        warnings.warn("Module.compile: no compiler is installed, the module runs eagerly", stacklevel=2)

    # Printing

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the brackets when the module is printed; empty by default."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + _indented(repr(module)) for name, module in self._modules.items()]
        if len(lines) <= 1 and not children:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


def _zero(grad: Any) -> None:
    """Zero a gradient in place, cutting it off from the graph it may belong to."""
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad.zero_()


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
