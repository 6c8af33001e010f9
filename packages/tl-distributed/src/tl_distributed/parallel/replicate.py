"""Data-parallel training of a module that stays itself: `DistributedDataParallel` by hooks, without a wrapper."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from tl_nn import Module

from ..groups.device_mesh import DeviceMesh
from .distributed_data_parallel import DistributedDataParallel

__all__ = ["replicate"]


class _ReplicateState:
    """The replication of a module. Its wrapper is made at the first forward pass, when the parameters are there.

    Args:
        module: the module.
        ignored: modules whose parameters are left alone.
        options: those of `DistributedDataParallel`.
    """

    def __init__(self, module: Module, ignored: set[Module], options: dict[str, Any]):
        self.module, self.options = module, options
        self.ignored = [
            f"{prefix}.{name}" if prefix else name
            for prefix, part in module.named_modules()
            if part in ignored
            for name, _ in (*part.named_parameters(), *part.named_buffers())
        ]
        self.wrapper: DistributedDataParallel | None = None
        self.hooks: list[tuple[Any, ...]] = []
        self.synchronizes = True
        self._began: list[bool] = []
        module.register_forward_pre_hook(self._before_forward, with_kwargs=True)
        module.register_forward_hook(self._after_forward)

    def _make_wrapper(self) -> DistributedDataParallel:
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(self.module, self.ignored)
        wrapper = DistributedDataParallel(self.module, **self.options)
        for arguments in self.hooks:
            wrapper.register_comm_hook(*arguments)
        return wrapper

    def _before_forward(self, module: Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        if self.wrapper is None:
            self.wrapper = self._make_wrapper()
        self.wrapper.require_backward_grad_sync = self.synchronizes
        self._began.append(self.wrapper._begin_forward())
        return args, kwargs

    def _after_forward(self, module: Module, args: Any, outputs: Any) -> Any:
        assert self.wrapper is not None
        self.wrapper._end_forward(outputs, self._began.pop())
        return outputs


class DDP:
    """The additional class of a module that `replicate` has replicated."""

    _replicate_state: _ReplicateState

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A module of the original class, as programs that create a module of this one's class expect."""
        original = cls.__mro__[2]
        module = original.__new__(original, *args, **kwargs)
        module.__init__(*args, **kwargs)
        return module

    def set_requires_gradient_sync(self, requires_gradient_sync: bool) -> None:
        """Sets whether a backward pass averages gradients. Otherwise each rank accumulates its own.

        Args:
            requires_gradient_sync: whether it does.
        """
        self._replicate_state.synchronizes = requires_gradient_sync

    def register_comm_hook(self, *args: Any, **kwargs: Any) -> None:
        """Lets a function reduce the gradients, as the method of `DistributedDataParallel` does.

        Args:
            args: the state and the function.
            kwargs: the same by name.
        """
        state = self._replicate_state
        pair = (args[0] if args else kwargs["state"], args[1] if len(args) > 1 else kwargs["hook"])
        if state.wrapper is not None:
            state.wrapper.register_comm_hook(*pair)
        else:
            state.hooks.append(pair)


def replicate(module: Any, ignored_modules: Iterable[Module] | None = None, **kwargs: Any) -> Any:
    """Lets the gradients of a module be averaged over the ranks. The module and its names stay as they are.

    Args:
        module: the module.
        ignored_modules: modules in it that are left alone.
        kwargs: the options of `DistributedDataParallel`; `device_id` and a mesh of one dimension as `device_mesh`, too.

    Returns:
        The module, with the methods of `DDP`.

    Raises:
        AssertionError: the module has been replicated.
        RuntimeError: `fully_shard` has sharded it.
        NotImplementedError: an option is mixed precision.

    Example:
        >>> import tl_core, tl_nn, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> model = replicate(tl_nn.Linear(2, 1))
        >>> model(tl_core.ones(3, 2)).sum().backward()
        >>> type(model).__name__, [name for name, _ in model.named_parameters()], model.weight.grad
        ('DDPLinear', ['weight', 'bias'], tensor([[3., 3.]]))
        >>> dist.destroy_process_group()
    """
    if "_replicate_state" in module.__dict__:
        raise AssertionError(
            "Each distinct composable distributed API can only be applied to a module once. replicate has already been "
            f"applied to the following module:\n{module}"
        )
    if "_fsdp_state" in module.__dict__:
        raise RuntimeError("Cannot apply `replicate()` on a Module already managed by `fully_shard`")
    if kwargs.get("mixed_precision") is not None:
        raise NotImplementedError("replicate: mixed_precision is an option of DistributedDataParallel alone")
    device = kwargs.pop("device_id", None)
    if device is not None and str(device) != "cpu" and "device_ids" not in kwargs:
        kwargs["device_ids"] = [device]
    mesh = kwargs.get("device_mesh")
    if isinstance(mesh, DeviceMesh) and mesh.ndim > 1:
        raise RuntimeError(f"replicate: expected a device_mesh of one dimension, got {mesh.ndim}")
    state = _ReplicateState(module, set(ignored_modules or ()), kwargs)
    module.__dict__["_replicate_state"] = state
    kind: Any = type(module)
    module.__class__ = _replicated_class(kind)
    return module


def _state_of(module: Module) -> _ReplicateState | None:
    """The state of a module; None for one that `replicate` hasn't replicated."""
    return module.__dict__.get("_replicate_state")


replicate.state = _state_of  # type: ignore[attr-defined]  # as PyTorch's functions of this kind have it


@functools.cache
def _replicated_class(kind: type[Module]) -> type[Module]:
    def refuse(self: Any, memo: Any) -> Any:
        raise AssertionError("DDP does not support deepcopy. Please use state dict for serialization.")

    return type(f"DDP{kind.__name__}", (DDP, kind), {"__deepcopy__": refuse})
