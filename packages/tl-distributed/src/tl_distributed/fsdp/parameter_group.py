"""The parameters that are gathered by one all-gather, and whose gradients are reduced by one reduce-scatter."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, Protocol

import tl_core
from tl_core import Tensor
from tl_core.tensors.version_counters import set_versions

from ..base.reduction import ReduceOp
from ..base.work import Work
from ..collectives import tensor_collectives as collectives
from .mesh_layout import MeshLayout

__all__ = ["GroupMember", "ParameterGroup"]


def _outside_inference(method: Callable[[Any], None]) -> Callable[[Any], None]:
    """A method whose tensors a later training step can use, although a forward pass for inference calls it."""

    @wraps(method)
    def run(self: Any) -> None:
        if not tl_core.is_inference_mode_enabled():
            return method(self)
        with tl_core.inference_mode(False):
            return method(self)

    return run


class GroupMember(Protocol):
    """A parameter, or several in one flat parameter, of which each rank has a piece of equal length."""

    padded_numel: int

    @property
    def param_dtype(self) -> tl_core.dtype:
        """The type in which it is gathered."""

    @property
    def reduce_dtype(self) -> tl_core.dtype:
        """The type in which its gradient is reduced."""

    @property
    def has_frozen(self) -> bool:
        """Whether it, or a part of it, gets no gradient."""

    @property
    def is_large(self) -> bool:
        """Whether its pieces are gathered into its memory and reduced from its gradient, without a copy."""

    @property
    def is_shared(self) -> bool:
        """Whether its pieces lie in memory that the ranks have in common: then nothing is gathered."""

    @property
    def leaves(self) -> Sequence[Tensor]:
        """The whole parameters, whose gradients a backward pass accumulates."""

    def adopt(self) -> None:
        """Takes over the pieces that the modules have."""

    @property
    def version(self) -> int:
        """The number of changes of the piece in the common memory."""

    def restore_piece(self) -> None:
        """Puts the piece back into the common memory, if a program has given it another one."""

    def padded_piece(self) -> Tensor:
        """The piece in the type in which it is gathered, flat."""

    def memory(self) -> Tensor:
        """Allocates the whole parameter; returns its elements."""

    def fill(self, pieces: Tensor) -> None:
        """Allocates the whole parameter and writes the pieces of all ranks."""

    def larger_piece(self, count: int, rank: int) -> Tensor:
        """A copy of one of equal runs of the elements of the whole parameter."""

    def write(self, elements: Tensor) -> None:
        """Allocates the whole parameter and writes its elements."""

    def free(self) -> None:
        """Frees the memory of the whole parameter."""

    def show_whole(self) -> None:
        """Makes the whole parameters those of the modules."""

    def show_piece(self) -> None:
        """Makes the pieces the parameters of the modules."""

    def show_again(self) -> None:
        """Makes the whole parameters those of the modules for the backward pass."""

    def take_gradient(self) -> Tensor | None:
        """Takes the gradient of the whole parameter away from it; None if there is none."""

    def padded_gradient(self, grad: Tensor) -> Tensor:
        """The gradient of the whole parameter in the type of the reduction, with a row for each rank."""

    def add_gradient(self, piece: Tensor) -> None:
        """Adds a reduced gradient to that of the piece."""

    def call_hooks(self) -> None:
        """Calls the hooks that a program has put on the pieces for the time when their gradients are there."""


class ParameterGroup:
    """Parameters of one or several modules.

    Args:
        parameters: the parameters.
        layout: the ranks among which they are cut.
        smaller: the ranks among which they are cut between the forward and the backward pass; None for all.
    """

    def __init__(
        self, parameters: Sequence[GroupMember], layout: MeshLayout, smaller: MeshLayout | None = None
    ):
        self.smaller = smaller
        self._larger_pieces: list[Tensor] = []  # of the whole parameters, for the backward pass
        self.parameters, self.layout = list(parameters), layout
        self._module_fqn: str | None = None  # PyTorch's names, as `fsdp_params`
        self.is_whole = False
        self._is_hidden = False  # whole, while the modules have the pieces
        self.is_asked_for = False  # by a program, outside of the passes
        self.reads = False  # common memory, since the other ranks last waited for this one
        self._versions: list[int] = []  # of the pieces in it, when they were last awaited
        self.reduces, self.all_reduces, self.reshards_after_backward = True, True, True
        self.divide_factor: float | None = None
        self.all_reduce_hook: Callable[[Tensor], None] | None = None
        self._gathers: list[tuple[Work | None, Tensor | None, int, list[GroupMember]]] = []
        self._reductions: list[tuple[Work | None, Tensor, list[GroupMember]]] = []
        self._partial_sums: dict[int, Tensor] = {}  # of reductions that wait for the copies
        self._gradients: dict[int, Tensor] = {}  # whole, of backward passes that reduced none
        self.after_gradient: Callable[[], None] | None = None
        self.comm_hook: Callable[..., None] | None = None  # takes the place of the reduction
        self._hooks: dict[tuple[int, int], Tensor] = {}  # the leaves that have one
        self._awaited: set[tuple[int, int]] = set()  # the leaves that get gradients
        self._arrivals: set[tuple[int, int]] = set()

    @property
    def fsdp_params(self) -> list[GroupMember]:
        """The parameters."""
        return self.parameters

    # ---- parameters

    @_outside_inference
    def start_unshard(self) -> None:
        """Starts to gather the parameters, unless they are whole or on their way."""
        if self.is_whole or self._gathers:
            return
        if self._larger_pieces:
            self._gather_larger_pieces()
            return
        for parameter in self.parameters:
            parameter.adopt()
        count = self.layout.shard_size
        if members := [p for p in self.parameters if p.is_shared]:
            self._await_pieces(members)
        apart = [p for p in self.parameters if not p.is_shared]
        for part in _parts(apart, lambda p: str(p.param_dtype)):
            with tl_core.no_grad():
                pieces = [p.padded_piece() for p in part]
                own = pieces[0] if len(pieces) == 1 else tl_core.cat(pieces)
            work, block, version = None, own, 0
            if count > 1:
                block = part[0].memory() if part[0].is_large else own.new_empty(count * own.numel())
                version = block._version
                work = collectives.all_gather_into_tensor(block, own, self.layout.shard_group, async_op=True)
            self._gathers.append((work, block, version, part))

    def _await_pieces(self, parameters: list[GroupMember]) -> None:
        """Starts to wait until the other ranks have written their pieces into the common memory."""
        for parameter in parameters:
            parameter.restore_piece()
        self._versions = [parameter.version for parameter in parameters]
        self.reads = True
        work = collectives.barrier(self.layout.shard_group, async_op=True)
        self._gathers.append((work, None, 0, parameters))

    def _await_changes(self) -> None:
        """Waits for the other ranks' pieces if an optimizer has changed those of parameters that are still whole."""
        versions = [parameter.version for parameter in self.parameters if parameter.is_shared]
        if self._versions != versions:
            self._versions = versions
            collectives.barrier(self.layout.shard_group)

    def _gather_larger_pieces(self) -> None:
        assert self.smaller is not None
        for parameter, piece in zip(self.parameters, self._larger_pieces, strict=True):
            block = piece.new_empty(self.smaller.shard_size * piece.numel())
            work = collectives.all_gather_into_tensor(block, piece, self.smaller.shard_group, async_op=True)
            self._gathers.append((work, block, 0, [parameter]))

    @_outside_inference
    def unshard(self) -> None:
        """Gathers the parameters, and makes them those of the modules."""
        if self.is_whole:
            if self._is_hidden:
                self._is_hidden = False
                for parameter in self.parameters:
                    parameter.show_again()
            self._await_changes()
            return
        self.start_unshard()
        gathers, self._gathers = self._gathers, []
        for work, block, version, part in gathers:
            if work is not None:
                work.wait()
            if block is None:  # the common memory
                continue
            if self._larger_pieces:
                part[0].write(block)
                continue
            if part[0].is_large and work is not None:  # the pieces are in the memory of the parameter
                set_versions([block], [version])  # which a graph may have saved
                continue
            rows = block.view(self.layout.shard_size, -1)
            start = 0
            for parameter in part:
                parameter.fill(rows[:, start : start + parameter.padded_numel])
                start += parameter.padded_numel
        self.is_whole = True
        self._larger_pieces.clear()
        self._awaited.clear()
        for index, parameter in enumerate(self.parameters):
            parameter.show_whole()
            for number, leaf in enumerate(parameter.leaves):
                if leaf.requires_grad:
                    self._await((index, number), leaf)

    def _await(self, key: tuple[int, int], leaf: Tensor) -> None:
        self._awaited.add(key)
        if self._hooks.get(key) is not leaf:
            self._hooks[key] = leaf
            leaf.register_post_accumulate_grad_hook(partial(self._arrive, key))

    def hide(self) -> None:
        """Makes the pieces the parameters of the modules, and keeps the whole ones for the backward pass."""
        if self.is_whole and not self._is_hidden:
            self._is_hidden = True
            for parameter in self.parameters:
                parameter.show_piece()

    def end_gathering(self) -> None:
        """Frees what was gathered for a module that has not computed: the next step changes the pieces."""
        if self._gathers:
            self.reshard()

    def reshard_after_forward(self) -> None:
        """Frees the whole parameters until the backward pass; with a smaller number of ranks, keeps larger pieces."""
        pieces = []
        if self.smaller is not None and self.is_whole and tl_core.is_grad_enabled():
            count, rank = self.smaller.shard_size, self.smaller.shard_rank
            pieces = [parameter.larger_piece(count, rank) for parameter in self.parameters]
        self.reshard()
        self._larger_pieces = pieces

    @_outside_inference
    def reshard(self) -> None:
        """Frees the whole parameters, and makes the pieces those of the modules."""
        if self._gathers:
            self.unshard()
        self._larger_pieces.clear()
        if not self.is_whole:
            return
        self.is_whole = self.is_asked_for = False
        self.reads = self.is_shared
        for parameter in self.parameters:
            if not self._is_hidden:
                parameter.show_piece()
            parameter.free()
        self._is_hidden = False

    def _arrive(self, key: tuple[int, int], leaf: Tensor) -> None:
        """A gradient has been accumulated: with the last one, the group's gradients can be reduced."""
        self._arrivals.add(key)
        if self.has_gradients and self.after_gradient is not None:
            self.after_gradient()

    @property
    def has_gradients(self) -> bool:
        """Whether all gradients of whole parameters have been accumulated in this backward pass."""
        return self._arrivals >= self._awaited

    @property
    def is_shared(self) -> bool:
        """Whether a parameter lies in memory that the ranks have in common."""
        return any(parameter.is_shared for parameter in self.parameters)

    @property
    def has_frozen(self) -> bool:
        """Whether a parameter gets no gradient: the backward pass may need it when all gradients are there."""
        return any(parameter.has_frozen for parameter in self.parameters)

    # ---- gradients

    def finish_backward(self) -> None:
        """Starts to reduce the gradients, and frees the parameters, as far as the program asks for both."""
        self._arrivals.clear()
        gradients = self._take_gradients()
        if self.reduces:
            self._start_reduction(gradients)
        else:
            self._gradients = gradients
        if self.reshards_after_backward:
            self.reshard()

    def _take_gradients(self) -> dict[int, Tensor]:
        """The gradients of the whole parameters, with those of earlier passes that reduced none."""
        gradients, self._gradients = self._gradients, {}
        for index, parameter in enumerate(self.parameters):
            grad = parameter.take_gradient()
            if grad is None:
                continue
            with tl_core.no_grad():
                if not self.reduces:
                    grad = grad.to(parameter.reduce_dtype)
                gradients[index] = grad if index not in gradients else gradients[index] + grad
        return gradients

    def _start_reduction(self, gradients: dict[int, Tensor]) -> None:
        indices = sorted(gradients)
        count = self.layout.shard_size
        for part in _parts([self.parameters[i] for i in indices], lambda p: str(p.reduce_dtype)):
            with tl_core.no_grad():
                rows = [p.padded_gradient(gradients[self.parameters.index(p)]) for p in part]
                block = rows[0].contiguous() if len(rows) == 1 else tl_core.cat(rows, 1)
            own, work = block.view(-1), None
            if self.comm_hook is not None:
                own = self._run_comm_hook(block)
            elif count > 1:
                own = block.new_empty(block.shape[1])
                op = ReduceOp.AVG if self.divide_factor is None else ReduceOp.SUM
                work = collectives.reduce_scatter_tensor(
                    own, block.view(-1), op, self.layout.shard_group, async_op=True
                )
            self._reductions.append((work, own, part))

    def _run_comm_hook(self, block: Tensor) -> Tensor:
        """The piece of the gradient that a program's own communication returns."""
        assert self.comm_hook is not None
        if self.layout.shard_size == 1:
            own = block.view(-1)
            self.comm_hook(own)
        else:
            own = block.new_empty(block.shape[1])
            self.comm_hook(block.view(-1), own)
        return own

    def finish_reduction(self) -> None:
        """Waits for the reductions, and adds the pieces to the gradients of the parameters."""
        reductions, self._reductions = self._reductions, []
        for number, (work, own, part) in enumerate(reductions):
            if work is not None:
                work.wait()
            with tl_core.no_grad():
                if self.divide_factor is not None:
                    own.div_(self.divide_factor)
                own = self._reduce_copies(number, own)
                if own is None:
                    continue
                start = 0
                for parameter in part:
                    parameter.add_gradient(own[start : start + parameter.padded_numel])
                    start += parameter.padded_numel
            for parameter in part:  # hooks may step an optimizer
                parameter.call_hooks()

    def _reduce_copies(self, number: int, own: Any) -> Any:
        """The mean over the copies of a piece; None if a later pass takes it."""
        if self.layout.replicate_size > 1 and self.comm_hook is None:
            if (earlier := self._partial_sums.pop(number, None)) is not None:
                own = own + earlier
            if not self.all_reduces:
                self._partial_sums[number] = own
                return None
            collectives.all_reduce(own, ReduceOp.AVG, self.layout.replicate_group)
        if self.all_reduce_hook is not None:
            self.all_reduce_hook(own)
        return own


def _parts(parameters: list[GroupMember], key: Callable[[GroupMember], str]) -> list[list[GroupMember]]:
    """Each large parameter alone, and the others by their type."""
    small = [p for p in parameters if not p.is_large]
    several = sorted(small, key=key) if len({key(p) for p in small}) > 1 else small
    return [[p] for p in parameters if p.is_large] + [
        list(part) for _, part in itertools.groupby(several, key)
    ]
