"""From nodes to the text of a Python function."""

from __future__ import annotations

import enum
import keyword
import operator
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import tl_core

from .names import Namespace, qualified_name, root_namespace
from .node import Node, Target
from .readable import describe, origin_comment
from .wrapping import wrap

if TYPE_CHECKING:
    from .graph import Graph

__all__ = [
    "CodeGen",
    "PythonCode",
    "Style",
    "inplace_methods",
    "last_uses",
    "magic_methods",
    "reflectable_magic_methods",
]

reflectable_magic_methods = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "floordiv": "{} // {}",
    "truediv": "{} / {}",
    "div": "{} / {}",
    "mod": "{} % {}",
    "pow": "{} ** {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}",
    "and_": "{} & {}",
    "or_": "{} | {}",
    "xor": "{} ^ {}",
    "getitem": "{}[{}]",
    "matmul": "{} @ {}",
}
magic_methods = {
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "gt": "{} > {}",
    "le": "{} <= {}",
    "ge": "{} >= {}",
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
    **reflectable_magic_methods,
}
inplace_methods = {
    "iadd": "{} += {}",
    "iand": "{} &= {}",
    "ifloordiv": "{} //= {}",
    "ilshift": "{} <<= {}",
    "imod": "{} %= {}",
    "imul": "{} *= {}",
    "imatmul": "{} @= {}",
    "ior": "{} |= {}",
    "ipow": "{} **= {}",
    "irshift": "{} >>= {}",
    "isub": "{} -= {}",
    "itruediv": "{} /= {}",
    "ixor": "{} ^= {}",
    "setitem": "{}[{}] = {}",
}
# Names that are defined in every module of generated code.
_ALWAYS: dict[str, Any] = {"inf": float("inf"), "nan": float("nan"), "NoneType": type(None)}


@dataclass
class PythonCode:
    """A generated function.

    Args:
        src: its text.
        globals: what the text names.
        _lineno_map: from lines of the function to numbers of nodes.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> code = symbolic_trace(lambda x: x + 1).graph.python_code("self")
        >>> "def forward" in code.src
        True
    """

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None


@dataclass(frozen=True)
class Style:
    """How code is written; `Graph.python_code` tells what each means.

    Args:
        verbose: whether results are annotated.
        include_stride: whether annotations have strides.
        include_device: whether they have devices.
        colored: whether they are coloured.
        expanded_def: whether each argument has a line.
        record_func: whether calls are labelled for profiles.
        additional_meta: further keys of `meta` that are shown.
    """

    verbose: bool = False
    include_stride: bool = False
    include_device: bool = False
    colored: bool = False
    expanded_def: bool = False
    record_func: bool = False
    additional_meta: tuple[str, ...] = ()


# The generic types that annotations are written with, by what they are at run time.
_GENERIC = {
    list: typing.List,  # noqa: UP006
    dict: typing.Dict,  # noqa: UP006
    set: typing.Set,  # noqa: UP006
    frozenset: typing.FrozenSet,  # noqa: UP006
    tuple: typing.Tuple,  # noqa: UP006
}


@dataclass
class _Writer:
    """The state of one generation: names, globals, lines."""

    root_module: str
    namespace: Namespace
    globals: dict[str, Any] = field(default_factory=dict)
    wrapped: dict[str, None] = field(default_factory=dict)

    def name_of(self, hint: str, value: Any) -> str:
        """The name by which the text says a value that is a global."""
        dotted = hint.split(".")
        if dotted[0] == "torch" and _resolves(hint, value):
            self.globals.setdefault("torch", root_namespace())
            return _attribute_path("torch", hint.removeprefix("torch."))
        if len(dotted) == 2 and dotted[0] == "operator":
            self.globals.setdefault("operator", operator)
            return hint
        if hint in _BUILTINS and _BUILTINS[hint] is value:
            return hint
        name = hint.replace(".", "_")
        if self.globals.get(name) is value:
            return name
        name = self.namespace.create_name(name, value if _is_hashable(value) else None)
        self.globals[name] = value
        return name

    def text_of(self, arg: Any) -> str:
        """An argument as an expression."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            kind = self.name_of(f"{type(arg).__module__}.{type(arg).__name__}", type(arg))
            return f"{kind}({', '.join(map(self.text_of, arg))})"
        if isinstance(arg, (list, tuple)):
            items = [self.text_of(item) for item in arg]
            if isinstance(arg, list):
                return f"[{', '.join(items)}]"
            return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
        if isinstance(arg, dict):
            return f"{{{', '.join(f'{key!r}: {self.text_of(value)}' for key, value in arg.items())}}}"
        if isinstance(arg, slice):
            return f"slice({', '.join(map(self.text_of, (arg.start, arg.stop, arg.step)))})"
        return self._text_of_leaf(arg)

    def _text_of_leaf(self, arg: Any) -> str:
        if isinstance(arg, (tl_core.dtype, tl_core.layout, tl_core.memory_format)):
            self.globals.setdefault("torch", root_namespace())
            return repr(arg)
        if isinstance(arg, tl_core.device):
            self.globals["device"] = tl_core.device
            return repr(arg)
        if isinstance(arg, enum.Enum):
            return f"{self.name_of(f'{type(arg).__module__}.{type(arg).__qualname__}', type(arg))}.{arg.name}"
        if isinstance(arg, type) or callable(arg):
            return self.name_of(qualified_name(arg), arg)
        if isinstance(arg, tl_core.Tensor):
            return self.name_of("_tensor_constant", arg)
        return repr(arg)

    def annotation(self, kind: Any) -> str:
        """An annotation with its colon or arrow's text; nothing where there is none."""
        if kind is None:
            return ""
        if isinstance(kind, str):
            return kind
        if kind is type(None):
            return "None"
        if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
            if kind is tl_core.Tensor:
                self.globals.setdefault("torch", root_namespace())
                return "torch.Tensor"
            module = kind.__module__
            return self.name_of(
                kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}", kind
            )
        origin = getattr(kind, "__origin__", None)
        if isinstance(origin, type) and isinstance(kind, types.GenericAlias):
            module = "" if origin.__module__ == "builtins" else f"{origin.__module__}."
            return self._generic(f"{module}{origin.__qualname__}", origin, kind.__args__)
        if isinstance(kind, types.UnionType):
            return self._generic("typing.Union", typing.Union, kind.__args__)
        if origin is not None and getattr(kind, "__module__", "") == "typing":
            general = _GENERIC.get(origin, origin)
            name = getattr(general, "_name", None) or getattr(general, "__name__", "annotation")
            return self._generic(f"typing.{name}", general, getattr(kind, "__args__", ()))
        name = (
            repr(kind)
            if getattr(kind, "__module__", "") == "typing"
            else getattr(kind, "__name__", "annotation")
        )
        return self.name_of(name, kind)

    def _generic(self, hint: str, general: Any, parts: tuple[Any, ...]) -> str:
        """A generic type of others: `typing_List[str]`."""
        if any(isinstance(part, (list, typing.TypeVar)) for part in parts) or Ellipsis in parts:
            parts = tuple(part for part in parts if not isinstance(part, typing.TypeVar))
        arguments = [
            "..."
            if part is Ellipsis
            else "None"
            if part is type(None) and general is typing.Optional
            else "NoneType"
            if part is type(None)
            else f"[{', '.join(map(self.annotation, part))}]"
            if isinstance(part, list)
            else self.annotation(part)
            for part in parts
        ]
        name = self.name_of(hint, general)
        return f"{name}[{', '.join(arguments)}]" if arguments else name

    def call(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> str:
        """Arguments as they stand between parentheses."""
        texts = [self.text_of(a) for a in arguments]
        return ", ".join([*texts, *(f"{name} = {self.text_of(value)}" for name, value in keywords.items())])


_BUILTINS: dict[str, Any] = vars(__import__("builtins"))


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _resolves(path: str, value: Any) -> bool:
    holder = root_namespace()
    for part in path.split(".")[1:]:
        holder = getattr(holder, part, None)
    return holder is value


def _attribute_path(root: str, target: str) -> str:
    """`self.a.0.b` as an expression: `getattr` reads an attribute whose name is no identifier, such as `from`."""
    expression = root
    for part in target.split("."):
        is_name = part.isidentifier() and not keyword.iskeyword(part)
        expression = f"{expression}.{part}" if is_name else f'getattr({expression}, "{part}")'
    return expression


_PLAIN_STYLE = Style()


class CodeGen:
    """Writes the function of a graph. Subclasses change how its arguments come in and its result goes out.

    Example:
        >>> from tl_compiler.fx import Graph
        >>> graph = Graph()
        >>> _ = graph.output(graph.call_method("relu", (graph.placeholder("x"),)))
        >>> print(graph.python_code("self").src.strip())
        def forward(self, x):
            relu = x.relu();  x = None
            return relu
    """

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line of `def`.

        Args:
            free_vars: the arguments, as they are written.
            maybe_return_annotation: ` -> type`, or nothing.

        Returns:
            The line.
        """
        arguments = free_vars if free_vars and free_vars[0] == "self" else ["self", *free_vars]
        return f"def forward({', '.join(arguments)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """The line of `return`.

        Args:
            output_args: what the output node returns.

        Returns:
            The line.
        """
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders for the arguments of a call.

        Args:
            args: the arguments.

        Returns:
            The values.
        """
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What a call returns where the output node says `outputs`.

        Args:
            outputs: its value.

        Returns:
            The result.
        """
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the function needs beyond those of its nodes.

        Returns:
            Pairs of name and value.
        """
        return []

    def _gen_python_code(
        self, graph: Graph, root_module: str, namespace: Namespace, style: Style = _PLAIN_STYLE
    ) -> PythonCode:
        writer = _Writer(root_module, namespace)
        writer.globals.update(self.additional_globals())
        free_vars: list[str] = []
        returns = [""]
        lines: list[tuple[str, int | None]] = []
        last_use = last_uses(graph)
        origin = ""
        for number, node in enumerate(graph.nodes):
            text = self._statement(writer, node, free_vars, returns, style)
            if text is None:
                continue
            if style.verbose and node.op not in ("placeholder", "output"):
                before, origin = origin, origin_comment(node, origin, style.additional_meta)
                if origin != before:
                    lines += [("", None)] if lines else []
                    lines.append((f"# {origin}", None))
            lines += self._statement_lines(writer, node, text + _forgotten(node, last_use), number, style)
        if self._body_transformer:
            numbers_of = dict(lines)
            changed = self._body_transformer([f"{line}\n" for line, _ in lines])
            lines = [(line.rstrip("\n"), numbers_of.get(line.rstrip("\n"))) for line in changed]
        body = "\n".join(
            f"    {line}" if line else ""
            for text, _ in (lines or [("pass", None)])
            for line in text.split("\n")
        )
        wraps = "\n".join(f'wrap("{name}")' for name in writer.wrapped)
        if wraps:
            writer.globals["wrap"] = wrap
        head = self.gen_fn_def(free_vars, returns[0])
        if style.expanded_def:
            opening, _, rest = head.partition("(")
            first, _, _ = rest.partition("):" if "):" in rest else ")")
            own = ["self", *free_vars] if free_vars[:1] != ["self"] else free_vars
            if first == ", ".join(own):
                head = f"{opening}(\n" + "".join(f"    {a},\n" for a in own) + f"){returns[0]}:"
        src = f"\n{wraps}\n\n{head}\n{body}\n    "
        numbers = {line: number for line, (_, number) in enumerate(lines, start=1)}
        return PythonCode(src, {**writer.globals, **{k: v for k, v in _ALWAYS.items() if k in src}}, numbers)

    @staticmethod
    def _statement_lines(
        writer: _Writer, node: Node, text: str, number: int, style: Style
    ) -> list[tuple[str, int | None]]:
        """The lines of a statement; a range for the profiler around it where that is asked for."""
        if not style.record_func or node.op in ("placeholder", "output", "get_attr"):
            return [(text, number)]
        writer.globals.setdefault("torch", root_namespace())
        name = f"_record_{node.name}"
        return [
            (
                f"{name} = torch.autograd.profiler.record_function('## {node.name} ##'); {name}.__enter__()",
                None,
            ),
            (text, number),
            (f"{name}.__exit__(None, None, None); {name} = None", None),
        ]

    def _statement(
        self,
        writer: _Writer,
        node: Node,
        free_vars: list[str],
        returns: list[str],
        style: Style = _PLAIN_STYLE,
    ) -> str | None:
        kind = writer.annotation(node.type)
        typed = f" : {kind}" if kind else ""
        if style.verbose and node.op != "output":
            annotation = describe(node, style.include_stride, style.include_device)
            typed = f': "{annotation}"' if annotation else typed
        if node.op == "placeholder":
            default = f" = {writer.text_of(node.args[0])}" if node.args else ""
            stars = "*" * (len(str(node.target)) - len(str(node.target).lstrip("*")))
            raw = str(node.target).lstrip("*")
            free_vars.append(f"{stars}{raw}{typed}{default}")
            return None if raw == repr(node) else f"{node!r} = {raw}"
        if node.op == "output":
            returns[0] = f" -> {kind}" if kind else returns[0]
            return self.generate_output(_Text(writer.text_of(node.args[0])))
        change = inplace_methods.get(_operator_name(node))
        if change:
            arguments = [writer.text_of(a) for a in node.args]
            return f"{change.format(*arguments)};  {node!r}{typed} = {arguments[0]}"
        return f"{node!r}{typed} = {self._expression(writer, node)}"

    def _expression(self, writer: _Writer, node: Node) -> str:
        target: Target = node.target
        if node.op == "get_attr":
            return _attribute_path(writer.root_module, str(target))
        if node.op == "call_method":
            owner, *rest = node.args
            return f"{writer.text_of(owner)}.{target}({writer.call(tuple(rest), node.kwargs)})"
        if node.op == "call_module":
            return (
                f"{_attribute_path(writer.root_module, str(target))}({writer.call(node.args, node.kwargs)})"
            )
        if not callable(target):
            raise NotImplementedError(f"node: {node.op} {target}")
        if _operator_name(node) in magic_methods:
            return magic_methods[_operator_name(node)].format(*(writer.text_of(a) for a in node.args))
        if (
            target is getattr
            and len(node.args) == 2
            and isinstance(node.args[1], str)
            and node.args[1].isidentifier()
        ):
            return f"{writer.text_of(node.args[0])}.{node.args[1]}"
        called = writer.name_of(qualified_name(target), target)
        if node.meta.get("is_wrapped") or getattr(target, "_fx_wrapped", False):
            writer.wrapped.setdefault(called)
        return f"{called}({writer.call(node.args, node.kwargs)})"


def _operator_name(node: Node) -> str:
    """The name of a function of the module operator that is called without keywords; nothing for other nodes."""
    if node.op != "call_function" or node.kwargs or getattr(node.target, "__module__", "") != "_operator":
        return ""
    return getattr(node.target, "__name__", "")


class _Text(str):
    """Text whose repr is itself."""

    def __repr__(self) -> str:
        return str(self)


def last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """The nodes whose value is used for the last time by each node."""
    users: set[Node] = set()
    ends: dict[Node, list[Node]] = {}

    for user in reversed(list(graph.nodes)):
        for node in user.all_input_nodes:
            if node not in users:
                users.add(node)
                ends.setdefault(user, []).append(node)
    return ends


def _forgotten(node: Node, last_use: dict[Node, list[Node]]) -> str:
    """What follows a statement so that values die where they are used for the last time."""
    if node.op in ("placeholder", "output"):
        return ""
    ended = [repr(n) for n in last_use.get(node, [])]
    if not node.users:
        ended.append(repr(node))
    return f";  {' = '.join([*ended, 'None'])}" if ended else ""
