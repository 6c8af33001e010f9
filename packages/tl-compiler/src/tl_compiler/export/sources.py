"""Which function or layer of the program each node of a trace comes from."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import tl_nn
from tl_core.base.public_names import own_module_of
from tl_core.overrides import TorchFunctionMode

from ..tracer.recorder import Recorder

__all__ = ["SourceNotes"]


class SourceNotes(TorchFunctionMode):
    """Inside, nodes get `source_fn_stack` in their `meta`: the name of a call, and the function or the layer's class.

    Where functions call others, and layers functions, it is the outermost that the program calls itself.

    Args:
        recorder: creates the nodes of the trace.
    """

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder
        self._calls: Counter[str] = Counter()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with self.of(getattr(func, "__name__", "call"), func):
            return func(*args, **(kwargs or {}))

    @contextlib.contextmanager
    def of_module(self, path: str, module: Any) -> Iterator[None]:
        """A region that is the call of a module; only layers of the library are sources.

        Args:
            path: the module's dotted path.
            module: the module.
        """
        layer = own_module_of(type(module)).startswith("tl_nn.modules") and not isinstance(
            module, (tl_nn.Sequential, tl_nn.ModuleList, tl_nn.ModuleDict)
        )
        with self.of(path.replace(".", "_"), type(module)) if layer else contextlib.nullcontext():
            yield

    @contextlib.contextmanager
    def of(self, name: str, source: Any) -> Iterator[None]:
        """A region whose nodes come from a call, unless a call around it is their source.

        Args:
            name: what the call is named after.
            source: what is called.
        """
        before = self.recorder.inherited
        if "source_fn_stack" not in before:
            number = self._calls[name]
            self._calls[name] += 1
            call = f"{name}_{number}" if number else name
            self.recorder.inherited = {**before, "source_fn_stack": [(call, source)]}
        try:
            yield
        finally:
            self.recorder.inherited = before
