"""`make_fx`: a function runs on examples, and the operators that it ends in become a graph."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tl_core
import tl_core.ops
import tl_nn
from tl_core.pytree import TreeSpec, tree_flatten
from tl_core.symbolic_numbers import SymBool, SymFloat, SymInt

from ..fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from ..fx.graph_module import GraphModule
from ..fx.node import Node, map_aggregate
from ..symbolic.dims import DimDynamic
from ..symbolic.expression import Expr, Integer, Symbol, sympify
from ..symbolic.shape_env import ShapeEnv
from . import fake as fakes
from .fake import FakeTensor, fake_of, probes_of
from .graphs import eliminate_dead
from .probes import LANES
from .proxy_mode import ProxyTorchDispatchMode, PythonKeyTracer

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
    def traced(*args: Any) -> GraphModule:
        trace = functools.partial(
            _Trace,
            f,
            table=decomposition_table,
            pre_dispatch=pre_dispatch,
            stacks=record_stack_traces,
            modules=record_module_stack,
            strict=_error_on_data_dependent_ops,
        )
        if tracing_mode == "symbolic" and not pre_dispatch:
            return _in_lanes(trace, args)
        return trace(tracing_mode).run(args)

    return traced


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
        env: ShapeEnv | None = None,
        lane: int | None = None,
    ) -> None:
        self.f, self.tracing_mode = f, tracing_mode
        self.env = env or ShapeEnv()
        self.lane = lane
        self.tracer = PythonKeyTracer()
        self.tracer.root = tl_nn.Module()
        self.mode = ProxyTorchDispatchMode(
            self.tracer,
            tracing_mode,
            pre_dispatch=pre_dispatch,
            decomposition_table=table,
            shape_env=self.env,
            error_on_data_dependent_ops=strict,
            record_stack_traces=stacks,
            module_stack=(dict) if modules else None,
        )

    def run(self, args: tuple[Any, ...]) -> GraphModule:
        """Runs the function on examples.

        Args:
            args: the examples.
        """
        flat, in_spec = tree_flatten(args)
        names = _argument_names(self.f, args)
        owners = [name for name, a in zip(names, args, strict=True) for _ in tree_flatten(a)[0]]
        given = [
            self._input(value, f"{owner}_1", i)
            for i, (value, owner) in enumerate(zip(flat, owners, strict=True))
        ]
        fakes._env_in_use.append(self.env)
        try:
            with self.mode:
                out = _trace_boundary(self.f, in_spec.unflatten(given))
        finally:
            fakes._env_in_use.pop()
        self.tracer.graph.output(self._result(out))
        eliminate_dead(self.tracer.graph)
        return self._module(names, in_spec)

    def _module(self, names: list[str], in_spec: TreeSpec) -> GraphModule:
        if any(not child.is_leaf() for child in in_spec.children_specs):
            self.tracer.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, in_spec, None)))
        name = getattr(self.f, "__name__", type(self.f).__name__)
        made = GraphModule(self.tracer.root, self.tracer.graph, name if name.isidentifier() else "lambda")
        made.meta["shape_env"] = self.env
        object.__setattr__(made, "shape_env", self.env)
        return made

    def _input(self, value: Any, name: str, i: int) -> Any:
        node = self.tracer.graph.placeholder(name)
        made = self._stands_for(value, f"L['t_{i}']")
        if isinstance(made, (Tensor, SymInt, SymFloat, SymBool)):
            self.mode.track(made, node)
        node.meta["val"] = made
        return made

    def _stands_for(self, value: Any, source: str) -> Any:
        if self.tracing_mode == "real":
            return value
        if isinstance(value, FakeTensor):
            if value.requires_grad and not self.mode.pre_dispatch:
                value.record_gradients()
            return value
        if isinstance(value, Tensor):
            made = self._fake(value, source)
            if value.requires_grad and not self.mode.pre_dispatch:
                made.record_gradients()
            return made
        return value

    def _fake(self, value: Any, source: str) -> FakeTensor:
        if self.tracing_mode == "fake":
            return fake_of(value)
        sizes = [
            self.env.create_symbol(n, f"{source}.size()[{d}]", DimDynamic.DUCK)
            for d, n in enumerate(value.shape)
        ]
        return fake_of(value, self.env, sizes)

    def _result(self, out: Any) -> Any:
        def node_of(leaf: Any) -> Any:
            if isinstance(leaf, (Tensor, SymInt, SymFloat, SymBool)):
                return self.mode.node_of(leaf)
            return leaf

        return map_aggregate(out, node_of) if isinstance(out, (list, tuple, dict)) else node_of(out)


def _trace_boundary(f: Any, args: tuple[Any, ...]) -> Any:
    """Calls the function; stacks that are noted of nodes end here."""
    return f(*args)


# ---- symbolic sizes below autograd
def _in_lanes(trace: Callable[..., _Trace], args: tuple[Any, ...]) -> GraphModule:
    """Traces at the example's sizes and at two others; numbers that differ are expressions of the sizes.

    Below autograd, kernels of composite operators and formulas of derivatives have turned sizes into numbers. The same
    program at three sizes shows which of them are sizes, and of what.
    """
    env = ShapeEnv()
    flat, in_spec = tree_flatten(args)
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
    probes = probes_of(env)
    made = []
    for lane in range(LANES):
        examples = [_at(value, exprs, probes.lane(lane)) for value, exprs in zip(flat, symbols, strict=True)]
        one = trace("fake", env=env)
        made.append((one.run(in_spec.unflatten(examples)), one))
    return _Aligned(made, env, flat, symbols).module()


def _at(value: Any, exprs: list[Expr], values: dict[Symbol, Any]) -> Any:
    """An example of other sizes, without memory."""
    if isinstance(value, Tensor):
        sizes = [int(e.evaluate(values)) for e in exprs]
        if sizes == list(value.shape):
            return fake_of(value)
        lane = tl_core.empty(sizes, dtype=value.dtype, device="meta")
        if value.ndim > 1 and not value.is_contiguous():
            order = sorted(range(value.ndim), key=lambda d: -value.stride(d))
            lane = tl_core.empty([sizes[d] for d in order], dtype=value.dtype, device="meta")
            lane = lane.permute([order.index(d) for d in range(value.ndim)])
        made = fake_of(lane)
        made.__dict__["_claimed"], made.__dict__["_wants_grad"] = value.device, value.requires_grad
        return made
    return int(exprs[0].evaluate(values)) if exprs else value


class _Aligned:
    """Three graphs of one program, node by node."""

    def __init__(self, made: list[Any], env: ShapeEnv, flat: list[Any], symbols: list[list[Expr]]) -> None:
        self.modules = [m for m, _ in made]
        self.env, self.probes = env, probes_of(env)
        self.trace = made[0][1]
        self.mode = self.trace.mode
        self.known: list[Expr] = [e for exprs in symbols for e in exprs if not isinstance(e, Integer)]
        self.symbols = symbols
        for e in self.known:
            self.probes.remember(e)

    def module(self) -> GraphModule:
        """The graph with expressions in place of the numbers that differ."""
        columns = [list(m.graph.nodes) for m in self.modules]
        graph: Graph = self.modules[0].graph
        self._same_structure(columns)
        self._sources(columns[0])
        self.mode.tracer.graph = graph
        for row in zip(*columns, strict=True):
            node = row[0]
            self._sizes(row)
            if node.op in ("placeholder", "get_attr"):
                continue
            with graph.inserting_before(node):
                args = self._merged([n.args for n in row])
                kwargs = self._merged([n.kwargs for n in row])
            node.args, node.kwargs = tuple(args), dict(kwargs)
        eliminate_dead(graph)
        self.modules[0].recompile()
        return self.modules[0]

    def _same_structure(self, columns: list[list[Node]]) -> None:
        shapes = [[(n.op, n.target if n.op != "get_attr" else "", n.name) for n in c] for c in columns]
        if any(s != shapes[0] for s in shapes[1:]):
            raise RuntimeError(
                "make_fx(tracing_mode='symbolic'): the operators of the program depend on the sizes of its inputs; "
                "tracing_mode='fake' records those of the example's sizes"
            )

    def _sources(self, nodes: list[Node]) -> None:
        inputs = [n for n in nodes if n.op == "placeholder"]
        for node, exprs in zip(inputs, self.symbols, strict=True):
            value = node.meta.get("val")
            for d, e in enumerate(exprs):
                if isinstance(e, Symbol) and isinstance(value, Tensor):
                    self.mode._sources.setdefault(
                        e, lambda node=node, d=d, e=e: self.mode._size_node(node, d, e)
                    )
                elif isinstance(e, Symbol):
                    self.mode._sources.setdefault(e, lambda node=node: node)

    def _sizes(self, row: tuple[Node, ...]) -> None:
        """The sizes of a node's value as expressions."""
        values = [n.meta.get("val") for n in row]
        if not isinstance(values[0], FakeTensor):
            return
        found = []
        for numbers in zip(*(v._lanes[0].shape for v in values), strict=True):  # type: ignore[union-attr]
            e = self._fitted(tuple(numbers))
            found.append(self.env.create_symintnode(e, hint=numbers[0]) if e is not None else numbers[0])
            if e is not None and not isinstance(e, Integer) and e not in self.known:
                self.known.append(e)
        if any(isinstance(n, SymInt) for n in found):
            values[0].__dict__["_lanes"] = [v._lanes[0] for v in values]  # type: ignore[union-attr]
            values[0].__dict__["_sizes"] = tuple(found)

    def _fitted(self, numbers: tuple[Any, ...]) -> Expr | None:
        if all(n == numbers[0] for n in numbers):
            return sympify(numbers[0])
        return self.probes.fit(numbers, self.known[:24])

    def _merged(self, parts: list[Any]) -> Any:
        first = parts[0]
        if isinstance(first, Node):
            return first
        if isinstance(first, (list, tuple)):
            if any(len(p) != len(first) for p in parts):
                raise RuntimeError(
                    "make_fx(tracing_mode='symbolic'): the length of an argument depends on the sizes"
                )
            made = [self._merged([p[i] for p in parts]) for i in range(len(first))]
            return made if isinstance(first, list) else tuple(made)
        if isinstance(first, dict):
            return {k: self._merged([p[k] for p in parts]) for k in first}
        if all(type(p) is type(first) and p == first for p in parts):
            return first
        return self._number(parts)

    def _number(self, parts: list[Any]) -> Any:
        if isinstance(parts[0], bool) or not all(isinstance(p, int) for p in parts):
            e = self._inverse(parts)
        else:
            e = self._fitted(tuple(parts))
        if e is None:
            raise RuntimeError(
                f"make_fx(tracing_mode='symbolic'): the number {parts[0]} changes with the sizes of the "
                "inputs, in a way "
                "that is no expression of them that is known"
            )
        return self.mode.node_of_expr(e, type(parts[0]))

    def _inverse(self, parts: list[Any]) -> Expr | None:
        """A float that is a size, or one over a size."""
        from ..symbolic.expression import call

        if not all(isinstance(p, float) for p in parts):
            return None
        for e in self.known:
            values = self.probes.lanes_of(e)
            if all(p == float(v) for p, v in zip(parts, values, strict=True)):
                return call("ToFloat", e)
            if all(v and p == 1.0 / v for p, v in zip(parts, values, strict=True)):
                return call("IntTrueDiv", Integer(1), e)
        return None
