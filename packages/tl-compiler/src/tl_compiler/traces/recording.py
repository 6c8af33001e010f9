"""One run of a function on examples, whose operators and calls of modules are recorded.

The run is one on fakes: sizes stay symbols, so that the program holds for other sizes. Where Python reads a value, the
run is repeated with the tensors that the fakes stand for, the value is a constant of the program, and a warning says
so. A function may ask which tensors its arguments are, as one does that keeps them elsewhere too. If the run on fakes
fails, it is repeated with the arguments themselves, whose sizes are numbers.
"""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import tl_core
import tl_nn
from tl_core.dispatch.modes import modes_off
from tl_core.pytree import tree_leaves, tree_map
from tl_core.subclasses import FakeTensor
from tl_core.subclasses.fake_mode import FakeTensorMode
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ..export.graph_signature import InputKind
from ..export.module_state import ModuleState
from ..fx.method_hook import MODULE_CALLS
from ..fx.node import Node
from ..script.errors import TracerWarning
from ..script.script_module import ScriptModule
from ..script.tracing_state import record_in
from ..symbolic.errors import GuardOnDataDependentSymNode
from ..symbolic.shape_env import ShapeEnv
from ..tracer.graphs import eliminate_dead
from ..tracer.proxy_mode import ProxyTorchDispatchMode, PythonKeyTracer
from .repetition import CallList

__all__ = ["Call", "Recording", "record"]

Tensor = tl_core.Tensor
_SYMBOLIC = (SymInt, SymFloat, SymBool)


class Call:
    """A call of a module, or the whole trace.

    Args:
        path: the path of the module; "" for the traced one.
        parent: the call that it is a part of, or None.
        number: how many calls of the module came before.
    """

    def __init__(self, path: str, parent: Call | None, number: int) -> None:
        self.path, self.parent, self.number = path, parent, number

    def chain(self) -> list[Call]:
        """This call and those that it is a part of, from the inside."""
        return [self] if self.parent is None else [self, *self.parent.chain()]

    def holds(self, path: str) -> bool:
        """Whether an attribute of a path is one of the module of this call or of a module inside."""
        return not self.path or path.startswith(f"{self.path}.")


class _ReadsValue(BaseException):
    """Python reads a value: the run starts again with values. No handler of the program catches it."""


_KINDS = {"bool": "boolean", "int": "integer", "float": "float"}


class _Mode(ProxyTorchDispatchMode):
    """The mode of a recording. `silent` operators run without a node."""

    silent = False
    warned = True
    exports = False
    calls: CallList

    def record(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Records an operator, or runs it where the mode is silent."""
        reads = str(func) == "aten._local_scalar_dense.default"
        if reads and (self.silent or isinstance(args[0], FakeTensor)):
            return self._scalar(func, args, kwargs)
        if not self.silent:
            if not reads:
                self.calls.add(func, args, kwargs)
            out = super().record(func, args, kwargs)
            self.calls.add_results(out)
            return out
        return self.run_on_fakes(func, *args, **kwargs)

    def _scalar(self, func: Any, args: Any, kwargs: Any) -> Any:
        (t,) = args
        real = t.real_tensor if isinstance(t, FakeTensor) else t
        if real is None:
            raise _ReadsValue
        value = real.item()
        if isinstance(t, FakeTensor):
            self._warn(f"Python {_KINDS.get(type(value).__name__, 'number')}")
        return value

    def values_of(self, fake: FakeTensor) -> Tensor:
        """The tensor that a fake stands for, of which a program asks for an array. The trace has it as a constant."""
        if fake.real_tensor is None:
            raise _ReadsValue
        self._warn("NumPy array")
        with modes_off():
            return fake.real_tensor.detach().requires_grad_(fake.requires_grad)

    def _warn(self, kind: str) -> None:
        if not self.silent and self.warned:
            warnings.warn(
                f"Converting a tensor to a {kind} might cause the trace to be incorrect. We can't record the data flow "
                "of Python values, so this value will be treated as a constant in the future. This means that the "
                "trace might not generalize to other inputs!",
                TracerWarning,
                stacklevel=_depth_of_program(),
            )


def _depth_of_program() -> int:
    """The number of frames between a warning here and the line of the program."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("tl_core", "tl_compiler")
    ):
        frame, depth = frame.f_back, depth + 1
    return depth


class Recording:
    """The operators of one run.

    Args:
        module: the traced module; for a function, an empty one.
        values: whether fakes know the tensors that they stand for.
        warns: whether Python's reading of a value warns.
        own: whether the function gets its arguments themselves, not fakes of them.
    """

    def __init__(self, module: tl_nn.Module, values: bool, warns: bool, own: bool = False) -> None:
        self.module, self._own = module, own
        self.env = ShapeEnv(specialize_zero_one=False, duck_shape=False)
        self.env.__dict__["sizes_by_rule"] = {}
        self.fake_mode = FakeTensorMode(shape_env=self.env, allow_non_fake_inputs=True, export=True)
        self.fake_mode.propagate_real_tensors = values
        self.tracer = PythonKeyTracer()
        self.tracer.root = tl_nn.Module()
        self.graph = self.tracer.graph
        self.state = ModuleState(module)
        self.inputs: list[Node] = []
        self._examples: list[Tensor] = []  # which live as long as their fakes
        self._nodes: dict[int, Node] = {}  # of arguments that the function gets themselves, by identity
        self.result: Any = None  # the result, with nodes in the place of tensors
        self.constants: dict[Node, Tensor] = {}
        self.attributes: dict[
            Node, str
        ] = {}  # the nodes of parameters, buffers and other tensors of the module
        self._paths: dict[int, list[str]] = {}  # of modules, by identity: a module may be there twice
        for path, part in module.named_modules(remove_duplicate=False):
            self._paths.setdefault(id(part), []).append(path)
        self._counts: dict[str, int] = {}
        self.call = self.root = Call("", None, 0)
        self._starts = False
        self.mode = _Mode(
            self.tracer,
            "symbolic",
            pre_dispatch=True,
            fake_mode=self.fake_mode,
            constant=self._constant,
            module_stack=lambda: self.call,  # type: ignore[arg-type, return-value]  # a call, not a stack
        )
        self.mode.warned = warns
        self.fake_mode.values_of = self.mode.values_of
        self.calls = self.mode.calls = CallList()

    def value_of(self, number: Any) -> Any:
        """The number that a symbolic number stands for in the examples."""
        value = self.env.size_hint(number.node.expr)
        return number.node.pytype(value)

    # ---- the run
    def run(self, function: Callable[..., Any], inputs: Any) -> None:
        """Runs the function.

        Args:
            function: takes the inputs.
            inputs: the arguments by position and those by name.
        """
        arguments, keywords = tree_map(self._input, inputs)
        with self.state.fakes(self._state_input):
            self._starts = isinstance(function, tl_nn.Module)
            with record_in(self), MODULE_CALLS.handle(self._call), self.mode:
                out = function(*arguments, **keywords)
                self.state.copy_assigned()
            self.result = self._result(out)
            self.graph.output([n for n in tree_leaves(self.result) if isinstance(n, Node)])
        eliminate_dead(self.graph)

    def _fake(self, value: Any, name: str, static: bool = False) -> Any:
        return self.fake_mode.from_tensor(value, static_shapes=static, source=name)

    def _input(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        name = f"input_{len(self.inputs)}"
        # An object of its own: two inputs, or an input and a parameter, may be the same tensor.
        own = value.detach().requires_grad_(value.requires_grad)
        self._examples.append(own)
        fake = self._fake(own, name, static=self._own)
        node = self.graph.placeholder(name)
        node.meta["val"] = fake
        self.inputs.append(node)
        if self._own:
            self._nodes[id(value)] = node
            return value
        self.mode.track(fake, node)
        return fake

    def _attribute(self, name: str) -> Node:
        node: Node = self.tracer.create_node("get_attr", name, (), {}, name.rpartition(".")[2])
        self.attributes[node] = name
        return node

    def _state_input(self, kind: InputKind, name: str, value: Any, persistent: bool) -> Any:
        fake = self._fake(value, name, static=True)
        node = self._attribute(name)
        node.meta["val"] = fake
        self.mode.track(fake, node)
        return fake

    def _constant(self, t: Tensor) -> Node:
        if id(t) in self._nodes:
            return self._nodes[id(t)]
        names = self.state.names_of(t)
        if names:
            return self._attribute(names[0])
        if t.requires_grad:
            raise RuntimeError(
                "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or "
                f"detaching the gradient\nTensor:\n{t}"
            )
        node: Node = self.tracer.create_node(
            "get_attr", f"constant_{len(self.constants)}", (), {}, "constant"
        )
        self.constants[node] = t
        return node

    def _result(self, value: Any) -> Any:
        """The result with nodes in the place of tensors, which may be keys of dictionaries."""
        if isinstance(value, (Tensor, *_SYMBOLIC)):
            return self.mode.node_of(value)
        if isinstance(value, dict):
            return {self._result(key): self._result(item) for key, item in value.items()}
        if not isinstance(value, (tuple, list)):
            return value
        return tree_map(self._result, value, is_leaf=lambda part: part is not value)

    # ---- calls of modules
    def _call(self, method: Any, module: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(module, ScriptModule):
            return self.record_script_call(module, "forward", method, (module, *args), kwargs)
        if self._starts:
            self._starts = False
            return method(module, *args, **kwargs)
        path = self._paths.get(id(module), [""])[0]
        if not path or path == self.call.path or not self.call.holds(path):
            return method(module, *args, **kwargs)
        number = self._counts[path] = self._counts.get(path, -1) + 1
        self.call = Call(path, self.call, number)
        try:
            return method(module, *args, **kwargs)
        finally:
            assert self.call.parent is not None
            self.call = self.call.parent

    def _path_in_call(self, module: Any) -> str | None:
        """The path of a scripted module in the module that runs; None if it is no part of it."""
        paths = self._paths.get(id(module), [])
        return next((path for path in paths if self.call.holds(path)), None)

    def record_script_call(
        self,
        target: Any,
        name: str,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Records a call of a scripted function or module, which keeps its control flow.

        Args:
            target: the `ScriptFunction` or `ScriptModule`.
            name: the name of the method.
            function: what runs.
            args, kwargs: its arguments.
        """
        if self.mode.silent:
            return function(*args, **kwargs)
        self.calls.is_comparable = False
        path = self._path_in_call(target)
        if isinstance(target, ScriptModule) and path is None:
            raise RuntimeError(
                "a scripted module is called in a trace, and is no submodule of the traced module: make it an attribute"
            )
        self.mode.silent = True
        try:
            out = function(*args, **kwargs)
        finally:
            self.mode.silent = False
        arguments_of_call = args[1:] if isinstance(target, ScriptModule) else args
        call = ScriptCall(target, path, name)
        self._track_parts(out, self.mode.record_call(call, arguments_of_call, kwargs, out, name), 0)
        return out

    def _track_parts(self, out: Any, node: Node, depth: int) -> None:
        """Creates the nodes of the tensors in a result, except those of a list, which `record_call` creates."""
        pairs = (
            out.items() if isinstance(out, dict) else enumerate(out) if isinstance(out, (list, tuple)) else ()
        )
        has_nodes = not isinstance(out, dict) and depth == 0
        for key, part in pairs:
            holds = isinstance(part, (list, tuple, dict))
            if holds or (isinstance(part, (Tensor, *_SYMBOLIC)) and not has_nodes):
                item = self.mode.recorder.create(operator.getitem, (node, key), {}, "getitem")
                item.meta["val"] = part
                self.mode.track(part, item)
                self._track_parts(part, item, depth + 1)


class ScriptCall:
    """The target of the node of a scripted function's call.

    Args:
        target: the function or module.
        path: the path of the module.
        name: the name of the function or method.
    """

    has_effect = True

    def __init__(self, target: Any, path: str | None, name: str) -> None:
        self.target, self.path, self.__name__ = target, path, name
        self.__module__ = "tl_compiler.traces.recording"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.target(*args, **kwargs)


def record(module: tl_nn.Module, function: Callable[..., Any], inputs: Any, warns: bool = True) -> Recording:
    """Returns the recording of a run.

    Args:
        module: the traced module; for a function, an empty one.
        function: what runs: the module, one of its methods or a function.
        inputs: the arguments by position and those by name.
        warns: whether Python's reading of a value warns.
    """
    try:
        return _record(module, function, inputs, warns)
    except Exception:
        if isinstance(function, tl_nn.Module) or not any(
            isinstance(value, Tensor) and value.requires_grad for value in tree_leaves(inputs)
        ):
            raise
        with suppress(Exception):  # the first error counts, which is one of the program
            return _record(module, function, inputs, warns, own=True)
        raise


def _record(
    module: tl_nn.Module, function: Callable[..., Any], inputs: Any, warns: bool, own: bool = False
) -> Recording:
    for values in (False, True):
        recording = Recording(module, values, warns, own)
        try:
            recording.run(function, inputs)
        except (_ReadsValue, GuardOnDataDependentSymNode):
            if values:
                raise
            continue
        return recording
    raise RuntimeError("the trace reads the value of a tensor that it doesn't know")
