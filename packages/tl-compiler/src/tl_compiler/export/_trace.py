"""`export`: runs a module on fakes, records its operators, and puts the program together."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import threading
from collections.abc import Iterator
from typing import Any

import tl_core
import tl_core.operators.packets
import tl_core.symbolic.arithmetic
import tl_nn
from tl_core.pytree import TreeSpec, tree_flatten
from tl_core.subclasses import FakeTensor
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..symbolic.errors import GuardOnDataDependentSymNode, UserError, UserErrorType
from ..symbolic.expression import Relation, Symbol
from ..symbolic.ranges import ValueRanges, bounds
from ..tracer.graphs import eliminate_dead
from ..tracer.proxy_mode import ProxyTorchDispatchMode, PythonKeyTracer
from ..tracer.symbolic_fakes import mode_for
from .constraints import check_constraints
from .dynamic_shapes import AdditionalInputs, ShapesCollection, _combine_args, check_spec, spec_by_name
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from .inherited import FollowedRun
from .inputs import Inputs
from .module_calls import ModuleCalls
from .module_state import ModuleState
from .naming import input_names, placeholder_name
from .passes.replace_set_grad_with_hop_pass import replace_set_grad_with_hop_pass
from .sources import SourceNotes

__all__ = ["trace_program"]

Tensor = tl_core.Tensor


def trace_program(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    dynamic_shapes: Any,
    preserve_module_call_signature: tuple[str, ...],
    prefer_deferred_runtime_asserts_over_guards: bool,
    notes_sources: bool = False,
) -> ExportedProgram:
    """The program of a module; `export` has the arguments.

    Args:
        notes_sources: whether nodes say which function or layer they come from, as `source_fn_stack`.
    """
    _check_arguments(mod, args)
    more = dynamic_shapes if isinstance(dynamic_shapes, AdditionalInputs) else None
    if isinstance(dynamic_shapes, (ShapesCollection, AdditionalInputs)):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(mod, args, kwargs)
    trace = _Export(
        mod,
        args,
        dict(kwargs or {}),
        prefer_deferred_runtime_asserts_over_guards,
        tuple(preserve_module_call_signature),
    )
    if notes_sources:
        trace.calls.sources = SourceNotes(trace.mode.recorder)
    program = trace.run(dynamic_shapes)
    if more is not None:
        more.verify(program)
    return program


def _check_arguments(mod: Any, args: Any) -> None:
    if not isinstance(mod, tl_nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}",
        )


class _Export:
    """The trace of a module: its inputs, its run and the program."""

    def __init__(
        self,
        mod: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        deferred: bool,
        preserved: tuple[str, ...],
    ) -> None:
        self.mod, self.args = mod, args
        self.kwargs = self._sort_keywords(kwargs)
        self.fake_mode = mode_for(
            (args, self.kwargs, dict(mod.named_parameters()), dict(mod.named_buffers()))
        )
        self.env = self.fake_mode.shape_env
        self.env.settings = self.env.settings._replace(prefer_deferred_runtime_asserts_over_guards=deferred)
        self.inputs = Inputs(self.fake_mode)
        self.tracer = PythonKeyTracer()
        self.tracer.root = tl_nn.Module()
        self.graph: Graph = self.tracer.graph
        self.constants: dict[str, Any] = {}
        self.specs: list[InputSpec] = []
        self.state = ModuleState(mod)
        self.calls = ModuleCalls(mod, preserved, self._argument)
        self._input_names: set[str] = set()  # names of inputs
        self._first_input: Node | None = None
        self.mode = ProxyTorchDispatchMode(
            self.tracer,
            "symbolic",
            pre_dispatch=True,
            fake_mode=self.fake_mode,
            constant=self._constant,
            module_stack=self.calls.stack,
            record_stack_traces=True,
            records_grad_mode=True,
        )
        self.mode.exports = True

    def _sort_keywords(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments in the order of the signature."""
        names = list(inspect.signature(self.mod.forward).parameters)
        order = {name: i for i, name in enumerate(names)}
        return dict(sorted(kwargs.items(), key=lambda item: order.get(item[0], len(order))))

    # ---- the trace
    def run(self, dynamic_shapes: Any) -> ExportedProgram:
        """Traces the module."""
        try:
            combined = _combine_args(self.mod, self.args, self.kwargs)
        except TypeError as error:
            raise UserError(
                UserErrorType.INVALID_INPUT, f"{type(self.mod).__name__}.forward(): {error}"
            ) from error
        spec = spec_by_name(combined, dynamic_shapes)
        leaves = check_spec(combined, spec, isinstance(dynamic_shapes, (tuple, list)))
        fakes = [self.inputs.fake(leaf, shape, path) for leaf, shape, path in leaves]
        names = input_names([path for _, _, path in leaves])
        self._input_names = set(names)
        flat, in_spec = tree_flatten((self.args, self.kwargs))
        args, kwargs = self._call_arguments(fakes, flat, leaves, in_spec)
        with self.state.fakes(self._state_input):
            self.constants.update(self.state.constants)
            self._user_inputs(fakes, names)
            out = self._trace(args, kwargs)
        results, out_spec = tree_flatten(out)
        output_specs = self._outputs(results)
        return self._program(in_spec, out_spec, output_specs)

    def _call_arguments(self, fakes: list[Any], flat: list[Any], leaves: list[Any], in_spec: TreeSpec) -> Any:
        """The arguments with fakes in place of tensors."""
        order = [leaf for leaf, _, _ in leaves]
        if len(order) != len(flat) or any(a is not b for a, b in zip(order, flat, strict=True)):
            raise UserError(
                UserErrorType.INVALID_INPUT,
                "arguments whose order by name is not that of the call aren't supported",
            )
        return in_spec.unflatten(fakes)

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        sources = self.calls.sources or contextlib.nullcontext()
        try:
            with self.calls.follow(), self._follow_graph(), self.mode, sources:
                out = _trace_boundary(self.mod, args, kwargs)
                self.state.copy_assigned()
        except GuardOnDataDependentSymNode as error:
            raise UserError(
                UserErrorType.ANTI_PATTERN,
                f"Consider annotating your code using torch._check*(). {error}",
                "constrain_as_size_example",
            ) from error
        return out

    # ---- parameters, buffers, constants
    def _state_input(self, kind: InputKind, name: str, value: Any, persistent: bool) -> Any:
        """Creates the input of a parameter or buffer, and returns its fake."""
        fake = self.fake_mode.from_tensor(value, static_shapes=True)
        prefix = "p_" if kind is InputKind.PARAMETER else "b_"
        node = self._placeholder(self._free_name(placeholder_name(prefix, name)))
        self.specs.append(
            InputSpec(kind, TensorArgument(node.name), name, persistent if kind is InputKind.BUFFER else None)
        )
        node.meta["val"] = fake
        self.mode.track(fake, node)
        return fake

    def _free_name(self, name: str) -> str:
        """A name that is none of the user's inputs."""
        number, unique = 0, name
        while unique in self._input_names:
            number += 1
            unique = f"{name}_{number}"
        self._input_names.add(unique)
        return unique

    def _placeholder(self, name: str) -> Node:
        """An input; where the name is another's, with a number."""
        node = self.graph.placeholder(name)
        if node.name != name and not hasattr(builtins, name):
            node.target = node.name
        return node

    def _constant(self, t: Any) -> Node:
        """The input of a tensor that the program holds, or made while it ran."""
        names = self.state.names_of(t)
        name = names[0] if names else None
        if name is None:
            number = sum(1 for n in self.constants if n.startswith("lifted_tensor_"))
            name = f"lifted_tensor_{number}"
        where = self._first_input
        with self.graph.inserting_before(where) if where is not None else contextlib.nullcontext():
            node = self._placeholder(self._free_name(placeholder_name("c_", name)))
        stands = self.mode.values.fake_of(t)
        node.meta["val"] = stands
        for path in {name, *names}:
            self.constants[path] = t.detach() if t.requires_grad else t
        at = sum(1 for s in self.specs if s.kind is not InputKind.USER_INPUT)
        self.specs.insert(at, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), name))
        return node

    # ---- the user's inputs and outputs
    def _user_inputs(self, fakes: list[Any], names: list[str]) -> None:
        for value, name in zip(fakes, names, strict=True):
            node = self._placeholder(name)
            self._first_input = self._first_input or node
            node.meta["val"] = value
            arg: Any
            if isinstance(value, Tensor):
                self.mode.track(value, node)
                arg = TensorArgument(node.name)
            elif isinstance(value, SymInt):
                self.mode.track(value, node)
                arg = SymIntArgument(node.name)
            else:
                arg = ConstantArgument(node.name, value)
            self.specs.append(InputSpec(InputKind.USER_INPUT, arg, None))

    def _outputs(self, results: list[Any]) -> list[OutputSpec]:
        specs, nodes = [], []
        for value in results:
            node: Any = value
            arg: Any
            if isinstance(value, (SymInt, SymFloat, SymBool)):
                node = self.mode.sizes.node_of(value)
                kinds = {SymInt: SymIntArgument, SymFloat: SymFloatArgument, SymBool: SymBoolArgument}
                arg = kinds[type(value)](node.name) if isinstance(node, Node) else ConstantArgument("", node)
            elif isinstance(value, Tensor):
                node = self.mode.node_of(value)
                arg = TensorArgument(node.name)
            elif value is None or isinstance(value, (bool, int, float, str)):
                arg = ConstantArgument("", value)
            else:
                raise UserError(
                    UserErrorType.INVALID_OUTPUT,
                    f"It looks like one of the outputs with type `{type(value)}` is not supported or "
                    "pytree-flattenable. \nExported graphs outputs can only contain the following supported types: "
                    "[Tensor, int, float, bool, str, None, SymInt, SymFloat, SymBool]. \nIf you are using a "
                    "custom class "
                    "object, please register a pytree_flatten/unflatten function using torch.utils._pytree.",
                )
            nodes.append(node)
            specs.append(OutputSpec(OutputKind.USER_OUTPUT, arg, None))
        self.graph.output(tuple(nodes))
        return specs

    # ---- the program
    def _program(
        self, in_spec: TreeSpec, out_spec: TreeSpec, output_specs: list[OutputSpec]
    ) -> ExportedProgram:
        check_constraints(self.inputs)
        self._check_guards()
        self._assertions()
        eliminate_dead(self.graph)
        self._settle_sizes()
        names = {n.name for n in self.graph.nodes if n.op == "placeholder"}
        specs = [s for s in self.specs if s.arg.name in names]
        module = GraphModule(self.tracer.root, self.graph, "GraphModule")
        if isinstance(self.mod, GraphModule) and "custom" in self.mod.meta:
            module.meta["custom"] = self.mod.meta["custom"]
        module.meta["shape_env"] = self.env
        ranges = self._ranges()
        module, graph_signature = replace_set_grad_with_hop_pass(
            module, ExportGraphSignature(specs, output_specs)
        )
        call = ModuleCallSignature([], [], in_spec, out_spec, self._argument_names())
        entries = [ModuleCallEntry("", call)]
        calls = self.calls.signatures
        entries += [ModuleCallEntry(n, calls.get(n)) for n, _ in self.mod.named_modules() if n]
        entries += [
            ModuleCallEntry(n, signature) for n, signature in calls.items() if "@" in n
        ]  # further calls
        return ExportedProgram(
            root=module,
            graph=module.graph,
            graph_signature=graph_signature,
            state_dict=self.state.tensors,
            range_constraints=ranges,
            module_call_graph=entries,
            example_inputs=(self.args, self.kwargs),
            constants=self.constants,
        )

    def _argument_names(self) -> list[str]:
        bound = inspect.signature(self.mod.forward).bind(*self.args, **self.kwargs)
        names: list[str] = []
        for name, value in bound.arguments.items():
            kind = bound.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                names += [f"{name}_{i}" for i in range(len(value))]
            elif kind is inspect.Parameter.VAR_KEYWORD:
                names += list(value)
            else:
                names.append(name)
        return names

    def _check_guards(self) -> None:
        """Lets the program check what no `Dim` and no range of a hinted dimension says: that a size is even, or a
        multiple of another."""
        named = {s for s in self.inputs.roots.values() if isinstance(s, Symbol)}
        for guard in self.env.guards:
            e = self.env.replace(guard.expr)
            if isinstance(e, Relation) and (len(e.free_symbols) > 1 or not e.free_symbols <= named):
                low, _ = bounds(e, self.env.var_to_range)
                if not low:
                    self.env._check_at_run(e)

    def _assertions(self) -> None:
        """Checks of numbers that only data decide, at the end of the graph."""
        with self.graph.inserting_before(self.graph.output_node()):
            self.mode.sizes.record_assertions()

    def _settle_sizes(self) -> None:
        """Sizes that were learned to be numbers are numbers in what is noted of nodes."""
        if not self.env.replacements:
            return
        for node in self.graph.nodes:
            value = node.meta.get("val")
            if isinstance(value, FakeTensor) and value.symbolic is not None:
                value.symbolic.settle()

    def _ranges(self) -> dict[Any, ValueRanges]:
        ranges: dict[Any, ValueRanges] = {}
        for node in self.graph.nodes:
            value = node.meta.get("val")
            numbers = value.shape if isinstance(value, FakeTensor) else (value,)
            for n in numbers:
                if isinstance(n, SymInt):
                    e = n.node.expr
                    for symbol in sorted(e.free_symbols, key=str):
                        if symbol in self.env.var_to_range:
                            ranges.setdefault(symbol, self._shown_range(symbol))
                    if node.op == "placeholder" and not isinstance(e, Symbol):
                        ranges.setdefault(e, ValueRanges(*bounds(e, self.env.var_to_range)))
        return ranges

    def _shown_range(self, symbol: Symbol) -> ValueRanges:
        interval = self.env.var_to_range[symbol]
        return (
            ValueRanges(0, interval.upper)
            if interval.lower == 2 and self._promised_less(symbol)
            else interval
        )

    def _promised_less(self, symbol: Symbol) -> bool:
        """Whether a size below 2 was promised: what a trace assumes of 0 and 1 is not what the user said."""
        name = next((n for n, s in self.inputs.roots.items() if s == symbol), None)
        return name is not None and self.inputs.named[name].min < 2

    @contextlib.contextmanager
    def _follow_graph(self) -> Iterator[None]:
        """Runs a module that is a graph node by node, so that the nodes of the trace inherit its nodes' descriptions.

        Another thread that calls the module meanwhile runs its own code.
        """
        if not isinstance(self.mod, GraphModule) or "forward" in self.mod.__dict__:
            yield
            return
        original, thread = self.mod.forward, threading.get_ident()

        def forward(*args: Any, **kwargs: Any) -> Any:
            if kwargs or threading.get_ident() != thread:
                return original(*args, **kwargs)
            return FollowedRun(self.mod, self.mode.recorder).run(*args)

        object.__setattr__(self.mod, "forward", forward)
        try:
            yield
        finally:
            object.__delattr__(self.mod, "forward")

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return TensorArgument(self.mode.node_of(value).name)
        if isinstance(value, SymInt):
            node = self.mode.sizes.node_of(value)
            return SymIntArgument(node.name) if isinstance(node, Node) else ConstantArgument("", node)
        return ConstantArgument("", value)


def _trace_boundary(mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the module; stacks that are noted of nodes end here."""
    return mod(*args, **kwargs)


DEFAULT_EXPORT_DYNAMO_CONFIG: dict[str, Any] = {"allow_rnn": True}


def _export(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    strict: bool = True,
    preserve_module_call_signature: tuple[str, ...] = (),
    pre_dispatch: bool = False,
    allow_complex_guards_as_runtime_asserts: bool = False,
    _is_torch_jit_trace: bool = False,
) -> ExportedProgram:
    """A program as `export` makes it; unless `pre_dispatch`, without writes and in core operators."""
    program = trace_program(
        mod,
        args,
        kwargs,
        dynamic_shapes,
        preserve_module_call_signature,
        allow_complex_guards_as_runtime_asserts,
    )
    return program if pre_dispatch else program.run_decompositions({})


def _export_to_torch_ir(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Refused: programs are recorded as operators, not as calls of functions of Python."""
    raise NotImplementedError(
        "_export_to_torch_ir(): programs are recorded as operators; fx.symbolic_trace records calls of functions"
    )
