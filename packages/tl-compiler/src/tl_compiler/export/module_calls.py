"""The calls of a module's submodules during its trace: the modules that run, and the signatures of calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tl_core.pytree import tree_flatten

from ..fx.method_hook import MODULE_CALLS
from .exported_program import ModuleCallSignature
from .sources import SourceNotes

__all__ = ["ModuleCalls"]


class ModuleCalls:
    """Follows the calls of a module and its submodules in the thread of a trace.

    Args:
        mod: the module.
        preserved: the paths of the submodules whose signatures are stored.
        argument: describes an argument or a result of a call.
    """

    def __init__(self, mod: Any, preserved: tuple[str, ...], argument: Callable[[Any], Any]) -> None:
        self.preserved = preserved
        self.signatures: dict[str, ModuleCallSignature] = {}
        self.sources: SourceNotes | None = None
        self._argument = argument
        self._paths = {id(m): name for name, m in mod.named_modules()}
        self._counts: dict[str, int] = {}  # calls by path
        self._stack: list[tuple[str, str, str]] = []

    def follow(self) -> contextlib.AbstractContextManager[None]:
        """A region in which the calls of the thread are followed. Other threads call modules as usual."""
        return MODULE_CALLS.handle(self._call)

    def stack(self) -> dict[str, tuple[str, str]]:
        """The modules that run: by call, the path and the class."""
        return {key: (path, kind) for key, path, kind in self._stack}

    def _call(self, method: Any, module: Any, /, *args: Any, **kwargs: Any) -> Any:
        path = self._paths.get(id(module))
        if path is None:
            return method(module, *args, **kwargs)
        kind = f"{type(module).__module__}.{type(module).__qualname__}"
        number = self._counts[path] = self._counts.get(path, -1) + 1
        suffix = f"@{number}" if number else ""  # distinguishes the calls of a module
        self._stack.append((f"L__self__{path}{suffix}", path, kind))
        source = contextlib.nullcontext() if self.sources is None else self.sources.of_module(path, module)
        try:
            with source:
                out = method(module, *args, **kwargs)
            if path in self.preserved:
                self._store_signature(path, args, kwargs, out)
            return out
        finally:
            self._stack.pop()

    def _store_signature(self, path: str, args: Any, kwargs: Any, out: Any) -> None:
        inputs, in_spec = tree_flatten((args, kwargs))
        outputs, out_spec = tree_flatten(out)
        number, key = 0, path
        while key in self.signatures:
            number += 1
            key = f"{path}@{number}"
        self.signatures[key] = ModuleCallSignature(
            [self._argument(a) for a in inputs], [self._argument(a) for a in outputs], in_spec, out_spec
        )
