"""Functions of a repository's `hubconf.py`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["entry", "hubconf", "names"]

FILE = "hubconf.py"


@contextmanager
def first_on_path(folder: Path) -> Iterator[None]:
    """Inside, modules are looked for in a folder first."""
    text = str(folder)
    sys.path.insert(0, text)
    try:
        yield
    finally:
        if text in sys.path:
            sys.path.remove(text)


def hubconf(folder: Path) -> ModuleType:
    """Runs `hubconf.py`. The folder must be on the path.

    Raises:
        FileNotFoundError: the folder has no such file.
    """
    path = folder / FILE
    if not path.is_file():
        raise FileNotFoundError(2, "hub: the folder has no hubconf.py", str(path))
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"hub: {path} can't be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names(module: ModuleType) -> list[str]:
    """The entry points: callables whose names begin without an underscore."""
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def _is_importable(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def entry(module: ModuleType, name: str) -> Callable[..., Any]:
    """An entry point, whose dependencies are there.

    Raises:
        ValueError: it isn't a text.
        RuntimeError: no entry point has this name, or a package that it needs is missing.
    """
    if not isinstance(name, str):
        raise ValueError(f"hub: model must be the name of an entry point, got {type(name).__name__}")
    missing = [d for d in getattr(module, "dependencies", ()) if not _is_importable(d)]
    if missing:
        hint = "; tl.torch.install() makes tl answer for torch" if "torch" in missing else ""
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}{hint}")
    function = getattr(module, name, None)
    if not callable(function):
        there = ", ".join(names(module)) or "none"
        raise RuntimeError(f"Cannot find callable {name} in hubconf; there are: {there}")
    return function
