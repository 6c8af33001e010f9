"""The mode that records: every operator becomes a node of a graph, and runs on what stands for its arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import tl_core
import tl_core.operators.packets
from tl_core import pytree
from tl_core.dispatch.keys import DispatchKey
from tl_core.dispatch.modes import modes_in_force
from tl_core.operators.public import FORMULAS, public_call
from tl_core.operators.python_operator import PythonOperator
from tl_core.subclasses import FakeTensor
from tl_core.subclasses.fake_mode import require_gradients
from tl_core.subclasses.python_dispatch import TorchDispatchMode, TorchDispatchModeKey
from tl_core.subclasses.tensor_structures import map_tensors
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ..fx.experimental.unbacked import note_unbacked_bindings
from ..fx.graph import Graph
from ..fx.node import Node
from ..fx.proxy import Proxy, TracerBase
from .geometry import learn
from .recorder import Recorder
from .schemas import schema_of
from .size_nodes import SizeNodes
from .symbolic_fakes import SymbolicFakes, unbacked_number
from .value_nodes import ValueNodes, attribute_node

__all__ = ["ProxyTorchDispatchMode", "PythonKeyTracer", "current_mode", "is_whole"]

Tensor = tl_core.Tensor
_SYMBOLIC = (SymInt, SymFloat, SymBool)


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
                return mode.sizes.node_of(a)
        return super().create_arg(a)


def current_mode() -> ProxyTorchDispatchMode | None:
    """The mode that records now; None if none does."""
    for mode in reversed(modes_in_force()):
        if isinstance(mode, ProxyTorchDispatchMode):
            return mode
    return _handling[-1] if _handling else None


# Calls of functions in Python, which graphs above autograd meet too. A formula replaces them in each recording.
_WHOLE = frozenset({"squared_error", "smooth_l1_error", "huber_error"})


def is_whole(func: Any) -> bool:
    """Returns whether a formula takes the place of an operator in each recording.

    Args:
        func: the operator.
    """
    return func._native_name in _WHOLE


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
    records_functions = True  # such as the overloads with out tensors that no row has

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
        self.recorder = Recorder(
            tracer,
            module_stack,
            stack_traces=record_stack_traces,
            grad_mode=records_grad_mode,
            call_numbers=pre_dispatch,
        )
        self.values = ValueNodes(
            constant or (lambda t: attribute_node(tracer, t)),
            fake_mode,
            real=tracing_mode == "real",
            create=self.recorder.create_operator,
        )
        self.sizes = SizeNodes(self.recorder, self.shape_env)
        self._error_on_data_dependent_ops = error_on_data_dependent_ops

    # ---- values and their nodes
    def track(self, value: Any, node: Node) -> None:
        """Stores the node of a value.

        Args:
            value: a tensor or symbolic number; other values have no node.
            node: the node.
        """
        if isinstance(value, Tensor):
            self.values.track(value, node)
            self.sizes.track_sizes(value, node)
        elif isinstance(value, _SYMBOLIC):
            self.sizes.track(value, node)

    def node_of(self, a: Any) -> Any:
        """The argument of a node for a value: a node, a constant, or containers of them.

        Args:
            a: the value.
        """
        if isinstance(a, Tensor):
            return self.values.node_of(a)
        if isinstance(a, _SYMBOLIC):
            return self.sizes.node_of(a)
        if hasattr(a, "ready_node"):
            return a.ready_node
        if isinstance(a, (list, tuple)) and type(a) in (list, tuple, tl_core.Size):
            items = [self.node_of(x) for x in a]
            return items if isinstance(a, list) else tuple(items)
        if isinstance(a, dict):
            return {k: self.node_of(v) for k, v in a.items()}
        return a.node if isinstance(a, Proxy) else a

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
            type(leaf) in classes and self.values.node_of_object(leaf) is None
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
        self.recorder.switch_grad()
        node = self.recorder.create_operator(target, *self._arguments(args, kwargs))
        out = self._execute(func, args, kwargs)
        self._track_result(out, node, func, args, kwargs)
        return out

    def _execute(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if self.tracing_mode == "real":
            return func(*args, **kwargs)
        return self.run_on_fakes(func, *args, **kwargs)

    def run_on_fakes(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """The results of an operator on the fakes of its arguments, without a node.

        Args:
            func: the operator.
            args, kwargs: its arguments.
        """
        args, kwargs = map_tensors(args, self.values.fake_of), map_tensors(kwargs, self.values.fake_of)
        if isinstance(func, PythonOperator):  # the operators that it calls receive the fakes
            out = func(*args, **kwargs)
        else:
            out = self.fake_mode.dispatch(func, (), args, kwargs)
        if self.pre_dispatch:
            require_gradients(func, out, args, kwargs)
        return out

    def _arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node for the arguments of a call."""
        return tuple(self.node_of(a) for a in args), {k: self.node_of(v) for k, v in kwargs.items()}

    def _track_result(self, out: Any, node: Node, func: Any, args: Any, kwargs: Any) -> None:
        node.meta["val"] = out
        if self.shape_env is not None and self.shape_env.pending_fresh_unbacked_symbols:
            note_unbacked_bindings(self.shape_env, node, out)
        if isinstance(out, Tensor):
            self.track(out, node)
            if schema_of(func).writes:
                for a in (*args, *kwargs.values()):
                    if isinstance(a, Tensor) and a is not out:
                        self.values.track_write(a, out, node)
        elif isinstance(out, (list, tuple)):
            self._track_items(out, node, (Tensor,))

    def _track_items(self, out: Any, node: Node, kinds: tuple[type, ...]) -> None:
        """Creates the nodes of the results of a call with several results."""
        for i, value in enumerate(out):
            if isinstance(value, kinds):
                item = self.recorder.create(operator.getitem, (node, i), {}, "getitem")
                item.meta.update(
                    {key: node.meta[key] for key in ("torch_fn",) if key in node.meta}, val=value
                )
                self.track(value, item)

    def _scalar(self, func: Any, args: Any, kwargs: Any) -> Any:
        t = args[0]
        node = self.values.node_of_object(t)
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
        item = tl_core.operators.packets.aten.item.default
        node = self.recorder.create(item, (self.node_of(t),), {}, "item")
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
        self.recorder.switch_grad()
        node = self.recorder.create(target, *self._arguments(args, kwargs), name)
        node.meta["val"] = out
        if isinstance(out, (Tensor, _SYMBOLIC)):
            self.track(out, node)
        else:
            self._track_items(out or (), node, (Tensor, *_SYMBOLIC))
        return node


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
        node: Any = self.mode.values.node_or_none(t)
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
