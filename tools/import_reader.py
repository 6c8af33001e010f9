"""The imports that a Python file states, and those that it hides in text.

A file hides an import in text with `import_module(text)` or `__import__(text)`. In the text, `{__name__}` and
`{__package__}` stand for their values and each other part stands for any word of a string of the file. An entry of a
table and the variable of a loop stand for each string and each formatted string of the file. So a table of names next
to `import_module` counts as the imports of all its entries. Any other variable holds the text of a caller and counts
there.

A package is lazy if its `__init__` defines `__getattr__`. Its lazy table is the dictionary of `attach(__name__, …)` or
another dictionary from names to modules. `from package import name` then imports the entry of the name too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ANY = "*"  # any word of a string of the file, in the text of an import


@dataclass(frozen=True)
class Import:
    """One imported module, or a name from one (`name`), with its place."""

    line: int
    module: str
    name: str | None
    in_function: bool
    for_types: bool = False  # below `if TYPE_CHECKING`

    @property
    def target(self) -> str:
        """The dotted name of the import."""
        return f"{self.module}.{self.name}" if self.name else self.module


class ImportReader(ast.NodeVisitor):
    """The imports, strings and attributes of one file.

    Args:
        module: the dotted name of the file.
        is_package: whether the file is an `__init__`.
    """

    def __init__(self, module: str, is_package: bool) -> None:
        self.module, self.is_package = module, is_package
        self.package = module if is_package else module.rpartition(".")[0]
        self.imports: list[Import] = []
        self.texts: list[tuple[int, str]] = []  # texts of imports, with their lines
        self.words: set[str] = set()
        self.formats: set[str] = set()
        self.homes: dict[str, str] = {}  # entries of dictionaries from text to text
        self.aliases: dict[str, str] = {}  # local name -> module
        self.attributes: list[tuple[int, str, str]] = []
        self.is_lazy = False
        self._loop_variables: list[set[str]] = [set()]  # of the file, and of each function around a line
        self._pending: list[tuple[int, ast.expr, list[set[str]]]] = []
        self._depth = 0
        self._for_types = False

    # ---- statements
    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(node.lineno, alias.name, None)
            root = alias.name.split(".")[0]
            self._name(alias.asname or root, alias.name if alias.asname else root)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        parts = self.package.split(".")
        base = parts[: len(parts) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            self._add(node.lineno, module, alias.name)
            self._name(alias.asname or alias.name, f"{module}.{alias.name}")

    def _add(self, line: int, module: str, name: str | None) -> None:
        self.imports.append(Import(line, module, name, self._depth > 0, self._for_types))

    def _name(self, local: str, module: str) -> None:
        if not self._for_types:
            self.aliases[local] = module

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) not in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            self.generic_visit(node)
            return
        outer, self._for_types = self._for_types, True
        for child in node.body:
            self.visit(child)
        self._for_types = outer
        for child in node.orelse:
            self.visit(child)

    def _function(self, node: ast.AST) -> None:
        if self._depth == 0 and getattr(node, "name", "") == "__getattr__":
            self.is_lazy = True
        self._depth += 1
        self._loop_variables = [*self._loop_variables, set()]
        self.generic_visit(node)
        self._loop_variables = self._loop_variables[:-1]
        self._depth -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function

    # ---- text
    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # documentation
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.words |= set(node.value.split())

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self.formats.add(self._text(node))
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                self.homes[str(key.value)] = str(value.value)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        names = {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
        self.is_lazy |= self._depth == 0 and "__getattr__" in names
        self.generic_visit(node)

    def visit_For(self, node: ast.For | ast.comprehension) -> None:
        names = (n.id for n in ast.walk(node.target) if isinstance(n, ast.Name))
        self._loop_variables[-1].update(names)
        self.generic_visit(node)

    visit_comprehension = visit_For

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name):
            self.attributes.append((node.lineno, node.value.id, node.attr))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = self._function_name(node.func)
        if function in ("importlib.import_module", "__import__") and node.args:
            self._pending.append((node.lineno, node.args[0], self._loop_variables))
        elif function == "tl_core.base.lazy_attributes.attach" and len(node.args) > 1:
            self._attach(node)
        elif function == "dict.fromkeys" and len(node.args) == 2 and isinstance(node.args[1], ast.Constant):
            for name in _strings(node.args[0]):
                self.homes[name] = str(node.args[1].value)
        self.generic_visit(node)

    def _function_name(self, node: ast.expr) -> str:
        text = ast.unparse(node)
        root, _, rest = text.partition(".")
        return ".".join([self.aliases.get(root, root), *([rest] if rest else [])])

    def _text(self, node: ast.expr) -> str:
        """The text of an expression, with ANY for its unknown parts."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.JoinedStr):
            return "".join(map(self._text, node.values))
        if isinstance(node, ast.FormattedValue):
            return self._text(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self._text(node.func.value)  # `text.rstrip(".")`
        names = {"__name__": self.module, "__package__": self.package}
        return names.get(ast.unparse(node), ANY)

    def read_texts(self) -> None:
        """Reads the texts of imports, after the names of all loops are known."""
        for line, node, variables in self._pending:
            is_known = {"__name__", "__package__"}.union(*variables)
            if not isinstance(node, ast.Name) or node.id in is_known:
                self.texts.append((line, self._text(node)))

    def _attach(self, node: ast.Call) -> None:
        """Reads `attach(package, {submodule: names}, submodules)`."""
        self.texts.append((node.lineno, f"{self.module}.{ANY}"))
        table = node.args[1]
        if isinstance(table, ast.Dict):
            for key, value in zip(table.keys, table.values, strict=True):
                if isinstance(key, ast.Constant):
                    self.homes |= dict.fromkeys(_strings(value), str(key.value))


def _strings(node: ast.expr) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield from child.value.split()


def read(file: Path, module: str) -> ImportReader:
    """The imports and the attributes of a file.

    Args:
        file: the file.
        module: the dotted name of the file.
    """
    reader = ImportReader(module, file.name == "__init__.py")
    reader.visit(ast.parse(file.read_text(), str(file)))
    reader.read_texts()
    return reader


def imported_by_text(reader: ImportReader, modules: set[str]) -> Iterator[tuple[int, str]]:
    """The line and the module of each import that a file hides in text.

    Args:
        reader: the imports of the file.
        modules: the modules of the repository.
    """
    for line, text in reader.texts:
        texts = {text} if text != ANY else {*reader.words, *reader.formats} - {ANY}
        targets = {m for t in texts for m in _modules(t, reader.words)} & modules
        for module in sorted(targets - {reader.module}):
            yield line, module


def _modules(text: str, words: set[str]) -> Iterator[str]:
    if ANY not in text:
        yield text
    elif text.count(ANY) == 1:
        yield from (text.replace(ANY, word) for word in words)


def lazy_home(package: ImportReader, name: str, modules: set[str]) -> str | None:
    """The module that a lazy package imports for one of its names; None for any other name.

    Args:
        package: the imports of the package's `__init__`.
        name: the name.
        modules: the modules of the repository.
    """
    if not package.is_lazy or name not in package.words:
        return None
    home = package.homes.get(name, name)
    targets = {home, *(text.replace(ANY, home) for _, text in package.texts)}
    return min(targets & modules, default=None)
