"""The options of `FullyShardedDataParallel`: the ranks, the modules that are left out, and the values at the start."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module, Parameter

from ..collectives.object_collectives import all_gather_object
from ..collectives.tensor_collectives import broadcast
from ..groups.device_mesh import DeviceMesh, init_device_mesh
from ..groups.process_group import ProcessGroup
from ..groups.process_groups import (
    default_group,
    get_global_rank,
    get_process_group_ranks,
    get_world_size,
    init_process_group,
    is_initialized,
)
from .api import ShardingStrategy
from .mesh_layout import MeshLayout
from .module_state import state_of
from .unit_state import HYBRID, unit_state_of
from .wrap import _or_policy, _Policy, _recursive_wrap, _wrap_module_cls_individually

__all__: list[str] = []


# ---- the ranks


def choose_layout(
    process_group: Any, device_mesh: DeviceMesh | None, strategy: ShardingStrategy, has_policy: bool
) -> MeshLayout:
    """The ranks that share parameters, and those that have copies.

    Args:
        process_group: the processes, or those with the pieces and those with the copies; or a layout.
        device_mesh: a mesh in their place.
        strategy: what is sharded.
        has_policy: whether a policy wraps modules.

    Raises:
        ValueError: both are there, or they don't fit the strategy.
    """
    if isinstance(process_group, MeshLayout):
        return process_group
    if process_group is not None and device_mesh is not None:
        raise ValueError(
            "Cannot pass both process_group and device_mesh at the same time. Please just pass only one of them."
        )
    if not is_initialized():
        init_process_group()
    if strategy in HYBRID:
        return _hybrid_layout(process_group, device_mesh, strategy, has_policy)
    if device_mesh is not None:
        if device_mesh.ndim != 1:
            raise ValueError(
                f"Expected a device_mesh of one dimension for {strategy} but got {device_mesh.ndim}"
            )
        mesh = device_mesh
        group = device_mesh.get_group()
    else:
        group = default_group() if process_group is None else process_group
        if not isinstance(group, ProcessGroup):
            raise ValueError(f"Expected process_group to be a ProcessGroup but got {type(group)}")
        mesh = DeviceMesh.from_group(group, "cpu")
    if strategy is ShardingStrategy.NO_SHARD:
        ranks = mesh.mesh.reshape(-1, 1)
        mesh = DeviceMesh(mesh.device_type, ranks, _groups=[group, None])
    return MeshLayout(mesh, is_user_mesh=device_mesh is not None)


def _hybrid_layout(
    process_group: Any, device_mesh: DeviceMesh | None, strategy: ShardingStrategy, has_policy: bool
) -> MeshLayout:
    if device_mesh is not None:
        if device_mesh.ndim != 2:
            raise ValueError(f"Expected device_mesh to have ndim=2 but got {device_mesh.ndim}")
        return MeshLayout(device_mesh, is_user_mesh=True)
    if process_group is None:
        if not has_policy:
            raise ValueError(
                f"Manual wrapping with {strategy} requires explicit specification of process group or device_mesh."
            )
        size = get_world_size()
        local = int(os.environ.get("LOCAL_WORLD_SIZE", size))
        if size % local:
            raise ValueError(f"{strategy}: the machines have {local} ranks each, the world has {size}")
        return MeshLayout(init_device_mesh("cpu", (size // local, local)))
    if not isinstance(process_group, tuple) or len(process_group) != 2:
        raise ValueError(
            "Expected process_group to be passed in as either None or "
            f"Tuple[dist.ProcessGroup, dist.ProcessGroup] but got {type(process_group)}"
        )
    pieces, copies = process_group
    rows: list[Any] = [None] * copies.size()
    all_gather_object(rows, get_process_group_ranks(pieces), group=copies)
    return MeshLayout(DeviceMesh("cpu", rows, _groups=[copies, pieces]))


# ---- what is left out


def ignored_parts(
    module: Module, ignored_modules: Iterable[Module] | None, ignored_states: Iterable[Any] | None
) -> tuple[set[Module], set[Any]]:
    """The modules and the parameters that a wrapper leaves as they are.

    Args:
        module: the module that is wrapped.
        ignored_modules: modules.
        ignored_states: modules, or parameters.

    Raises:
        ValueError: both are there, or elements are neither.
        TypeError: they aren't iterable.
    """
    if ignored_modules is not None and ignored_states is not None:
        raise ValueError(
            "Cannot pass both ignored_modules and ignored_states at the same time. Please just pass ignored_states."
        )
    parameters: set[Any] = set()
    roots: list[Module] = []
    if ignored_states is not None:
        states = list(ignored_states)
        if states and all(isinstance(each, Parameter) for each in states):
            parameters.update(states)
        elif all(isinstance(each, Module) for each in states):
            roots = states
        else:
            kinds = sorted({repr(type(each)) for each in states})
            raise ValueError(
                "ignored_states expects all nn.Parameter or all nn.Module list elements but got types "
                f"[{', '.join(kinds)}]"
            )
    elif ignored_modules is not None:
        roots = _iterable_of_modules(ignored_modules)
    for each in roots:
        if unit_state_of(each) is not None:
            raise ValueError("`ignored_modules` should not include FSDP modules")
    modules = {part for each in roots for part in each.modules()}
    if module in modules:
        warnings.warn(
            "Trying to ignore the top-level module passed into the FSDP constructor itself will result in all "
            f"parameters being ignored and is not supported: {type(module).__name__}",
            stacklevel=4,
        )
    for part in module.modules():  # of inner wrappers
        if (state := unit_state_of(part)) is not None:
            modules |= state.ignored_modules
            parameters |= state.ignored_parameters
    parameters |= {p for part in modules for p in part._parameters.values() if p is not None}
    return modules, parameters


def _iterable_of_modules(values: Any) -> list[Module]:
    message = "`ignored_modules` should be an iterable of `torch.nn.Module`s "
    try:
        modules = list(values)
    except TypeError as error:
        raise TypeError(f"{message}but got {type(values)}") from error
    for each in modules:
        if not isinstance(each, Module):
            raise ValueError(f"ignored_modules expects nn.Module list elements but got types {[type(each)]}")
    return modules


# ---- values at the start


def materialize(
    module: Module,
    param_init_fn: Callable[[Module], None] | None,
    device: Any,
    ignored_modules: set[Module],
    ignored_parameters: set[Any],
) -> None:
    """Gives a module's parameters without memory their memory and their values.

    Args:
        module: the module.
        param_init_fn: gives those of one module, without those in it; `reset_parameters` by default.
        device: the device.
        ignored_modules: modules that are left out.
        ignored_parameters: parameters that are left out.

    Raises:
        ValueError: the function isn't one.
    """
    parts = [part for part in _unwrapped_modules(module) if part not in ignored_modules]
    is_meta = any(
        p is not None and p.is_meta and p not in ignored_parameters
        for part in parts
        for p in (*part._parameters.values(), *part._buffers.values())
    )
    if param_init_fn is not None:
        if not callable(param_init_fn):
            raise ValueError(f"Expected {param_init_fn} to be callable but got {type(param_init_fn)}")
        if is_meta:
            for part in parts:
                param_init_fn(part)
        return
    if not is_meta:
        return
    with tl_core.no_grad():
        for part in parts:
            if not part._parameters and not part._buffers:
                continue
            part.to_empty(device=device or "cpu", recurse=False)
            if not hasattr(part, "reset_parameters"):
                warnings.warn(
                    f"Unable to call `reset_parameters()` for module on meta device: {type(part).__name__} lacks it",
                    stacklevel=4,
                )
            part.reset_parameters()


def _unwrapped_modules(module: Module) -> list[Module]:
    """The modules from the outer ones to the inner ones, without wrappers and those in them."""
    result, visited = [module], {module}
    for part in result:
        for child in part.children():
            if child not in visited and state_of(child) is None:
                visited.add(child)
                result.append(child)
    return result


def broadcast_states(module: Module, layout: MeshLayout, ignored: set[Any], states: Iterable[Any]) -> None:
    """Sends parameters and buffers from the first rank to all.

    Args:
        module: the module with the buffers.
        layout: the ranks.
        ignored: parameters that are left out.
        states: the parameters.
    """
    tensors = [p.detach() for p in states if p not in ignored]
    for part in _unwrapped_modules(module):
        tensors += [buffer.detach() for buffer in part._buffers.values() if buffer is not None]
    for group in (layout.replicate_group, layout.shard_group):
        if group is not None and group.size() > 1:
            for tensor in tensors:
                broadcast(tensor, get_global_rank(group, 0), group)


# ---- policies


def auto_wrap(
    module: Module,
    policy: Any,
    wrapper: Callable[..., Module],
    ignored_modules: set[Module],
    ignored_parameters: set[Any],
    options: dict[str, Any],
) -> None:
    """Wraps the modules in one that a policy names.

    Args:
        module: the outer module, which isn't wrapped.
        policy: the policy.
        wrapper: wraps a module.
        ignored_modules: modules that are left out.
        ignored_parameters: parameters that are left out.
        options: those of the outer wrapper.

    Raises:
        ValueError: a module in it is wrapped already.
    """
    for name, part in module.named_modules():
        if state_of(part) is not None:
            raise ValueError(
                f"FSDP auto wrapping requires modules to not already have FSDP applied but found {name} in\n{module}"
            )
    precision = options["mixed_precision"]
    exact: tuple[type[Module], ...] = ()
    if precision is not None:
        exact = tuple(precision._module_classes_to_ignore)
        _compute_exactly(module, exact)
    if isinstance(policy, _Policy):
        targets = policy._run_policy(module, ignored_modules, dict(options))
        for part in module.modules():
            if part not in ignored_modules and exact and isinstance(part, exact):
                targets[part] = {**targets.get(part, dict(options)), "mixed_precision": None}
        targets.pop(module, None)
        _wrap_targets(module, targets, wrapper)
        return
    if exact:
        single = functools.partial(_wrap_module_cls_individually, module_classes=exact)
        policy = functools.partial(_or_policy, policies=[policy, single])

    def wrap_one(part: Module, **own: Any) -> Module:
        if exact and isinstance(part, exact):
            own["mixed_precision"] = None
        return wrapper(part, **own)

    _recursive_wrap(
        module, policy, wrap_one, ignored_modules, ignored_parameters, only_wrap_children=True, **options
    )


def _wrap_targets(
    module: Module, targets: dict[Module, dict[str, Any]], wrapper: Callable[..., Module]
) -> None:
    """Replaces modules by their wrappers, the inner ones first; a module with several names by one wrapper."""
    wrapped: dict[Module, Module] = {}

    def visit(part: Module) -> None:
        if part in wrapped:
            return
        wrapped[part] = part
        for name, child in part.named_children():
            visit(child)
            if wrapped[child] is not child:
                setattr(part, name, wrapped[child])
        for name, child in list(part._modules.items()):  # the same module under another name
            if child is not None and wrapped.get(child, child) is not child:
                setattr(part, name, wrapped[child])
        if part in targets:
            wrapped[part] = wrapper(part, **targets[part])

    visit(module)


def _compute_exactly(module: Module, classes: tuple[type[Module], ...]) -> None:
    """Lets modules of some classes compute in float32, whatever the types of their inputs."""
    parts = [part for part in module.modules() if classes and isinstance(part, classes)]
    if not parts:
        return
    warnings.warn(
        "Both mixed precision and an auto_wrap_policy were specified to FSDP, where the wrapped module has "
        f"submodules of type:\n{ {type(part) for part in parts} }\n"
        "These modules will be wrapped as separate FSDP instances with mixed precision disabled.",
        stacklevel=5,
    )
    for part in parts:
        dtypes: list[tl_core.dtype] = []

        def widen(_: Module, args: Any, dtypes: list[tl_core.dtype] = dtypes) -> Any:
            dtypes.append(next((a.dtype for a in args if isinstance(a, Tensor)), tl_core.float32))
            return tuple(a.float() if isinstance(a, Tensor) and a.is_floating_point() else a for a in args)

        def narrow(_: Module, args: Any, output: Any, dtypes: list[tl_core.dtype] = dtypes) -> Any:
            dtype = dtypes.pop()
            return output.to(dtype) if isinstance(output, Tensor) and output.is_floating_point() else output

        part.register_forward_pre_hook(widen)
        part.register_forward_hook(narrow)
