"""`TL_AS_TORCH=1`: an interpreter in which the first `import torch` makes torch another name of tl.

A `.pth` file of tl-all's wheel calls `wait` when an interpreter with the variable starts. The processes that it starts
inherit the variable. Nothing of tl is loaded before a program asks for torch.

An installed torch stays torch, with a line on stderr. `TL_AS_TORCH=force` puts tl in its place.
"""

import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.metadata import Distribution, DistributionFinder
    from types import ModuleType
    from typing import Any

_ALIASES = {"torch": "tl", "functorch": "tl.functorch"}


def wait() -> None:
    """Installs the finder for the first import of torch, once."""
    if not any(isinstance(finder, FirstImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, FirstImport())


class FirstImport:
    """A finder that answers for torch and functorch until one of them is imported."""

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> ModuleSpec | None:
        """The spec of `torch` or `functorch`, whose loader installs the alias."""
        if name not in _ALIASES or self._is_other():
            return None
        # The import happens in the loader: up to Python 3.12 a finder runs under a lock that other threads need.
        return ModuleSpec(name, _Loader(self, _ALIASES[name]), is_package=True)  # type: ignore[arg-type]

    def find_distributions(self, context: "DistributionFinder.Context") -> "Iterable[Distribution]":
        """The distribution `torch`, which libraries look up before they import it."""
        if context.name != "torch" or self._is_other():
            return []
        return [_alias().distribution()]

    def _is_other(self) -> bool:
        """Whether an installed torch stays in its place, which is said once."""
        if os.environ.get("TL_AS_TORCH") == "force":
            return False
        other = PathFinder.find_spec("torch")
        if other is None or other.origin is None:
            return False
        self.leave()
        text = (
            f"TL_AS_TORCH=1 has no effect: torch is installed, {other.origin}; TL_AS_TORCH=force replaces it"
        )
        print(text, file=sys.stderr)
        return True

    def leave(self) -> None:
        """Takes the finder out of `sys.meta_path`."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def _alias() -> "ModuleType":
    """The module `tl.torch`."""
    # From the package down: a module imported together with its package, by two threads, can deadlock.
    import_module("tl")
    return import_module("tl.torch")


class _Loader:
    """Installs the alias and loads `torch` as the façade's own finder does."""

    def __init__(self, finder: FirstImport, real: str):
        self.finder = finder
        self.real = real
        self.loader: Any = None

    def create_module(self, spec: ModuleSpec) -> "ModuleType":
        alias = _alias()
        self.finder.leave()
        alias.install()
        from tl._finder import AliasLoader

        self.loader = AliasLoader(self.real)
        return self.loader.create_module(spec)

    def exec_module(self, module: "ModuleType") -> None:
        self.loader.exec_module(module)
