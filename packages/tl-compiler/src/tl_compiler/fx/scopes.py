"""The module whose `forward` runs while a program is traced."""

from __future__ import annotations

import copy
from typing import Any

__all__ = ["Scope", "ScopeContextManager"]


class Scope:
    """The path and the class of a module.

    Args:
        module_path: its path in the root; empty for the root itself.
        module_type: its class; None for the root.
    """

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """A block in which a scope is that of another module.

    Args:
        scope: the scope, which is changed.
        current_scope: what it is in the block.

    Example:
        >>> here = Scope("", None)
        >>> with ScopeContextManager(here, Scope("layer", int)) as inside:
        ...     inside.module_path
        'layer'
        >>> here.module_path
        ''
    """

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._before = copy.copy(scope)
        self._scope = scope
        vars(scope).update(vars(current_scope))

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *error: object) -> None:
        vars(self._scope).update(vars(self._before))
