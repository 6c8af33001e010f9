"""Definitions of one program become definitions of another, under names that are free there."""

from __future__ import annotations

import ast
import copy
from typing import Any

from .printing import constant_text
from .sources import fresh_name
from .syntax import dotted_name
from .types import EXTENSION_CLASSES
from .upgraders import differing_operators

__all__ = ["absorb", "origin_of", "rename_in"]


def origin_of(program: Any, name: str) -> tuple[Any, str]:
    """Returns the program and the name that a definition was first written under.

    Args:
        program: a `Program`.
        name: the dotted name of a class or function in it.
    """
    while name in program.origins:
        program, name = program.origins[name]
    return program, name


def absorb(target: Any, program: Any, name: str) -> str:
    """Copies a class or function of a program, and all that it names, into another program.

    Args:
        target: the `Program` that receives the definition. Its code is a `Sources`.
        program: the `Program` of the definition.
        name: the dotted name.

    Returns:
        The dotted name in the receiving program.

    Raises:
        RuntimeError: the program has no such definition.
    """
    program, name = origin_of(program, name)
    if program is target:
        return name
    previous: str | None = target.absorbed.get((id(program), name))
    if previous is not None:
        return previous
    node = program.archive.definition(name)
    if node is None:
        raise RuntimeError(f"Unknown type name '{name}': the archive declares no such class")
    _adopt_version(target, program, node)
    own = name if target.archive.definition(name) is None else fresh_name(name)
    target.absorbed[id(program), name] = own
    target.origins[own] = (program, name)
    result = copy.deepcopy(node)
    target.archive.add_tree(own, result)  # before the names in it, as definitions refer to each other
    renamed = _Renaming(target, program).visit(result)
    assert renamed is result
    return own


def _operators_in(node: ast.AST) -> set[str]:
    calls = [dotted_name(n.func) or "" for n in ast.walk(node) if isinstance(n, ast.Call)]
    return {name.removeprefix("torch.") for name in calls if name.startswith("torch.")}


def _adopt_version(target: Any, program: Any, node: ast.AST) -> None:
    """Gives the receiving program the version of a definition whose operators had other meanings."""
    version, own = program.archive.version, target.archive.version
    changed = differing_operators(_operators_in(node), version, own)
    if not changed:
        return
    present = {n for name in target.archive.names() for n in _operators_in(target.archive.definition(name))}
    conflicts = sorted(differing_operators(present, version, own))
    if conflicts or target.has_new_code:
        conflict_text = ", ".join(conflicts) or "operators"
        raise RuntimeError(
            f"the code of an archive of version {version} uses {', '.join(sorted(changed))} with a former meaning, and "
            f"can't be part of a program that uses {conflict_text} with the meaning of version {own}"
        )
    target.archive.version = version


def rename_in(target: Any, program: Any, tree: ast.AST, own: set[str]) -> None:
    """Renames what a tree of a program names to the names of another program, which receives the definitions.

    Args:
        target: the `Program` that receives them.
        program: the `Program` of the tree.
        tree: the tree.
        own: names that belong to the receiving program already.
    """
    _Renaming(target, program, frozenset(own)).visit(tree)


class _Renaming(ast.NodeTransformer):
    """Replaces the names of a program's classes, functions and constants by those of another program."""

    def __init__(self, target: Any, program: Any, own: frozenset[str] = frozenset()) -> None:
        self._target, self._program, self._own = target, program, own

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        name = dotted_name(node)
        if name in self._own:
            return node
        if name and name.startswith("CONSTANTS.c") and name[11:].isdigit():
            return ast.copy_location(self._constant(int(name[11:])), node)
        if name and name.startswith("__torch__."):
            return ast.copy_location(self._global(name), node)
        self.generic_visit(node)
        return node

    def _global(self, name: str) -> ast.expr:
        owner, rest = name, ""
        while owner and self._program.archive.definition(owner) is None:
            owner, _, last = owner.rpartition(".")
            rest = f".{last}{rest}"
        if not owner:
            if name.startswith(EXTENSION_CLASSES):
                return ast.parse(name, mode="eval").body
            raise RuntimeError(f"the archive has no {name}")
        text = absorb(self._target, self._program, owner) + rest
        return ast.parse(text, mode="eval").body

    def _constant(self, index: int) -> ast.expr:
        constants = self._program.constants
        if index >= len(constants):
            raise RuntimeError(f"the archive has no constant {index}")
        value = constants[index]
        if value is None or isinstance(value, (bool, int, float, str)):
            return ast.parse(constant_text(value), mode="eval").body
        return ast.parse(self._target.constant_name(value), mode="eval").body
