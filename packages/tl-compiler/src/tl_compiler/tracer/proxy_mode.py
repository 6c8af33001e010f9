"""The mode that records: every operator becomes a node of a graph, and runs on what stands for its arguments."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import Any

import tl_core
import tl_core.operators.packets
import tl_core.symbolic.arithmetic
from tl_core import pytree
from tl_core.dispatch import grad_mode
from tl_core.dispatch.keys import DispatchKey
from tl_core.dispatch.modes import modes_in_force, no_modes
from tl_core.operators.public import FORMULAS, public_call
from tl_core.operators.sizes import PythonOperator
from tl_core.subclasses import FakeTensor
from tl_core.subclasses.fake_mode import require_gradients
from tl_core.subclasses.python_dispatch import TorchDispatchMode, TorchDispatchModeKey
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ..fx.experimental.unbacked import note_unbacked_bindings
from ..fx.graph import Graph
from ..fx.node import Node
from ..fx.proxy import Proxy, TracerBase
from ..symbolic.expression import Call, Expr, Logic, Product, Relation, Sum, Symbol, sympify
from ..symbolic.user_lines import user_stack
from .geometry import learn
from .schemas import schema_of
from .symbolic_fakes import SymbolicFakes, unbacked_number

__all__ = ["ProxyTorchDispatchMode", "PythonKeyTracer", "current_mode"]

Tensor = tl_core.Tensor
_SYMBOLIC = (SymInt, SymFloat, SymBool)
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "IntTrueDiv": operator.truediv,
    "FloatTrueDiv": operator.truediv,
    "PowByNatural": operator.pow,
    "FloatPow": operator.pow,
    "Abs": abs,
    "RoundToInt": round,
    "BitwiseFn_bitwise_and": operator.and_,
    "BitwiseFn_bitwise_or": operator.or_,
    "BitwiseFn_bitwise_xor": operator.xor,
}
_RELATIONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _function_of(name: str) -> Callable[..., Any]:
    """What a graph does for a function of expressions."""
    import math

    function = _FUNCTIONS.get(name)
    if function is not None:
        return function
    later: dict[str, Callable[..., Any]] = {
        "Max": tl_core.symbolic.arithmetic.sym_max,
        "Min": tl_core.symbolic.arithmetic.sym_min,
        "ToFloat": tl_core.symbolic.arithmetic.sym_float,
        "TruncToInt": math.trunc,
        "FloorToInt": math.floor,
        "CeilToInt": math.ceil,
    }
    if name in later:
        return later[name]
    return getattr(tl_core.symbolic.arithmetic, f"_sym_{name.removeprefix('OpaqueUnaryFn_')}")


class PythonKeyTracer(TracerBase):
    """Makes the nodes of a graph that operators are recorded in."""

    def __init__(self) -> None:
        super().__init__()
        self.graph = Graph()
        self.root: Any = None

    def create_arg(self, a: Any) -> Any:
        """What stands for a value among the arguments of a node.

        Args:
            a: the value.

        Returns:
            The argument.
        """
        if isinstance(a, _SYMBOLIC):
            mode = current_mode()
            if mode is not None and mode.tracer is self:
                return mode.node_of_number(a)
        return super().create_arg(a)


def current_mode() -> ProxyTorchDispatchMode | None:
    """The mode that records now; None if none does."""
    for mode in reversed(modes_in_force()):
        if isinstance(mode, ProxyTorchDispatchMode):
            return mode
    return _handling[-1] if _handling else None


# What functions in Python call, so that graphs above autograd meet them, too.
_WHOLE = frozenset({"squared_error", "smooth_l1_error", "huber_error"})
_handling: list[ProxyTorchDispatchMode] = []  # those whose handlers run, which are off meanwhile


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Records every operator as a node.

    Args:
        tracer: holds the graph.
        tracing_mode: `real`: operators run on the tensors; `fake`, `symbolic`: on what stands for them.
        pre_dispatch: whether it stands above autograd, where composite operators are whole.
        decomposition_table: from operators to functions that take their place.
        fake_mode: the mode of what stands for tensors, with the environment of symbols; None where they are real.
        constant: makes the node of a tensor that the program holds; by default an attribute of the root.
        module_stack: tells in which modules the program is.
        error_on_data_dependent_ops: whether an operator that needs elements raises.
        record_stack_traces: whether nodes have the program's lines.
        records_grad_mode: whether the graph switches the recording of derivatives where the program does.
    """

    _mode_key = TorchDispatchModeKey.PROXY
    exports = False

    def __init__(
        self,
        tracer: PythonKeyTracer,
        tracing_mode: str = "real",
        pre_dispatch: bool = False,
        decomposition_table: dict[Any, Any] | None = None,
        fake_mode: Any = None,
        constant: Callable[[Any], Node] | None = None,
        module_stack: Callable[[], dict[str, Any]] | None = None,
        error_on_data_dependent_ops: bool = True,
        record_stack_traces: bool = False,
        records_grad_mode: bool = False,
    ) -> None:
        super().__init__(DispatchKey.PreDispatch if pre_dispatch else None)  # type: ignore[attr-defined]
        self.tracer, self.tracing_mode, self.pre_dispatch = tracer, tracing_mode, pre_dispatch
        self.decomposition_table = decomposition_table or {}
        self.fake_mode = fake_mode
        self.shape_env: Any = None if fake_mode is None else fake_mode.shape_env
        self.record_stack_traces = record_stack_traces
        self.records_grad_mode = records_grad_mode
        self._grad_before = self._grad_now = tl_core.is_grad_enabled()  # of the graph
        self._constant = constant or self._attribute
        self._module_stack = module_stack
        self._error_on_data_dependent_ops = error_on_data_dependent_ops
        self._nodes: dict[int, tuple[Any, Node]] = {}
        self._in_memory: dict[Any, tuple[Any, Node]] = {}  # real tensors by where their elements are
        self._constants: dict[int, tuple[Any, Node]] = {}
        self._fakes: dict[int, tuple[Any, Any]] = {}
        self.inherited: dict[str, Any] = {}  # what nodes say that are made from a node of another graph
        self._sources: dict[Symbol, Callable[[], Node]] = {}
        self._numbers: dict[Expr, Node] = {}
        # By the id of a number, which is kept.
        self._dimensions: dict[int, tuple[Any, Callable[[], Node]]] = {}
        self._sizes: dict[tuple[Node, int], Node] = {}
        self._calls: dict[str, int] = {}
        self.symbol_from_outside: Callable[[Symbol], Node] | None = None  # of a subgraph

    # ---- what stands for what
    def track(self, value: Any, node: Node) -> None:
        """Notes that a value is that of a node.

        Args:
            value: a tensor or symbolic number.
            node: the node.
        """
        if isinstance(value, Tensor):
            key = id(value)
            owner: Any = value
            if not isinstance(value, FakeTensor):
                owner = weakref.ref(value, lambda _: self._nodes.pop(key, None))
            self._nodes[key] = (owner, node)
            if self.tracing_mode == "real":
                self._in_memory[_location(value)] = value, node
            self._note_sizes(value, node)
        elif isinstance(value, _SYMBOLIC):
            e = value.node.expr
            self._numbers[e] = node
            if isinstance(e, Symbol):
                self._sources.setdefault(e, lambda: node)
            elif isinstance(e, Relation) and isinstance(e.lhs, Symbol):  # an unbacked bool: u0 == 1
                symbol = e.lhs
                self._sources.setdefault(
                    symbol, lambda: self._call(tl_core.symbolic.arithmetic.sym_int, (node,), None)
                )

    def _note_sizes(self, value: Any, node: Node) -> None:
        """Where the symbols of a tensor's sizes can be read."""
        if not isinstance(value, FakeTensor) or value.symbolic is None:
            return
        for i, n in enumerate(value.symbolic.sizes):
            if isinstance(n, SymInt):
                e = n.node._expr
                self._dimensions[id(n.node)] = n.node, lambda i=i, e=e: self._size_node(node, i, e)  # type: ignore[misc]
                if isinstance(e, Symbol) and e not in self._sources:
                    self._sources[e] = lambda i=i, s=e: self._size_node(node, i, s)  # type: ignore[misc]
                elif isinstance(e, Sum) and len(e.terms) == 1 and isinstance(e.terms[0][0], Symbol):
                    self._note_affine(e, node, i)

    def _note_affine(self, e: Sum, node: Node, i: int) -> None:
        (symbol, factor), constant = e.terms[0], e.constant
        if symbol in self._sources:
            return

        def read() -> Node:
            size = self._size_node(node, i, e)
            if constant:
                size = self._call(operator.sub, (size, constant), e - constant)
            return size if factor == 1 else self._call(operator.floordiv, (size, factor), symbol)

        self._sources[symbol] = read  # type: ignore[index]

    def _size_node(self, node: Node, i: int, e: Expr) -> Node:
        size = self._sizes.get((node, i))
        if size is None:
            size = self._sizes[node, i] = self._call(
                tl_core.operators.packets.aten.sym_size.int, (node, i), e, after=node
            )
            self._numbers.setdefault(e, size)
        return size

    def _call(self, target: Any, args: tuple[Any, ...], e: Expr | None, after: Node | None = None) -> Node:
        name = getattr(target, "overloadpacket", target).__name__
        if name == "sym_size":
            name = "sym_size_int"
        graph = self.tracer.graph
        if after is not None and after.graph is graph:
            while after.next.op == "placeholder":
                after = after.next
            with graph.inserting_after(after):
                node = self.tracer.create_node("call_function", target, args, {}, name)
        else:
            node = self.tracer.create_node("call_function", target, args, {}, name)
        if e is not None and self.shape_env is not None:
            node.meta["val"] = self._number_of(e)
        self._describe(node)
        return node

    def _number_of(self, e: Expr) -> Any:
        env = self.shape_env
        if isinstance(e, (Relation, Logic)):
            return env.create_symboolnode(e)
        hint = env.size_hint(e, allow_none=True)
        return env.create_symintnode(e, hint=hint) if e.is_integer else env.create_symfloatnode(e, hint=hint)

    def node_of_number(self, number: Any) -> Any:
        """The node that computes a symbolic number, made where it is first needed; the number if it is a constant.

        Args:
            number: the number.
        """
        _, size = self._dimensions.get(id(number.node), (None, None))
        return self.node_of_expr(number.node.expr, number.node.pytype) if size is None else size()

    def node_of_expr(self, e: Expr, pytype: type | None = None) -> Any:
        """The node that computes an expression, made where it is first needed; a number if it is a constant.

        Args:
            e: the expression.
            pytype: the type of a constant; None: its own.
        """
        if e.is_number:
            value = e.evaluate({})
            return value if pytype is None else pytype(value)
        node = self._numbers.get(e)
        if node is None:
            node = self._numbers[e] = self._compute(e)
        return node

    def _compute(self, e: Expr) -> Node:
        if isinstance(e, Symbol):
            source = self._sources.get(e)
            if source is None and self.symbol_from_outside is not None:
                return self.symbol_from_outside(e)
            if source is None:
                raise RuntimeError(f"{e} is the size of nothing in this graph")
            return source()
        if isinstance(e, Sum):
            return self._sum_node(e)
        if isinstance(e, Product):
            factors = [b for b, n in e.factors for _ in range(n)] if len(e.factors) > 1 else []
            if not factors:
                base, n = e.factors[0]
                return self._call(operator.pow, (self.node_of_expr(base), n), e)
            return self._chain(operator.mul, factors)
        if isinstance(e, Relation):
            return self._call(_RELATIONS[e.rel_op], (self.node_of_expr(e.lhs), self.node_of_expr(e.rhs)), e)
        if isinstance(e, Logic):
            parts = [self.node_of_expr(a, bool) for a in e.args]
            if e.op == "not":
                return self._call(tl_core.symbolic.arithmetic.sym_not, (parts[0],), e)
            node = parts[0]
            for part in parts[1:]:
                node = self._call(operator.and_ if e.op == "and" else operator.or_, (node, part), None)
            return node
        if isinstance(e, Call):
            if e.name == "Piecewise":
                a, c, b = e.args
                args = (self.node_of_expr(c, bool), self.node_of_expr(a), self.node_of_expr(b))
                return self._call(tl_core.symbolic.arithmetic.sym_ite, args, e)
            return self._call(_function_of(e.name), tuple(self.node_of_expr(a) for a in e.args), e)
        raise TypeError(f"no node for {e}")

    def _chain(self, function: Any, parts: list[Expr]) -> Node:
        node, total = self.node_of_expr(parts[0]), parts[0]
        for part in parts[1:]:
            total = function(total, part)
            prefix = self._numbers.get(total)
            node = (
                prefix if prefix is not None else self._call(function, (node, self.node_of_expr(part)), total)
            )
            self._numbers[total] = node
        return node

    def _sum_node(self, e: Sum) -> Node:
        total: Any = None
        so_far = sympify(0)
        ordered = sorted(e.terms, key=lambda item: item[1] < 0)
        for term, factor in ordered:
            so_far = so_far + term * factor
            if total is None:
                part = self.node_of_expr(term)
                total = part if factor == 1 else self._call(operator.mul, (part, factor), term * factor)
            elif factor < 0:
                part = self.node_of_expr(term * -factor)
                total = self._call(operator.sub, (total, part), so_far)
            else:
                total = self._call(operator.add, (total, self.node_of_expr(term * factor)), so_far)
        if e.constant:
            total = self._call(operator.add, (total, e.constant), e)
        return total

    def node_of(self, a: Any) -> Any:
        """What stands for a value among the arguments of a node: a node, a constant, or containers of them.

        Args:
            a: the value.
        """
        if isinstance(a, Tensor):
            return self._tensor_node(a)
        if isinstance(a, _SYMBOLIC):
            return self.node_of_number(a)
        if hasattr(a, "ready_node"):
            return a.ready_node
        if isinstance(a, (list, tuple)) and type(a) in (list, tuple, tl_core.Size):
            items = [self.node_of(x) for x in a]
            return items if isinstance(a, list) else tuple(items)
        if isinstance(a, dict):
            return {k: self.node_of(v) for k, v in a.items()}
        return a.node if isinstance(a, Proxy) else a

    def node_of_tensor(self, t: Any) -> Node | None:
        """The node of a tensor, or None."""
        entry = self._nodes.get(id(t))
        if entry is None:
            return None
        owner = entry[0]() if isinstance(entry[0], weakref.ref) else entry[0]
        return entry[1] if owner is t else None

    def node_or_none(self, t: Any) -> Node | None:
        """The node of a tensor, or of one with the same elements: autograd keeps results as objects of its own.

        Args:
            t: the tensor.
        """
        node = self.node_of_tensor(t)
        if node is None and self.tracing_mode == "real":
            _, node = self._in_memory.get(_location(t), (None, None))
        return node

    def _tensor_node(self, t: Any) -> Node:
        node = self.node_of_tensor(t)
        if node is not None:
            return node
        entry = self._constants.get(id(t))
        if entry is not None and entry[0] is t:
            return entry[1]
        node = self.node_or_none(t) or self._constant(t)
        self._constants[id(t)] = (t, node)
        return node

    def _attribute(self, t: Any) -> Node:
        root, number = self.tracer.root, 0
        prefix = (
            "_param_constant" if isinstance(t, tl_core.tensors.parameter.Parameter) else "_tensor_constant"
        )
        while hasattr(root, f"{prefix}{number}"):
            number += 1
        name = f"{prefix}{number}"
        setattr(root, name, t)
        return self.tracer.create_node("get_attr", name, (), {}, name)

    def fake_of(self, t: Any) -> Any:
        """What stands for a tensor that the program holds."""
        if isinstance(t, FakeTensor):
            return t
        entry = self._fakes.get(id(t))
        if entry is None or entry[0] is not t:
            with no_modes():
                entry = self._fakes[id(t)] = (t, self.fake_mode.from_tensor(t, static_shapes=True))
        return entry[1]

    # ---- recording
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if types and not self.pre_dispatch and self._takes_itself_apart(types, args, kwargs):
            return NotImplemented
        func, args = public_call(func, args)
        formula = FORMULAS.get(func._native_name)
        private = not self.pre_dispatch or func._native_name in _WHOLE
        if formula is not None and private and func not in self.decomposition_table:
            out = formula(_Recorded(self), *args, **kwargs)
            if out is not NotImplemented:
                return out
        return self.record(func, args, kwargs)

    def record(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Records an operator, or what the table has in its place.

        Args:
            func: the operator.
            args, kwargs: its arguments.

        Returns:
            Its result.
        """
        replaced = self.decomposition_table.get(func)
        if replaced is not None:
            with self:
                out = replaced(*args, **kwargs)
            if out is not NotImplemented:
                return out
        _handling.append(self)
        try:
            return self._record(func, args, kwargs)
        finally:
            _handling.pop()

    def _takes_itself_apart(self, types: Any, args: Any, kwargs: dict[str, Any]) -> bool:
        """Whether a class of the arguments stands for other tensors: its handler calls what is to be recorded.

        Tensors of such a class that are values of the graph, such as its inputs, stay whole.
        """
        classes = [t for t in types if not issubclass(t, FakeTensor)]
        return bool(classes) and any(
            type(leaf) in classes and self.node_of_tensor(leaf) is None
            for leaf in pytree.tree_leaves((args, kwargs))
        )

    def _record(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        name = str(func)
        if name == "aten._local_scalar_dense.default":
            if self.tracing_mode != "real" and isinstance(args[0], FakeTensor):
                return args[0].fake_mode.dispatch(func, (), args, kwargs)
            return self._scalar(func, args, kwargs)
        if name in _UNRECORDED:
            return self._execute(func, args, kwargs)
        target = func
        if name == "aten.lift_fresh.default":  # the program makes the tensor anew whenever it runs
            target = tl_core.operators.packets.aten.lift_fresh_copy.default
            func = target if self.tracing_mode == "real" else func
        self._switch_grad(tl_core.is_grad_enabled())
        node = self.tracer.create_node(
            "call_function",
            target,
            tuple(self.node_of(a) for a in args),
            {k: self.node_of(v) for k, v in kwargs.items()},
            getattr(target, "overloadpacket", target).__name__,
        )
        self._describe(node)
        self._note_call(node, getattr(target, "overloadpacket", target).__name__)
        out = self._execute(func, args, kwargs)
        self._track_result(out, node, func, args, kwargs)
        return out

    def _execute(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if self.tracing_mode == "real":
            return func(*args, **kwargs)
        return self.run_on_fakes(func, *args, **kwargs)

    def run_on_fakes(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """The results of an operator on what stands for its arguments; no node is made.

        Args:
            func: the operator.
            args, kwargs: its arguments.
        """
        args, kwargs = self._substitute(args), {k: self._substitute(v) for k, v in kwargs.items()}
        if isinstance(func, PythonOperator):  # the operators that it calls see the fakes
            out = func(*args, **kwargs)
        else:
            out = self.fake_mode.dispatch(func, (), args, kwargs)
        if self.pre_dispatch:
            require_gradients(func, out, args, kwargs)
        return out

    def _substitute(self, a: Any) -> Any:
        if isinstance(a, Tensor):
            return a if isinstance(a, FakeTensor) else self.fake_of(a)
        if isinstance(a, (list, tuple)):
            items = [self._substitute(x) for x in a]
            return items if isinstance(a, list) else tuple(items)
        return a

    def _track_result(self, out: Any, node: Node, func: Any, args: Any, kwargs: Any) -> None:
        node.meta["val"] = out
        if self.shape_env is not None and self.shape_env.pending_fresh_unbacked_symbols:
            note_unbacked_bindings(self.shape_env, node, out)
        if isinstance(out, Tensor):
            self._track_tensor(out, node, func, args, kwargs)
        elif isinstance(out, (list, tuple)):
            for i, value in enumerate(out):
                if isinstance(value, Tensor):
                    item = self.tracer.create_node(
                        "call_function", operator.getitem, (node, i), {}, "getitem"
                    )
                    item.meta["val"] = value
                    self._describe(item)
                    self.track(value, item)

    def _track_tensor(self, out: Any, node: Node, func: Any, args: Any, kwargs: Any) -> None:
        self.track(out, node)
        if not schema_of(func).writes:
            return
        # A real tensor that the program holds and writes to: from now on this node has its value.
        for a in (*args, *kwargs.values()):
            if isinstance(a, Tensor) and a is not out:
                entry = self._fakes.get(id(a))
                if entry is not None and entry[0] is a and entry[1] is out:
                    self._constants[id(a)] = (a, node)

    def _scalar(self, func: Any, args: Any, kwargs: Any) -> Any:
        t = args[0]
        node = self.node_of_tensor(t)
        if node is None and not isinstance(t, FakeTensor):
            return func(*args, **kwargs)
        if self.tracing_mode == "real":
            if self._error_on_data_dependent_ops:
                raise RuntimeError(
                    f"It appears that you're trying to get value out of a tracing tensor with {func} - erroring out! "
                    "It's likely that this is caused by data-dependent control flow or similar.  It may be possible to "
                    "trace this with dynamic shapes; try setting tracing_mode='symbolic' in your make_fx call."
                )
            return func(*args, **kwargs)
        node = self.tracer.create_node(
            "call_function", tl_core.operators.packets.aten.item.default, (self.node_of(t),), {}, "item"
        )
        self._describe(node)
        out = unbacked_number(self.shape_env, t.dtype)
        if getattr(t, "real_tensor", None) is not None:
            learn(self.shape_env, out, t.real_tensor.item())
        node.meta["val"] = out
        note_unbacked_bindings(self.shape_env, node, out)
        self.track(out, node)
        return out

    def record_call(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, name: str
    ) -> Node:
        """Records a call that is no operator, such as one of a higher-order operator.

        Args:
            target: what is called.
            args, kwargs: the arguments.
            out: the result.
            name: the name of its value.

        Returns:
            The node.
        """
        self._switch_grad(tl_core.is_grad_enabled())
        arguments = tuple(self.node_of(a) for a in args), {k: self.node_of(v) for k, v in kwargs.items()}
        node = self.tracer.create_node("call_function", target, *arguments, name)
        self._describe(node)
        node.meta["val"] = out
        if isinstance(out, (Tensor, _SYMBOLIC)):
            self.track(out, node)
        else:
            for i, value in enumerate(out or ()):
                if isinstance(value, (Tensor, *_SYMBOLIC)):
                    item = self.tracer.create_node(
                        "call_function", operator.getitem, (node, i), {}, "getitem"
                    )
                    item.meta["val"] = value
                    self._describe(item)
                    self.track(value, item)
        return node

    def _switch_grad(self, on: bool) -> None:
        """Records that derivatives are recorded from here on, or are not, where that changes."""
        if self.records_grad_mode and on != self._grad_now:
            self._grad_now = on
            node = self.tracer.create_node("call_function", grad_mode.switch, (on,), {}, "_set_grad_enabled")
            self._describe(node)

    def restore_grad(self) -> None:
        """Records that derivatives are recorded at the end as at the beginning, so that a run changes nothing."""
        self._switch_grad(self._grad_before)

    def record_assertions(self, checks: list[Any] | None = None) -> None:
        """Records checks of numbers that only data decide.

        Args:
            checks: those of a subgraph; None: all that no subgraph makes.
        """
        if self.shape_env is None:
            return
        groups = self.shape_env.deferred_runtime_asserts.values() if checks is None else [checks]
        for check in [c for several in groups for c in several]:
            e = self._to_check(check.expr)
            node = self.node_of_expr(e, bool)
            if isinstance(node, Node):
                message = f"Runtime assertion failed for expression {check.expr}"
                self.tracer.graph.call_function(
                    tl_core.operators.packets.aten._assert_scalar.default, (node, message)
                )

    def _to_check(self, condition: Expr) -> Expr:
        """A condition by what is known of its symbols; as it was stated if it is known by that alone."""
        simplified = self.shape_env.replace(condition)
        readable = self.symbol_from_outside is not None or condition.free_symbols <= self._sources.keys()
        stated = simplified.is_number and readable
        return condition if stated else simplified

    def _note_call(self, node: Node, name: str) -> None:
        """Notes which call of the program a node is, where composite operators are whole."""
        if self.pre_dispatch and "torch_fn" not in self.inherited:
            number = self._calls[name] = self._calls.get(name, 0) + 1
            node.meta["torch_fn"] = f"{name}_{number}", f"builtin_function_or_method.{name}"

    def _describe(self, node: Node) -> None:
        """Notes where in the program a node comes from."""
        if self._module_stack is not None:
            node.meta["nn_module_stack"] = self._module_stack()
        if self.record_stack_traces and "stack_trace" not in self.inherited:
            node.meta["stack_trace"] = _stack_text()
        node.meta.update(self.inherited)


def _location(t: Any) -> Any:
    """Where the elements of a real tensor are, and as what; of one without memory of its own, the tensor itself."""
    if type(t) not in _PLAIN or t.layout is not tl_core.strided or t.is_meta or not t.numel():
        return id(t)
    return t.data_ptr(), t.dtype, t.shape, t.stride(), t.is_conj(), t.is_neg()


_PLAIN = (Tensor, tl_core.tensors.parameter.Parameter)
_SAME_VALUE = (
    operator.getitem,
    tl_core.operators.packets.aten.detach.default,
    tl_core.operators.packets.aten.alias.default,
)


class _Recorded:
    """What formulas of operators record with."""

    takes_layers_apart = False

    def __init__(self, mode: ProxyTorchDispatchMode) -> None:
        self.mode = mode

    def __call__(self, op: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self.mode.record(op, args, kwargs)

    unseen = whole = __call__

    def parts(self, op: Any, /, *args: Any) -> Any:
        """The result of an operator that is made of others, of which there are nodes.

        Args:
            op: the operator.
            *args: its arguments.
        """
        with self.mode:
            return op(*args)

    def origin(self, t: Any) -> Node | None:
        """The node of the operator that a tensor is a result of; None for one that is not known.

        Args:
            t: the tensor.
        """
        node: Any = self.mode.node_or_none(t)
        while node is not None and node.target in _SAME_VALUE:
            node = node.args[0]
        return node


def _recorded_item(t: Any) -> Any:
    """The number of a traced tensor's element, as a node where a mode records."""
    mode = current_mode()
    if mode is None or mode.tracing_mode == "real":
        return unbacked_number(t.fake_mode.shape_env, t.dtype)
    return mode._scalar(tl_core.operators.packets.aten._local_scalar_dense.default, (t,), {})


SymbolicFakes.recorded_item = staticmethod(_recorded_item)


# Questions about a tensor that leave no node: the sizes answer.
_UNRECORDED = frozenset({"aten.is_same_size.default", "aten.is_floating_point.default"})


def _stack_text() -> str:
    import linecache

    lines = []
    for file, line, function in user_stack("_trace_boundary")[-8:]:
        lines.append(
            f'  File "{file}", line {line}, in {function}\n    {linecache.getline(file, line).strip()}'
        )
    return "\n".join(lines) + "\n" if lines else ""
