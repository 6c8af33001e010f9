"""The code of an archive as a tree: archives are valid Python, of which they use a small part.

>>> tree = parse("def f(x: Tensor) -> Tensor:\\n  return torch.relu(x)\\n", "code/f.py")
>>> type(tree.body[0]).__name__
'FunctionDef'
>>> parse("import os", "code/f.py")
Traceback (most recent call last):
RuntimeError: code/f.py:1: an archive's code has no Import
"""

from __future__ import annotations

import ast

__all__ = ["PREFIX", "dotted_name", "literal", "parse"]

# Names that the compiler of archives binds begin with this prefix, so no name of an archive may.
PREFIX = "__tl_"

_NODES = frozenset(
    (ast.Module, ast.ClassDef, ast.FunctionDef, ast.arguments, ast.arg, ast.Assign, ast.AnnAssign, ast.Return, ast.Expr,
     ast.If, ast.While, ast.For, ast.Pass, ast.Name, ast.Load, ast.Store, ast.Attribute, ast.Subscript, ast.Call,
     ast.keyword, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.UnaryOp, ast.USub, ast.Not, ast.IfExp, ast.Slice,
     ast.Break, ast.Continue, ast.With, ast.withitem)
)  # fmt: skip
_CONSTANTS = (int, float, complex, str, bool, type(None), type(...))


def parse(text: str, file: str, is_own: bool = False) -> ast.Module:
    """Returns the tree of a file of code.

    Args:
        text: the code.
        file: the name of the file in the archive, for messages.
        is_own: whether the compiler wrote the text, whose tree needs no check.

    Raises:
        RuntimeError: the text is no code of an archive. The message names the file and the line.
    """
    try:
        tree = ast.parse(text, "<archive>")  # Python looks for a file of this name to show a line of it
    except SyntaxError as error:
        raise RuntimeError(f"{file}:{error.lineno}: the code can't be read: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise RuntimeError(f"{file}: the code can't be read: {error}") from error
    if not is_own or PREFIX in text:
        for node in ast.walk(tree):
            _check(node, file)
    return tree


def _check(node: ast.AST, file: str) -> None:
    line = getattr(node, "lineno", 0)
    if type(node) not in _NODES:
        raise RuntimeError(f"{file}:{line}: an archive's code has no {type(node).__name__}")
    name = _name_of(node)
    if name.startswith(PREFIX):
        raise RuntimeError(f"{file}:{line}: the name {name!r} is reserved")
    if isinstance(node, ast.Constant) and type(node.value) not in _CONSTANTS:
        raise RuntimeError(f"{file}:{line}: an archive's code has no constant of {type(node.value).__name__}")
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.decorator_list:
        raise RuntimeError(f"{file}:{line}: an archive's code has no decorators")
    if isinstance(node, ast.keyword) and node.arg is None:
        raise RuntimeError(f"{file}:{line}: an archive's code has no **")


def _name_of(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
            return name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
    return ""


def dotted_name(node: ast.AST) -> str | None:
    """Returns the text of a chain of names, or None for another expression.

    Example:
        >>> dotted_name(ast.parse("torch.nn.functional", mode="eval").body)
        'torch.nn.functional'
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def literal(node: ast.AST | None) -> str:
    """Returns the text of a constant of text.

    Raises:
        RuntimeError: the expression is something else.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise RuntimeError(f"line {getattr(node, 'lineno', 0)}: expected a constant text")
