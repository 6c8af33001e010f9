"""An exported program as modules again: the hierarchy of the module that it was made from."""

from __future__ import annotations

import abc
import enum
import operator
from collections.abc import Callable
from typing import Any

import tl_core
import tl_nn
from tl_core.pytree import TreeSpec, tree_flatten, tree_leaves

from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.interpreter import Interpreter
from ..fx.node import Node, map_arg
from .graph_signature import ConstantArgument
from .unlift import _bound, _hold, check_inputs, unlift

__all__ = [
    "FlatArgsAdapter",
    "InterpreterModule",
    "InterpreterModuleDispatcher",
    "UnflattenedModule",
    "unflatten",
]


class _AttrKind(enum.Enum):
    """How a module keeps an object."""

    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT = "constant"
    MODULE = "module"


def _assign_attr(
    from_obj: Any, to_module: Any, target: str, attr_kind: _AttrKind, persistent: bool = True
) -> None:
    """Assigns an object to a dotted name below a module, and below each further call `name@1` of its parts.

    Args:
        from_obj: the object.
        to_module: the module. Parts of the name that it lacks are added.
        target: the name.
        attr_kind: how the object is kept.
        persistent: whether a buffer is a part of the state.

    Raises:
        AssertionError: the object doesn't fit its kind.
    """
    *path, field = target.split(".")
    holders = [to_module]
    for part in path:
        for holder in holders:
            if not hasattr(holder, part):
                holder.add_module(part, tl_nn.Module())
        holders = [
            child
            for holder in holders
            for name, child in holder._modules.items()
            if name.partition("@")[0] == part
        ]
    kinds = {
        _AttrKind.PARAMETER: tl_nn.Parameter,
        _AttrKind.BUFFER: tl_core.Tensor,
        _AttrKind.MODULE: tl_nn.Module,
    }
    expected = kinds.get(attr_kind, object)
    if not isinstance(from_obj, expected):
        raise AssertionError(f"a {attr_kind.value} must be a {expected.__name__}, but got {type(from_obj)}")
    for holder in holders:
        if attr_kind is _AttrKind.PARAMETER:
            holder.register_parameter(field, from_obj)
        elif attr_kind is _AttrKind.BUFFER:
            holder.register_buffer(field, from_obj, persistent=persistent)
        else:
            setattr(holder, field, from_obj)


class FlatArgsAdapter(abc.ABC):
    """Puts inputs of one structure into the order of another.

    Example:
        >>> class Dropping(FlatArgsAdapter):
        ...     def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
        ...         return input_args[:1]
        ...
        >>> Dropping().adapt(None, None, [1, 2])
        [1]
    """

    @abc.abstractmethod
    def adapt(
        self,
        target_spec: TreeSpec,
        input_spec: TreeSpec,
        input_args: list[Any],
        metadata: dict[str, Any] | None = None,
        obj: Any = None,
    ) -> list[Any]:
        """The inputs that a program takes, from those that were given.

        Args:
            target_spec: the structure of the program.
            input_spec: that of the call.
            input_args: the leaves of the call.
            metadata: further facts.
            obj: the module that is called.

        Returns:
            The leaves for the program.
        """


class InterpreterModule(tl_nn.Module):
    """A module that runs a graph node by node, so that errors name the node.

    Args:
        graph: the graph.
        ty: the name of its class.
        signature: how it is called, where that was preserved; None: with the inputs of the graph, in their order.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler.export import export, unflatten
        >>> class Twice(tl_nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.inner = tl_nn.ReLU()
        ...     def forward(self, x):
        ...         return 2 * self.inner(x)
        ...
        >>> type(unflatten(export(Twice(), (tl_core.ones(2),))).inner).__name__
        'InterpreterModule'
    """

    def __init__(self, graph: Graph, ty: Any = None, signature: Any = None) -> None:
        super().__init__()
        self.graph = graph
        self._ty = ty
        self._signature = signature
        graph.owning_module = self

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the graph.

        Args:
            args, kwargs: its inputs.

        Returns:
            What it returns.

        Raises:
            TypeError: a signature was preserved, and the arguments have another structure.
        """
        if self._signature is not None:
            return self._call_with_signature(args, kwargs)
        names = [str(n.target) for n in self.graph.nodes if n.op == "placeholder"]
        inputs = [*args, *(kwargs[n] for n in names[len(args) :] if n in kwargs)]
        return Interpreter(self, graph=self.graph).run(*inputs, enable_io_processing=False)

    def _call_with_signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call as the original module was called."""
        signature = self._signature
        order = list(signature.in_spec.children_specs[1].context)
        if sorted(order) == sorted(kwargs):
            kwargs = {name: kwargs[name] for name in order}
        leaves, spec = tree_flatten((args, kwargs))
        if spec != signature.in_spec:
            raise TypeError(
                f"{self._ty or 'the module'} was exported with arguments of the structure {signature.in_spec}, "
                f"got {spec}"
            )
        inputs = [
            leaf
            for leaf, leaf_spec in zip(leaves, signature.inputs, strict=True)
            if not isinstance(leaf_spec, ConstantArgument)
        ]
        out = Interpreter(self, graph=self.graph).run(*inputs, enable_io_processing=False)
        return signature.out_spec.unflatten(list(out))

    def type_name(self) -> Any:
        """The name of the class of the module that it was."""
        return self._ty

    def finalize(self) -> None:
        """Nothing: the graph is complete."""

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The code of the graph.

        Args:
            print_output: whether it is printed.
            options: accepted.

        Returns:
            The text.
        """
        text = self.graph.python_code("self").src
        if print_output:
            print(text)
        return text


class InterpreterModuleDispatcher(tl_nn.Module):
    """A module that was called several times, in ways that differ: each call runs the next graph.

    Args:
        attrs: the names of its attributes.
        call_modules: a module for each call.

    Example:
        >>> import tl_core, tl_nn
        >>> calls = InterpreterModuleDispatcher(set(), [tl_nn.ReLU(), tl_nn.Identity()])
        >>> calls(tl_core.tensor([-1.0])), calls(tl_core.tensor([-1.0]))
        (tensor([0.]), tensor([-1.]))
    """

    def __init__(self, attrs: set[str], call_modules: list[InterpreterModule]) -> None:
        super().__init__()
        if not call_modules:
            raise AssertionError("a dispatcher needs a module")
        self._call_modules = call_modules
        self._num_calls = 0
        for name in attrs:
            if hasattr(call_modules[0], name):
                setattr(self, name, getattr(call_modules[0], name))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the graph of the next call; after the last, the first.

        Args:
            args, kwargs: its inputs.

        Returns:
            What it returns.
        """
        module = self._call_modules[self._num_calls]
        self._num_calls = (self._num_calls + 1) % len(self._call_modules)
        return module(*args, **kwargs)

    def call_modules(self) -> list[InterpreterModule]:
        """The modules of the calls.

        Returns:
            The modules.
        """
        return self._call_modules


class UnflattenedModule(tl_nn.Module):
    """A program as a hierarchy of modules, called as the original was.

    Args:
        export_module: the program.
        flat_args_adapter: puts inputs of other structures right.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler.export import export, unflatten
        >>> class Twice(tl_nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.inner = tl_nn.ReLU()
        ...     def forward(self, x):
        ...         return 2 * self.inner(x)
        ...
        >>> model = unflatten(export(Twice(), (tl_core.ones(2),)))
        >>> model(tl_core.tensor([-1.0, 1.0])), [name for name, _ in model.named_children()]
        (tensor([0., 2.]), ['inner'])
    """

    def __init__(self, export_module: Any, flat_args_adapter: FlatArgsAdapter | None = None) -> None:
        super().__init__()
        self.module_call_graph = export_module.module_call_graph
        self.flat_args_adapter = flat_args_adapter
        self.graph_signature = export_module.graph_signature
        self._spec = export_module.call_spec
        flat = unlift(export_module, False)
        _hold(export_module, self)
        copies: dict[int, Any] = {}  # what it writes is its own
        for owner in (*flat.modules(), *self.modules()):
            for name, buffer in owner._buffers.items():
                if buffer is not None and not any(buffer is c for c in copies.values()):
                    owner._buffers[name] = copies.setdefault(id(buffer), buffer.clone())
        for node in flat.graph.nodes:  # the graphs of higher-order operators
            attribute = getattr(flat, str(node.target), None) if node.op == "get_attr" else None
            if isinstance(attribute, GraphModule):
                self.add_module(str(node.target), attribute)
        self.graph = _Builder(self, flat).build()
        self.graph.owning_module = self
        self._names = export_module.module_call_graph[0].signature.forward_arg_names
        self._check: Callable[..., None] = lambda leaves, paths: check_inputs(export_module, leaves, paths)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Args:
            args, kwargs: its inputs.

        Returns:
            What it returns.
        """
        spec = self._spec.in_spec
        positional, keywords = _bound(args, kwargs, spec, self._names, list(spec.children_specs[1].context))
        leaves, actual = tree_flatten((positional, keywords))
        if actual != spec:
            if self.flat_args_adapter is None:
                raise TypeError(
                    "There is no flat args adapter sepcified. Are you sure you are calling this with the right "
                    "arguments?"
                )
            leaves = self.flat_args_adapter.adapt(spec, actual, leaves)
            if len(leaves) != spec.num_leaves:
                raise TypeError(f"Flat args adaption failed, number of args mismatch Adatped: {len(leaves)}")
        self._check(leaves, [f"*args[{i}]" for i in range(len(leaves))])
        outputs = Interpreter(self, graph=self.graph).run(*leaves, enable_io_processing=False)
        return self._spec.out_spec.unflatten(outputs)


def unflatten(module: Any, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """A program as a hierarchy of modules, as the module that it was made from.

    Args:
        module: the exported program.
        flat_args_adapter: puts inputs of other structures right.

    Returns:
        The module.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler.export import export
        >>> made = unflatten(export(tl_nn.Sequential(tl_nn.Linear(2, 1), tl_nn.ReLU()), (tl_core.ones(1, 2),)))
        >>> [name for name, _ in made.named_children()]
        ['0', '1']
    """
    return UnflattenedModule(module, flat_args_adapter)


# ---- taking a graph apart
def _path(node: Node) -> str:
    stack = node.meta.get("nn_module_stack")
    return list(stack.values())[-1][0] if stack else ""


def _do_the_same(a: InterpreterModule, b: InterpreterModule) -> bool:
    """Whether two calls of a module ran the same operators on the same arguments."""
    if a._signature is not None or b._signature is not None or len(a.graph.nodes) != len(b.graph.nodes):
        return False
    stands: dict[Node, Node] = {}
    for x, y in zip(a.graph.nodes, b.graph.nodes, strict=True):
        arguments = map_arg((x.args, x.kwargs), lambda n: stands[n])
        if (x.op, arguments) != (y.op, (y.args, y.kwargs)) or (
            x.op != "placeholder" and x.target != y.target
        ):
            return False
        stands[x] = y
    return True


class _Builder:
    """Makes a graph for each module from the nodes that ran in it."""

    def __init__(self, root: Any, flat: GraphModule) -> None:
        self.root, self.flat = root, flat
        self.nodes = list(flat.graph.nodes)
        self.by_name = {n.name: n for n in self.nodes}
        self.calls: dict[str, int] = {}
        self.instances: dict[
            str, dict[str, InterpreterModule]
        ] = {}  # by path, then by name: calls that do the same are one
        self.signatures = {
            e.fqn: e.signature for e in root.module_call_graph if e.fqn and e.signature is not None
        }

    def build(self) -> Graph:
        """The graph of the outermost module."""
        graph = Graph()
        body = [n for n in self.nodes if n.op not in ("placeholder", "output", "get_attr")]
        inputs = [n for n in self.nodes if n.op == "placeholder"]
        values: dict[Node, Node] = {}
        for node in inputs:
            values[node] = graph.node_copy(node)
        self._fill(graph, "", body, values, self.root)
        output = self.flat.graph.output_node()
        graph.output(map_arg(output.args[0], lambda n: self._value(graph, values, n, "")))
        return graph

    def _value(self, graph: Graph, values: dict[Node, Node], node: Node, path: str) -> Node:
        copy = values.get(node)
        if copy is None and node.op == "get_attr":
            target = str(node.target)
            local = target[len(path) + 1 :] if path and target.startswith(path + ".") else target
            copy = values[node] = graph.create_node("get_attr", local, (), {}, local.replace(".", "_"))
        if copy is None:
            raise RuntimeError(f"{node} is used outside of the module that computes it")
        return copy

    def _fill(self, graph: Graph, path: str, body: list[Node], values: dict[Node, Node], holder: Any) -> None:
        """Adds the nodes of a module; runs of nodes of a child become a call of it."""
        for node in body:  # what is read first, as it was an input
            if self._child(path, _path(node)) is None:
                for read in node.all_input_nodes:
                    if read.op == "get_attr":
                        self._value(graph, values, read, path)
        i = 0
        while i < len(body):
            child = self._child(path, _path(body[i]))
            if child is None:
                node = body[i]
                values[node] = graph.node_copy(node, lambda n: self._value(graph, values, n, path))
                i += 1
                continue
            end, call = i, self._call_key(path, child, body[i])
            while end < len(body) and self._child(path, _path(body[end])) == child:
                if self._call_key(path, child, body[end]) != call:
                    break
                end += 1
            self._call(graph, path, child, body[i:end], values, holder)
            i = end

    @staticmethod
    def _child(path: str, inner: str) -> str | None:
        if inner == path or (path and not inner.startswith(path + ".")):
            return None
        rest = inner[len(path) + 1 :] if path else inner
        return rest.split(".")[0] if rest else None

    @staticmethod
    def _call_key(path: str, child: str, node: Node) -> str | None:
        """Which call of a child a node ran in."""
        full = f"{path}.{child}" if path else child
        stack = node.meta.get("nn_module_stack") or {}
        return next((key for key, (at, _) in stack.items() if at == full), None)

    def _call(
        self, graph: Graph, path: str, child: str, body: list[Node], values: dict[Node, Node], holder: Any
    ) -> None:
        full = f"{path}.{child}" if path else child
        if self._is_whole(self._call_name(full), body):
            self._call_as_it_was(graph, path, child, body, values, holder)
            return
        inside = set(body)
        used = [n for b in body for n in b.all_input_nodes if n not in inside]
        inputs = list(
            dict.fromkeys(n for n in used if n.op != "get_attr" or not str(n.target).startswith(full + "."))
        )
        outputs = [n for n in body if any(u not in inside for u in n.users)]
        inner = Graph()
        local = {n: inner.placeholder(n.name) for n in inputs}
        module = InterpreterModule(inner, self._type(body[0], full))
        self._fill(inner, full, body, local, module)
        inner.output(tuple(local[n] for n in outputs) if len(outputs) != 1 else local[outputs[0]])
        name = self._attach(holder, child, full, module)
        args = tuple(self._value(graph, values, n, path) for n in inputs)
        call = graph.create_node(
            "call_module", name, args, {}, child if child.isidentifier() else f"_{child}"
        )
        if len(outputs) == 1:
            values[outputs[0]] = call
        else:
            for i, node in enumerate(outputs):
                values[node] = graph.create_node("call_function", operator.getitem, (call, i), {}, node.name)

    def _call_name(self, full: str) -> str:
        """The name of the next call of a module."""
        number = self.calls.get(full, 0)
        return f"{full}@{number}" if number else full

    def _is_whole(self, full: str, body: list[Node]) -> bool:
        """Whether nodes are a whole call of a module with a preserved signature, which reads only what it is given."""
        signature = self.signatures.get(full)
        if signature is None:
            return False
        inputs, returned = (
            {self.by_name.get(a.name) for a in specs if not isinstance(a, ConstantArgument)}
            for specs in (signature.inputs, signature.outputs)
        )
        inside = set(body)
        read = {n for b in body for n in b.all_input_nodes if n not in inside and n.op != "get_attr"}
        used = {n for n in body if any(u not in inside for u in n.users)}
        return read <= inputs and used <= returned and None not in inputs and returned <= (inside | inputs)

    def _call_as_it_was(
        self, graph: Graph, path: str, child: str, body: list[Node], values: dict[Node, Node], holder: Any
    ) -> None:
        """A call of a module whose signature was preserved: with containers, constants and names of arguments."""
        full = f"{path}.{child}" if path else child
        signature = self.signatures[self._call_name(full)]
        inner = Graph()
        local: dict[Node, Node] = {}
        leaves: list[Any] = []
        for spec in signature.inputs:
            if isinstance(spec, ConstantArgument):
                leaves.append(spec.value)
                continue
            node = self.by_name[spec.name]
            leaves.append(self._value(graph, values, node, path))
            local[node] = inner.placeholder(node.name)
        module = InterpreterModule(inner, self._type(body[0], full), signature)
        self._fill(inner, full, body, local, module)
        results: list[Any] = [
            spec.value if isinstance(spec, ConstantArgument) else self.by_name[spec.name]
            for spec in signature.outputs
        ]
        inner.output(tuple(local[r] if isinstance(r, Node) else r for r in results))
        name = self._attach(holder, child, full, module)
        args, kwargs = signature.in_spec.unflatten(leaves)
        label = child if child.isidentifier() else f"_{child}"
        call = graph.create_node("call_module", name, tuple(args), dict(kwargs), label)
        flat = graph.create_node("call_function", tree_leaves, (call,), {}, f"{label}_leaves")
        for i, result in enumerate(results):
            if isinstance(result, Node) and result in set(body):
                values[result] = graph.create_node(
                    "call_function", operator.getitem, (flat, i), {}, result.name
                )

    @staticmethod
    def _type(node: Node, full: str) -> str | None:
        stack = node.meta.get("nn_module_stack") or {}
        return next((kind for path, kind in stack.values() if path == full), None)

    def _attach(self, holder: Any, child: str, full: str, module: InterpreterModule) -> str:
        number = self.calls.get(full, 0)
        self.calls[full] = number + 1
        name = child if not number else f"{child}@{number}"
        earlier = self.instances.setdefault(full, {})
        for earlier_name, other in earlier.items():
            if _do_the_same(module, other):
                holder._modules[earlier_name] = other
                return earlier_name
        earlier[name] = module
        for key, value in self._state(full).items():
            if key in module._modules or getattr(module, key, None) is not None:
                continue
            if isinstance(value, tl_core.Tensor) and not isinstance(value, tl_nn.Parameter):
                module.register_buffer(key, value)
            else:
                setattr(module, key, value)
        holder._modules[name] = module
        return name

    def _state(self, full: str) -> dict[str, Any]:
        """The parameters, buffers and modules that a module holds."""
        module = self.flat
        for part in full.split("."):
            module = getattr(module, part, None)  # type: ignore[assignment]
            if module is None:
                return {}
        state = {**module._parameters, **module._buffers}
        state.update({k: v for k, v in module._modules.items() if not isinstance(v, InterpreterModule)})
        return state
