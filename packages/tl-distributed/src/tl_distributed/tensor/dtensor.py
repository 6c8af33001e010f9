"""A tensor that lies on several processes, in pieces, as replicas or as terms of a sum."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import tl_core
from tl_autograd import Function
from tl_core import Tensor
from tl_core.pytree import tree_flatten
from tl_core.subclasses.wrapper_plans import plan_calls

from ..collectives import tensor_collectives as collectives
from ..groups.device_mesh import DeviceMesh, _mesh_resources
from ..nn.async_collective_tensor import AsyncCollectiveTensor
from . import dispatch
from .dtensor_spec import DTensorSpec, TensorMeta, normalize_placements
from .layout import compute_global_tensor_info, local_runs, whole_stride
from .placement_types import Partial, Placement, Replicate
from .redistribute import redistribute_local_tensor
from .view_source import ViewSource

__all__ = ["DTensor"]


class DTensor(Tensor):
    """A tensor on the processes of a mesh: each holds its piece, a replica, or a term of a sum.

    Operators compute on what each process holds and communicate where they must. One that tl knows no way for to
    compute in pieces gathers its operands first, so its result is right, and replicated.

    `from_local`, `distribute_tensor` and the factories make them.

    Args:
        local_tensor: what this process holds.
        spec: the layout, and the size and type of the whole.
        requires_grad: whether operations on it are recorded.
        storage_offset: where the elements of a view begin in the whole.

    Example:
        >>> import tl_distributed as dist
        >>> from tl_distributed.tensor import Shard, distribute_tensor
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = distribute_tensor(tl_core.ones(4, 2), mesh, [Shard(0)])
        >>> (x @ x.t()).full_tensor().sum()
        tensor(32.)
        >>> dist.destroy_process_group()
    """

    handles_kernels_only = True  # its tables know the rows of this library
    _local_tensor: Tensor
    _spec: DTensorSpec

    @staticmethod
    def __new__(
        cls, local_tensor: Tensor, spec: DTensorSpec, *, requires_grad: bool, storage_offset: int = 0
    ) -> DTensor:
        meta = spec.tensor_meta
        make: Any = Tensor
        self: DTensor = make._make_wrapper_subclass(
            cls,
            meta.shape,
            strides=meta.stride,
            storage_offset=storage_offset,
            dtype=local_tensor.dtype,
            device=local_tensor.device,
            requires_grad=requires_grad,
        )
        self._local_tensor, self._spec = local_tensor.detach(), spec
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def __repr__(self) -> str:
        local, mesh = self._local_tensor, self._spec.mesh
        return f"DTensor(local_tensor={local}, device_mesh={mesh}, placements={self.placements})"

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Tensor], context: Any, size: Any, stride: Any) -> DTensor:
        spec, requires_grad = context
        return DTensor(inner["_local_tensor"], spec, requires_grad=requires_grad)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return dispatch.call(func, args, kwargs or {}, DTensor)

    @staticmethod
    def _views(
        results: Any, base: DTensor, placements: tuple[Placement, ...] | None, take: Callable[[Tensor], Any]
    ) -> Any:
        """Views that write their elements back to the tensor of which they were taken.

        Args:
            results: a view, or several.
            base: the tensor.
            placements: the layout in which the views were taken; None if they share the tensor's memory.
            take: the views of a process's part in this layout.
        """
        if isinstance(results, (list, tuple)):
            return type(results)(
                _View(each, base, placements, partial(_take_one, take, i)) for i, each in enumerate(results)
            )
        return _View(results, base, placements, take)

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """The placement on each dimension of the mesh."""
        return self._spec.placements

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        """The distributed tensor of what the processes hold; it has a gradient.

        Args:
            local_tensor: what this process holds.
            device_mesh: the mesh; that of the innermost `with` block by default.
            placements: one for each dimension of the mesh; replicas by default.
            run_check: whether replicas are those of the first process, at the price of a broadcast.
            shape: the size of the whole; needed where pieces are of several sizes.
            stride: the strides of the whole.
            grad_placements: the placements of the gradient; as these by default, with replicas for terms.

        Raises:
            RuntimeError: one of `shape` and `stride` is given and the other is not.

        Example:
            >>> import tl_distributed as dist
            >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
            >>> mesh = dist.init_device_mesh("cpu", (1,))
            >>> DTensor.from_local(tl_core.ones(2), mesh).placements
            (Replicate(),)
            >>> dist.destroy_process_group()
        """
        device_mesh = device_mesh or _mesh_resources.get_current_mesh()
        targets = [Replicate()] * device_mesh.ndim if placements is None else placements
        placed = normalize_placements(targets, device_mesh, local_tensor.dim())
        if (shape is None) != (stride is None):
            raise RuntimeError(
                f"Found shape:{shape}, stride:{stride}. Please pass both shape and stride at the same time."
            )
        if shape is None or stride is None:
            shape, stride = compute_global_tensor_info(local_tensor, device_mesh, placed)
        if run_check:
            for mesh_dim, placement in enumerate(placed):
                if isinstance(placement, Replicate):
                    group = device_mesh.get_group(mesh_dim)
                    collectives.broadcast(local_tensor.detach(), group=group, group_src=0)
        meta = TensorMeta(tl_core.Size(shape), tuple(stride), local_tensor.dtype)
        grads = tuple(Replicate() if isinstance(p, Partial) else p for p in placed)
        if grad_placements is not None:
            grads = normalize_placements(grad_placements, device_mesh, local_tensor.dim())
        result: DTensor = _FromLocal.apply(local_tensor, DTensorSpec(device_mesh, placed, meta), grads)
        return result

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The part of this process, with a gradient.

        Args:
            grad_placements: how the gradient of the result will lie; as this tensor by default.
        """
        if not tl_core.is_grad_enabled() or not self.requires_grad:
            return self._local_tensor
        spec = self._spec
        placed = (
            spec.placements
            if grad_placements is None
            else normalize_placements(grad_placements, spec.mesh, self.dim())
        )
        result: Tensor = _ToLocal.apply(self, spec.with_placements(placed))
        return result

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: tl_core.dtype | None = None,
        backward_dtype: tl_core.dtype | None = None,
    ) -> DTensor:
        """The tensor in another layout; it has a gradient.

        Args:
            device_mesh: the mesh, which is the one that it lies on.
            placements: how it shall lie; replicas by default.
            async_op: whether a last all-gather or all-reduce runs on; the result waits when it is read, and `to_local`
                returns an `AsyncCollectiveTensor`.
            forward_dtype: the type in which it moves, and of the result; its own by default.
            backward_dtype: the type in which its gradient moves; that of the gradient by default.

        Raises:
            NotImplementedError: the mesh is another.
            RuntimeError: a placement is a `Partial` that the tensor doesn't have.
        """
        spec = self._spec
        if device_mesh is not None and device_mesh != spec.mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        targets = [Replicate()] * spec.mesh.ndim if placements is None else placements
        placed = normalize_placements(targets, spec.mesh, self.dim())
        for old, new in zip(spec.placements, placed):
            if isinstance(new, Partial) and old != new:
                raise RuntimeError(
                    "Can not redistribute to Partial, redistributing to Partial is for internal use only!"
                )
        result: DTensor = _Redistribute.apply(self, placed, forward_dtype, backward_dtype, async_op)
        return result

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The whole, on every process; it has a gradient.

        Args:
            grad_placements: how the gradient of the result will lie; replicas by default.
        """
        result = self.redistribute().to_local(grad_placements=grad_placements)
        return result.wait() if isinstance(result, AsyncCollectiveTensor) else result

    # ---- checkpoints. Who asks is tl-checkpoint, on which this package doesn't depend.

    def __create_chunk_list__(self) -> list[Any]:
        """The parts of this process: a list of chunks with their offsets and sizes.

        The list is empty where the process has no element, or isn't in the mesh. A piece is one chunk, unless a
        dimension was cut into runs that are not neighbours.

        Raises:
            RuntimeError: it holds terms of a sum, which are no part of the whole.
        """
        from tl_checkpoint.distributed.metadata import ChunkStorageMetadata

        return [
            ChunkStorageMetadata(
                offsets=tl_core.Size([offset for _, offset in runs]),
                sizes=tl_core.Size([size for size, _ in runs]),
            )
            for runs in self._own_boxes()
        ]

    def _own_boxes(self) -> list[tuple[tuple[int, int], ...]]:
        """The boxes of the whole that this process holds: a run of each dimension, by its size and its beginning."""
        if any(isinstance(placement, Partial) for placement in self.placements):
            raise RuntimeError(
                "Any checkpointing related operations are not supported for DTensor with partial placements! "
                f"Got {self.placements}; `redistribute` it first."
            )
        if self.device_mesh.get_coordinate() is None:
            return []
        boxes = list(itertools.product(*local_runs(self.shape, self.device_mesh, self.placements)))
        return [box for box in boxes if self.numel() == 0 or all(size for size, _ in box)]

    def __create_write_items__(self, fqn: str, object: Any) -> list[Any]:
        """The part that this process writes to a checkpoint.

        Args:
            fqn: the name of the tensor.
            object: the tensor itself.
        """
        from tl_checkpoint.distributed.metadata import TensorProperties
        from tl_checkpoint.distributed.planner_helpers import create_chunk_items

        properties = TensorProperties.create_from_tensor(self)
        return create_chunk_items(fqn, self.shape, properties, self.__create_chunk_list__())

    def __get_tensor_shard__(self, index: Any) -> Tensor:
        """The chunk that an index of a checkpoint names.

        Args:
            index: the name of the tensor and the offset of the chunk.

        Raises:
            ValueError: this process holds no chunk with that offset.
        """
        boxes = self._own_boxes()
        here = [tuple(offset for _, offset in box) for box in boxes]
        if not here or (index.offset is not None and tuple(index.offset) not in here):
            raise ValueError(f"{index.fqn!r} has no chunk at {index.offset} here")
        if len(boxes) == 1:
            return self._local_tensor
        box = boxes[here.index(tuple(index.offset)) if index.offset is not None else index.index or 0]
        result = self._local_tensor
        runs = local_runs(self.shape, self.device_mesh, self.placements)
        for dim, (own, run) in enumerate(zip(runs, box, strict=True)):
            start = sum(size for size, _ in own[: own.index(run)])
            result = result.narrow(dim, start, run[0])
        return result


plan_calls(DTensor, "_local_tensor", "_spec")


def _take_one(take: Callable[[Tensor], Any], index: int, local: Tensor) -> Any:
    return take(local)[index]


class _View(DTensor):
    """A view that isn't, or may not be, in the memory of the tensor itself. No call with it runs without Python."""

    _source: ViewSource
    _own: Tensor

    @staticmethod
    def __new__(
        cls,
        view: DTensor,
        base: DTensor,
        placements: tuple[Placement, ...] | None,
        take: Callable[[Tensor], Tensor],
    ) -> _View:
        local, start = view._local_tensor, view.storage_offset()
        result = DTensor.__new__(cls, local, view._spec, requires_grad=False, storage_offset=start)
        self = cast(_View, result)
        parent = base._source if isinstance(base, _View) else None
        part = base._own if isinstance(base, _View) else base._local_tensor
        self._source = ViewSource(part, base._spec, placements, take, parent)
        return self

    @property
    def _local_tensor(self) -> Tensor:
        if "_source" in self.__dict__:
            self._source.refresh(self._own)
        return self._own

    @_local_tensor.setter
    def _local_tensor(self, local: Tensor) -> None:
        self._own = local

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = dispatch.call(func, args, kwargs or {}, DTensor)
        if func._schema.is_mutable:
            targets = [a.name for a in func._schema.arguments if a.alias_info is not None]
            values = dispatch.argument_names(func, args, kwargs or {})
            for value in tree_flatten([values.get(name) for name in targets])[0]:
                if isinstance(value, _View):
                    value._source.write_back(value._own)
        elif dispatch.is_view(func) and isinstance(args[0], _View):
            several = tree_flatten(result)[0]
            if not any(isinstance(each, _View) for each in several):
                return DTensor._views(result, args[0], None, lambda local: local)
        return result

    def _plain(self) -> DTensor:
        return DTensor(self._local_tensor, self._spec, requires_grad=self.requires_grad)

    def __repr__(self) -> str:
        return repr(DTensor(self._own, self._spec, requires_grad=False))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._plain().__reduce_ex__(protocol)

    def __deepcopy__(self, memo: Any) -> Any:
        return self._plain().__deepcopy__(memo)


_View.__name__ = _View.__qualname__ = DTensor.__name__


class _FromLocal(Function):
    @staticmethod
    def forward(ctx: Any, local: Tensor, spec: DTensorSpec, grads: tuple[Placement, ...]) -> DTensor:
        ctx.grads = grads  # of terms by default replicas: all have the gradient of their sum
        return DTensor(local, spec, requires_grad=False)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return redistribute_local_tensor(grad._local_tensor, grad._spec, ctx.grads), None, None


class _ToLocal(Function):
    @staticmethod
    def forward(ctx: Any, tensor: DTensor, grad_spec: DTensorSpec) -> Tensor:
        ctx.grad_spec = grad_spec
        return tensor._local_tensor.view_as(tensor._local_tensor)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        spec = ctx.grad_spec
        meta = TensorMeta(spec.shape, whole_stride(spec.shape), grad.dtype)
        return DTensor(grad, DTensorSpec(spec.mesh, spec.placements, meta), requires_grad=False), None


class _Redistribute(Function):
    @staticmethod
    def forward(
        ctx: Any,
        tensor: DTensor,
        placements: tuple[Placement, ...],
        dtype: Any,
        backward_dtype: Any,
        is_async: bool,
    ) -> DTensor:
        ctx.before, ctx.dtype, ctx.backward_dtype = tensor._spec.placements, tensor.dtype, backward_dtype
        return _move(tensor if dtype is None else cast(DTensor, tensor.to(dtype)), placements, is_async)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        # What were terms gets the gradient of the sum as it is.
        placed = tuple(Replicate() if isinstance(p, Partial) else p for p in ctx.before)
        if ctx.backward_dtype is not None:
            grad = grad.to(ctx.backward_dtype)
        return _move(grad, placed).to(ctx.dtype), None, None, None, None


def _move(tensor: DTensor, placements: tuple[Placement, ...], is_async: bool = False) -> DTensor:
    local = redistribute_local_tensor(tensor._local_tensor, tensor._spec, placements, is_async)
    spec = tensor._spec.with_placements(placements)
    if not isinstance(local, AsyncCollectiveTensor):
        return DTensor(local, spec, requires_grad=False)
    result = DTensor(local.elem, spec, requires_grad=False)
    result._local_tensor = local
    return result
