"""The recording of a run as code: each call of a module is a call of a method, which has arguments and results."""

from __future__ import annotations

import operator
from typing import Any

import tl_core
from tl_core.pytree import tree_leaves

from ..fx.node import Node
from ..script.linking import absorb
from ..script.printing import constant_text
from ..script.types import Type
from .recording import Call, Recording, ScriptCall
from .values import call_text, is_number_node, value_text

__all__ = ["Methods", "check_examples", "type_of_example"]

Tensor = tl_core.Tensor


class Methods:
    """The methods of a recording.

    Args:
        recording: the recording.
        program: the `Program` that receives what scripted functions name, and the constants.
        class_names: the dotted name of the class of each module by its path.
    """

    def __init__(self, recording: Recording, program: Any, class_names: dict[str, str]) -> None:
        self.recording, self._program, self._class_names = recording, program, class_names
        self._children: dict[Call, list[Any]] = {recording.root: []}  # nodes and calls in order
        self._call_of: dict[Node, Call] = {}
        self._inputs: dict[Call, dict[Node, None]] = {}
        self._outputs: dict[Call, dict[Node, None]] = {}
        self._names: dict[Node, str] = {}
        self.texts: list[tuple[str, str]] = []  # the path of a module and the code of a method
        self._build_tree()
        self._connect()

    # ---- the tree of calls
    def _build_tree(self) -> None:
        for node in self.recording.graph.nodes:
            if node.op == "call_function" and not is_number_node(node):
                call: Any = node.meta.get("nn_module_stack") or self.recording.root
                self._call_of[node] = call
                self._enter(call)
                self._children[call].append(node)

    def _enter(self, call: Call) -> None:
        if call in self._children:
            return
        assert call.parent is not None
        self._enter(call.parent)
        self._children[call] = []
        self._children[call.parent].append(call)

    def _connect(self) -> None:
        """Finds the values that go into each call and come out of it."""
        for node, call in self._call_of.items():
            for value in _needs(node):
                self._use(value, call)
        for leaf in _nodes_in(self.recording.result):
            for value in _needs(leaf) if is_number_node(leaf) else [leaf]:
                self._use(value, self.recording.root)

    def _use(self, value: Node, user: Call) -> None:
        path = self.recording.attributes.get(value)
        if value in self.recording.constants:
            return
        if path is not None:
            for call in user.chain():
                if call.holds(path):
                    return
                self._inputs.setdefault(call, {})[value] = None
            return
        home = self._call_of.get(value, self.recording.root).chain()
        around = user.chain()
        for call in around:
            if call not in home:
                self._inputs.setdefault(call, {})[value] = None
        for call in home:
            if call not in around:
                self._outputs.setdefault(call, {})[value] = None

    # ---- code
    def root(
        self, arguments: list[str], names: dict[Node, str], lines: list[str], name: str, owner: bool
    ) -> None:
        """Writes the method of the whole trace, and those of all calls in it.

        Args:
            arguments: the arguments as code, such as "x: Tensor".
            names: the names of the inputs.
            lines: the first lines, which take inputs apart.
            name: the name of the method or function.
            owner: whether it is a method.
        """
        self._names = dict(names)
        first = [f"self: {self._class_names['']}"] if owner else []
        body = [*lines, *self._body(self.recording.root)]
        text, kind = self._final(self.recording.result)
        head = f"def {name}({_join([*first, *arguments])}) -> {kind}:"
        self.texts.append(("", _function(head, [*body, f"return {text}"])))

    def _body(self, call: Call) -> list[str]:
        lines: list[str] = []
        for item in self._children[call]:
            if isinstance(item, Call):
                lines.append(self._module_call(item, call))
            else:
                lines += self._node(item, call)
        return lines

    def _name(self, node: Node) -> str:
        name = self._names.get(node)
        if name is None:
            occupied = set(self._names.values())
            name, number = node.name, 0
            while name in occupied or name in ("self", "torch", "ops", "CONSTANTS"):
                name, number = f"{node.name}_v{number}", number + 1
            self._names[node] = name
        return name

    def _text_in(self, call: Call) -> Any:
        inputs = self._inputs.get(call, {})

        def text(node: Node) -> str:
            if node in self.recording.constants:
                return str(self._program.constant_name(self.recording.constants[node]))
            path = self.recording.attributes.get(node)
            if path is not None and node not in inputs:
                return member_text(path, call.path)
            return self._name(node)

        return text

    def _node(self, node: Node, call: Call) -> list[str]:
        text = self._text_in(call)
        if isinstance(node.target, ScriptCall):
            return [f"{self._name(node)} = {self._script_call(node, call)}"]
        if node.target is operator.getitem:
            source, index = node.args
            return [f"{self._name(node)} = ({text(source)})[{constant_text(index)}]"]
        return [f"{self._name(node)} = {call_text(node, text)}"]

    def _script_call(self, node: Node, call: Call) -> str:
        target: Any = node.target
        text = self._text_in(call)
        arguments = [value_text(a, text) for a in node.args]
        arguments += [f"{key}={value_text(value, text)}" for key, value in node.kwargs.items()]
        if target.path is not None:
            if not call.holds(target.path):
                raise RuntimeError(
                    f"the scripted module {target.path} is called by a module that doesn't hold it"
                )
            return f"({member_text(target.path, call.path)}).{target.__name__}({', '.join(arguments)})"
        function = target.target
        name = absorb(self._program, function._program, function.qualified_name)
        return f"{name}({', '.join(arguments)})"

    def _module_call(self, call: Call, parent: Call) -> str:
        inputs, outputs = list(self._inputs.get(call, {})), list(self._outputs.get(call, {}))
        name = f"forward{call.number or ''}"
        owner = self._class_names[call.path]
        arguments = [f"self: {owner}", *(f"{self._name(n)}: Tensor" for n in inputs)]
        results = [self._name(n) for n in outputs]
        kind = "Tensor" if len(results) == 1 else f"Tuple[{', '.join('Tensor' for _ in results)}]"
        value = results[0] if len(results) == 1 else f"({', '.join(results)})"
        if not results:
            kind, value = "NoneType", "None"
        head = f"def {name}({_join(arguments)}) -> {kind}:"
        self.texts.append((call.path, _function(head, [*self._body(call), f"return {value}"])))
        text = self._text_in(parent)
        arguments_of_call = ", ".join(text(n) for n in inputs)
        target = (
            "_0" if not results else results[0] if len(results) == 1 else "".join(f"{r}, " for r in results)
        )
        return f"{target} = ({member_text(call.path, parent.path)}).{name}({arguments_of_call})"

    def _final(self, value: Any) -> tuple[str, str]:
        """The result as code, and its type."""
        text = self._text_in(self.recording.root)
        if isinstance(value, Node):
            inner = value_text(value, text)
            return (f"ops.prim.NumToTensor({inner})" if is_number_node(value) else inner), "Tensor"
        if isinstance(value, tuple):
            items = [self._final(v) for v in value]
            end = "," if len(items) == 1 else ""
            return f"({', '.join(i for i, _ in items)}{end})", f"Tuple[{', '.join(k for _, k in items)}]"
        if isinstance(value, list) and not any(isinstance(v, list) for v in value):
            items = [self._final(v) for v in value]
            return f"[{', '.join(i for i, _ in items)}]", f"List[{items[0][1] if items else 'Tensor'}]"
        if isinstance(value, dict):
            pairs = [(self._key(k), *self._final(v)) for k, v in value.items()]
            kind = pairs[0][2] if pairs else "Tensor"
            keys = pairs[0][0][1] if pairs else "str"
            return "{" + ", ".join(f"{k}: {v}" for (k, _), v, _ in pairs) + "}", f"Dict[{keys}, {kind}]"
        raise RuntimeError(
            "The result cannot be understood by the tracer, only outputs matching dict[Union[str, Tensor], Tensor] or "
            "tuples of tensors are. Only tensors, lists, tuples of tensors, or dictionary of tensors can be output "
            "from traced functions"
        )

    def _key(self, key: Any) -> tuple[str, str]:
        """A key of a dictionary as code, and its type."""
        if isinstance(key, Node):
            return self._final(key)
        return constant_text(key), "int" if isinstance(key, int) else "str"


def member_text(path: str, owner: str) -> str:
    """Returns the code that reads an attribute of a path in a method of a module.

    Example:
        >>> member_text("a.0.weight", "a")
        'getattr(self, "0").weight'
    """
    text = "self"
    for name in path[len(owner) + 1 if owner else 0 :].split("."):
        text = f"{text}.{name}" if name.isidentifier() else f"getattr({text}, {constant_text(name)})"
    return text


def _join(arguments: list[str]) -> str:
    return ",\n    ".join(arguments)


def _function(head: str, body: list[str]) -> str:
    return head + "\n" + "".join(f"  {line}\n" for line in body)


def _nodes_in(value: Any) -> list[Node]:
    if isinstance(value, Node):
        return [value]
    if isinstance(value, (list, tuple)):
        return [n for item in value for n in _nodes_in(item)]
    return [n for item in value.values() for n in _nodes_in(item)] if isinstance(value, dict) else []


def _needs(node: Node) -> list[Node]:
    """The nodes whose names the code of a node contains: those of numbers are written out."""
    result: dict[Node, None] = {}
    for value in node.all_input_nodes:
        if is_number_node(value):
            result.update(dict.fromkeys(_needs(value)))
        else:
            result[value] = None
    return list(result)


def type_of_example(value: Any) -> Type:
    """Returns the type of an example input. Values that are no tensors have the name of their class.

    Args:
        value: the example.

    Raises:
        RuntimeError: a list has elements of several types, or a list or dictionary is empty.
    """
    if isinstance(value, Tensor):
        return Type("Tensor")
    if isinstance(value, tuple):
        return Type("Tuple", tuple(map(type_of_example, value)))
    if isinstance(value, (list, dict)) and not value:
        what = "List" if isinstance(value, list) else "Dictionary"
        raise RuntimeError(f"{what} trace inputs must have elements, got an empty one: its type isn't known")
    if isinstance(value, list):
        kinds = [type_of_example(item) for item in value]
        other = next((kind for kind in kinds if kind != kinds[0]), None)
        if other is not None:
            raise RuntimeError(
                f"List inputs of a trace must have elements of consistent types, got {kinds[0]} and {other}"
            )
        return Type("List", (kinds[0],))
    if isinstance(value, dict):
        key, item = next(iter(value.items()))
        return Type("Dict", (Type("int" if isinstance(key, int) else "str"), type_of_example(item)))
    return Type(type(value).__name__)


def check_examples(examples: tuple[Any, ...]) -> None:
    """Checks the example inputs of a trace.

    Args:
        examples: the arguments of a call.

    Raises:
        RuntimeError: there are values in them that are no tensors.

    Example:
        >>> check_examples((1,))
        Traceback (most recent call last):
        RuntimeError: Type 'Tuple[int]' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples \
of Tensors can be traced
    """
    kind = type_of_example(examples)
    if not all(isinstance(leaf, Tensor) for leaf in tree_leaves(examples)):
        raise RuntimeError(
            f"Type '{kind}' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors "
            "can be traced"
        )
