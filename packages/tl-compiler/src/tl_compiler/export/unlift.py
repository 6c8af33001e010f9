"""The module that runs an exported program: its parameters are attributes again, its inputs are checked."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.operators.packets
import tl_core.symbolic.arithmetic
import tl_nn
from tl_core.pytree import TreeSpec
from tl_core.pytree.paths import keystr, tree_flatten_with_path

from ..fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..symbolic.expression import Expr, Integer, sympify
from ..symbolic.ranges import int_oo
from .graph_signature import ConstantArgument, InputKind, OutputKind

__all__ = ["check_inputs", "unlift"]

_MUTATIONS = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.USER_INPUT_MUTATION)


def unlift(ep: Any, check_guards: bool) -> GraphModule:
    """A module that runs a program as the original was called.

    Args:
        ep: the program.
        check_guards: whether the sizes of inputs are checked.

    Returns:
        The module.
    """
    graph, root = Graph(), tl_nn.Module()
    copies: dict[Node, Node] = {}
    specs = {s.arg.name: s for s in ep.graph_signature.input_specs}
    inputs = {name for name, s in specs.items() if s.kind is InputKind.USER_INPUT}
    _hold(ep, root)
    for node in ep.graph.nodes:
        if node.op == "placeholder" and specs[node.name].kind is not InputKind.USER_INPUT:
            name = _attribute_name(specs[node.name])
            attribute = graph.create_node(
                "get_attr", str(specs[node.name].target), (), {}, node.name if name in inputs else name
            )
            attribute.meta = dict(node.meta)
            copies[node] = attribute
        elif node.op == "output":
            _output(ep, graph, node, copies)
        else:
            copies[node] = graph.node_copy(node, lambda n: copies[n])
            if node.op == "get_attr":
                _hold_attribute(root, str(node.target), _read(ep.graph_module, str(node.target)))
    info = _call_info(ep, graph)
    if info is not None:
        graph.set_codegen(_PyTreeCodeGen(info))
    made_module = GraphModule(root, graph, "GraphModule")
    _hold(ep, made_module)
    if info is not None:
        object.__setattr__(made_module, "_in_spec", info.in_spec)
        object.__setattr__(made_module, "_out_spec", info.out_spec)
    made_module.meta.update(ep.graph_module.meta)
    if check_guards:
        made_module.register_forward_pre_hook(_checker(ep), with_kwargs=True)
    return made_module


def _attribute_name(spec: Any) -> str:
    return str(spec.target).replace(".", "_")


def _read(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module


def _hold_attribute(root: Any, path: str, value: Any, persistent: bool = True) -> None:
    *parts, last = path.split(".")
    holder = root
    for part in parts:
        child = getattr(holder, part, None)
        if child is None:
            child = tl_nn.Module()
            holder.add_module(part, child)
        holder = child
    if isinstance(value, tl_nn.Parameter):
        holder.register_parameter(last, value)
    elif isinstance(value, tl_nn.Module):
        holder.add_module(last, value)
    elif isinstance(value, tl_core.Tensor):
        if last in holder.__dict__:
            del holder.__dict__[last]
        holder.register_buffer(last, value, persistent=persistent)
    else:
        setattr(holder, last, value)


def _hold(ep: Any, root: Any) -> None:
    """Gives a module the parameters, buffers and constants of a program."""
    for spec in ep.graph_signature.input_specs:
        name = str(spec.target)
        if spec.kind is InputKind.PARAMETER:
            value = ep.state_dict[name]
            constant = (
                value if isinstance(value, tl_nn.Parameter) else tl_nn.Parameter(value, value.requires_grad)
            )
            _hold_attribute(root, name, constant)
        elif spec.kind is InputKind.BUFFER:
            tensor = ep.state_dict[name] if spec.persistent else ep.constants[name]
            _hold_attribute(root, name, tensor, bool(spec.persistent))
        elif spec.kind in (InputKind.CONSTANT_TENSOR, InputKind.CUSTOM_OBJ):
            _hold_attribute(root, name, ep.constants[name], persistent=False)
    _hold_other_names(ep, root)


def _hold_other_names(ep: Any, root: Any) -> None:
    """Gives a module what a program's parameters and buffers are called besides."""
    targets = {str(s.target) for s in ep.graph_signature.input_specs if s.target is not None}
    named = {id(ep.state_dict[name]): name for name in targets if name in ep.state_dict}
    for name, value in ep.state_dict.items():
        if name not in targets and id(value) in named:
            _hold_attribute(root, name, _read(root, named[id(value)]))


def _output(ep: Any, graph: Graph, node: Node, copies: dict[Node, Node]) -> None:
    """Writes new values to what is mutated, and returns the user's results."""
    targets = {s.target: s.arg.name for s in ep.graph_signature.input_specs if s.target is not None}
    by_name = {n.name: n for n in copies}
    results: list[Any] = []
    for spec, value in zip(ep.graph_signature.output_specs, node.args[0], strict=True):
        result = copies[value] if isinstance(value, Node) else value
        if spec.kind not in _MUTATIONS:
            results.append(result)
            continue
        name = targets.get(spec.target, spec.target)
        destination = copies[by_name[str(name)]]
        graph.call_function(tl_core.operators.packets.aten.copy_.default, (destination, result))
    graph.output(tuple(results))


def _call_info(ep: Any, graph: Graph) -> _PyTreeInfo | None:
    spec = ep.call_spec
    if spec.in_spec is None:
        return None
    signature = ep.module_call_graph[0].signature
    names = signature.forward_arg_names
    if names is None:
        count = spec.in_spec.children_specs[0].num_children
        names = [f"arg_{i}" for i in range(count)] + list(spec.in_spec.children_specs[1].context)
    return _PyTreeInfo(list(names), spec.in_spec, spec.out_spec)


# ---- checks
def _checker(ep: Any) -> Any:
    spec = ep.call_spec.in_spec
    order = list(spec.children_specs[1].context) if spec is not None and spec.num_children == 2 else []
    names = ep.module_call_graph[0].signature.forward_arg_names if ep.module_call_graph else None

    def check(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        positional, keywords = _bound(args, kwargs, spec, names, order)
        leaves, actual = tree_flatten_with_path((positional, keywords))
        if spec is not None and actual != spec and not _alike(actual, spec):
            raise ValueError(
                "Trying to flatten user inputs with exported input tree spec: \n"
                f"{spec}\nbut actually got inputs with tree spec of: \n{actual}.\nPlease check that the inputs "
                "have the same "
                "number and type of args and kwargs as the ones you used when tracing."
            )
        check_inputs(ep, [leaf for _, leaf in leaves], [_path_text(path) for path, _ in leaves])
        return tuple(positional), keywords

    return check


def _bound(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    spec: TreeSpec | None,
    names: list[str] | None,
    order: list[str],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments as the program was traced with them: those that were positional by position."""
    if spec is None:
        return args, kwargs
    count = spec.children_specs[0].num_children
    positional, keywords = list(args), dict(kwargs)
    for name in (names or [])[len(positional) : count]:
        if name not in keywords:
            break
        positional.append(keywords.pop(name))
    if len(positional) > count and names:
        for name, value in zip(names[count:], positional[count:], strict=False):
            if name in order:
                keywords.setdefault(name, value)
        positional = positional[:count] + positional[len(names) :]
    if set(keywords) == set(order):
        keywords = {name: keywords[name] for name in order}
    return tuple(positional), keywords


def _alike(a: TreeSpec, b: TreeSpec) -> bool:
    """Whether structures differ only in the order of dictionaries, or in which kind of sequence is used."""
    if a.is_leaf() or b.is_leaf():
        return a.is_leaf() and b.is_leaf()
    if a.num_children != b.num_children:
        return False
    sequences = (list, tuple)
    if a.type is not b.type and not (a.type in sequences and b.type in sequences):
        return False
    if isinstance(a.context, list) and a.type is dict and a.context != b.context:
        return False
    return all(_alike(x, y) for x, y in zip(a.children_specs, b.children_specs, strict=True))


def _path_text(path: Any) -> str:
    """`*args[0]['key']`, `**kwargs['name']`."""
    head, *rest = path
    if head.idx == 1 and rest:
        return f"**kwargs{keystr(tuple(rest))}"
    return f"*args{keystr(tuple(rest))}"


def check_inputs(ep: Any, leaves: list[Any], paths: list[str]) -> None:
    """Raises for inputs that a program does not take.

    Args:
        ep: the program.
        leaves: the inputs in order.
        paths: where they stand among the arguments.

    Raises:
        RuntimeError: a size, dtype or constant is another one.
    """
    by_name = {n.name: n for n in ep.graph.nodes if n.op == "placeholder"}
    specs = [s for s in ep.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]
    if len(specs) != len(leaves):
        raise RuntimeError(f"Unexpected number of inputs (expected {len(specs)}, got {len(leaves)})")
    sizes: dict[Expr, tuple[int, str]] = {}
    later: list[tuple[Expr, int, str]] = []
    for spec, leaf, path in zip(specs, leaves, paths, strict=True):
        node = by_name.get(spec.arg.name)
        if isinstance(spec.arg, ConstantArgument):
            _check_constant(spec.arg.value, leaf, path)
        elif node is not None and "val" in node.meta:
            _check_value(ep, node.meta["val"], leaf, path, sizes, later)
    _check_derived(sizes, later)


def _check_constant(expected: Any, actual: Any, path: str) -> None:
    if type(expected) in (int, float, bool, str, type(None)) and (
        type(actual) is not type(expected) or actual != expected
    ):
        raise RuntimeError(f"Expected input at {path} to be equal to {expected}, but got {actual}")


def _check_value(ep: Any, val: Any, leaf: Any, path: str, sizes: Any, later: Any) -> None:
    if not isinstance(val, tl_core.Tensor):
        if hasattr(val, "node"):
            if isinstance(leaf, bool) or not isinstance(leaf, (int, float)):
                raise RuntimeError(f"Expected input at {path} to be of type int, but got {type(leaf)}")
            _check_size(ep, val.node._expr, int(leaf), path, sizes, later)
        return
    if not isinstance(leaf, tl_core.Tensor):
        raise RuntimeError(f"Expected input at {path} to be a tensor, but got {type(leaf)}")
    if len(val.shape) != leaf.dim():
        raise RuntimeError(
            f"Unexpected number of dimensions in input at {path}.shape (expected {list(val.shape)}, got "
            f"{list(leaf.shape)})"
        )
    for i, (expected, actual) in enumerate(zip(val.shape, leaf.shape, strict=True)):
        _check_size(ep, sympify(expected), int(actual), f"{path}.shape[{i}]", sizes, later)


def _check_size(ep: Any, e: Expr, actual: int, path: str, sizes: Any, later: Any) -> None:
    if isinstance(e, Integer):
        if e.value != actual:
            raise RuntimeError(f"Expected input at {path} to be equal to {e.value}, but got {actual}")
        return
    if not e.is_symbol:
        later.append((e, actual, path))
    elif e in sizes and sizes[e][0] != actual:
        raise RuntimeError(f"Expected input at {path} to be equal to {sizes[e][0]}, but got {actual}")
    else:
        sizes.setdefault(e, (actual, path))
    interval = ep.range_constraints.get(e)
    if interval is None:
        return
    if interval.lower not in (-int_oo,) and actual < interval.lower and interval.lower > 2:
        raise RuntimeError(f"Expected input at {path} to be >= {interval.lower}, but got {actual}")
    if actual > interval.upper:
        raise RuntimeError(f"Expected input at {path} to be <= {interval.upper}, but got {actual}")


def _check_derived(sizes: Any, later: Any) -> None:
    for e, actual, path in later:
        values = {s: sizes[s][0] for s in e.free_symbols if s in sizes}
        if len(values) == len(e.free_symbols):
            expected = e.evaluate(values)
            if expected != actual:
                raise RuntimeError(f"Expected input at {path} to be equal to {expected}, but got {actual}")
        elif len(e.free_symbols) == 1 and not values:
            (symbol,) = e.free_symbols
            rate, offset = e.evaluate({symbol: 1}) - e.evaluate({symbol: 0}), e.evaluate({symbol: 0})
            if (actual - offset) % rate:
                raise RuntimeError(
                    f"Expected input at {path} to be of the form {e}, where {symbol} is an integer"
                )
            sizes[symbol] = ((actual - offset) // rate, path)
