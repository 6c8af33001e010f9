"""`python -m tools.argument_entries`: entries under `Args:` that name no parameter of their function or class.

A renamed parameter leaves such an entry behind. The tool reads the sources, so private functions count, too.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from tools.packages import ROOT, packages

FOLDERS = ("tools", *(f"packages/{dist}" for dist in packages()))
ENTRY = re.compile(r" {4}(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: \(.*)?(?::|$)")
Described = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def entries(doc: str) -> Iterator[str]:
    """The names that a docstring describes under `Args:`.

    Args:
        doc: the docstring, without the indentation of its function.

    Example:
        >>> list(entries("A sum.\\n\\nArgs:\\n    x, y (int): two.\\n    *more: others.\\n\\nReturns:\\n    z: a sum."))
        ['x', 'y', 'more']
    """
    _, _, section = doc.partition("\nArgs:\n")
    for line in section.splitlines():
        if line and not line.startswith(" "):
            return
        if match := ENTRY.match(line):
            yield from (name.strip("* ") for name in match[1].split(","))


def parameters(node: Described) -> set[str] | None:
    """The names that the docstring of a function or class can describe; None if the source doesn't list them.

    Args:
        node: the definition.

    Returns:
        The parameters of a function. For a class, the parameters of its constructor and of `__call__`, and its fields.
        None for a function with `**kwargs`, and for a class that inherits its constructor.
    """
    if isinstance(node, ast.ClassDef):
        fields = {
            a.target.id for a in node.body if isinstance(a, ast.AnnAssign) and isinstance(a.target, ast.Name)
        }
        makers = [
            n
            for n in node.body
            if isinstance(n, ast.FunctionDef) and n.name in ("__init__", "__new__", "__call__")
        ]
        constructors = [n for n in makers if n.name != "__call__"]
        if node.bases and not constructors:
            return None
        of_makers = [parameters(n) for n in makers]
        return None if None in of_makers else fields.union(*(names for names in of_makers if names))
    arguments = node.args
    if arguments.kwarg or (arguments.vararg and node.name in ("__init__", "__new__", "__call__")):
        return None
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return {a.arg for a in every} | ({arguments.vararg.arg} if arguments.vararg else set())


def stale(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """The line, the definition and the name of each entry without a parameter.

    Args:
        tree: the syntax tree of a file.
    """
    for node in ast.walk(tree):
        doc = ast.get_docstring(node) if isinstance(node, Described) else None
        names = parameters(node) if doc and isinstance(node, Described) else None
        if names is None or doc is None or not isinstance(node, Described):
            continue
        for name in entries(doc):
            if name not in names:
                yield node.lineno, node.name, name


def main() -> int:
    """Prints the stale entries of all sources."""
    count = 0
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).glob("**/*.py")):
            if not {"tests", "build", ".venv", "compat"} & set(path.relative_to(ROOT).parts):
                for line, owner, name in stale(ast.parse(path.read_text())):
                    print(f"{path.relative_to(ROOT)}:{line}: {owner} has no parameter {name}")
                    count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
