"""One call as a graph: the function runs on tensors without memory, and the tracer records its operators."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import tl_core
import tl_nn
from tl_core import pytree
from tl_core.subclasses import FakeTensor
from tl_core.subclasses.fake_exceptions import DataDependentOutputException
from tl_core.subclasses.python_dispatch import disable_current_modes
from tl_core.symbolic.numbers import SymInt

from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..symbolic.errors import ConstraintViolationError, GuardOnDataDependentSymNode
from ..symbolic.expression import Symbol
from ..tracer.proxy_mode import ProxyTorchDispatchMode, PythonKeyTracer
from ..tracer.symbolic_fakes import mode_for
from ..tracer.value_nodes import attribute_node
from .annotated_calls import handlers_of
from .breaks import Break, ForbiddenCall
from .call_sizes import NO_SYMBOLS, CallSymbols, SizeGuards, Wishes
from .function_calls import functions_are_nodes
from .function_hooks import intercept_calls
from .reachable import state_of
from .recipes import Effect, Part, Recipe, RecipeBook, Undescribable, build, repeat
from .stand_ins import StandIns
from .state import State, Unprovable
from .thread_state import can_be_set, restore_thread_state, thread_state
from .watch import CaptureStopped, Watch, user_location

__all__ = ["Break", "CallGraph", "capture"]

Tensor = tl_core.Tensor


class CallGraph(NamedTuple):
    """A call as a graph.

    Args:
        graph_module: the graph; it returns a tuple of tensors.
        numbers: the indices among the numbers of the state that are its first inputs.
        inputs: for each of its further inputs, the index among the tensors of the state.
        recipe: how to get what the call returns.
        parts: the new objects that it returns or stores.
        effects: what it changes of what the program holds.
        settings: what the thread is set to afterwards; None: as before.
        guards: for which sizes it holds.
    """

    graph_module: GraphModule
    numbers: list[int]
    inputs: list[int]
    recipe: Recipe
    parts: list[Part]
    effects: list[Effect]
    settings: tuple[Any, ...] | None
    guards: SizeGuards

    @property
    def is_empty(self) -> bool:
        """Whether no operator was recorded."""
        return all(n.op in ("placeholder", "output", "get_attr") for n in self.graph_module.graph.nodes)

    @property
    def call_count(self) -> int:
        """How many calls the graph has."""
        return sum(n.op.startswith("call_") for n in self.graph_module.graph.nodes)

    def arguments(self, state: State) -> list[Any]:
        """The inputs of the graph in a call.

        Args:
            state: that of the call.
        """
        return [state.numbers[i][1] for i in self.numbers] + [state.tensors[i] for i in self.inputs]

    def result(self, outputs: Any, state: State, values: dict[Symbol, int]) -> Any:
        """Makes the changes of the call.

        Args:
            outputs: what the graph has returned.
            state: that of the call.
            values: those of the symbols.

        Returns:
            What the function returns.
        """
        get = build(self.parts, outputs, state, values)
        result = get(self.recipe)
        if self.effects:
            repeat(self.effects, state, get)
        if self.settings is not None:
            restore_thread_state(self.settings)
        return result


_ITEMS = ("aten._local_scalar_dense.default", "aten.item.default")


class _Mode(ProxyTorchDispatchMode):
    """The tracer, which also notes why a program can't be graph: the program may swallow the error."""

    compiles = True
    failure: Break | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.literals: dict[int, tuple[Any, int, Any]] = {}

    def _record(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        name = str(func)
        if name in _ITEMS:
            return self._scalar(func, args, kwargs)
        try:
            out = super()._record(func, args, kwargs)
        except (DataDependentOutputException, GuardOnDataDependentSymNode) as error:
            raise self.fail(f"{func} needs the elements of a tensor ({error})", by_value=True) from error
        except (
            Exception
        ) as error:  # the program may catch whatever an operator raises; the graph lacks it either way
            self.failure = self.failure or Break(
                f"{func} raises {type(error).__name__}: {error}", self._location(), by_operator=True
            )
            raise
        if name == "aten.lift_fresh.default" and not isinstance(args[0], FakeTensor):
            self.literals[id(out)] = out, out._version, args[0]
        if any(map(self._is_unknown, pytree.tree_leaves(out))):
            raise self.fail(f"the values of a tensor decide the size of the result of {func}", by_value=True)
        return out

    def _is_literal(self, t: Any) -> bool:
        """Whether the program has written down the elements of a tensor, without a later change."""
        literal = self.literals.get(id(t))
        return literal is not None and literal[0] is t and bool(t._version == literal[1])

    def _is_unknown(self, t: Any) -> bool:
        """Whether a size is neither a number nor an expression of those of the arguments."""
        if not isinstance(t, FakeTensor) or t.symbolic is None:
            return False
        symbols = {s for n in t.symbolic.sizes if isinstance(n, SymInt) for s in n.node.expr.free_symbols}
        return any(s not in self.shape_env.var_to_val or s in self.shape_env.of_results for s in symbols)

    def _scalar(self, func: Any, args: Any, kwargs: Any) -> Any:
        if self._is_literal(args[0]):
            with disable_current_modes():
                return self.literals[id(args[0])][2].item()
        raise self.fail("the value of a tensor is asked for", by_value=True)

    def fail(self, reason: str, by_value: bool = False) -> Break:
        """The error to raise, which is noted.

        Args:
            reason: why the program can't be captured.
            by_value: whether the elements of a tensor decide what it does.
        """
        error = Break(reason, self._location(), by_value)
        self.failure = self.failure or error
        return error

    def _location(self) -> tuple[str, int] | None:
        return user_location(sys._getframe(1))


class _Trace:
    """One run of a function."""

    def __init__(self, state: State, wishes: Wishes) -> None:
        self.state = state
        self.fake_mode = mode_for(())
        self.symbols = CallSymbols(self.fake_mode.shape_env, wishes)
        self.tracer = PythonKeyTracer()
        self.tracer.root = tl_nn.Module()
        self.graph = self.tracer.graph
        self.mode = _Mode(
            self.tracer,
            "fake",
            pre_dispatch=True,
            fake_mode=self.fake_mode,
            constant=self._constant_node,
            record_stack_traces=True,
            records_grad_mode=True,
        )
        self.indices = {id(t): i for i, t in enumerate(state.tensors)}
        self.inputs: list[tuple[int, Node]] = []
        self.numbers: list[tuple[int, Node]] = []
        self.stands: dict[int, Any] = {}
        self.names: set[str] = set()
        self.arguments = StandIns(state)

    def close(self) -> None:
        """Lets go of all that the trace refers to, which is part of cycles."""
        vars(self.mode).clear()
        vars(self).clear()

    # ---- inputs
    def _placeholder(self, called: str, value: Any) -> Node:
        name = "l_" + "".join(c if c.isalnum() else "_" for c in called).strip("_") + "_"
        while name in self.names:
            name += f"{len(self.names)}_"
        self.names.add(name)
        last = (self.numbers + self.inputs)[-1:]
        root = self.graph._root
        with self.graph.inserting_after(last[0][1]) if last else self.graph.inserting_before(root.next):
            node = self.graph.placeholder(name)
        node.meta["val"] = node.meta["example_value"] = value
        return node

    def _input(self, index: int, value: Any) -> Node:
        name = self.state.names[index]
        node = self._placeholder(name, value)
        node.meta["is_argument"] = name.startswith(self.state.argument_names)
        self.inputs.append((index, node))
        return node

    def fake(self, t: Any) -> Any:
        """What stands for an argument's tensor."""
        index = self.indices[id(t)]
        if index not in self.stands:
            fake = self.fake_mode.from_tensor(t, static_shapes=True)
            sizes = self.symbols.of_tensor(index, self.state.names[index], t)
            if sizes is not None:
                fake = self.fake_mode.symbolic.give_sizes(fake, sizes, self.symbols.strides[index])
            self.stands[index] = fake
            self.mode.track(fake, self._input(index, fake))
        return self.stands[index]

    def number(self, index: int) -> Any:
        """What stands for an argument that is an int."""
        name, value = self.state.numbers[index]
        number = self.symbols.of_number(index, name, value)
        if number is not value:
            node = self._placeholder(name, number)
            self.numbers.append((index, node))
            self.mode.track(number, node)
        return number

    def _constant_node(self, t: Any) -> Node:
        """The node of a tensor that the program holds."""
        index = self.indices.get(id(t))
        if index is None or self.state.tensors[index] is not t:
            if not isinstance(t, FakeTensor) and not t.requires_grad and self._is_literal(t):
                return attribute_node(self.mode.tracer, t)
            raise self.mode.fail("a tensor is used that isn't reached by name")
        return self._input(index, self.mode.values.fake_of(t))

    def _is_literal(self, t: Any) -> bool:
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code is not ProxyTorchDispatchMode._record.__code__:
            frame = frame.f_back
        func = None if frame is None else frame.f_locals.get("func")
        return str(func) == "aten.lift_fresh.default"

    # ---- the run
    def run(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the function on what stands for its arguments; returns its result."""
        names = [name for name, _ in self.state.numbers]
        args = tuple(self._argument(x, f"args_{i}", names) for i, x in enumerate(args))
        kwargs = {name: self._argument(x, name, names) for name, x in kwargs.items()}
        flat, spec = pytree.tree_flatten((args, kwargs))
        inputs = [self.fake(x) if isinstance(x, Tensor) else x for x in flat]
        stand_args, stand_kwargs = spec.unflatten(inputs)
        self.arguments.pair((args, kwargs), (stand_args, stand_kwargs))
        watch = Watch(self.state.codes, self.state.refused)
        try:
            handlers = handlers_of(self.mode, self.state.marked)
            with self.mode, functions_are_nodes(self.mode), intercept_calls(handlers) as codes, watch:
                watch.codes |= codes
                out = _trace_boundary(function, stand_args, stand_kwargs)
        except CaptureStopped as stopped:
            raise Break(stopped.reason, stopped.location, raises=stopped.raises) from None
        except (Break, ConstraintViolationError, ForbiddenCall):
            raise
        except GuardOnDataDependentSymNode as error:
            raise Break(
                f"the value of a tensor decides: {error}", user_location(None), by_value=True
            ) from None
        except Exception as error:  # the program's own: the eager run that follows raises it to the caller
            failure = self.mode.failure or Break(f"{type(error).__name__}: {error}", _location_of(error))
            raise failure from error
        self._raise_failure(watch)
        self.arguments.check()
        return out

    def _argument(self, x: Any, name: str, names: list[str]) -> Any:
        return self.number(names.index(name)) if type(x) is int else x

    def _raise_failure(self, watch: Watch) -> None:
        if watch.stop_error is not None:
            stop = watch.stop_error
            raise Break(stop.reason, stop.location, raises=stop.raises)
        if self.mode.failure is not None:
            raise self.mode.failure

    # ---- the result
    def finish(self, out: Any, settings: tuple[Any, ...] | None) -> CallGraph:
        """The graph with its results."""
        nodes: list[Node] = []
        book = RecipeBook(
            self.state,
            lambda t: self._tensor(t, nodes),
            self._number,
            self.arguments.numbers,
            self.arguments.unknown,
        )
        try:
            recipe, effects = book.recipe(out), book.effects(self.arguments.contents)
        except Undescribable as error:
            raise Break(str(error)) from None
        self.mode.recorder.restore_grad()
        self.graph.output(tuple(nodes))
        for _, node in self.numbers + self.inputs:
            if not node.users:
                self.graph.erase_node(node)
        numbers, inputs = (
            [i for i, node in entries if node.users] for entries in (self.numbers, self.inputs)
        )
        self.symbols.check_promises(self.state.names)
        module = GraphModule(self.tracer.root, self.graph, "GraphModule")
        module.meta["shape_env"] = self.fake_mode.shape_env
        is_static = not self.symbols.sizes and not self.symbols.numbers
        guards = SizeGuards(self.state, None if is_static else self.symbols)
        return CallGraph(module, numbers, inputs, recipe, book.parts, effects, settings, guards)

    def _tensor(self, x: Any, nodes: list[Node]) -> Recipe:
        for index, stands in self.stands.items():
            if stands is x:
                return "state", index
        index = self.indices.get(id(x))  # type: ignore[assignment]
        if index is not None and self.state.tensors[index] is x:
            return "state", index
        node = self.mode.values.node_of_object(x)
        if node is None:
            raise Break("the result has a tensor that no operator made")
        if node not in nodes:
            nodes.append(node)
        return "output", nodes.index(node)

    def _number(self, x: Any) -> Recipe:
        if not x.node.expr.free_symbols <= self.mode.shape_env.var_to_val.keys():
            raise Break("the result has the value of a tensor", by_value=True)
        return "size", (self.mode.shape_env.replace(x.node.expr), x.node.pytype)


def _location_of(error: BaseException) -> tuple[str, int] | None:
    """The innermost line of the program that an error came through."""
    from .purity import is_ours

    location, step = None, error.__traceback__
    while step is not None:
        if not is_ours(step.tb_frame.f_globals.get("__name__")):
            location = step.tb_frame.f_code.co_filename, step.tb_lineno
        step = step.tb_next
    return location


def _trace_boundary(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function; stacks that are noted of nodes end here."""
    return function(*args, **kwargs)


def capture(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], state: State, wishes: Wishes = NO_SYMBOLS
) -> CallGraph:
    """A call as a graph. Containers, attributes and variables that the run changes get back what they held.

    The graph has their changes as effects. Functions whose effects can't be repeated stop the run.

    Args:
        function: what is called.
        args, kwargs: its arguments.
        state: what the call can read.
        wishes: the sizes and numbers that are symbols in the graph.

    Raises:
        Break: the call can't become a graph.
        ConstraintViolationError: the program needs one size of those that it marks as dynamic.
    """
    trace = _Trace(state, wishes)
    before = thread_state()
    try:
        out = trace.run(function, args, kwargs)
        after = thread_state()
        if after != before and not can_be_set(before, after):
            raise Break("a global setting is changed")
        graph = trace.finish(out, None if after == before else after)
    finally:
        restore_thread_state(before)
        state.restore()
        trace.close()
    if _has_changed(function, args, kwargs, state):
        raise Break("the program's own state is changed")
    return graph


def _has_changed(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], state: State) -> bool:
    try:
        return state_of(function, args, kwargs).facts != state.facts
    except Unprovable:
        return True
