"""The parameters of a wrapped module as one flat tensor, of which each rank has a piece.

A member of a group as `ShardedParameter` is one: the engine gathers its piece, and reduces its gradient. The leaves of
a graph are the parameters, which are views of the gathered tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.tensors.version_counters import unsafe_preserve_version_counter
from tl_nn import Module, Parameter

from ..collectives import tensor_collectives as collectives
from .api import MixedPrecision
from .flat_parameter import FLAT_PARAMETER, FlatEntry, FlatParameter
from .mesh_layout import MeshLayout
from .whole_view import WholeView, refuse_shape

__all__ = ["FlatUnit"]


class FlatUnit:
    """The flat parameter of a wrapped module.

    Args:
        root: the wrapped module.
        entries: its parameters.
        numel: the number of elements of the flat parameter, with the gaps between parameters.
        layout: the ranks among which it is cut.
        precision: the types in which it is gathered and reduced.
        keeps_originals: whether the parameters that the program created stay those of the modules, as pieces.
    """

    def __init__(
        self,
        root: Module,
        entries: Sequence[FlatEntry],
        numel: int,
        layout: MeshLayout,
        precision: MixedPrecision,
        keeps_originals: bool,
    ):
        self.root, self.entries, self.numel, self.layout = root, list(entries), numel, layout
        self.keeps_originals = keeps_originals
        self.keeps_low_precision = precision.keep_low_precision_grads
        first = self.entries[0].parameter
        self.dtype = first.dtype
        self._precision = precision
        self.count, self.rank = layout.shard_size, layout.shard_rank
        self.padded_numel = -(-numel // self.count)
        self._frozen = not any(entry.parameter.requires_grad for entry in self.entries)
        self.flat = self._cut()
        self._memory: Tensor | None = None  # of the whole parameter
        self._version = 0
        self._leaves: list[Any] = []
        self._view: WholeView | None = None  # while the program has the whole parameters
        self.show_flat()

    flat_param = property(lambda self: self.flat)  # PyTorch's name
    # ---- the piece

    def _cut(self) -> FlatParameter:
        """The flat parameter; the elements of the parameters are in it then."""
        full = self.entries[0].parameter.new_zeros(self.padded_numel * self.count, requires_grad=False)
        with tl_core.no_grad():
            for entry in self.entries:
                entry.view(full).copy_(entry.parameter)
                entry.cut(self.rank, self.padded_numel)
                entry.parameter._fsdp_piece = True  # type: ignore[attr-defined]  # a flag
            begin = self.rank * self.padded_numel
            piece = full if self.count == 1 else full[begin : begin + self.padded_numel].clone()
        flat = FlatParameter(piece, requires_grad=not self._frozen)
        flat._fsdp_piece = True  # type: ignore[attr-defined]  # a flag
        flat._fqns = tuple(entry.names[0] for entry in self.entries)
        flat._shapes = tuple(entry.shape for entry in self.entries)
        flat._numels = tuple(entry.numel for entry in self.entries)
        flat._unpadded_unsharded_size = tl_core.Size([self.numel])
        return flat

    def show_flat(self) -> None:
        """Makes the piece the parameter of the wrapped module, or pieces of it those of the modules."""
        if self.keeps_originals:
            for entry in self.entries:
                entry.parameter.data = self.part(entry)
                for module, name in entry.owners:
                    module._parameters[name] = entry.parameter
            return
        for entry in self.entries:
            for module, name in entry.owners:
                module._parameters.pop(name, None)
        self.root._parameters[FLAT_PARAMETER] = self.flat
        if not self._leaves:  # sizes and types can be asked for, elements can't
            self.fill(self.flat.detach()) if self._is_alias else self.memory()
            self.free()
        for entry, leaf in zip(self.entries, self._leaves, strict=True):
            for module, name in entry.owners:
                module.__dict__[name] = leaf

    def part(self, entry: FlatEntry, flat: Tensor | None = None) -> Tensor:
        """This rank's elements of a parameter; with one rank, in its size.

        Args:
            entry: the parameter.
            flat: a tensor like the piece; the piece by default.
        """
        piece = self.flat.detach() if flat is None else flat
        own = piece[entry.start : entry.end]
        return own.view(entry.shape) if self.count == 1 else own

    def adopt(self) -> None:
        """Takes over the elements of parameters that the program has set in place of the pieces.

        Raises:
            RuntimeError: they have another size.
        """
        if not self.keeps_originals:
            own = self.root._parameters[FLAT_PARAMETER]
            if own is not self.flat:
                self._write_back(own, self.flat.detach(), FLAT_PARAMETER)
                self.root._parameters[FLAT_PARAMETER] = self.flat
            elif own.shape != (self.padded_numel,):
                refuse_shape(FLAT_PARAMETER, own.shape, (self.padded_numel,))
            return
        for entry in self.entries:
            module, name = entry.owners[0]
            own = module._parameters[name]
            if own is entry.parameter and self._is_attached(entry):
                continue
            self._write_back(own, self.part(entry), entry.names[0])
            if own is not entry.parameter:
                entry.parameter = own  # type: ignore[assignment]  # a parameter, as it was written
            entry.parameter.data = self.part(entry)

    def _is_attached(self, entry: FlatEntry) -> bool:
        """Whether a parameter that the program created has its elements in the piece."""
        own = entry.parameter
        begin = self.flat.data_ptr() + entry.start * self.flat.element_size()
        return own.numel() == entry.end - entry.start and (own.numel() == 0 or own.data_ptr() == begin)

    def _write_back(self, value: Any, piece: Tensor, name: str) -> None:
        if value is None or value.shape != piece.shape:
            refuse_shape(name, None if value is None else value.shape, piece.shape)
        with tl_core.no_grad():
            piece.copy_(value)

    def convert(self) -> None:
        """Takes over another type of elements, after the modules were converted."""
        if self.keeps_originals:
            dtypes = {entry.parameter.dtype for entry in self.entries}
            if len(dtypes) > 1:
                raise ValueError(
                    f"Must flatten tensors with uniform dtype but got {sorted(map(str, dtypes))}"
                )
            dtype = dtypes.pop()
            if dtype != self.dtype:
                self.flat.data = self.flat.detach().to(dtype)
                with tl_core.no_grad():
                    for entry in self.entries:
                        self.part(entry).copy_(entry.parameter)
                        entry.parameter.data = self.part(entry)
        self.dtype = self.flat.dtype
        self._memory, self._leaves = None, []

    # ---- the whole parameter

    @property
    def param_dtype(self) -> tl_core.dtype:
        """The type in which it is gathered."""
        return self._precision.param_dtype or self.dtype

    @property
    def reduce_dtype(self) -> tl_core.dtype:
        """The type in which its gradient is reduced."""
        return self._precision.reduce_dtype or self.param_dtype

    @property
    def has_frozen(self) -> bool:
        """Whether a parameter gets no gradient."""
        return not all(self.needs_gradient(entry) for entry in self.entries)

    def needs_gradient(self, entry: FlatEntry) -> bool:
        """Whether a parameter gets a gradient.

        Args:
            entry: the parameter.
        """
        return (entry.parameter if self.keeps_originals else self.flat).requires_grad

    @property
    def is_large(self) -> bool:
        """The pieces are gathered into the memory of the whole."""
        return True

    @property
    def is_shared(self) -> bool:
        """Its pieces have memory of their own."""
        return False

    @property
    def version(self) -> int:
        """There is no piece in common memory."""
        return 0

    def restore_piece(self) -> None:
        """No effect: the piece has memory of its own."""

    @property
    def is_replica(self) -> bool:
        """Whether this rank's piece is the whole."""
        return self.count == 1

    @property
    def leaves(self) -> Sequence[Tensor]:
        """The parameters, as views of the whole."""
        return self._leaves

    def padded_piece(self) -> Tensor:
        """The piece in the type in which it is gathered."""
        return self.flat.detach().to(self.param_dtype)

    def memory(self) -> Tensor:
        """Allocates the whole parameter; returns its elements."""
        if self._memory is None:
            self._use(self.flat.new_empty(self.padded_numel * self.count, dtype=self.param_dtype))
        assert self._memory is not None
        if self._memory.untyped_storage().nbytes() == 0:
            self._memory.untyped_storage().resize_(self._memory.numel() * self._memory.element_size())
        return self._memory

    def _use(self, memory: Tensor) -> None:
        self._memory = memory
        self._leaves = []
        for entry in self.entries:
            leaf: Any = entry.wrap(entry.view(memory).detach())
            if self.keeps_originals:
                leaf = Parameter(leaf, requires_grad=False)
            self._leaves.append(leaf)

    @property
    def _is_alias(self) -> bool:
        """Whether the whole is the piece itself."""
        return self.is_replica and self.param_dtype == self.dtype

    def fill(self, pieces: Tensor) -> None:
        """Writes the whole parameter, if its piece is all of it.

        Args:
            pieces: a row of elements for each rank.
        """
        if self._is_alias:
            if self._memory is None or self._memory.data_ptr() != self.flat.data_ptr():
                self._use(self.flat.detach())
            return
        memory = self.memory()
        with tl_core.no_grad(), unsafe_preserve_version_counter(memory):
            memory.copy_(pieces.view(-1))

    def larger_piece(self, count: int, rank: int) -> Tensor:
        """Not there: a wrapper frees its parameters between the passes, or keeps them whole."""
        raise NotImplementedError("FullyShardedDataParallel keeps no larger pieces; fully_shard does")

    def write(self, elements: Tensor) -> None:
        """Not there: a wrapper frees its parameters between the passes, or keeps them whole."""
        raise NotImplementedError("FullyShardedDataParallel keeps no larger pieces; fully_shard does")

    def free(self) -> None:
        """Frees the memory of the whole parameter."""
        if self._memory is not None and not self._is_alias:
            self._memory.untyped_storage().resize_(0)

    def show_whole(self) -> None:
        """Makes views of the whole the parameters of the modules."""
        assert self._memory is not None
        for entry, leaf in zip(self.entries, self._leaves, strict=True):
            if leaf.requires_grad != (needed := self.needs_gradient(entry)):
                leaf.requires_grad_(needed)
            for module, name in entry.owners:
                if self.keeps_originals:
                    module._parameters[name] = leaf
                else:
                    module.__dict__[name] = leaf
        self._version = self._memory._version

    def show_again(self) -> None:
        """Makes views of the whole the parameters of the modules for the backward pass.

        Raises:
            AssertionError: the program has replaced a parameter since the forward pass.
        """
        for entry in self.entries:
            module, name = entry.owners[0]
            if module._parameters[name] is not entry.parameter or not self._is_attached(entry):
                raise AssertionError(
                    "FSDP does not support changing the parameters between forward and backward: "
                    f"{entry.names[0]} was replaced"
                )
        self.show_whole()

    def show_piece(self) -> None:
        """Makes the pieces the parameters of the modules.

        Raises:
            RuntimeError: the program has replaced or changed a parameter while it was whole.
        """
        changed = self._changed_name()
        if self.keeps_originals:
            for entry in self.entries:
                for module, name in entry.owners:
                    module._parameters[name] = entry.parameter
        if changed is not None:
            raise RuntimeError(
                f"FSDP: {changed} was changed between its gathering and its release, and the change would be lost; "
                "change parameters in a block of summon_full_params"
            )

    def _changed_name(self) -> str | None:
        for entry, leaf in zip(self.entries, self._leaves, strict=True):
            for module, name in entry.owners:
                names = module._parameters if self.keeps_originals else module.__dict__
                if names.get(name) is not leaf:
                    return entry.names[0]
        if self._is_alias or self._memory is None or self._memory._version == self._version:
            return None
        return self.entries[0].names[0] if len(self.entries) == 1 else f"one of {', '.join(self.flat._fqns)}"

    # ---- gradients

    def take_gradient(self) -> Tensor | None:
        """Takes the gradients of the parameters away from them, as one flat tensor; None if there are none."""
        if all(leaf.grad is None for leaf in self._leaves):
            return None
        with tl_core.no_grad():
            zeros = self.flat.new_empty(0, dtype=self.param_dtype, requires_grad=False)
            parts = list(_gradient_parts(self.entries, self._leaves, self.padded_numel * self.count, zeros))
            for leaf in self._leaves:
                leaf.grad = None
            return parts[0] if len(parts) == 1 else tl_core.cat(parts)

    def padded_gradient(self, grad: Tensor) -> Tensor:
        """The gradient of the whole parameter in the type of the reduction, with a row for each rank.

        Args:
            grad: the gradient.
        """
        return grad.to(self.reduce_dtype).view(self.count, self.padded_numel)

    def add_gradient(self, piece: Tensor) -> None:
        """Adds a reduced gradient to that of the piece.

        Args:
            piece: its elements.
        """
        if not self.keeps_low_precision:
            piece = piece.to(self.dtype)
        if not self.keeps_originals:
            _accumulate(self.flat, piece)
            return
        for entry in self.entries:
            if entry.parameter.requires_grad and entry.end > entry.start:
                _accumulate(entry.parameter, self.part(entry, piece))

    def call_hooks(self) -> None:
        """Calls the hooks that a program has put on the pieces for the time when their gradients are there."""
        pieces = [entry.parameter for entry in self.entries] if self.keeps_originals else [self.flat]
        for piece in pieces:
            for hook in (
                list((piece._post_accumulate_grad_hooks or {}).values()) if piece.grad is not None else ()
            ):
                hook(piece)

    def gradient_piece(self) -> Tensor | None:
        """The gradient of this rank's piece; None if there is none."""
        if not self.keeps_originals:
            return self.flat.grad
        grads = [(entry, entry.parameter.grad) for entry in self.entries if entry.parameter.grad is not None]
        if not grads:
            return None
        piece = tl_core.zeros(self.padded_numel, dtype=grads[0][1].dtype)
        for entry, grad in grads:
            self.part(entry, piece).copy_(grad)
        return piece

    # ---- the whole parameters in the hands of the program

    def gather(self, piece: Tensor | None = None) -> Tensor:
        """A tensor of all ranks' elements in the type of the piece; with one rank, the piece itself.

        Args:
            piece: a tensor like the piece; the piece by default.
        """
        own = self.flat.detach() if piece is None else piece
        if self.is_replica:
            return own
        full = own.new_empty(self.padded_numel * self.count)
        collectives.all_gather_into_tensor(full, own.contiguous(), self.layout.shard_group)
        return full

    @property
    def is_shown(self) -> bool:
        """Whether the whole parameters are those of the modules, for a program that reads or writes them."""
        return self._view is not None

    def show_full(self, has_gradients: bool = False) -> None:
        """Gathers the parameters, and makes them those of the modules.

        Args:
            has_gradients: whether gradients are gathered as well.
        """
        self.adopt()
        self._view = WholeView(self, has_gradients)

    def hide_full(self, writes_back: bool) -> None:
        """Makes the pieces the parameters of the modules again.

        Args:
            writes_back: whether changes of the whole parameters are kept.
        """
        assert self._view is not None
        view, self._view = self._view, None
        view.close(writes_back)
        self.show_flat()


def _accumulate(parameter: Parameter, piece: Tensor) -> None:
    if parameter.grad is None:
        if piece.dtype == parameter.dtype:
            parameter.grad = piece
        else:  # only the elements of a gradient may have a type of their own
            parameter.grad = tl_core.empty_like(parameter)
            parameter.grad.data = piece
    else:
        with tl_core.no_grad():
            parameter.grad.add_(piece)


def _gradient_parts(
    entries: Sequence[FlatEntry], leaves: Sequence[Tensor], count: int, like: Tensor
) -> Iterator[Tensor]:
    """The gradients of parameters one after the other, with zeros for those without one and for gaps.

    Args:
        entries: the parameters.
        leaves: the parameters that have the gradients.
        count: the number of all elements.
        like: an empty tensor of the gradients' type.
    """
    position = 0
    for entry, leaf in zip(entries, leaves, strict=True):
        if entry.offset > position:
            yield like.new_zeros(entry.offset - position)
        has_none = leaf.grad is None
        yield like.new_zeros(entry.numel) if has_none else entry.unwrap(leaf.grad.detach()).reshape(-1)  # type: ignore[union-attr]  # it is there
        position = entry.offset + entry.numel
    if count > position:
        yield like.new_zeros(count - position)
