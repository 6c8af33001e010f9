"""`torch.distributed._shard.sharded_tensor`: a tensor of which each process holds some boxes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.overrides import DisableTorchFunctionSubclass

from ...base.remote_device import _remote_device
from ...collectives.object_collectives import all_gather_object
from ...collectives.tensor_collectives import gather as gather_tensors
from ...collectives.tensor_collectives import scatter
from ...groups.process_groups import get_global_rank, get_process_group_ranks, get_rank, get_world_size
from .current_group import current_process_group
from .metadata import ShardedTensorMetadata, ShardMetadata, TensorProperties, volume
from .sharding_spec import (
    ShardingSpec,
    _infer_sharding_spec_from_shards_metadata,
    check_tensor,
    validate_non_overlapping_shards_metadata,
)

__path__: list[str] = []  # PyTorch has modules below it, which the façade serves
__all__ = [
    "Shard",
    "ShardMetadata",
    "ShardedTensor",
    "ShardedTensorBase",
    "ShardedTensorMetadata",
    "TensorProperties",
    "custom_sharded_op_impl",
    "empty",
    "full",
    "init_from_local_shards",
    "ones",
    "pre_load_state_dict_hook",
    "rand",
    "randn",
    "state_dict_hook",
    "zeros",
]

_OPERATORS: dict[Any, Callable[..., Any]] = {}
# Questions that the tensor answers itself, without its elements.
_FACTS = frozenset({"__get__", "size", "dim", "numel", "ndimension", "stride", "is_floating_point", "is_complex",
                    "requires_grad_", "element_size", "__hash__", "data_ptr", "register_hook"})  # fmt: skip


@dataclass
class Shard:
    """A box of a tensor that this process holds.

    Args:
        tensor: its elements.
        metadata: where the box is.

    Raises:
        ValueError: the sizes differ.
    """

    tensor: Tensor
    metadata: ShardMetadata

    def __post_init__(self) -> None:
        if list(self.tensor.size()) != list(self.metadata.shard_sizes):
            raise ValueError(
                "Shard tensor size does not match with metadata.shard_lengths! Found shard tensor size: "
                f"{list(self.tensor.size())}, metadata.shard_lengths: {self.metadata.shard_sizes}, "
            )
        placement = self.metadata.placement
        if placement is not None and placement.device() != self.tensor.device:
            raise ValueError(
                f"Local shard tensor device does not match with local Shard's placement! Found local shard tensor "
                f"device: {self.tensor.device}, local shard metadata placement device: {placement.device()}"
            )

    @classmethod
    def from_tensor_and_offsets(cls, tensor: Tensor, shard_offsets: list[int], rank: int) -> Shard:
        """The box of a tensor that begins at some offsets.

        Args:
            tensor: its elements.
            shard_offsets: where it begins in each dimension.
            rank: the process.

        Example:
            >>> Shard.from_tensor_and_offsets(tl_core.ones(2), [4], 1).metadata.placement
            rank:1/cpu
        """
        placement = _remote_device(f"rank:{rank}/{tensor.device}")
        return cls(tensor, ShardMetadata(list(shard_offsets), list(tensor.size()), placement))


class ShardedTensorBase(Tensor):
    """A tensor in boxes, without a group of processes."""

    _sharding_spec: ShardingSpec
    _metadata: ShardedTensorMetadata
    _local_shards: list[Shard]

    @staticmethod
    def __new__(cls: Any, sharding_spec: ShardingSpec, *size: Any, **kwargs: Any) -> Any:
        if not isinstance(sharding_spec, ShardingSpec):
            raise ValueError(f"Expecting ShardingSpec but got: {type(sharding_spec)}")
        sizes = _flat_size(size)
        properties = _properties(**kwargs)
        metadata = sharding_spec.build_metadata(sizes, properties)
        return cls._wrap(sharding_spec, metadata)

    @classmethod
    def _wrap(cls, spec: ShardingSpec, metadata: ShardedTensorMetadata) -> Any:
        properties = metadata.tensor_properties
        make: Any = Tensor
        result: Any = make._make_wrapper_subclass(
            cls,
            metadata.size,
            dtype=properties.dtype,
            layout=properties.layout,
            requires_grad=properties.requires_grad,
        )
        result._sharding_spec, result._metadata, result._local_shards = spec, metadata, []
        return result

    def metadata(self) -> ShardedTensorMetadata:
        """The boxes, the size and the properties."""
        return self._metadata

    def local_shards(self) -> list[Shard]:
        """The boxes of this process."""
        return self._local_shards

    @classmethod
    def _init_from_local_shards_and_global_metadata(
        cls,
        local_shards: list[Shard],
        sharded_tensor_metadata: ShardedTensorMetadata,
        sharding_spec: ShardingSpec | None = None,
    ) -> Any:
        parts = sharded_tensor_metadata.shards_metadata
        if not parts:
            raise ValueError("shards_metadata must not be empty!")
        if sharded_tensor_metadata.tensor_properties.layout != tl_core.strided:
            raise ValueError("Only torch.strided layout is currently supported")
        spec = _infer_sharding_spec_from_shards_metadata(parts) if sharding_spec is None else sharding_spec
        validate_non_overlapping_shards_metadata(parts)
        check_tensor(parts, list(sharded_tensor_metadata.size))
        result = cls._wrap(spec, sharded_tensor_metadata)
        result._local_shards = local_shards
        return result

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(
            f"A {cls.__name__} object is being used from c++ while calling {func.__module__}.{func.__name__} but the "
            "there is no custom __torch_dispatch__ implementation for it."
        )


class ShardedTensor(ShardedTensorBase):
    """A tensor of which each process of a group holds some boxes.

    Args:
        sharding_spec: how it is cut.
        size: its size.
        dtype, layout, requires_grad, pin_memory, memory_format: properties of the tensor.
        process_group: the group; None: that of all processes.
        init_rrefs: whether each worker of RPC gets references to the boxes of the others.

    Raises:
        ValueError: a property isn't supported, or a placement names a process outside of the group.
        RuntimeError: `init_rrefs` is True and RPC isn't initialized.
    """

    _process_group: Any
    _remote_shards: dict[int, Any] | None = None

    @staticmethod
    def __new__(cls: Any, sharding_spec: ShardingSpec, *size: Any, **kwargs: Any) -> Any:
        group, init_rrefs = kwargs.pop("process_group", None), kwargs.pop("init_rrefs", False)
        result = ShardedTensorBase.__new__(cls, sharding_spec, *size, **kwargs)
        result._process_group = _group_or_current(group)
        properties = result._metadata.tensor_properties
        if properties.memory_format != tl_core.contiguous_format:
            raise ValueError("Only torch.contiguous_format memory_format is currently supported")
        for part in result._metadata.shards_metadata:
            rank, device = _rank_and_device(result._process_group, part.placement)
            if rank == get_rank():
                tensor = tl_core.empty(
                    part.shard_sizes,
                    dtype=properties.dtype,
                    device=device,
                    requires_grad=properties.requires_grad,
                    pin_memory=properties.pin_memory,
                )
                result._local_shards.append(Shard(tensor, part))
        if init_rrefs:
            _exchange_references(result)
        return result

    @classmethod
    def _init_from_local_shards(
        cls, local_shards: list[Shard], *global_size: Any, process_group: Any = None, init_rrefs: bool = False
    ) -> ShardedTensor:
        group = _group_or_current(process_group)
        size = _flat_size(global_size)
        for part in local_shards:
            rank, _ = _rank_and_device(group, part.metadata.placement)
            if rank != get_rank():
                raise ValueError(
                    f"Local shard metadata's rank does not match with the rank in its process group! Found current "
                    f"rank in the process group: {get_rank()}, local ShardMetadata placement's rank: {rank}"
                )
        own = (
            [part.metadata for part in local_shards],
            size,
            TensorProperties.create_from_tensor(local_shards[0].tensor) if local_shards else None,
        )
        answers: list[Any] = [None] * get_world_size(group)
        all_gather_object(answers, own, group)
        metadata = _global_metadata(answers)
        spec = _infer_sharding_spec_from_shards_metadata(metadata.shards_metadata)
        return cls._finish(local_shards, metadata, spec, group, init_rrefs)

    @classmethod
    def _init_from_local_tensor(
        cls,
        local_tensor: Tensor,
        sharding_spec: ShardingSpec,
        *global_size: Any,
        process_group: Any = None,
        init_rrefs: bool = False,
    ) -> ShardedTensor:
        if not local_tensor.is_contiguous():
            raise ValueError("local_tensor is not a contiguous Tensor.")
        group = _group_or_current(process_group)
        properties = TensorProperties.create_from_tensor(local_tensor)
        metadata = sharding_spec.build_metadata(_flat_size(global_size), properties)
        own = [
            Shard(local_tensor, part)
            for part in metadata.shards_metadata
            if _rank_and_device(group, part.placement)[0] == get_rank()
        ]
        return cls._finish(own, metadata, sharding_spec, group, init_rrefs)

    @classmethod
    def _init_from_local_shards_and_global_metadata(  # type: ignore[override]  # PyTorch's arguments
        cls,
        local_shards: list[Shard],
        sharded_tensor_metadata: ShardedTensorMetadata,
        process_group: Any = None,
        init_rrefs: bool = False,
        sharding_spec: ShardingSpec | None = None,
    ) -> ShardedTensor:
        group = _group_or_current(process_group)
        own = [
            part
            for part in sharded_tensor_metadata.shards_metadata
            if _rank_and_device(group, part.placement)[0] == get_rank()
        ]
        if len(own) != len(local_shards):
            raise RuntimeError(
                f"Number of local shards ({len(local_shards)}) does not match number of local shards metadata in "
                f"sharded_tensor_metadata ({len(own)}) on rank ({get_rank()}) "
            )
        for part in local_shards:
            _check_properties(sharded_tensor_metadata.tensor_properties, part)
        result: ShardedTensor = super()._init_from_local_shards_and_global_metadata(
            local_shards, sharded_tensor_metadata, sharding_spec
        )
        result._process_group = group
        if init_rrefs:
            _exchange_references(result)
        return result

    @classmethod
    def _finish(
        cls,
        local_shards: list[Shard],
        metadata: ShardedTensorMetadata,
        spec: ShardingSpec,
        group: Any,
        init_rrefs: bool = False,
    ) -> ShardedTensor:
        result: ShardedTensor = cls._wrap(spec, metadata)
        result._local_shards, result._process_group = local_shards, group
        if init_rrefs:
            _exchange_references(result)
        return result

    # ---- parts
    def sharding_spec(self) -> ShardingSpec:
        """How the tensor is cut."""
        return self._sharding_spec

    def local_tensor(self) -> Tensor:
        """The elements of the one box of this process.

        Raises:
            NotImplementedError: the process has another number of boxes.
        """
        if len(self._local_shards) != 1:
            raise NotImplementedError("Only single local shard is supported.")
        return self._local_shards[0].tensor

    def remote_shards(self) -> dict[int, Any]:
        """References to the boxes of the other workers, by their ranks.

        Raises:
            RuntimeError: the tensor was created with `init_rrefs=False`.
        """
        if self._remote_shards is None:
            raise RuntimeError(
                "ShardedTensor created with init_rrefs=False, no RRefs to remote shards available"
            )
        return self._remote_shards

    def gather(  # type: ignore[override]  # PyTorch's class hides the method of tensors
        self, dst: int = 0, out: Tensor | None = None, enforce_dtype: bool = False, dtype: Any = None
    ) -> None:
        """Writes the whole tensor to a tensor of one process. All processes of the group call it.

        Args:
            dst: the process, by its number in the group.
            out: on that process the tensor that is written.
            enforce_dtype: accepted.
            dtype: the type in which elements are sent; None: the tensor's.

        Raises:
            ValueError: `out` is missing, or is where it isn't written, or has another size.
        """
        group, here = self._process_group, get_rank(self._process_group)
        if (here == dst) != (out is not None):
            text = "must be given on" if here == dst else "must not be given on another rank than"
            raise ValueError(f"Argument ``dst_tensor`` {text} dst rank {dst}")
        if out is not None and out.size() != self.size():
            raise ValueError(
                f"Argument ``dst_tensor`` have size {tuple(out.size())}, expected {tuple(self.size())}"
            )
        counts = [0] * get_world_size(group)
        offsets = []
        ranks = get_process_group_ranks(group)
        for part in self._metadata.shards_metadata:
            at = ranks.index(_rank_and_device(group, part.placement)[0])
            offsets.append((part, at, counts[at]))
            counts[at] += volume(part.shard_sizes)
        kind = self._metadata.tensor_properties.dtype if dtype is None else dtype
        buffer = tl_core.zeros(max(counts), dtype=kind)
        at = 0
        for shard in self._local_shards:
            n = shard.tensor.numel()
            buffer[at : at + n].copy_(shard.tensor.detach().reshape(-1))
            at += n
        buffers = [tl_core.empty_like(buffer) for _ in counts] if here == dst else None
        gather_tensors(buffer, buffers, dst=get_global_rank(group, dst), group=group)
        if out is None or buffers is None:
            return
        for part, source, start in offsets:
            elements = buffers[source][start : start + volume(part.shard_sizes)].view(part.shard_sizes)
            box = out.detach()
            for dim, (first, n) in enumerate(zip(part.shard_offsets, part.shard_sizes, strict=True)):
                box = box.narrow(dim, first, n)
            box.copy_(elements)

    def reshard(self, resharding_spec: ShardingSpec) -> ShardedTensor:
        """Cuts the tensor in another way, in place.

        Args:
            resharding_spec: the other cut.
        """
        full = tl_core.empty(self.size(), dtype=self._metadata.tensor_properties.dtype)
        self.gather(0, full if get_rank(self._process_group) == 0 else None)
        source = get_global_rank(self._process_group, 0)
        other = shard_tensor(full, resharding_spec, source, self._process_group)
        self._sharding_spec, self._metadata, self._local_shards = (
            resharding_spec,
            other._metadata,
            other._local_shards,
        )
        return self

    def cpu(self, memory_format: Any = tl_core.preserve_format, process_group: Any = None) -> ShardedTensor:
        """The tensor with its boxes on the CPU; itself where they are there.

        Args:
            memory_format, process_group: accepted.
        """
        return self

    def to(self, *args: Any, **kwargs: Any) -> ShardedTensor:
        """The tensor in another type.

        Args:
            args, kwargs: as `Tensor.to` takes them.

        Returns:
            The tensor itself if it has the type.
        """
        example = tl_core.empty(0, dtype=self.dtype).to(*args, **kwargs)
        if example.dtype == self.dtype and not kwargs.get("copy"):
            return self
        return self._map(lambda t: t.to(*args, **kwargs), dtype=example.dtype)

    def is_pinned(self) -> bool:  # type: ignore[override]  # without a device, as in PyTorch
        """Whether the memory of the boxes is pinned."""
        return self._metadata.tensor_properties.pin_memory

    def _map(self, function: Callable[[Tensor], Tensor], **changes: Any) -> ShardedTensor:
        """The tensor whose boxes are those of a function, cut in the same way."""
        properties = copy.copy(self._metadata.tensor_properties)
        for name, value in changes.items():
            setattr(properties, name, value)
        metadata = ShardedTensorMetadata(self._metadata.shards_metadata, self._metadata.size, properties)
        shards = [Shard(function(s.tensor), s.metadata) for s in self._local_shards]
        return type(self)._finish(shards, metadata, self._sharding_spec, self._process_group)

    # ---- checkpoints
    def __create_write_items__(self, fqn: str, value: Any) -> list[Any]:
        from tl_checkpoint.distributed import metadata as files
        from tl_checkpoint.distributed.planner_helpers import create_chunk_items

        own = self._metadata.tensor_properties
        properties = files.TensorProperties(own.dtype, own.layout, own.requires_grad)
        return create_chunk_items(fqn, self._metadata.size, properties, self.__create_chunk_list__())

    def __create_chunk_list__(self) -> list[Any]:
        from tl_checkpoint.distributed.metadata import ChunkStorageMetadata

        return [
            ChunkStorageMetadata(tl_core.Size(s.metadata.shard_offsets), tl_core.Size(s.metadata.shard_sizes))
            for s in self._local_shards
        ]

    def __get_tensor_shard__(self, index: Any) -> Tensor:
        for shard in self._local_shards:
            if index.offset is None or list(index.offset) == list(shard.metadata.shard_offsets):
                return shard.tensor.detach()
        raise ValueError(f"FQN: '{index.fqn}' has no shard with offset {index.offset} in this process")

    def __reduce_ex__(self, protocol: Any) -> Any:
        group = self._process_group
        state = (
            (get_rank(group), get_rank(), get_world_size(group), get_world_size()),
            self._local_shards,
            self._metadata,
            self._sharding_spec,
        )
        return _restore, (type(self), state)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _OPERATORS:
            owner = next(x for x in (*args, *kwargs.values()) if isinstance(x, ShardedTensor))
            return _OPERATORS[func](types, args, kwargs, owner._process_group)
        name = getattr(func, "__name__", "")
        if name in _FACTS or (name.startswith("__") and name in ("__repr__", "__format__")):
            with DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        raise RuntimeError(
            f"torch function '{name}', with args: {args} and kwargs: {kwargs} not supported for ShardedTensor!"
        )

    def __repr__(self, **options: Any) -> str:
        return f"ShardedTensor({self._metadata})"


def _restore(cls: type[ShardedTensor], state: Any) -> ShardedTensor:
    from ...groups.process_groups import is_initialized

    if not is_initialized():
        raise RuntimeError(
            'Need to initialize default process group using "init_process_group" before loading ShardedTensor'
        )
    facts, shards, metadata, spec = state
    group = current_process_group()
    now = (get_rank(group), get_rank(), get_world_size(group), get_world_size())
    names = ("Local rank", "Global rank", "Local world size", "Global world size")
    for name, before, after in zip(names, facts, now, strict=True):
        if before != after:
            raise RuntimeError(f"{name} at save time was {before}, but at load time was {after}")
    return cls._finish(shards, metadata, spec, group)


# ---- checks
def _group_or_current(group: Any) -> Any:
    return current_process_group() if group is None else group


def _flat_size(size: Sequence[Any]) -> tl_core.Size:
    flat = size[0] if len(size) == 1 and isinstance(size[0], Sequence) else size
    for n in flat:
        if not isinstance(n, int):
            raise TypeError(f"size has to be a sequence of ints, found: {flat}")
    return tl_core.Size(flat)


def _properties(
    dtype: Any = None,
    layout: Any = tl_core.strided,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = tl_core.contiguous_format,
) -> TensorProperties:
    if layout != tl_core.strided:
        raise ValueError("Only torch.strided layout is currently supported")
    kind = tl_core.get_default_dtype() if dtype is None else dtype
    return TensorProperties(kind, layout, requires_grad, memory_format, pin_memory)


def _rank_and_device(group: Any, placement: Any) -> tuple[int, tl_core.device]:
    """The process of a placement, by its number among all processes, and the device."""
    if placement is None:
        raise ValueError("remote device is None")
    rank = get_rank() if placement.rank() is None and placement.worker_name() is None else placement.rank()
    if rank is None:
        raise ValueError(f"the placement {placement} must name a rank")
    if rank not in get_process_group_ranks(group):
        raise ValueError(
            f"Global rank {rank} does not exist in input process group: {get_process_group_ranks(group)}"
        )
    return rank, placement.device()


def _check_properties(properties: TensorProperties, part: Shard) -> None:
    for name in ("dtype", "layout", "requires_grad"):
        expected, actual = getattr(properties, name), getattr(part.tensor, name)
        if expected != actual:
            raise ValueError(
                f"Local shards' tensor {name} property is incompatible with tensor property on rank {get_rank()}: "
                f"tensor property {name}={expected}, local shard tensor {name}={actual}."
            )


def _global_metadata(answers: Sequence[Any]) -> ShardedTensorMetadata:
    """The metadata of all processes as one."""
    holders = [(rank, item) for rank, item in enumerate(answers) if item[0]]
    if not holders:
        raise ValueError("ShardedTensor have no local shards on all ranks!")
    first_rank, (_, size, properties) = holders[0]
    parts: list[ShardMetadata] = []
    for rank, (own, other_size, other) in holders:
        pairs = [("global_size", size, other_size)]
        pairs += [(n, getattr(properties, n), getattr(other, n)) for n in vars(properties)]
        for name, expected, actual in pairs:
            if expected != actual:
                raise ValueError(
                    f"ShardedTensor {name} property does not match from different ranks! Found {name}={expected} on "
                    f"rank:{first_rank}, and {name}={actual} on rank:{rank}."
                )
        parts += own
    validate_non_overlapping_shards_metadata(parts)
    check_tensor(parts, list(size))
    return ShardedTensorMetadata(parts, size, properties)


# ---- creation
def shard_tensor(
    tensor: Tensor, spec: ShardingSpec, src_rank: int = 0, process_group: Any = None
) -> ShardedTensor:
    """Cuts the tensor of one process, and gives each process its boxes.

    Args:
        tensor: the tensor; other processes have one of the same size and type.
        spec: the cut.
        src_rank: the process whose tensor is cut, by its number among all processes.
        process_group: the group.

    Raises:
        ValueError: the tensor isn't contiguous.
    """
    if not tensor.is_contiguous():
        raise ValueError("input tensor is not a contiguous Tensor")
    group = _group_or_current(process_group)
    metadata = spec.build_metadata(tensor.size(), TensorProperties.create_from_tensor(tensor))
    here, own = get_rank(), []
    ranks = get_process_group_ranks(group)
    for part in metadata.shards_metadata:
        holder, device = _rank_and_device(group, part.placement)
        box = tensor.detach()
        for dim, (first, n) in enumerate(zip(part.shard_offsets, part.shard_sizes, strict=True)):
            box = box.narrow(dim, first, n)
        target = tl_core.empty(part.shard_sizes, dtype=tensor.dtype, device=device)
        if volume(part.shard_sizes):
            pieces = None
            if here == src_rank:
                pieces = [
                    box.contiguous() if rank == holder else tl_core.empty_like(target) for rank in ranks
                ]
            scatter(target, pieces, src=src_rank, group=group)
        if here == holder:
            own.append(Shard(target.requires_grad_(tensor.requires_grad), part))
    return ShardedTensor._finish(own, metadata, spec, group)


def init_from_local_shards(
    local_shards: list[Shard], *global_size: Any, process_group: Any = None, init_rrefs: bool = False
) -> ShardedTensor:
    """A tensor of the boxes that the processes have. All processes of the group call it.

    Args:
        local_shards: the boxes of this process.
        global_size: the size of the whole tensor.
        process_group: the group; None: that of all processes.
        init_rrefs: whether each worker of RPC gets references to the boxes of the others.

    Raises:
        ValueError: boxes overlap or don't cover the tensor, or the processes disagree.
    """
    return ShardedTensor._init_from_local_shards(
        local_shards, *global_size, process_group=process_group, init_rrefs=init_rrefs
    )


def _exchange_references(tensor: ShardedTensor) -> None:
    from .shard_references import exchange_references  # RPC is imported with it

    exchange_references(tensor)


def _creator(name: str, elements: str, fill: Callable[[Tensor], Any]) -> Callable[..., ShardedTensor]:
    def create(sharding_spec: ShardingSpec, *size: Any, **options: Any) -> ShardedTensor:
        result: ShardedTensor = ShardedTensor(sharding_spec, *size, **options)
        with tl_core.no_grad():
            for shard in result.local_shards():
                fill(shard.tensor)
        return result

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"""A tensor of {elements} in boxes.

    Args:
        sharding_spec: the cut.
        size: the size.
        options: properties of the tensor and the group, as of `ShardedTensor`.
    """
    return create


empty = _creator("empty", "any elements", lambda t: t)
zeros = _creator("zeros", "zeros", lambda t: t.zero_())
ones = _creator("ones", "ones", lambda t: t.fill_(1))
rand = _creator("rand", "uniform random numbers", lambda t: t.uniform_())
randn = _creator("randn", "normal random numbers", lambda t: t.normal_())


def full(sharding_spec: ShardingSpec, size: Sequence[int], fill_value: Any, **options: Any) -> ShardedTensor:
    """A tensor in boxes whose elements are one number.

    Args:
        sharding_spec: how it is cut.
        size: its size.
        fill_value: the number.
        options: as `ShardedTensor` takes them.
    """
    return _creator("full", "equal numbers", lambda t: t.fill_(fill_value))(sharding_spec, *size, **options)


# ---- modules
def state_dict_hook(module: Any, destination: dict[str, Any], prefix: str, local_metadata: Any) -> None:
    """Adds the sharded tensors that are attributes of modules to a state dict, as a hook of `state_dict`.

    Args:
        module: the module.
        destination: the state dict.
        prefix: what the names begin with.
        local_metadata: accepted.
    """
    for path, part in module.named_modules():
        for name, value in vars(part).items():
            if isinstance(value, ShardedTensor):
                destination[prefix + (f"{path}." if path else "") + name] = value


def pre_load_state_dict_hook(
    module: Any,
    state_dict: dict[str, Any],
    prefix: str,
    local_metadata: Any,
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """Sets the sharded tensors of a state dict as attributes of modules, as a hook of `load_state_dict`.

    Args:
        module: the module.
        state_dict: the state dict.
        prefix: what the names begin with.
        local_metadata, strict, missing_keys, unexpected_keys, error_msgs: accepted.
    """
    for path, part in module.named_modules():
        for name in list(vars(part)):
            value = state_dict.get(prefix + (f"{path}." if path else "") + name)
            if isinstance(value, ShardedTensor):
                setattr(part, name, value)


# ---- operators
def custom_sharded_op_impl(func: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for what a function does with sharded tensors.

    Args:
        func: the function of the library.

    The decorated function takes the types, the arguments, those by keyword, and the group.
    """

    def decorate(implementation: Callable[..., Any]) -> Callable[..., Any]:
        _OPERATORS[func] = implementation
        return implementation

    return decorate


def _local(function: Callable[..., Any], **changes: Any) -> Callable[..., Any]:
    """An operator on each box by itself."""

    def call(types: Any, args: Any, kwargs: Any, group: Any) -> Any:
        first, *rest = args
        return first._map(lambda t: function(t, *rest, **kwargs), **changes)

    return call


def _in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(types: Any, args: Any, kwargs: Any, group: Any) -> Any:
        first, *rest = args or (kwargs.pop("tensor"),)
        for shard in first.local_shards():
            function(shard.tensor, *rest, **kwargs)
        return first

    return call


def _agree(function: Callable[..., bool]) -> Callable[..., bool]:
    """Whether a comparison holds for the boxes of all processes."""

    def call(types: Any, args: Any, kwargs: Any, group: Any) -> bool:
        a, b, *rest = args
        pairs = list(zip(a.local_shards(), b.local_shards(), strict=False))
        holds = len(a.local_shards()) == len(b.local_shards()) and all(
            p.metadata == q.metadata and function(p.tensor, q.tensor, *rest, **kwargs) for p, q in pairs
        )
        results: list[Any] = [None] * get_world_size(group)
        all_gather_object(results, holds, group)
        return all(results)

    return call


ShardingSpec._shard_tensor = staticmethod(shard_tensor)
for _function in (Tensor.clone, Tensor.detach, tl_core.clone, tl_core.detach):
    _OPERATORS[_function] = _local(_function)
for _name in ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like"):
    _OPERATORS[getattr(tl_core, _name)] = _local(getattr(tl_core, _name))
for _name in ("uniform_", "normal_", "fill_", "zero_"):
    _OPERATORS[getattr(Tensor, _name)] = _in_place(getattr(Tensor, _name))
for _name in ("equal", "allclose"):
    _OPERATORS[getattr(tl_core, _name)] = _agree(getattr(tl_core, _name))
_OPERATORS[Tensor.__deepcopy__] = lambda types, args, kwargs, group: args[0]._map(lambda t: copy.deepcopy(t))
