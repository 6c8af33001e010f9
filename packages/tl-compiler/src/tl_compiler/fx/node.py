"""A node: one call of a function, method or module, or an input, attribute or result, in a graph."""

from __future__ import annotations

import builtins
import copy
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tl_core
import tl_core.operators.packets

from .immutable_collections import immutable_dict, immutable_list
from .names import qualified_name

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Argument = Any  # a node, a number, text, dtype …, or a tuple, list, dict or slice of them
Target = Callable[..., Any] | str
OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")

_RANGES = (
    tl_core.operators.packets.profiler._record_function_enter_new,
    tl_core.operators.packets.profiler._record_function_exit,
)
_side_effectful_functions: set[Callable[..., Any]] = {
    *(tl_core.manual_seed, tl_core.dispatch.grad_mode.switch, *_RANGES),
    *(getattr(packet, name) for packet in _RANGES for name in packet.overloads()),
}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Registers a function whose calls stay even if nobody uses their results.

    Args:
        fn: the function.

    Returns:
        The function itself, so that this serves as a decorator.

    Example:
        >>> @has_side_effect
        ... def log(x):
        ...     print(x)
        ...
        >>> log(3)
        3
    """
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """The same structure of containers with `fn` applied to what they hold.

    Args:
        a: tuples, named tuples, lists, dictionaries and slices, nested; anything else is a leaf.
        fn: maps a leaf.

    Returns:
        The new structure, in immutable containers.

    Example:
        >>> map_aggregate((1, [2, {"a": 3}]), lambda leaf: leaf + 1)
        (2, [3, {'a': 4}])
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list(map_aggregate(item, fn) for item in a)
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(value, fn)) for key, value in a.items())
    if isinstance(a, slice):
        return slice(*(map_aggregate(part, fn) for part in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """As `map_aggregate`, with `fn` applied to nodes only.

    Args:
        a: the structure.
        fn: maps a node.

    Returns:
        The new structure.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> last = list(symbolic_trace(lambda x: x + 1).graph.nodes)[1]
        >>> map_arg(last.args, lambda node: node.name)
        ('x', 1)
    """
    return map_aggregate(a, lambda leaf: fn(leaf) if isinstance(leaf, Node) else leaf)


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, (list, tuple)):
        shown = [_format_arg(a) for a in arg[: int(min(len(arg), max_list_len))]]
        if len(arg) > max_list_len:
            shown.append(f"...[total_len={len(arg)}]")
        if isinstance(arg, list):
            return f"[{', '.join(shown)}]"
        return f"({shown[0]},)" if len(arg) == 1 else f"({', '.join(shown)})"
    if isinstance(arg, dict):
        return f"{{{', '.join(f'{key}: {_format_arg(value)}' for key, value in arg.items())}}}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """One step of a graph; `Graph` makes nodes, in the order in which they run.

    Args:
        graph: the graph that it belongs to.
        name: the name of its value, unique in the graph.
        op: one of placeholder, get_attr, call_function, call_module, call_method, output.
        target: the function, or the name of the method, module, attribute or argument.
        args, kwargs: its arguments; nodes in them stand for their values.
        return_type: an annotation for the generated code.

    Raises:
        ValueError: the target of a call_function is not callable, or that of another is not a name.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> graph = symbolic_trace(lambda x: x + 1).graph
        >>> [(node.op, node.name) for node in graph.nodes]
        [('placeholder', 'x'), ('call_function', 'add'), ('output', 'output')]
    """

    # What passes note at nodes: the part that one belongs to, the bytes of its value, what its module is made of.
    tag: Any
    size_bytes: Any
    attrs_for_lowering: Any

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any | None = None,
    ) -> None:
        if op not in OPS:
            raise AssertionError(f"op must be one of {', '.join(OPS)}, got {op!r}")
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [name = '{name}'] target {target} has type {type(target)} but a Callable is expected"
            )
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(
                f"Node [name = '{name}'] target {target} has type {type(target)} but a str is expected"
            )
        self.graph = graph
        self._name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._update_args_kwargs(args, kwargs)

    def _set_name(self, name: str) -> None:
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            for user in self.users:
                hook(old=self, new=name, user=user)
        self._name = name

    # read often: by a function of C
    name = property(
        operator.attrgetter("_name"), _set_name, doc="The name of its value, unique in the graph."
    )

    # ---- order
    @property
    def next(self) -> Node:
        """The node after this one; after the last comes the graph's root, which is no step."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one; before the first comes the graph's root."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Moves a node of the same graph to before this one.

        Args:
            x: the node that moves.
        """
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x

    def append(self, x: Node) -> None:
        """Moves a node of the same graph to behind this one.

        Args:
            x: the node that moves.
        """
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other: Node) -> bool:
        return self._index() < other._index()

    def _index(self) -> int:
        return next(i for i, node in enumerate(self.graph.nodes) if node is self)

    # ---- arguments
    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments. Assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The keyword arguments. Assign a new dictionary to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        self._update_args_kwargs(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once, in order."""
        return list(self._input_nodes)

    def _update_args_kwargs(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def use(node: Node) -> Node:
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args = tuple(map_arg(tuple(args), use))
        self._kwargs = map_arg(dict(kwargs), use)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Sets a positional argument.

        Args:
            idx: which one.
            arg: its new value.
        """
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Inserts a positional argument.

        Args:
            idx: before which one; their number appends.
            arg: its value.
        """
        if not 0 <= idx <= len(self._args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Sets a keyword argument.

        Args:
            key: its name.
            arg: its new value.
        """
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Puts another node in the place of one among the arguments.

        Args:
            old_input: the node that goes.
            new_input: the node that comes.
        """
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)
        self._replace(old_input, new_input)

    def _replace(self, old: Node, new: Node) -> None:
        self._update_args_kwargs(*map_arg((self._args, self._kwargs), lambda n: new if n is old else n))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Lets those who use this node use another one.

        Args:
            replace_with: the node that they use from now on.
            delete_user_cb: whether a user is to be changed.
            propagate_meta: whether the other node, whose `meta` must be empty, gets this one's.

        Returns:
            The nodes that were changed.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    f"replace_all_uses_with(propagate_meta=True): '{replace_with}' has a meta of its own already"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        hooks = getattr(self.graph.owning_module, "_replace_hooks", ())
        for user in changed:
            for hook in hooks:
                hook(old=self, new=replace_with.name, user=user)
            user._replace(self, replace_with)
        return changed

    # ---- what it is
    @property
    def stack_trace(self) -> str | None:
        """The lines of the program that made the node, where tracing recorded them."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node stays although nobody uses its value.

        Args:
            impure_random: whether drawing from the generator is an effect.

        Returns:
            True for inputs, results, functions with effects, and modules that have some.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            asserts = getattr(self.target, "__name__", "").startswith("_assert")
            return (
                asserts
                or (impure_random and _is_random(self.target))
                or self.target in _side_effectful_functions
                or getattr(self.target, "has_effect", False)
                or "out" in self.kwargs
                or _writes(self.target)
            )
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return getattr(owner.get_submodule(self.target), "_is_impure", False)
        return (
            self.op == "call_method"
            and str(self.target).endswith("_")
            and not str(self.target).endswith("__")
        )

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any | None:
        """The arguments by the signature of what is called, with the defaults that were left out.

        Args:
            root: the module in which targets of call_module are looked for.
            arg_types, kwarg_types: the types of the arguments, to tell overloads apart.
            normalize_to_only_use_kwargs: whether all of them become keyword arguments.

        Returns:
            A pair of args and kwargs, or None where there is no signature that fits.
        """
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function" and not isinstance(self.target, str):
            return normalize_function(
                self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module" and isinstance(self.target, str):
            return normalize_module(root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    # ---- text
    def _pretty_print_target(self, target: Target) -> str:
        if isinstance(target, str):
            return target
        name = qualified_name(target)
        return name if "." in name or not hasattr(builtins, name) else f"builtins.{name}"

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The node as a line of the graph's text.

        Args:
            placeholder_names: where placeholders are collected; then they have no line.
            maybe_return_typename: a list of one, for the annotation of the result.
            include_tensor_metadata: whether what shape propagation found is shown.

        Returns:
            The line, or None for a placeholder that was collected.
        """
        if self.op == "placeholder" and placeholder_names is not None:
            default = f" = {self.args[0]!r}" if self.args else ""
            placeholder_names.append(f"{self.target}{_annotation(self.type)}{default}")
            return None
        if self.op == "output":
            if maybe_return_typename is not None and self.type is not None:
                maybe_return_typename[0] = f" -> {_annotation(self.type)[2:]}"
            return f"return {self.args[0]}"
        head = f"%{self.name} : {_annotation(self.type)[2:] + ' ' if self.type else ''}[num_users={len(self.users)}] = "
        if include_tensor_metadata and "tensor_meta" in self.meta:
            head = f"{head[:-3]}, {self.meta['tensor_meta']}] = "
        head += f"{self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "placeholder":
            return head + (f"(default={_format_arg(self.args[0])})" if self.args else "")
        if self.op == "get_attr":
            return head
        return f"{head}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"

    def __repr__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        """The node of the same name in a copy of the graph."""
        copied = copy.deepcopy(self.graph, memo)
        if id(self) not in memo:
            memo[id(self)] = next(node for node in copied.nodes if node.name == self.name)
        return memo[id(self)]

    def _rename(self, candidate: str) -> None:
        """Gives the value another name, with a number where it is taken."""
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)


def _annotation(kind: Any) -> str:
    if kind is None:
        return ""
    return f": {kind.__name__ if isinstance(kind, type) else str(kind)}"


def _is_random(target: Any) -> bool:
    """Whether an operator, called by its full name, draws from the generator."""
    return any(
        getattr(tag, "name", "") == "nondeterministic_seeded" for tag in getattr(target, "tags", ()) or ()
    )


def _writes(target: Any) -> bool:
    """Whether a function of the library writes to an argument, as its schema or its name says."""
    if hasattr(target, "_schema"):
        return bool(target._schema.is_mutable)
    name = getattr(target, "__name__", "")
    return name.endswith("_") and not name.startswith("_") and not name.endswith("__")
