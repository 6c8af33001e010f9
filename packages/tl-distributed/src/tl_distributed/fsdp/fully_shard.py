"""Sharded training module by module: each rank holds a piece of each parameter, of its gradient and of its state."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tl_core import Tensor
from tl_nn import Module, ModuleDict, ModuleList, Parameter

from ..groups.device_mesh import DeviceMesh, init_device_mesh
from ..groups.process_groups import get_world_size, init_process_group, is_initialized
from ..tensor.placement_types import Shard
from .api import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from .managed_states import is_managed
from .mesh_layout import MeshLayout
from .module_state import ModuleState, state_of
from .parameter_group import ParameterGroup
from .sharded_parameter import ShardedParameter

__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
]


class UnshardHandle:
    """The result of `FSDPModule.unshard` that doesn't wait.

    Example:
        >>> UnshardHandle().wait()
    """

    _group: ParameterGroup | None = None

    def wait(self) -> None:
        """Waits until the parameters are whole, and are those of the module."""
        if self._group is not None:
            self._group.unshard()
            self._group = None


class FSDPModule:
    """The additional class of a module that `fully_shard` has sharded.

    Example:
        >>> import tl_nn
        >>> from tl_distributed import fsdp
        >>> isinstance(tl_nn.Linear(1, 1), fsdp.FSDPModule)
        False
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A module of the original class, as programs that create a module of this one's class expect."""
        original = cls.__mro__[2]
        module = original.__new__(original, *args, **kwargs)
        module.__init__(*args, **kwargs)
        return module

    def _state(self) -> ModuleState:
        state = state_of(self)  # type: ignore[arg-type]  # a module
        assert state is not None
        return state

    _get_fsdp_state = _state

    def _states(self, recurse: bool = True) -> Iterator[ModuleState]:
        if not recurse:
            yield self._state()
            return
        states: list[ModuleState] = []
        for module in self.modules():  # type: ignore[attr-defined]  # a module
            if (state := state_of(module)) is not None and state not in states:
                states.append(state)
                yield state

    def reshard(self) -> None:
        """Frees the whole parameters of this module, not of those in it; the pieces are its parameters then.

        After `unshard`, ranks with common memory wait for each other, so that each may change its pieces.
        """
        state = self._state()
        has_asked = state.group.is_asked_for
        state.group.reshard()
        if has_asked and state.job is not None:
            state.job.release()

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gathers the parameters of this module, not of those in it.

        Args:
            async_op: whether to return a handle before they are there; the forward pass waits for them, too.
        """
        group = self._state().group
        group.is_asked_for = not group.is_whole
        if not async_op:
            group.unshard()
            return None
        group.start_unshard()
        handle = UnshardHandle()
        handle._group = group
        return handle

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Sets whether the next backward pass is the last one of a step. Each pass waits for its reductions.

        Args:
            is_last_backward: whether it is.
        """
        for state in self._states():
            if state.job is not None:
                state.job.is_last_backward = is_last_backward

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Sets whether a backward pass reduces gradients. Otherwise each rank accumulates those of its own.

        Args:
            requires_gradient_sync: whether it does.
            recurse: whether the modules in this one do likewise.
        """
        for state in self._states(recurse):
            state.group.reduces = state.group.all_reduces = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Sets whether gradients are reduced over the copies of each piece, on a mesh of two dimensions.

        Args:
            requires_all_reduce: whether they are.
            recurse: whether those of the modules in this one are likewise.
        """
        for state in self._states(recurse):
            state.group.all_reduces = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Sets whether the forward pass frees the parameters at its end.

        Args:
            reshard_after_forward: whether it does.
            recurse: whether the modules in this one do likewise.

        Raises:
            ValueError: the value is no bool.
        """
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}")
        for state in self._states(recurse):
            state.reshards_after_forward, state.is_automatic = reshard_after_forward, False

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Sets whether the backward pass frees the parameters at its end.

        Args:
            reshard_after_backward: whether it does.
            recurse: whether the modules in this one do likewise.
        """
        for state in self._states(recurse):
            state.group.reshards_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Sets the modules whose parameters are gathered while this module computes.

        Args:
            modules: the modules.

        Raises:
            ValueError: one of them isn't sharded.
        """
        self._state().forward_prefetch = _states_of(modules)

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Sets the modules whose parameters are gathered during the backward pass of this one.

        Without a call, this is the module whose forward pass ended before.

        Args:
            modules: the modules.

        Raises:
            ValueError: one of them isn't sharded.
        """
        self._state().backward_prefetch = _states_of(modules)

    def set_all_reduce_hook(self, hook: Callable[[Tensor], None], *, stream: Any = None) -> None:
        """Sets a function that gets the reduced gradients of this module's group as one tensor, and may change it.

        Args:
            hook: the function.
            stream: the stream in which it runs, of devices with streams.
        """
        self._state().group.all_reduce_hook = hook

    def set_post_optim_event(self, event: Any) -> None:
        """Sets the event that the next gathering waits for, of devices with streams.

        Args:
            event: the event.
        """
        if hasattr(event, "synchronize"):
            event.synchronize()

    def set_reduce_scatter_divide_factor(self, factor: float) -> None:
        """Sets the number by which sums of gradients are divided, in place of the number of ranks.

        Args:
            factor: the number.
        """
        self._state().group.divide_factor = factor

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Sets whether the backward pass gathers the parameters of this module.

        Args:
            unshard_in_backward: whether it does; an embedding doesn't need them.
        """
        self._state().unshards_in_backward = unshard_in_backward

    def _set_unshard_async_op(self, async_op: bool) -> None:
        """No effect: the next gathering starts early in any case."""

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        self.reshard()
        module = super()._apply(*args, **kwargs)  # type: ignore[misc]  # a module
        for parameter in self._state().group.parameters:
            parameter.adopt()
        return module


def _states_of(modules: Sequence[Any]) -> list[ModuleState]:
    states = [state_of(module) if isinstance(module, FSDPModule) else None for module in modules]  # type: ignore[arg-type]  # a module
    if any(state is None for state in states):
        raise ValueError(
            f"expected modules that fully_shard has sharded, got {[type(m).__name__ for m in modules]}"
        )
    return [state for state in states if state is not None]


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Parameter], Shard | None] | None = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),  # noqa: B008 - it can't be changed
    offload_policy: OffloadPolicy = OffloadPolicy(),  # noqa: B008 - it has no state
    ignored_params: set[Parameter] | None = None,
) -> Any:
    """Shards the parameters of a module: a rank holds a piece of each, and all ranks gather them while it computes.

    The parameters of one call are gathered together, without those of modules in it that have been sharded before. So
    shard the layers of a model first, and the model last.

    Args:
        module: the module, or several that compute one after the other.
        mesh: the ranks; with two dimensions, the first one has copies of the pieces. All ranks by default.
        reshard_after_forward: whether the forward pass frees the parameters at its end; by default for all modules but
            the outermost. A number of ranks keeps pieces for so many ranks until the backward pass.
        shard_placement_fn: takes a parameter and returns the dimension to cut as a `Shard`, or None for the first one.
        mp_policy: the types in which the module computes.
        offload_policy: pieces are in the memory of the CPU in any case.
        ignored_params: parameters that are left as they are.

    Returns:
        The module, with the methods of `FSDPModule`.

    Raises:
        ValueError: the module computes nothing itself, or the mesh has more than two dimensions.
        AssertionError: the module has been sharded, or the two dimensions of the mesh have no names.
        NotImplementedError: a parameter would be cut unevenly along another dimension than the first, or isn't
            contiguous.

    Example:
        >>> import tl_core, tl_nn, tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> model = fully_shard(tl_nn.Linear(4, 2))
        >>> model(tl_core.ones(3, 4)).sum().backward()
        >>> type(model).__name__, model.weight.placements, model.weight.grad.to_local().shape
        ('FSDPLinear', (Shard(dim=0),), torch.Size([2, 4]))
        >>> dist.destroy_process_group()
    """
    modules = [module] if isinstance(module, Module) else list(module)
    _check_modules(modules)
    if mesh is None:
        if not is_initialized():
            init_process_group()
        mesh = init_device_mesh("cpu", (get_world_size(),))
    layout = MeshLayout(mesh)
    if mesh.ndim == 2 and mesh.mesh_dim_names is None:
        raise AssertionError("Please init the 2D mesh for HSDP with mesh_dim_names specified")
    parameters = []
    for parameter, owners in _owners(modules, ignored_params or set()).values():
        placement = None if shard_placement_fn is None else shard_placement_fn(parameter)
        parameters.append(ShardedParameter(parameter, owners, layout, placement or Shard(0), mp_policy))
    smaller = None
    if reshard_after_forward is not None and not isinstance(reshard_after_forward, bool):
        smaller, reshard_after_forward = _smaller_layout(layout, reshard_after_forward)
    ModuleState(modules, ParameterGroup(parameters, layout, smaller), mp_policy, reshard_after_forward)
    for each in modules:
        each.__class__ = _sharded_class(type(each))  # type: ignore[arg-type]  # a class of modules
    return module


def _smaller_layout(layout: MeshLayout, ranks: int) -> tuple[MeshLayout | None, bool]:
    """The ranks among which parameters are cut between the forward and the backward pass, and whether they are."""
    if not isinstance(ranks, int) or not 1 <= ranks <= layout.shard_size or layout.shard_size % ranks:
        raise ValueError(
            f"reshard_after_forward should be a bool or a factor of {layout.shard_size}, the number of ranks that have "
            f"pieces, got {ranks}"
        )
    if ranks == 1:
        warnings.warn("reshard_after_forward=1 keeps the parameters whole, as False does", stacklevel=3)
    if ranks in (1, layout.shard_size):
        return None, ranks > 1
    mesh = layout.mesh
    return MeshLayout(DeviceMesh(mesh.device_type, mesh.mesh.reshape(-1, ranks))), True


def _check_modules(modules: Sequence[Module]) -> None:
    for module in modules:
        if isinstance(module, (ModuleList, ModuleDict)):
            raise ValueError(
                f"fully_shard does not support containers that do not implement forward: {module}"
            )
        if state_of(module) is not None:
            raise AssertionError(
                "Each distinct composable distributed API can only be applied to a module once. fully_shard has "
                f"already been applied to the following module:\n{module}"
            )


def _owners(
    modules: Sequence[Module], ignored: set[Parameter]
) -> dict[int, tuple[Parameter, list[tuple[Module, str]]]]:
    """The parameters of modules with all modules that have them, without the modules that are sharded."""
    owners: dict[int, tuple[Parameter, list[tuple[Module, str]]]] = {}
    visited: set[int] = set()
    elsewhere = {id(p) for p in ignored}

    def visit(module: Module, is_own: bool) -> None:
        if id(module) in visited or (is_managed(module) and not is_own):
            return
        visited.add(id(module))
        for name, parameter in module._parameters.items():
            if parameter is not None and id(parameter) not in elsewhere:
                _check_unshared(module, name, parameter)
                owners.setdefault(id(parameter), (parameter, []))[1].append((module, name))
        for child in module.children():
            visit(child, False)

    for module in modules:
        visit(module, True)
    return owners


def _check_unshared(module: Module, name: str, parameter: Parameter) -> None:
    if getattr(parameter, "_fsdp_piece", False):
        raise ValueError(
            f"fully_shard: {type(module).__name__}.{name} belongs to a group that was sharded before; a parameter that "
            "two modules share must be in one call"
        )


@functools.cache
def _sharded_class(kind: type[Module]) -> type[Module]:
    def refuse(self: Any, memo: Any) -> Any:
        raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")

    return type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__deepcopy__": refuse})


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Says that a method computes as `forward` does; nothing for a module that isn't sharded.

    Args:
        module: the module.
        method_name: the method.

    Raises:
        ValueError: the module has no such method.

    Example:
        >>> import tl_nn
        >>> from tl_distributed import fsdp
        >>> fsdp.register_fsdp_forward_method(tl_nn.Linear(1, 1), "extra_repr")
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        state = module._state()
        args, kwargs = state._before_forward(module, args, kwargs)  # type: ignore[arg-type]  # a sharded module
        return state._after_forward(module, args, method(*args, **kwargs))  # type: ignore[arg-type]  # a sharded module

    module.__dict__[method_name] = wrapped


fully_shard.state = state_of  # type: ignore[attr-defined]  # as PyTorch's functions of this kind have it
