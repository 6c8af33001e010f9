"""The code of a program that tl wrote itself: definitions by dotted name, in the form that archives have."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from .failures import CodeText
from .syntax import parse

__all__ = ["Sources", "fresh_name", "program_name"]

Definition = ast.ClassDef | ast.FunctionDef
_numbers = itertools.count()


def fresh_name(name: str) -> str:
    """Returns a dotted name that no other program of the process has.

    Args:
        name: the dotted name without a number, such as "__torch__.Net".

    Example:
        >>> fresh_name("__torch__.Net") == fresh_name("__torch__.Net")
        False
    """
    owner, _, own = name.rpartition(".")
    return f"{owner}.___torch_mangle_{next(_numbers)}.{own}"


_PACKAGES = (("tl_nn", "torch.nn"), ("tl_core", "torch"), ("tl.nn", "torch.nn"), ("tl", "torch"))


def program_name(value: Any) -> str:
    """Returns the dotted name that a function or class has in a program.

    Example:
        >>> import tl_nn
        >>> program_name(tl_nn.Linear)
        '__torch__.torch.nn.modules.linear.Linear'
    """
    module = getattr(value, "__module__", None) or "__main__"
    for own, name in _PACKAGES:
        if module == own or module.startswith(f"{own}."):
            module = name + module[len(own) :]
            break
    parts = [p for p in module.split(".") if p.isidentifier()] if module != "__main__" else []
    last = value.__name__ if value.__name__.isidentifier() else "function"
    return ".".join(["__torch__", *parts, last])


class Sources:
    """The definitions of a program, in the place of the files of an archive.

    Args:
        is_own: whether a compiler writes all texts, whose trees then need no check.

    Attributes:
        version (int): the version of the operators' meanings.

    Example:
        >>> sources = Sources()
        >>> _ = sources.add("__torch__.f", "def f(x: Tensor) -> Tensor:\\n  return torch.relu(x)\\n")
        >>> sources.definition("__torch__.f").name
        'f'
    """

    version = 10

    def __init__(self, is_own: bool = False) -> None:
        self._is_own = is_own
        self._definitions: dict[str, Definition] = {}
        self._methods: dict[
            int, tuple[ast.FunctionDef, str]
        ] = {}  # the text of each method by the id of its tree

    def add(self, name: str, text: str) -> Definition:
        """Stores a class or a function.

        Args:
            name: the dotted name.
            text: its code.

        Returns:
            The tree of the code.

        Raises:
            RuntimeError: the text is no code of an archive.
        """
        node = parse(text, self.file_of(name.rpartition(".")[0]), self._is_own).body[0]
        assert isinstance(node, (ast.ClassDef, ast.FunctionDef))
        self._definitions[name] = node
        if isinstance(node, ast.FunctionDef):
            self._store(node, text)
        return node

    def add_tree(self, name: str, node: Definition) -> None:
        """Stores a class or a function whose tree another program has checked."""
        self._definitions[name] = node

    def add_method(self, name: str, text: str) -> ast.FunctionDef:
        """Stores a method of a class.

        Args:
            name: the dotted name of the class.
            text: the code of the method, as of a function.

        Returns:
            The tree of the method.
        """
        owner = self._definitions[name]
        node = parse(text, self.file_of(name.rpartition(".")[0]), self._is_own).body[0]
        assert isinstance(owner, ast.ClassDef) and isinstance(node, ast.FunctionDef)
        owner.body.append(node)
        self._store(node, text)
        return node

    def _store(self, node: ast.FunctionDef, text: str) -> None:
        self._methods[id(node)] = node, text
        if isinstance(text, CodeText):
            node.positions = text.positions  # type: ignore[attr-defined]  # copies of the tree have it too

    def file_of(self, module: str) -> str:
        """Returns the name of the file with a module's code."""
        return f"code/{module.replace('.', '/')}.py"

    def definition(self, name: str) -> Definition | None:
        """Returns the definition of a class or function, or None if the program has none."""
        return self._definitions.get(name)

    def names(self) -> Iterator[str]:
        """The dotted names of all definitions."""
        yield from self._definitions

    def text_of(self, module: str, node: ast.FunctionDef) -> tuple[str, str] | None:
        """Returns the code of a function: the lines of its signature, and those of its body. None: it has no text."""
        if id(node) not in self._methods:
            return None
        text = self._methods[id(node)][1]
        lines = text.splitlines(keepends=True)
        first = node.body[0].lineno - 1
        return "  " + "".join(lines[:first]), "".join(f"  {line}" for line in lines[first:]).rstrip("\n")
