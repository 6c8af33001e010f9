"""`make_fx`: a function runs on examples, and the operators that it ends in become a graph."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import tl_core
import tl_core.operators.packets
import tl_nn
from tl_core.dispatch.modes import no_modes
from tl_core.pytree import TreeSpec, tree_flatten, tree_map
from tl_core.subclasses import FakeTensor
from tl_core.subclasses.fake_tensor import maybe_get_fake_mode
from tl_core.subclasses.python_dispatch import disable_current_modes
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ..fx._lazy_graph_module import _make_graph_module
from ..fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from ..fx.graph_module import GraphModule
from ..fx.interpreter import Interpreter
from ..fx.node import Node, map_aggregate
from ..symbolic.dims import DimDynamic
from ..symbolic.expression import Expr, Integer, Symbol, sympify
from .geometry import Geometry, alike, probes_of, sizes_of
from .graphs import eliminate_dead
from .probes import LANES
from .proxy_mode import ProxyTorchDispatchMode, PythonKeyTracer
from .range_check import RangeCheck
from .symbolic_fakes import mode_for

__all__ = ["make_fx"]

Tensor = tl_core.Tensor
_MODES = ("real", "fake", "symbolic")


def make_fx(
    f: Callable[..., Any],
    decomposition_table: dict[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    record_stack_traces: bool = False,
    proxy_module_inputs: bool = False,
    _disable_torch_fn_metadata_mode: bool = False,
) -> Callable[..., GraphModule]:
    """A function that runs `f` on examples, and returns a graph of the operators that ran.

    Transforms such as `func.grad` and the backward pass have become operators by then, and operators that are made of
    others have been taken apart.

    Args:
        f: the function.
        decomposition_table: from operators to functions that take their place.
        tracing_mode: `real`: on the examples; `fake`: on tensors without memory; `symbolic`: on these, and sizes stay
            symbols.
        pre_dispatch: whether operators are recorded above autograd, where those made of others are whole.
        record_module_stack: whether nodes tell in which modules they ran.
        record_stack_traces: whether nodes tell the lines of the program that they come from.
        _allow_non_fake_inputs, _allow_fake_constant, proxy_module_inputs, _disable_torch_fn_metadata_mode: accepted.
        _error_on_data_dependent_ops: whether asking for the value of a traced tensor raises.

    Returns:
        The function.

    Raises:
        AssertionError: the mode is none of the three.

    Example:
        >>> print(make_fx(lambda x: x.sin() + 1)(tl_core.ones(2)).code.strip())
        def forward(self, x_1):
            sin = torch.ops.aten.sin.default(x_1);  x_1 = None
            add = torch.ops.aten.add.Tensor(sin, 1);  sin = None
            return add
    """
    if tracing_mode not in _MODES:
        raise AssertionError(f"tracing_mode must be one of {', '.join(_MODES)}, got {tracing_mode!r}")

    @functools.wraps(f)
    def trace_call(*args: Any) -> GraphModule:
        trace = functools.partial(
            _Trace,
            f,
            table=decomposition_table,
            pre_dispatch=pre_dispatch,
            stacks=record_stack_traces,
            modules=record_module_stack,
            strict=_error_on_data_dependent_ops,
            fake_mode=mode_for(args),
        )
        if tracing_mode == "symbolic" and not pre_dispatch:
            return _in_lanes(trace, args)
        return trace(tracing_mode).run(args)

    return trace_call


def _argument_names(f: Any, args: tuple[Any, ...]) -> list[str]:
    """The names of the arguments of a call by position."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return [f"arg{i}" for i in range(len(args))]
    names = []
    for i in range(len(args)):
        plain = i < len(parameters) and parameters[i].kind is not inspect.Parameter.VAR_POSITIONAL
        names.append(parameters[i].name if plain else f"arg{i}")
    return names


class _Trace:
    """One run of a function."""

    def __init__(
        self,
        f: Any,
        tracing_mode: str,
        *,
        table: Any,
        pre_dispatch: bool,
        stacks: bool,
        modules: bool,
        strict: bool,
        fake_mode: Any,
    ) -> None:
        self.f, self.tracing_mode = f, tracing_mode
        self.fake_mode, self.env = fake_mode, fake_mode.shape_env
        self.tracer = PythonKeyTracer()
        self.tracer.root = tl_nn.Module()
        self.mode = ProxyTorchDispatchMode(
            self.tracer,
            tracing_mode,
            pre_dispatch=pre_dispatch,
            decomposition_table=table,
            fake_mode=fake_mode,
            error_on_data_dependent_ops=strict,
            record_stack_traces=stacks,
            module_stack=(dict) if modules else None,
            records_grad_mode=pre_dispatch,
        )

    def run(self, args: tuple[Any, ...]) -> GraphModule:
        """Runs the function on examples.

        Args:
            args: the examples.
        """
        flat, in_spec = tree_flatten(args)
        names = _argument_names(self.f, args)
        owners = [name for name, a in zip(names, args, strict=True) for _ in tree_flatten(a)[0]]
        inputs = [
            self._input(value, f"{owner}_1", i)
            for i, (value, owner) in enumerate(zip(flat, owners, strict=True))
        ]
        with self.mode:
            out = _trace_boundary(self.f, in_spec.unflatten(inputs))
        result = self._result(out)
        self.mode.recorder.restore_grad()
        self.tracer.graph.output(result)
        eliminate_dead(self.tracer.graph)
        return self._module(names, in_spec)

    def _module(self, names: list[str], in_spec: TreeSpec) -> GraphModule:
        if any(not child.is_leaf() for child in in_spec.children_specs):
            self.tracer.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, in_spec, None)))
        name = getattr(self.f, "__name__", type(self.f).__name__)
        module = _make_graph_module(
            self.tracer.root, self.tracer.graph, name if name.isidentifier() else "lambda"
        )
        module.meta["shape_env"] = self.env
        object.__setattr__(module, "shape_env", self.env)
        return module

    def _input(self, value: Any, name: str, i: int) -> Any:
        node = self.tracer.graph.placeholder(name)
        example = self._stands_for(value, f"L['t_{i}']")
        if isinstance(example, (Tensor, SymInt, SymFloat, SymBool)):
            self.mode.track(example, node)
        node.meta["val"] = example
        return example

    def _stands_for(self, value: Any, source: str) -> Any:
        if self.tracing_mode == "real":
            return value
        if isinstance(value, FakeTensor) or not isinstance(value, Tensor):
            return value
        return self.fake_mode.from_tensor(value, static_shapes=self.tracing_mode == "fake", source=source)

    def _result(self, out: Any) -> Any:
        def node_of(leaf: Any) -> Any:
            if isinstance(leaf, (Tensor, SymInt, SymFloat, SymBool)):
                return self.mode.node_of(leaf)
            return leaf

        return map_aggregate(out, node_of) if isinstance(out, (list, tuple, dict)) else node_of(out)


def _trace_boundary(f: Any, args: tuple[Any, ...]) -> Any:
    """Calls the function; stacks that are noted of nodes end here."""
    return f(*args)


def traced_operator(
    call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, dynamic: bool
) -> Callable[..., Any]:
    """A graph of a call that takes the arguments that the call takes: `opcheck` compares both.

    Args:
        call: what is called.
        args, kwargs: the arguments of the trace.
        dynamic: whether sizes stay symbols, and operators are recorded above autograd, where they are whole.

    Returns:
        The function.
    """
    flat, spec = tree_flatten((args, kwargs))
    at_tensors = [i for i, leaf in enumerate(flat) if isinstance(leaf, Tensor)]
    out_spec: list[TreeSpec] = []

    def program(*tensors: Any) -> Any:
        leaves = list(flat)
        for i, t in zip(at_tensors, tensors, strict=True):
            leaves[i] = t
        positional, named = spec.unflatten(leaves)
        results, result_spec = tree_flatten(call(*positional, **named))
        out_spec.append(result_spec)
        return tuple(results)

    mode = "symbolic" if dynamic else "fake"
    graph = make_fx(program, tracing_mode=mode, pre_dispatch=dynamic)(*(flat[i] for i in at_tensors))

    def run(*args: Any, **kwargs: Any) -> Any:
        leaves = tree_flatten((args, kwargs))[0]
        return out_spec[0].unflatten(list(graph(*(leaves[i] for i in at_tensors))))

    return run


# ---- symbolic sizes below autograd
_DO_NOT_FIT = (RuntimeError, ValueError, IndexError)
_DEPENDS = (
    "make_fx(tracing_mode='symbolic'): the operators of the program depend on the sizes of its inputs; "
    "tracing_mode='fake' records those of the example's sizes"
)


def _in_lanes(trace: Callable[..., _Trace], args: tuple[Any, ...]) -> GraphModule:
    """Traces at the example's sizes and at two others; numbers that differ are expressions of the sizes.

    Below autograd, kernels of composite operators and formulas of derivatives have turned sizes into numbers. The same
    program at three sizes shows which of them are sizes, and of what.
    """
    mode = mode_for(args)
    env = mode.shape_env
    flat, in_spec = tree_flatten(args)
    symbols = _new_symbols(env, flat)
    probes = probes_of(env)
    traces = []
    for lane in range(LANES):
        values = probes.lane(lane)
        examples = [_at(mode, value, exprs, values) for value, exprs in zip(flat, symbols, strict=True)]
        one = trace("fake", fake_mode=mode)
        traces.append((one.run(in_spec.unflatten(examples)), one))
    aligned = _Aligned(traces, env, flat, symbols)
    module = aligned.module()

    def holds(at: dict[Symbol, Any]) -> bool:
        examples = [_at(mode, value, exprs, at) for value, exprs in zip(flat, symbols, strict=True)]
        return aligned.holds(trace("fake", fake_mode=mode).run(in_spec.unflatten(examples)), at)

    free = sorted({s for exprs in symbols for e in exprs for s in e.free_symbols}, key=str)
    if not RangeCheck(probes, free, holds, _DO_NOT_FIT, 0).run():
        raise RuntimeError(_DEPENDS)
    return module


def _new_symbols(env: Any, flat: list[Any]) -> list[list[Expr]]:
    """Symbols for the sizes of tensors, and for ints."""
    symbols: list[list[Expr]] = []
    for i, value in enumerate(flat):
        if isinstance(value, Tensor):
            symbols.append(
                [
                    env.create_symbol(n, f"L['t_{i}'].size()[{d}]", DimDynamic.DUCK)
                    for d, n in enumerate(value.shape)
                ]
            )
        elif isinstance(value, int) and not isinstance(value, bool):
            symbols.append([env.create_unspecified_symbol(value, f"L['t_{i}']", DimDynamic.DYNAMIC)])
        else:
            symbols.append([])
    return symbols


def parts_of(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of an operator that is made of others, by its parts, which the mode that is on sees.

    Where sizes are symbols, its code, which is native and reads numbers, runs at the example's sizes and at two others,
    above autograd, so that parts are whole; the graphs are aligned, and what they say runs.

    Args:
        op: the operator.
        args, kwargs: fakes, symbolic numbers, and plain values.

    Returns:
        The results; NotImplemented where its parts depend on sizes.
    """
    flat, spec = tree_flatten((args, kwargs))
    mode = maybe_get_fake_mode([leaf for leaf in flat if isinstance(leaf, Tensor)])
    if mode is None or mode.symbolic is None or not mode.symbolic.concerns(flat, {}):
        return op.decompose(*args, **kwargs)
    out_spec: list[TreeSpec] = []

    def program(*leaves: Any) -> Any:
        positional, named = spec.unflatten(list(leaves))
        results, result_spec = tree_flatten(op.decompose(*positional, **named))
        out_spec.append(result_spec)
        return tuple(results)

    def trace(examples: tuple[Any, ...]) -> tuple[GraphModule, _Trace]:
        one = _Trace(
            program,
            "fake",
            table=None,
            pre_dispatch=True,
            stacks=False,
            modules=False,
            strict=True,
            fake_mode=mode,
        )
        return one.run(examples), one

    traces = []
    with disable_current_modes():
        for lane in range(LANES):
            try:
                traces.append(trace(tuple(_in_lane(leaf, lane, mode) for leaf in flat)))
            except _DO_NOT_FIT:
                return NotImplemented
        exprs = [_exprs_of(leaf) for leaf in flat]
        try:
            aligned = _Aligned(traces, mode.shape_env, flat, exprs)
            graph = aligned.module()
        except RuntimeError:
            return NotImplemented
        probes = probes_of(mode.shape_env)
        symbols = sorted({s for several in exprs for e in several for s in e.free_symbols}, key=str)
        low = probes.at_end(True)
        for at in [*([] if low is None else [low]), *probes.beside(symbols)]:
            try:
                module, _ = trace(tuple(_at_values(leaf, at, mode) for leaf in flat))
            except _DO_NOT_FIT:
                continue
            if not aligned.holds(module, at):
                return NotImplemented
    return out_spec[0].unflatten(list(Interpreter(graph).run(*flat)))


def _exprs_of(leaf: Any) -> list[Expr]:
    if isinstance(leaf, FakeTensor):
        return sizes_of(leaf)
    return [leaf.node.expr] if isinstance(leaf, SymInt) else []


def _in_lane(leaf: Any, lane: int, mode: Any) -> Any:
    """An argument as it is in a lane."""
    if isinstance(leaf, SymInt):
        return int(leaf.node.expr.evaluate(probes_of(mode.shape_env).lane(lane)))
    if not isinstance(leaf, FakeTensor):
        return leaf
    symbolic = leaf.symbolic
    elem = leaf.elem if symbolic is None or lane == 0 else symbolic.lane(leaf, lane)
    with no_modes():
        return FakeTensor(mode, elem, leaf.device, leaf.constant)


def _at_values(leaf: Any, at: dict[Symbol, Any], mode: Any) -> Any:
    """An argument as it is where the symbols have other values."""
    if isinstance(leaf, SymInt):
        return int(leaf.node.expr.evaluate(at))
    if not isinstance(leaf, FakeTensor):
        return leaf
    with no_modes():
        elem = alike(leaf.elem, tuple(int(e.evaluate(at)) for e in sizes_of(leaf)))
        return FakeTensor(mode, elem, leaf.device, leaf.constant)


def _at(mode: Any, value: Any, exprs: list[Expr], values: dict[Symbol, Any]) -> Any:
    """An example of other sizes, without memory."""
    if not isinstance(value, Tensor):
        return int(exprs[0].evaluate(values)) if exprs else value
    sizes = [int(e.evaluate(values)) for e in exprs]
    if sizes == list(value.shape):
        return mode.from_tensor(value, static_shapes=True)
    with no_modes():
        strides = value.stride()
        order = sorted(range(value.ndim), key=lambda d: -strides[d])
        elem = tl_core.empty([sizes[d] for d in order], dtype=value.dtype, device="meta")
        fake = FakeTensor(mode, elem.permute([order.index(d) for d in range(value.ndim)]), value.device)
    return fake.requires_grad_() if value.requires_grad else fake


class _Number(NamedTuple):
    """A number of a graph that depends on sizes.

    Args:
        expr: the expression.
        pytype: int or float.
    """

    expr: Expr
    pytype: type


def _structure(nodes: list[Node]) -> list[Any]:
    return [(n.op, n.target if n.op != "get_attr" else "", n.name) for n in nodes]


def _same(argument: Any, expected: Any, at: dict[Symbol, Any]) -> bool:
    """Whether arguments are those of an aligned graph at values of the symbols."""
    if isinstance(expected, _Number):
        return bool(argument == expected.expr.evaluate(at))
    if isinstance(expected, Node):
        return isinstance(argument, Node)
    if isinstance(expected, (list, tuple)):
        return len(argument) == len(expected) and all(
            _same(a, b, at) for a, b in zip(argument, expected, strict=True)
        )
    if isinstance(expected, dict):
        return argument.keys() == expected.keys() and all(
            _same(argument[k], b, at) for k, b in expected.items()
        )
    return bool(type(argument) is type(expected) and argument == expected)


class _Aligned:
    """Three graphs of one program, node by node."""

    def __init__(self, traces: list[Any], env: Any, flat: list[Any], symbols: list[list[Expr]]) -> None:
        self.modules = [m for m, _ in traces]
        self.env, self.probes = env, probes_of(env)
        self.trace = traces[0][1]
        self.mode = self.trace.mode
        self.exprs: list[Expr] = [e for exprs in symbols for e in exprs if not isinstance(e, Integer)]
        self.symbols = symbols
        self.structure: list[Any] = []
        self.arguments: list[Any] = []  # the arguments of each node
        for e in self.exprs:
            self.probes.remember(e)

    def module(self) -> GraphModule:
        """The graph with expressions in place of the numbers that differ."""
        columns = [list(m.graph.nodes) for m in self.modules]
        graph: Graph = self.modules[0].graph
        self._same_structure(columns)
        self.structure = _structure(columns[0])
        self._sources(columns[0])
        self.mode.tracer.graph = graph
        for row in zip(*columns, strict=True):
            node = row[0]
            self._sizes(row)
            arguments = self._merge([(n.args, n.kwargs) for n in row])
            self.arguments.append(arguments)
            if node.op in ("placeholder", "get_attr"):
                continue
            with graph.inserting_before(node):
                args, kwargs = self._with_nodes(arguments)
            node.args, node.kwargs = tuple(args), dict(kwargs)
        eliminate_dead(graph)
        self.modules[0].recompile()
        return self.modules[0]

    def holds(self, module: GraphModule, at: dict[Symbol, Any]) -> bool:
        """Whether the graph of a trace at values of the symbols is what this one says.

        Args:
            module: the graph.
            at: the values.
        """
        nodes = list(module.graph.nodes)
        return _structure(nodes) == self.structure and all(
            _same((n.args, n.kwargs), arguments, at)
            for n, arguments in zip(nodes, self.arguments, strict=True)
        )

    def _with_nodes(self, arguments: Any) -> Any:
        """Arguments with nodes in the place of numbers that depend on sizes."""

        def node_or_constant(a: Any) -> Any:
            return self.mode.sizes.node_of_expr(a.expr, a.pytype) if isinstance(a, _Number) else a

        return tree_map(node_or_constant, arguments, is_leaf=lambda a: isinstance(a, _Number))

    def _same_structure(self, columns: list[list[Node]]) -> None:
        shapes = [_structure(c) for c in columns]
        if any(s != shapes[0] for s in shapes[1:]):
            raise RuntimeError(_DEPENDS)

    def _sources(self, nodes: list[Node]) -> None:
        sizes = self.mode.sizes
        inputs = [n for n in nodes if n.op == "placeholder"]
        for node, exprs in zip(inputs, self.symbols, strict=True):
            value = node.meta.get("val")
            for d, e in enumerate(exprs):
                if isinstance(e, Symbol) and isinstance(value, Tensor):
                    sizes.add_source(e, lambda node=node, d=d, e=e: sizes.node_of_size(node, d, e))
                elif isinstance(e, Symbol):
                    sizes.add_source(e, lambda node=node: node)
                elif isinstance(value, Tensor) and not isinstance(e, Integer) and not sizes.has_node(e):
                    sizes.node_of_size(node, d, e)

    def _sizes(self, row: tuple[Node, ...]) -> None:
        """The sizes of a node's value as expressions."""
        values: list[Any] = [n.meta.get("val") for n in row]
        if not isinstance(values[0], FakeTensor):
            return
        sizes = []
        metas = [v.elem for v in values]
        for numbers in zip(*(m.shape for m in metas), strict=True):
            e = self._fit(tuple(numbers))
            sizes.append(self.env.create_symintnode(e, hint=numbers[0]) if e is not None else numbers[0])
            if e is not None and not isinstance(e, Integer) and e not in self.exprs:
                self.exprs.append(e)
        if any(isinstance(n, SymInt) for n in sizes):
            Geometry(self.env, tuple(sizes), metas[1:]).attached_to(values[0])

    def _fit(self, numbers: tuple[Any, ...]) -> Expr | None:
        if all(n == numbers[0] for n in numbers):
            return sympify(numbers[0])
        return self.probes.fit(numbers, self.exprs[:24])

    def _merge(self, parts: list[Any]) -> Any:
        first = parts[0]
        if isinstance(first, Node):
            return first
        if isinstance(first, (list, tuple)):
            if any(len(p) != len(first) for p in parts):
                raise RuntimeError(
                    "make_fx(tracing_mode='symbolic'): the length of an argument depends on the sizes"
                )
            items = [self._merge([p[i] for p in parts]) for i in range(len(first))]
            return items if isinstance(first, list) else tuple(items)
        if isinstance(first, dict):
            return {k: self._merge([p[k] for p in parts]) for k in first}
        if all(type(p) is type(first) and p == first for p in parts):
            return first
        return self._number(parts)

    def _number(self, parts: list[Any]) -> Any:
        if isinstance(parts[0], bool) or not all(isinstance(p, int) for p in parts):
            e = self._inverse(parts)
        else:
            e = self._fit(tuple(parts))
        if e is None:
            raise RuntimeError(
                f"make_fx(tracing_mode='symbolic'): the number {parts[0]} changes with the sizes of the "
                "inputs, in a way "
                "that is no expression of them that is known"
            )
        return _Number(e, type(parts[0]))

    def _inverse(self, parts: list[Any]) -> Expr | None:
        """A float that is a size, or one over a size."""
        from ..symbolic.canonical_forms import call

        if not all(isinstance(p, float) for p in parts):
            return None
        for e in self.exprs:
            values = self.probes.lanes_of(e)
            if all(p == float(v) for p, v in zip(parts, values, strict=True)):
                return call("ToFloat", e)
            for less in (0, 1):
                above = round(parts[0] * (values[0] - less), 9)
                if above and all(
                    v > less and p == above / (v - less) for p, v in zip(parts, values, strict=True)
                ):
                    top = Integer(int(above)) if above.is_integer() else sympify(above)
                    return call("IntTrueDiv" if above.is_integer() else "FloatTrueDiv", top, e - less)
        return None
