"""A parameter of which each rank holds a piece, and which is whole while a module computes.

The whole parameter is one tensor for the life of the module. Its storage is empty while it isn't used, so a graph that
has saved it finds its elements again when the backward pass has gathered them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.memory.mapped_memory import tensor_on_buffer
from tl_core.tensors.version_counters import unsafe_preserve_version_counter
from tl_nn import Module, Parameter

from ..tensor.dtensor import DTensor
from ..tensor.dtensor_spec import DTensorSpec
from ..tensor.placement_types import Shard
from .api import MixedPrecisionPolicy
from .mesh_layout import MeshLayout, contiguous_meta

__all__ = ["ShardedParameter"]

_LARGE = 32768  # elements of a piece, from which a collective of its own is quicker than the copies of a common one


class ShardedParameter:
    """A parameter of one or several modules.

    Args:
        parameter: the parameter, which is cut.
        owners: the modules that have it, with its name in each.
        layout: the ranks among which it is cut.
        placement: the dimension that is cut.
        policy: the types in which it is gathered and reduced.
    """

    def __init__(
        self,
        parameter: Parameter,
        owners: Sequence[tuple[Module, str]],
        layout: MeshLayout,
        placement: Shard,
        policy: MixedPrecisionPolicy,
    ):
        self.owners, self.layout = list(owners), layout
        self._param_fqn: str | None = None  # PyTorch's name of it, from the first forward pass on
        self.tensor_spec = parameter._spec if isinstance(parameter, DTensor) else None
        local = parameter._local_tensor if isinstance(parameter, DTensor) else parameter.detach()
        self.size, self.dtype = local.shape, local.dtype
        name = owners[0][1]
        self.placement = _check_placement(placement, local, parameter, layout, name)
        self._policy = policy
        self.param_dtype = policy.param_dtype or self.dtype
        self.reduce_dtype = policy.reduce_dtype or self.param_dtype
        self.requires_grad = parameter.requires_grad
        dim = self.placement.dim
        self.chunk = -(-self.size[dim] // layout.shard_size)
        self.padded_size = (*self.size[:dim], self.chunk, *self.size[dim + 1 :])
        self.padded_numel = local.numel() // max(self.size[dim], 1) * self.chunk if local.numel() else 0
        meta = contiguous_meta(parameter.shape, self.dtype)
        self.spec = layout.spec_of_piece(meta, self.placement, self.tensor_spec)
        piece = self.placement.piece(local, layout.shard_size, layout.shard_rank).clone()
        self.sharded: Any = _parameter_like(parameter, DTensor(piece, self.spec, requires_grad=False))
        parameter._fsdp_piece = self.sharded._fsdp_piece = True  # type: ignore[attr-defined]  # a flag
        self.whole: Any = None
        self._memory: Tensor | None = None  # of the whole parameter
        self._own_memory: Tensor | None = None  # of the piece, in memory that the ranks have in common
        self.register(self.sharded)

    def register(self, parameter: Parameter) -> None:
        """Makes a parameter the one that the modules have.

        Args:
            parameter: the piece or the whole.
        """
        for module, name in self.owners:
            module._parameters[name] = parameter

    def adopt(self) -> None:
        """Takes over the piece that the modules have: a program may have moved, converted, loaded or frozen it.

        Raises:
            ValueError: a module has a parameter that isn't cut.
        """
        module, name = self.owners[0]
        own = module._parameters[name]
        if own is self.whole and own is not None:
            return
        if own is self.sharded:
            self.requires_grad = own.requires_grad
            self._adopt_dtype()
            return
        if not isinstance(own, DTensor):
            raise ValueError(
                f"fully_shard: {type(module).__name__}.{name} is a {type(own).__name__}, "
                "where the module has a piece of a DTensor; load with distribute_tensor, or shard the module afterwards"
            )
        self.sharded = own
        self.requires_grad = own.requires_grad
        self.register(own)
        self._adopt_dtype()

    def _adopt_dtype(self) -> None:
        """Takes over the element type of the piece. The whole parameter of another type is another tensor."""
        dtype = self.sharded._local_tensor.dtype
        if dtype == self.dtype:
            return
        self.dtype = dtype
        self.param_dtype = self._policy.param_dtype or dtype
        self.reduce_dtype = self._policy.reduce_dtype or self.param_dtype
        meta = self.spec.tensor_meta._replace(dtype=dtype)
        self.spec = DTensorSpec(self.spec.mesh, self.spec.placements, meta)
        self.whole = self._memory = self._own_memory = None

    @property
    def has_frozen(self) -> bool:
        """Whether it gets no gradient."""
        return not self.requires_grad

    @property
    def is_large(self) -> bool:
        """Whether its pieces are gathered into its memory and reduced from its gradient, without a copy."""
        is_even = self.placement.dim == 0 and self.chunk * self.layout.shard_size == self.size[0]
        return is_even and self.padded_numel >= _LARGE

    # ---- memory of the machine

    @property
    def can_share(self) -> bool:
        """Whether its pieces can lie one after the other in memory that the ranks have in common."""
        return self.is_large and self.whole is None and self.param_dtype == self.dtype

    @property
    def is_shared(self) -> bool:
        """Whether its pieces lie in memory that the ranks have in common."""
        return self._own_memory is not None

    @property
    def version(self) -> int:
        """The number of changes of the piece in the common memory."""
        assert self._own_memory is not None
        return self._own_memory._version

    @property
    def nbytes(self) -> int:
        """The bytes of the whole parameter."""
        return self.padded_numel * self.layout.shard_size * self.dtype.itemsize

    def share(self, block: memoryview) -> None:
        """Puts the piece into memory that the ranks have in common, in which the whole parameter lies.

        Args:
            block: the memory of the whole parameter.
        """
        count = self.nbytes // self.layout.shard_size
        own = block[self.layout.shard_rank * count :][:count]
        self._own_memory = tensor_on_buffer(own, self.dtype).view(self.padded_size)
        self._memory = tensor_on_buffer(block.toreadonly(), self.dtype).view(self.size)

    def restore_piece(self) -> None:
        """Puts the piece back into the common memory, if a program has given it another one."""
        own, local = self._own_memory, self.sharded._local_tensor
        assert own is not None
        if local.data_ptr() == own.data_ptr():
            return
        with tl_core.no_grad():
            own.copy_(local)
        if local.dtype == own.dtype:
            self.sharded._local_tensor = own

    # ---- the whole parameter

    @property
    def leaves(self) -> Sequence[Tensor]:
        """The whole parameter."""
        return (self.whole,)

    def show_whole(self) -> None:
        """Makes the whole parameter that of the modules."""
        if self.is_shared:
            self._allocate()
        self.register(self.whole)

    def show_piece(self) -> None:
        """Makes the piece the parameter of the modules."""
        self.register(self.sharded)

    def show_again(self) -> None:
        """Makes the whole parameter that of the modules for the backward pass."""
        self.register(self.whole)

    def padded_piece(self) -> Tensor:
        """The piece in the type in which it is gathered, flat and as long as the first rank's."""
        local: Tensor = self.sharded._local_tensor.to(self.param_dtype)
        if local.numel() == self.padded_numel:
            return local.reshape(-1)
        result = local.new_zeros(self.padded_size)
        result.narrow(self.placement.dim, 0, local.shape[self.placement.dim]).copy_(local)
        return result.view(-1)

    def memory(self) -> Tensor:
        """Allocates the whole parameter; returns its elements."""
        return self._allocate().view(-1)

    def fill(self, pieces: Tensor) -> None:
        """Allocates the whole parameter and writes the pieces of all ranks.

        Args:
            pieces: a row of elements for each rank.
        """
        memory = self._allocate()
        dim, count = self.placement.dim, pieces.shape[0]
        with tl_core.no_grad(), _quiet(memory):
            if dim == 0 and self.chunk * count == self.size[0]:
                memory.view(count, -1).copy_(pieces)
                return
            for rank in range(count):
                own = self.placement.piece(memory, count, rank)
                own.copy_(pieces[rank].view(self.padded_size).narrow(dim, 0, own.shape[dim]))

    def _allocate(self) -> Tensor:
        if self._memory is None or self.whole is None:
            if not self.is_shared:
                self._memory = tl_core.empty(self.size, dtype=self.param_dtype)
            assert self._memory is not None
            value: Tensor = self._memory
            if self.tensor_spec is not None:
                meta = self.tensor_spec.tensor_meta._replace(dtype=self.param_dtype)
                spec = DTensorSpec(self.tensor_spec.mesh, self.tensor_spec.placements, meta)
                value = DTensor(self._memory, spec, requires_grad=False)
            self.whole = _parameter_like(self.sharded, value)
        elif self._memory.untyped_storage().nbytes() == 0:
            self._memory.untyped_storage().resize_(self._memory.numel() * self._memory.element_size())
        if self.whole.requires_grad != self.requires_grad:
            self.whole.requires_grad_(self.requires_grad)
        return self._memory

    def larger_piece(self, count: int, rank: int) -> Tensor:
        """A copy of one of equal runs of the elements of the whole parameter, filled up with zeros.

        Args:
            count: the number of runs.
            rank: which one.
        """
        assert self._memory is not None
        size = -(-self._memory.numel() // count)
        run = self._memory.view(-1)[rank * size : (rank + 1) * size]
        piece = run.new_zeros(size)
        piece[: run.numel()] = run
        return piece

    def write(self, elements: Tensor) -> None:
        """Allocates the whole parameter and writes its elements.

        Args:
            elements: the elements, which may be more than it has.
        """
        memory = self._allocate()
        with tl_core.no_grad(), _quiet(memory):
            memory.view(-1).copy_(elements[: memory.numel()])

    def free(self) -> None:
        """Frees the memory of the whole parameter, unless it is that of the pieces."""
        if self._memory is not None and not self.is_shared:
            self._memory.untyped_storage().resize_(0)

    # ---- gradients

    def take_gradient(self) -> Tensor | None:
        """Takes the gradient of the whole parameter away from it; None if there is none."""
        if self.whole is None or self.whole.grad is None:
            return None
        grad: Tensor = self.whole.grad
        self.whole.grad = None
        return grad

    def padded_gradient(self, grad: Tensor) -> Tensor:
        """The gradient of the whole parameter in the type of the reduction, with a row for each rank.

        Args:
            grad: the gradient.
        """
        if isinstance(grad, DTensor):
            assert self.tensor_spec is not None
            grad = grad.redistribute(placements=self.tensor_spec.placements)._local_tensor
        dim, count = self.placement.dim, self.layout.shard_size
        grad = grad.to(self.reduce_dtype)
        if dim == 0 and self.chunk * count == self.size[0]:
            return grad.reshape(count, -1)
        rows = grad.new_zeros((count, *self.padded_size))
        for rank in range(count):
            own = self.placement.piece(grad, count, rank)
            rows[rank].narrow(dim, 0, own.shape[dim]).copy_(own)
        return rows.view(count, -1)

    def add_gradient(self, piece: Tensor) -> None:
        """Adds a reduced gradient to that of the piece.

        Args:
            piece: its elements, as long as those of the first rank.
        """
        local = self.sharded._local_tensor
        dim = self.placement.dim
        own = piece.view(self.padded_size).narrow(dim, 0, local.shape[dim]).to(self.dtype)
        if self.sharded.grad is None:
            own = own if self.is_large else own.contiguous().clone()
            self.sharded.grad = DTensor(own, self.spec, requires_grad=False)
        else:
            self.sharded.grad._local_tensor.add_(own)

    def call_hooks(self) -> None:
        """Calls the hooks that a program has put on the piece for the time when its gradient is there."""
        for hook in list((self.sharded._post_accumulate_grad_hooks or {}).values()):
            hook(self.sharded)


def _check_placement(
    placement: Shard, local: Tensor, parameter: Parameter, layout: MeshLayout, name: str
) -> Shard:
    if local.dim() == 0:
        raise ValueError(
            f"fully_shard doesn't support scalar parameters. Change {name} to a 1D tensor with numel equal to 1."
        )
    if not local.is_contiguous():
        raise NotImplementedError(
            f"FSDP does not support non-contiguous parameters yet: {name} has the size {tuple(parameter.shape)} and "
            f"the strides {tuple(parameter.stride())}; make it contiguous first"
        )
    if not -local.dim() <= placement.dim < local.dim():
        raise ValueError(
            f"fully_shard: {placement} cuts a dimension that a parameter of size {tuple(local.shape)} lacks"
        )
    dim = placement.dim % local.dim()
    if dim > 0 and local.shape[dim] % layout.shard_size:
        raise NotImplementedError(
            f"FSDP does not support uneven sharding on dim {dim}: {tuple(local.shape)} "
            f"(world size: {layout.shard_size})"
        )
    if isinstance(parameter, DTensor) and local.dtype != parameter.dtype:
        raise ValueError(f"fully_shard: a DTensor of {parameter.dtype} holds elements of {local.dtype}")
    return Shard(dim)


def _parameter_like(parameter: Any, value: Tensor) -> Parameter:
    kind = (
        type(parameter)
        if isinstance(parameter, Parameter) and not isinstance(parameter, DTensor)
        else Parameter
    )
    return kind(value, requires_grad=parameter.requires_grad)


def _quiet(tensor: Tensor) -> Any:
    """A block in which writing to a tensor doesn't count as a change of what a graph has saved."""
    return unsafe_preserve_version_counter(tensor)
