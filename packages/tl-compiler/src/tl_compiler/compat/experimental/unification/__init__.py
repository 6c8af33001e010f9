"""Logical variables and unification.

>>> x = var()
>>> unify((1, x), (1, 2), {}) == {x: 2}
True
"""

from .core import reify, unify
from .more import unifiable
from .variable import Var, isvar, var, variables, vars  # noqa: A004

__all__ = ["Var", "isvar", "reify", "unifiable", "unify", "var", "variables", "vars"]
