"""A graph: nodes in the order in which they run, and the code that they are."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .code_generation import CodeGen, PythonCode, Style
from .code_generation import inplace_methods as inplace_methods
from .code_generation import magic_methods as magic_methods
from .code_generation import reflectable_magic_methods as reflectable_magic_methods
from .code_imports import CustomBuiltin as _CustomBuiltin  # noqa: F401
from .code_imports import custom_builtins as _custom_builtins  # noqa: F401
from .lint import has_attribute, lint
from .names import Namespace, snake_case
from .names import Namespace as _Namespace  # noqa: F401
from .names import snake_case as _snake_case  # noqa: F401
from .node import Argument, Node, Target, map_arg
from .node_list import InsertPoint, NodeList, table
from .pytree_code import _PyTreeCodeGen, _PyTreeInfo

__all__ = ["CodeGen", "Graph", "PythonCode", "_PyTreeCodeGen", "_PyTreeInfo"]


_NO_ATTRIBUTE = (
    "Attempted to insert a {} Node with no underlying reference in the owning GraphModule! '{}': add_submodule, "
    "register_parameter or register_buffer gives it to the module"
)


class Graph:
    """A list of nodes that is a Python function: inputs, calls, one output.

    Args:
        owning_module: the module that holds it.
        tracer_cls: the tracer that made it; pickles of the module name it.
        tracer_extras: what that tracer keeps with it.

    Example:
        >>> graph = Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.output(graph.call_method("neg", (x,)))
        >>> print(graph)
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %neg : [num_users=1] = call_method[target=neg](args = (%x,), kwargs = {})
            return neg
    """

    def __init__(
        self,
        owning_module: Any | None = None,
        tracer_cls: Any | None = None,
        tracer_extras: Any | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._insert: Callable[[Node], None] = self._root.prepend
        self._graph_namespace = Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._source = ""  # the function that it was traced from

    @property
    def owning_module(self) -> Any | None:
        """The module that holds the graph."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: Any | None) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> NodeList:
        """The nodes in order. `reversed` goes through them from the end."""
        return NodeList(self)

    def output_node(self) -> Node:
        """The node that says what the function returns.

        Returns:
            The output node.
        """
        outputs = self.find_nodes(op="output")
        if len(outputs) != 1:
            raise AssertionError(f"a graph has one output node, this one has {len(outputs)}")
        return outputs[0]

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind.

        Args:
            op: the kind.
            target: what they call, or None for any. Needed of call_function.
            sort: whether they come in the order of the graph, as they always do.

        Returns:
            The nodes.
        """
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    # ---- making nodes
    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Adds a node at the insert point, which is the end unless set, and returns it.

        Args:
            op: the kind: placeholder, get_attr, call_function, call_module, call_method, output.
            target: what is called or named.
            args, kwargs: the arguments; nodes among them must be of this graph.
            name: the name of its value; by default one made from the target.
            type_expr: an annotation for the generated code.
        """
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        name = self._graph_namespace.create_name(name if name is not None else _name_for(target), None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        for hook in getattr(self._owning_module, "_create_node_hooks", ()):
            hook(node)
        return node

    def placeholder(
        self, name: str, type_expr: Any | None = None, default_value: Any = inspect.Signature.empty
    ) -> Node:
        """Adds an input and returns its node.

        Args:
            name: the argument's name; with one or two stars, the rest of the arguments.
            type_expr: its annotation.
            default_value: its default; `inspect.Signature.empty`: there is none.
        """
        default = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, default, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        """Adds the reading of an attribute of the module and returns its node.

        Args:
            qualified_name: its dotted path.
            type_expr: its annotation.
        """
        if self._owning_module is not None and not has_attribute(self._owning_module, qualified_name):
            warnings.warn(_NO_ATTRIBUTE.format("get_attr", qualified_name), stacklevel=2)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Adds a call of a submodule and returns its node.

        Args:
            module_name: its dotted path.
            args, kwargs: the arguments.
            type_expr: an annotation of the result.
        """
        if self._owning_module is not None and not has_attribute(self._owning_module, module_name):
            warnings.warn(_NO_ATTRIBUTE.format("call_module", module_name), stacklevel=2)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Adds a call of a method of its first argument and returns its node.

        Args:
            method_name: the method.
            args, kwargs: the arguments, the object first.
            type_expr: an annotation of the result.
        """
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
        name: str | None = None,
    ) -> Node:
        """Adds a call of a function and returns its node.

        Args:
            the_function: the function.
            args, kwargs: the arguments.
            type_expr: an annotation of the result.
            name: the name of the result; by default one made from the function's.
        """
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: Any | None = None) -> Node:
        """Adds the result of the function and returns its node.

        Args:
            result: a node, or a structure of nodes and constants.
            type_expr: its annotation.
        """
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """Adds a copy of a node of another graph.

        Args:
            node: the node.
            arg_transform: from nodes among its arguments to nodes of this graph.

        Returns:
            The copy.
        """
        args, kwargs = map_arg(node.args, arg_transform), dict(map_arg(node.kwargs, arg_transform))
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Argument | None:
        """Adds copies of all nodes of another graph but its output.

        Args:
            g: the other graph.
            val_map: from its nodes to those of this one: what it holds already is not copied, and it is filled.
            return_output_node: whether the other's output node is returned as well.

        Returns:
            What the other's output returns, in nodes of this graph; None if it has no output.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        memo = {} if memo is None else memo
        memo[id(self)] = graph = Graph(tracer_cls=self._tracer_cls)
        _copy_content(self, graph, memo)
        return graph

    # ---- changing it
    def inserting_before(self, n: Node | None = None) -> InsertPoint:
        """New nodes go before this one from now on; as a context, until it ends.

        Args:
            n: a node of this graph; None: the beginning.

        Returns:
            The context.
        """
        if n is None:
            return self.inserting_after(self._root)
        self._check_mine(n)
        return InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> InsertPoint:
        """New nodes go behind this one from now on; as a context, until it ends.

        Args:
            n: a node of this graph; None: the end.

        Returns:
            The context.
        """
        if n is None:
            return self.inserting_before(self._root)
        self._check_mine(n)
        return InsertPoint(self, n.append)

    def _check_mine(self, node: Node) -> None:
        if node.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")

    def erase_node(self, to_erase: Node) -> None:
        """Removes a node that nobody uses.

        Args:
            to_erase: the node.

        Raises:
            RuntimeError: it has users, or is of another graph.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self._owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs((), {})

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Removes the nodes whose value nobody uses and which have no effect.

        Args:
            is_impure_node: whether a node has an effect; by default `Node.is_impure`.

        Returns:
            Whether a node was removed.
        """
        self.lint()
        has_effect = is_impure_node or Node.is_impure
        before = self._len
        for node in reversed(self.nodes):
            if not node.users and node.op != "output" and not has_effect(node):
                self.erase_node(node)
        return self._len != before

    # ---- checks
    def lint(self) -> None:
        """Raises unless the graph is well formed.

        Raises:
            RuntimeError: a node belongs to another graph or is used before it runs, two nodes have one name, or the
                owning module lacks an attribute of the graph.
        """
        lint(self)

    # ---- code
    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        record_func: bool = False,
        additional_meta: list[str] | None = None,
    ) -> PythonCode:
        """The graph as a function.

        Args:
            root_module: the name of the module that attributes are read from, `self` for a method.
            verbose: whether sizes and the lines of the program that nodes come from are written as comments.
            include_stride, include_device: whether these comments say strides and devices.
            colored: whether they are colored, for a terminal.
            expanded_def: whether each argument has a line of its own.
            record_func: whether each call is a range for the profiler.
            additional_meta: further entries of `meta` that comments say.

        Returns:
            Text, globals and lines.
        """
        names = Namespace()
        for node in self.nodes:
            names._rename_object(node, node.name)
        more = tuple(additional_meta or ())
        style = Style(verbose, include_stride, include_device, colored, expanded_def, record_func, more)
        return self._codegen._gen_python_code(self, root_module, names, style)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Sets the writer of the graph's code.

        Args:
            codegen: the writer.
        """
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> AbstractContextManager[None]:
        """Registers a change of the lines of generated code.

        Args:
            make_transformer: from the present transformer, or None, to the new one, which maps the list of lines to
                a list of lines.

        Returns:
            A context that takes the registration back.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        return _Restored(self._codegen, before)

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders for the arguments of a call.

        Args:
            args: the arguments.
        """
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result of a call.

        Args:
            out: the value of the output node.
        """
        return self._codegen.process_outputs(out)

    # ---- text
    def __str__(self) -> str:
        lines = [text for node in self.nodes if (text := node.format_node()) is not None]
        return "\n    ".join(["graph():", *lines])

    def print_tabular(self) -> None:
        """Prints the nodes as a table."""
        print(table(self.nodes))


class _Restored(AbstractContextManager[None]):
    def __init__(self, codegen: CodeGen, transformer: Any) -> None:
        self._codegen, self._transformer = codegen, transformer

    def __exit__(self, *error: Any) -> None:
        self._codegen._body_transformer = self._transformer


def _name_for(target: Target) -> str:
    """What a node is called unless somebody says otherwise."""
    if isinstance(target, str):
        return snake_case(target.lstrip("*").replace(".", "_"))
    return snake_case(getattr(target, "__name__", None) or type(target).__name__)


def _copy_content(graph: Graph, copied: Graph, memo: dict[int, Any]) -> None:
    """Adds copies of all nodes to an empty graph, and enters the copies into the memo of `deepcopy`."""
    copies: dict[Node, Node] = {}
    output = copied.graph_copy(graph, copies, return_output_node=True)
    copied._codegen = copy.deepcopy(graph._codegen)
    memo.update((id(old), new) for old, new in copies.items())
    if output is not None:
        result, old = output
        memo[id(old)] = new = copied.output(result, type_expr=old.type)
        new.meta = copy.copy(old.meta)
