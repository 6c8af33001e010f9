"""The whole parameters of a flat one, while a program has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import tl_core
from tl_core import Tensor
from tl_nn import Module, Parameter

from ..collectives import tensor_collectives as collectives
from ..tensor.dtensor import DTensor
from .flat_parameter import FLAT_PARAMETER, FlatEntry
from .mesh_layout import MeshLayout

__all__ = ["WholeView", "refuse_shape"]


class FlatSource(Protocol):
    """A flat parameter."""

    root: Module
    entries: list[FlatEntry]
    layout: MeshLayout
    keeps_originals: bool
    dtype: tl_core.dtype
    rank: int
    padded_numel: int
    flat: Any

    @property
    def is_replica(self) -> bool:
        """Whether this rank's piece is the whole."""

    def gather(self, piece: Tensor | None = None) -> Tensor:
        """A tensor of all ranks' elements."""

    def part(self, entry: FlatEntry, flat: Tensor | None = None) -> Tensor:
        """This rank's elements of a parameter."""

    def gradient_piece(self) -> Tensor | None:
        """The gradient of this rank's piece."""

    def needs_gradient(self, entry: FlatEntry) -> bool:
        """Whether a parameter gets a gradient."""


class WholeView:
    """The whole parameters, which are those of the modules until the view is closed.

    Args:
        source: the flat parameter.
        has_gradients: whether gradients are gathered as well.
    """

    def __init__(self, source: FlatSource, has_gradients: bool):
        self._source = source
        self._full = source.gather()
        self._full_gradient: Tensor | None = None
        gradient = source.gradient_piece() if has_gradients else None
        self._hidden = [entry.parameter.grad for entry in source.entries]  # gradients of the pieces
        if not source.keeps_originals:
            source.root._parameters.pop(FLAT_PARAMETER, None)
        for entry in source.entries:
            visible = self._show(entry)
            for module, name in entry.owners:
                module.__dict__.pop(name, None)
                module._parameters[name] = visible
        if has_gradients and not source.is_replica:
            self._show_gradients(gradient)

    def _show(self, entry: FlatEntry) -> Parameter:
        value = entry.view(self._full)
        if not self._source.keeps_originals or entry.spec is not None:
            return Parameter(entry.wrap(value), requires_grad=self._source.needs_gradient(entry))
        if not self._source.is_replica:
            entry.parameter.grad = None
        entry.parameter.data = value
        return entry.parameter

    def _show_gradients(self, piece: Tensor | None) -> None:
        """Gathers the gradients, unless no rank has one."""
        source = self._source
        flags = tl_core.tensor([0 if piece is None else 1])
        collectives.all_reduce(flags, group=source.layout.shard_group)
        if not int(flags):
            return
        own = tl_core.zeros(source.padded_numel, dtype=source.dtype) if piece is None else piece
        self._full_gradient = source.gather(own)
        for entry in source.entries:
            if entry.parameter.requires_grad:
                module, name = entry.owners[0]
                visible = module._parameters[name]
                assert visible is not None
                visible.grad = entry.wrap(entry.view(self._full_gradient))

    def close(self, writes_back: bool) -> None:
        """Takes the whole parameters away from the modules.

        Args:
            writes_back: whether changes are kept.

        Raises:
            RuntimeError: a parameter was replaced by one of another size.
        """
        source = self._source
        with tl_core.no_grad():
            for entry in source.entries:
                self._take_replaced(entry)
            if writes_back and not source.is_replica:
                begin = source.rank * source.padded_numel
                source.flat.detach().copy_(self._full[begin : begin + source.padded_numel])
        if source.keeps_originals:
            self._restore_originals(source.entries, writes_back)

    def _take_replaced(self, entry: FlatEntry) -> None:
        module, name = entry.owners[0]
        own, value = module._parameters[name], entry.view(self._full)
        local: Any = own._local_tensor if isinstance(own, DTensor) else own
        if local is None or local.data_ptr() != value.data_ptr():
            if own is None or own.shape != entry.whole_shape:
                refuse_shape(entry.names[0], None if own is None else own.shape, entry.whole_shape)
            value.copy_(entry.unwrap(own))

    def _restore_originals(self, entries: Sequence[FlatEntry], writes_back: bool) -> None:
        for entry, grad in zip(entries, self._hidden, strict=True):
            parameter = entry.parameter
            for module, name in entry.owners:
                module._parameters[name] = parameter
            if self._source.is_replica and entry.spec is None:
                continue
            parameter.grad = None
            parameter.data = self._source.part(entry)
            if grad is not None and self._full_gradient is not None and writes_back:
                with tl_core.no_grad():
                    grad.copy_(entry.local_part(entry.view(self._full_gradient)))
            parameter.grad = grad


def refuse_shape(name: str, shape: Any, expected: Any) -> None:
    """Raises the error for a parameter that has another size than the one that it replaces.

    Args:
        name: the parameter.
        shape: its size.
        expected: the size that it needs.

    Raises:
        RuntimeError: always.
    """
    size = None if shape is None else tuple(shape)
    raise RuntimeError(
        f"Cannot writeback when the parameter shape changes: {name} expects {tuple(expected)} but got {size}"
    )
