"""A frozen function: what runs a call, and the packed operands of its products."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tl_core.dispatch.native_calls import native_function

from .backends import lookup_backend
from .breaks import Break
from .compiled_function import CompiledFunction, Settings
from .folding import FoldedGraph, changes_state, fold_batch_norms
from .replay.function import ReplayedFunction

__all__ = ["FrozenFunction"]

_WARM_CALLS = 3  # the operands are known after one, packed in the second, which the third one records


class FrozenFunction:
    """A function for inference. Calls run in one of two ways.

    A graph runs where there are constants to compute, or where the caller asks for a backend or for other bits.
    Otherwise the function itself runs, without Python where its call is a recorded one.

    Args:
        function: the function.
        backend: the backend of the graph, by name or as a function.
        folds_batch_norm: whether batch norms become part of convolutions.
    """

    def __init__(self, function: Callable[..., Any], backend: Any, folds_batch_norm: bool) -> None:
        functools.update_wrapper(self, function, updated=())
        self.backend, self.folds_batch_norm = backend, folds_batch_norm
        self.packings = native_function("_Packings")()
        self.compiled = CompiledFunction(function, Settings(self._fold))
        self.replayed = ReplayedFunction(function, defers=False)
        self.needs_graph = folds_batch_norm or backend != "eager"
        self._changes_state = False
        self._native: Any = None  # the function itself, where it runs without a graph

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._native is not None:
            return self.packings.run(self._native, args, kwargs)
        return self.packings.run(self.compiled, (args, kwargs), {})

    def prepare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Break | None:
        """Makes the graph of a call, and the packed operands where a call doesn't show that it happens.

        Args:
            args, kwargs: the arguments.

        Returns:
            Why the call is no graph, or None.
        """
        self.packings.run(self.compiled, (args, kwargs), {})
        reason = next(self.compiled.breaks(), None)
        if reason is not None or self.needs_graph:
            return reason
        self._native = self.replayed.native
        if not self._changes_state:
            for _ in range(_WARM_CALLS):
                self(*args, **kwargs)
        return None

    def _fold(self, graph: Any, examples: list[Any]) -> Callable[..., Any]:
        self._changes_state |= changes_state(graph)
        if self.folds_batch_norm:
            fold_batch_norms(graph)
        folded = FoldedGraph(graph, lookup_backend(self.backend))
        self.needs_graph |= folded.computes_constants
        return folded
