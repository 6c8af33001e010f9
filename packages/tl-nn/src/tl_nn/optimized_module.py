"""The result of `compile` on a module: a module that contains the original and forwards attributes to it."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from .modules import module
from .modules.error_notes import NOTED_ERRORS, add_error_notes
from .modules.module import Module
from .modules.registration import _INITIAL_STATE, _MEMBER_DICTS

__all__ = ["OptimizedModule"]

# The attributes of the wrapper, such as its hooks. All other attributes belong to the module.
_OWN = frozenset({"_orig_mod", "dynamo_ctx", "forward", *(name for name, _ in _INITIAL_STATE)})


_CALL = Module.__call__


class OptimizedModule(Module):
    """Wraps a module that was compiled, as `_orig_mod`: its parameters are named after that, its attributes are the
    module's, and hooks are its own.

    Args:
        mod: the module.
        dynamo_ctx: the callable to run in the module's place, by default the module.

    Example:
        >>> import tl_nn
        >>> made = OptimizedModule(tl_nn.Linear(2, 1))
        >>> list(made.state_dict()), made.out_features
        (['_orig_mod.weight', '_orig_mod.bias'], 1)
    """

    __wrapped_module_name__ = "_orig_mod"  # checkpoints have the names without it
    _orig_mod: Module

    def __init__(self, mod: Module, dynamo_ctx: Any = None) -> None:
        super().__init__()
        self._orig_mod = mod
        self.dynamo_ctx = dynamo_ctx

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = self.dynamo_ctx
        if (
            call is None
            or self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or module._global_forward_hooks
            or module._global_forward_pre_hooks
            or module._global_backward_hooks
            or module._global_backward_pre_hooks
            or type(self) is not OptimizedModule
            or Module.__call__ is not _CALL  # a tracer sees the calls of modules
        ):
            return super().__call__(*args, **kwargs)
        try:
            return call(*args, **kwargs)
        except NOTED_ERRORS as error:
            add_error_notes(self, error, args, kwargs)
            raise

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module, or its compiled form.

        Args:
            args, kwargs: the arguments of the module.
        """
        call = self.dynamo_ctx
        return self._orig_mod(*args, **kwargs) if call is None else call(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        """The pickled state: the module. `compile` compiles it again."""
        return {**super().__getstate__(), "dynamo_ctx": None}

    @property
    def training(self) -> bool:
        """Whether the module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        if "_orig_mod" in self._modules:  # not yet while this one is made
            self._orig_mod.training = value

    def __len__(self) -> int:
        if isinstance(self._orig_mod, Sized):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    def __bool__(self) -> bool:
        return bool(self._orig_mod)

    def __getattr__(self, name: str) -> Any:
        mod = None if name in _MEMBER_DICTS else self._modules.get("_orig_mod")
        if mod is None:
            return super().__getattr__(name)
        return mod if name == "_orig_mod" else getattr(mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN or hasattr(type(self), name) or "_orig_mod" not in self._modules:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in _OWN or hasattr(type(self), name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
