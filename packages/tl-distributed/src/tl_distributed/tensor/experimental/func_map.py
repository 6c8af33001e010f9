"""Functions of plain tensors that get and return distributed tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tl_core import Tensor
from tl_core.pytree import tree_flatten, tree_unflatten

from ...groups.device_mesh import DeviceMesh
from ..dtensor import DTensor
from ..placement_types import Placement

__all__ = ["local_map"]


def local_map(
    func: Callable[..., Any] | None = None,
    out_placements: Any = None,
    in_placements: Sequence[Any] | None = None,
    in_grad_placements: Sequence[Any] | None = None,
    device_mesh: DeviceMesh | None = None,
    *,
    redistribute_inputs: bool = False,
) -> Any:
    """A function on distributed tensors from one on the parts of a rank.

    Args:
        func: takes and returns plain tensors.
        out_placements: the placements of its result, or a tuple with those of each of several.
        in_placements: the placements that its arguments must have, or None for one that is no tensor.
        in_grad_placements: the placements of the gradients of its arguments.
        device_mesh: the mesh; that of the first distributed tensor by default.
        redistribute_inputs: whether arguments with other placements are moved, rather than refused.

    Returns:
        The function; or a decorator if `func` is None.

    Raises:
        ValueError: in a call: an argument has other placements.
        AssertionError: in a call: an argument is on another mesh, or the number of results is another.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> from tl_distributed.tensor import Replicate, Shard, ones
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> double = local_map(lambda x: x * 2, out_placements=[Shard(0)], in_placements=([Shard(0)],))
        >>> double(ones(2, device_mesh=mesh, placements=[Shard(0)])).to_local()
        tensor([2., 2.])
        >>> dist.destroy_process_group()
    """
    if func is None:
        return functools.partial(
            local_map,
            out_placements=out_placements,
            in_placements=in_placements,
            in_grad_placements=in_grad_placements,
            device_mesh=device_mesh,
            redistribute_inputs=redistribute_inputs,
        )
    options = (in_placements, in_grad_placements, redistribute_inputs)

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        flat, tree = tree_flatten(args)
        mesh = device_mesh
        for value in flat:
            if isinstance(value, DTensor):
                mesh = value.device_mesh if mesh is None else mesh
                assert value.device_mesh == mesh, f"local_map: {value.device_mesh} is not the mesh {mesh}"
        if in_placements is not None:
            assert len(in_placements) == len(flat), (
                f"in_placements length {len(in_placements)} does not match the number of input args {len(flat)}!"
            )
        has_distributed = any(isinstance(value, DTensor) for value in flat)
        parts = [_local(value, i, *options) for i, value in enumerate(flat)]
        result = func(*tree_unflatten(parts, tree), **kwargs)
        return _wrap(result, out_placements, mesh) if has_distributed else result

    return call


def _local(value: Any, index: int, required: Any, grads: Any, moves: bool) -> Any:
    if not isinstance(value, DTensor):
        if required is not None and required[index] is not None and not isinstance(value, Tensor):
            raise AssertionError(
                f"Non-Tensor input {value} expects None placements but received {required[index]}! "
                f"(in_placements[{index}] of local_map)"
            )
        return value
    if required is not None:
        placements = required[index]
        if placements is None:
            raise AssertionError(
                f"DTensor input {value} expects placements but received None! (in_placements[{index}] of local_map)"
            )
        if value.placements != tuple(placements):
            if not moves:
                raise ValueError(
                    f"local_map: argument {index} is {value.placements}, in_placements wants {tuple(placements)}. "
                    "If redistribute_inputs is wanted, set redistribute_inputs=True"
                )
            value = value.redistribute(placements=placements)
    grad = None if grads is None else grads[index]
    return value.to_local(grad_placements=grad)


def _wrap(result: Any, out_placements: Any, mesh: DeviceMesh | None) -> Any:
    flat, tree = tree_flatten(result)
    several = (
        tuple(out_placements)
        if isinstance(out_placements, tuple) and not isinstance(out_placements[0], Placement)
        else (out_placements,) * len(flat)
    )
    assert len(flat) == len(several), (
        f"local_map requires one PlacementType be provided for each output value, received {len(several)} "
        f"out_placements but {len(flat)} is expected!"
    )
    wrapped = []
    for value, placements in zip(flat, several, strict=True):
        if isinstance(value, Tensor):
            assert not isinstance(value, DTensor), f"torch.Tensor output expected but received {type(value)}"
            wrapped.append(DTensor.from_local(value, mesh, placements, run_check=False))
        else:
            assert placements is None, f"Non-tensor output expects None placements but received {placements}!"
            wrapped.append(value)
    return tree_unflatten(wrapped, tree)
