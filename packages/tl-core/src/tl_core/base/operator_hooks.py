"""What other packages add to operators that are defined at run time, and to `compile`: `module:function`, loaded when
it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

makers: dict[str, str] = {}


def maker(name: str) -> Any:
    """The function that a package has registered by a name.

    Args:
        name: such as `derivative`.

    Raises:
        RuntimeError: no package that has been imported registers it.
    """
    if name not in makers:
        raise RuntimeError(f"no package that has been imported offers {name!r} for custom operators")
    module, _, function = makers[name].partition(":")
    return getattr(import_module(module), function)
