"""Modules within which results are computed again, or kept on the CPU, for the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

from tl_autograd.checkpoint import checkpoint
from tl_autograd.graph import save_on_cpu
from tl_nn import Module

__all__ = [
    "ActivationWrapper",
    "CheckpointImpl",
    "CheckpointWrapper",
    "OffloadWrapper",
    "apply_activation_checkpointing",
    "checkpoint_wrapper",
    "offload_wrapper",
]

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(Enum):
    """The two ways of recomputation: `checkpoint` with `use_reentrant=True` or False."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """A module around another, whose names in `state_dict` and `named_parameters` are those of the other.

    Args:
        mod: the module inside.
    """

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The call of a wrapper."""
        raise ValueError("Subclasses should implement this.")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module.__getitem__(key)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The parameters under the names that they have in the module inside."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter

    @staticmethod
    def _post_state_dict_hook(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> Any:
        for key in [key for key in state_dict if key.startswith(f"{prefix}{_CHECKPOINT_PREFIX}")]:
            state_dict[prefix + key[len(prefix) + len(_CHECKPOINT_PREFIX) :]] = state_dict.pop(key)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(
        module: Module, state_dict: dict[str, Any], prefix: str, *args: Any
    ) -> None:
        for key in [key for key in state_dict if key.startswith(prefix)]:
            state_dict[f"{prefix}{_CHECKPOINT_PREFIX}{key[len(prefix) :]}"] = state_dict.pop(key)


class OffloadWrapper(ActivationWrapper):
    """A module whose saved tensors are kept on the CPU between the passes.

    Args:
        mod: the module inside.
    """

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the module inside."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module that keeps its arguments only, and is run again in the backward pass.

    Args:
        mod: the module inside.
        checkpoint_impl: which way of `checkpoint`.
        checkpoint_fn: a function in its place, called with the module, its arguments and `checkpoint_fn_kwargs`.
        **checkpoint_fn_kwargs: options of the function.
    """

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        options = checkpoint_fn_kwargs
        if checkpoint_fn is None:
            options = {"use_reentrant": checkpoint_impl == CheckpointImpl.REENTRANT, **options}
        self.checkpoint_fn = partial(checkpoint_fn or checkpoint, **options)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the module inside."""
        inside = self._checkpoint_wrapped_module
        if self.checkpoint_impl == CheckpointImpl.REENTRANT and kwargs:
            # that way takes no keyword arguments
            names = list(kwargs)

            def positional(*values: Any) -> Any:
                plain = values[: len(values) - len(names)]
                return inside(*plain, **dict(zip(names, values[len(plain) :], strict=True)))

            return self.checkpoint_fn(positional, *args, *kwargs.values())
        return self.checkpoint_fn(inside, *args, **kwargs)


def offload_wrapper(module: Module) -> OffloadWrapper:
    """The module, with its saved tensors kept on the CPU."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> CheckpointWrapper:
    """The module, computed again in the backward pass."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Callable[..., bool] | None = None,
) -> None:
    """Wrap modules of a model, in place, those inside first; the model itself stays as it is.

    Args:
        model: the model.
        checkpoint_wrapper_fn: makes the wrapper of a module.
        check_fn: says of a module whether to wrap it.
        auto_wrap_policy: in its place, a function as FSDP's policies are: called with `module`, `recurse` and
            `nonwrapped_numel`.
    """
    policy = auto_wrap_policy

    def by_check(module: Module, recurse: bool, nonwrapped_numel: int) -> bool:
        return recurse or bool(check_fn(module))

    _wrap_below(model, policy or by_check, checkpoint_wrapper_fn, {})


def _wrap_below(
    module: Module,
    policy: Callable[..., bool],
    wrapper: Callable[[Module], Module],
    known: dict[int, tuple[Module, int]],
) -> int:
    """Wraps what a policy chooses below a module; returns how many elements of its parameters are in wrappers."""
    if not policy(module=module, recurse=True, nonwrapped_numel=_numel(module)):
        return 0
    wrapped = 0
    for name, child in list(module.named_children()):
        if id(child) not in known and not isinstance(child, ActivationWrapper):
            numel = _numel(child)
            inside = _wrap_below(child, policy, wrapper, known)
            wraps = policy(module=child, recurse=False, nonwrapped_numel=numel - inside)
            # the child stays alive in the table, so that no other module gets its number
            known[id(child)] = (wrapper(child) if wraps else child, numel if wraps else inside)
        if id(child) in known:
            replacement, count = known[id(child)]
            setattr(module, name, replacement)
            wrapped += count
    return wrapped


def _numel(module: Module) -> int:
    return sum(p.numel() for p in module.parameters())
