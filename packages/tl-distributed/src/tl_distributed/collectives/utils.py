"""Helpers of wrappers of modules: parameters that must be alike on all processes, arguments that travel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tl_core
from tl_core import Tensor, no_grad

from ..groups.process_group import ProcessGroup
from .object_collectives import all_gather_object

__all__: list[str] = []


def _verify_param_shape_across_processes(
    process_group: ProcessGroup, tensors: Sequence[Tensor], logger: Any = None
) -> None:
    """Raises on all processes unless each has as many tensors, of the same sizes.

    Args:
        process_group: the processes.
        tensors: this process's.
        logger: kept for callers.

    Raises:
        RuntimeError: they differ.
    """
    shapes = [tuple(tensor.shape) for tensor in tensors]
    every: list[Any] = [None] * process_group.size()
    all_gather_object(every, shapes, process_group)
    for rank, other in enumerate(every):
        if len(other) != len(every[0]):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank 0 has {len(every[0])} params, "
                f"while rank {rank} has inconsistent {len(other)} params."
            )
    for rank, other in enumerate(every):
        for number, (shape, first) in enumerate(zip(other, every[0], strict=True)):
            if shape != first:
                raise RuntimeError(
                    f"[{rank}]: params[{number}] in this process with sizes {list(shape)} appears not to match sizes "
                    f"of the same param in process 0, {list(first)}."
                )


def _broadcast_tensors(process_group: ProcessGroup, tensors: Iterable[Tensor], src: int) -> None:
    """Gives all processes the tensors of one, those of a dtype together.

    Args:
        process_group: the processes.
        tensors: any; written.
        src: that process's rank in the group.
    """
    alike: dict[tuple[tl_core.dtype, tl_core.device], list[Tensor]] = {}
    for tensor in tensors:
        alike.setdefault((tensor.dtype, tensor.device), []).append(tensor.detach())
    with no_grad():
        for (_, device), several in alike.items():
            process_group.communicator(device.type).blocking.broadcast_coalesced(several, src).wait()


def _sync_module_states(
    module: Any,
    process_group: ProcessGroup,
    broadcast_bucket_size: int = 0,
    src: int = 0,
    params_and_buffers_to_ignore: Iterable[str] = (),
    broadcast_buffers: bool = True,
) -> None:
    """Gives all processes the parameters and buffers of one.

    Args:
        module: the module.
        process_group: the processes.
        broadcast_bucket_size: kept for callers.
        src: that process's rank in the group.
        params_and_buffers_to_ignore: names of parameters and buffers to leave alone.
        broadcast_buffers: whether buffers are meant too.
    """
    ignored = set(params_and_buffers_to_ignore)
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    _broadcast_tensors(process_group, [each for name, each in named if name not in ignored], src)


def _pack_kwargs(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """All arguments as one tuple, and the names of the last ones.

    Example:
        >>> _pack_kwargs(1, scale=2)
        ((1, 2), ('scale',))
    """
    return (*args, *kwargs.values()), tuple(kwargs)


def _unpack_kwargs(
    flat_args: Sequence[Any], kwarg_keys: Sequence[str]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The opposite of `_pack_kwargs`.

    Example:
        >>> _unpack_kwargs((1, 2), ("scale",))
        ((1,), {'scale': 2})
    """
    if len(kwarg_keys) > len(flat_args):
        raise ValueError(f"_unpack_kwargs: {len(kwarg_keys)} names for {len(flat_args)} arguments")
    split = len(flat_args) - len(kwarg_keys)
    return tuple(flat_args[:split]), dict(zip(kwarg_keys, flat_args[split:], strict=True))


def _apply_to_tensors(fn: Callable[[Tensor], Any], container: Any) -> Any:
    """A value with all tensors in it replaced, in lists, tuples, dictionaries, sets.

    Example:
        >>> _apply_to_tensors(lambda t: t + 1, {"x": [tl_core.zeros(1)], "name": "a"})
        {'x': [tensor([1.])], 'name': 'a'}
    """
    if isinstance(container, Tensor):
        return fn(container)
    if isinstance(container, dict):
        changed = {key: _apply_to_tensors(fn, each) for key, each in container.items()}
        copied = container.copy()
        copied.update(changed)
        return copied
    if isinstance(container, tuple) and hasattr(container, "_fields"):
        return type(container)(*(_apply_to_tensors(fn, each) for each in container))
    if isinstance(container, list | tuple | set):
        return type(container)(_apply_to_tensors(fn, each) for each in container)
    return container


def _recursive_to(
    inputs: Any, target_device: Any, use_side_stream_for_tensor_copies: bool = False
) -> tuple[Any]:
    """A value with all tensors in it on a device, in a tuple of one.

    Args:
        inputs: any value.
        target_device: the device.
        use_side_stream_for_tensor_copies: kept for callers.
    """
    return (_apply_to_tensors(lambda tensor: tensor.to(target_device), inputs),)


def _to_kwargs(
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    target_device: Any,
    use_side_stream_for_tensor_copies: bool = False,
) -> tuple[tuple[tuple[Any, ...]], tuple[dict[str, Any]]]:
    """Arguments with all tensors in them on a device.

    Args:
        inputs: the positional ones.
        kwargs: the named ones.
        target_device: the device.
        use_side_stream_for_tensor_copies: kept for callers.
    """
    return _recursive_to(inputs, target_device), _recursive_to(kwargs or {}, target_device)
