"""`export`: runs a module on fakes, records its operators, and puts the program together."""

from __future__ import annotations

import builtins
import contextlib
import inspect
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
from ..tracer.method_hook import MODULE_CALLS
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
    trace = _Export(mod, args, dict(kwargs or {}), prefer_deferred_runtime_asserts_over_guards)
    trace.preserved = tuple(preserve_module_call_signature)
    if notes_sources:
        trace.sources = SourceNotes(trace.mode)
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
    def __init__(self, mod: Any, args: tuple[Any, ...], kwargs: dict[str, Any], deferred: bool) -> None:
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
        self.preserved: tuple[str, ...] = ()
        self.calls: dict[str, ModuleCallSignature] = {}
        self._modules: list[tuple[str, str, str]] = []
        self._counts: dict[str, int] = {}  # calls of modules
        self._paths = {id(m): name for name, m in mod.named_modules()}
        self._swapped: list[tuple[dict[str, Any], str, Any, Any]] = []
        self._input_names: set[str] = set()  # names of inputs
        self._first_input: Node | None = None
        self._state: dict[str, Any] = {}
        self.mode = ProxyTorchDispatchMode(
            self.tracer,
            "symbolic",
            pre_dispatch=True,
            fake_mode=self.fake_mode,
            constant=self._constant,
            module_stack=self._module_stack,
            record_stack_traces=True,
            records_grad_mode=True,
        )
        self.mode.exports = True
        self.sources: SourceNotes | None = None

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
        self._hold_state()
        self._user_inputs(fakes, names)
        flat, in_spec = tree_flatten((self.args, self.kwargs))
        args, kwargs = self._call_arguments(fakes, flat, leaves, in_spec)
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
        before = self._attributes()
        try:
            with self._recording(), self._follow_graph(), self.mode, self.sources or contextlib.nullcontext():
                out = _trace_boundary(self.mod, args, kwargs)
                self._assigned_buffers()
        except GuardOnDataDependentSymNode as error:
            raise UserError(
                UserErrorType.ANTI_PATTERN,
                f"Consider annotating your code using torch._check*(). {error}",
                "constrain_as_size_example",
            ) from error
        finally:
            self._restore()
            self._refuse_assigned(before)
        return out

    # ---- parameters, buffers, constants
    def _hold_state(self) -> None:
        """Puts a fake in the place of each parameter and buffer, and makes their inputs."""
        entries: dict[int, tuple[Any, Node]] = {}
        for kind, prefix, named in (
            (InputKind.PARAMETER, "p_", self.mod.named_parameters(remove_duplicate=False)),
            (InputKind.BUFFER, "b_", self.mod.named_buffers(remove_duplicate=False)),
        ):
            for name, value in list(named):
                module, _, last = name.rpartition(".")
                owner = self.mod.get_submodule(module)
                table = owner._parameters if kind is InputKind.PARAMETER else owner._buffers
                absent = kind is InputKind.BUFFER and last in owner._non_persistent_buffers_set
                if id(value) in entries:
                    stands, node = entries[id(value)]
                else:
                    stands = self.fake_mode.from_tensor(value, static_shapes=True)
                    node = self._state_input(kind, prefix, name, value, absent)
                    node.meta["val"] = stands
                    self.mode.track(stands, node)
                    entries[id(value)] = (stands, node)
                self._swapped.append((table, last, value, stands))
                table[last] = stands
                if absent:
                    self.constants[name] = value
                else:
                    self._state[name] = value

    def _state_input(self, kind: InputKind, prefix: str, name: str, value: Any, absent: bool) -> Node:
        node = self._placeholder(self._free_name(placeholder_name(prefix, name)))
        persistent = (not absent) if kind is InputKind.BUFFER else None
        self.specs.append(InputSpec(kind, TensorArgument(node.name), name, persistent))
        return node

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

    def _restore(self) -> None:
        for table, name, value, _ in self._swapped:
            table[name] = value
        self._swapped = []

    def _assigned_buffers(self) -> None:
        """A buffer that the program assigned is written: its new value is copied to it."""
        for table, name, value, stands in self._swapped:
            current = table.get(name)
            if current is stands or current is None or not isinstance(current, Tensor):
                continue
            if isinstance(value, tl_nn.Parameter):
                raise AssertionError(
                    f"The parameter {name} was assigned during export, which is not supported"
                )
            tl_core.operators.packets.aten.copy_.default(stands, current)

    def _attributes(self) -> dict[tuple[int, str], Any]:
        return {
            (id(module), name): value
            for module in self.mod.modules()
            for name, value in module.__dict__.items()
            if not name.startswith("_")
        }

    def _refuse_assigned(self, before: dict[tuple[int, str], Any]) -> None:
        """Raises where the program kept a traced tensor in an attribute, which would be lost."""
        attributes = []
        for path, module in self.mod.named_modules():
            for name, value in list(module.__dict__.items()):
                if isinstance(value, FakeTensor) and before.get((id(module), name)) is not value:
                    attributes.append(f"self.{path + '.' if path else ''}{name}")
                    if (id(module), name) in before:
                        module.__dict__[name] = before[id(module), name]
                    else:
                        del module.__dict__[name]
        if attributes:
            names = ", ".join(attributes)
            raise ValueError(
                f"The tensor attribute{'s' if len(attributes) > 1 else ''} {names} "
                f"{'were' if len(attributes) > 1 else 'was'} assigned during export. Such attributes must be "
                "registered as buffers using the `register_buffer` API (https://pytorch.org/docs/stable/generated/"
                "torch.nn.Module.html#torch.nn.Module.register_buffer)."
            )

    def _constant(self, t: Any) -> Node:
        """The input of a tensor that the program holds, or made while it ran."""
        name = self._attribute_of(t)
        if name is None:
            number = sum(1 for n in self.constants if n.startswith("lifted_tensor_"))
            name = f"lifted_tensor_{number}"
        where = self._first_input
        with self.graph.inserting_before(where) if where is not None else contextlib.nullcontext():
            node = self._placeholder(self._free_name(placeholder_name("c_", name)))
        stands = self.mode.fake_of(t)
        node.meta["val"] = stands
        for path in {name, *self._attributes_of(t)}:
            self.constants[path] = t.detach() if t.requires_grad else t
        at = sum(1 for s in self.specs if s.kind is not InputKind.USER_INPUT)
        self.specs.insert(at, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), name))
        return node

    def _attribute_of(self, t: Any) -> str | None:
        return next(iter(self._attributes_of(t)), None)

    def _attributes_of(self, t: Any) -> list[str]:
        """The dotted names of the attributes that hold a tensor."""
        return [
            f"{path}.{name}" if path else name
            for path, module in self.mod.named_modules()
            for name, value in module.__dict__.items()
            if value is t
        ]

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
                node = self.mode.node_of_number(value)
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
        module, signature = replace_set_grad_with_hop_pass(module, ExportGraphSignature(specs, output_specs))
        call = ModuleCallSignature([], [], in_spec, out_spec, self._argument_names())
        entries = [ModuleCallEntry("", call)]
        entries += [ModuleCallEntry(n, self.calls.get(n)) for n, _ in self.mod.named_modules() if n]
        entries += [
            ModuleCallEntry(n, call_signature) for n, call_signature in self.calls.items() if "@" in n
        ]  # further calls
        return ExportedProgram(
            root=module,
            graph=module.graph,
            graph_signature=signature,
            state_dict=self._state,
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
            self.mode.record_assertions()

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

    # ---- where the program is
    def _recording(self) -> contextlib.AbstractContextManager[None]:
        """A region that notes which module runs."""
        return MODULE_CALLS.handle(self._call_module)

    def _call_module(self, method: Any, module: Any, /, *args: Any, **kwargs: Any) -> Any:
        path = self._paths.get(id(module))
        if path is None:
            return method(module, *args, **kwargs)
        kind = f"{type(module).__module__}.{type(module).__qualname__}"
        number = self._counts[path] = self._counts.get(path, -1) + 1
        again = f"@{number}" if number else ""  # tells the calls of a module apart
        self._modules.append((f"L['self']{'.' + path if path else ''}{again}", path, kind))
        source = contextlib.nullcontext() if self.sources is None else self.sources.of_module(path, module)
        try:
            with source:
                out = method(module, *args, **kwargs)
            if path in self.preserved:
                self._keep_call(module, path, args, kwargs, out)
            return out
        finally:
            self._modules.pop()

    @contextlib.contextmanager
    def _follow_graph(self) -> Iterator[None]:
        """Lets a module that is a graph run node by node, so that what is recorded says what its nodes say."""
        if not isinstance(self.mod, GraphModule) or "forward" in self.mod.__dict__:
            yield
            return
        original = self.mod.forward

        def forward(*args: Any, **kwargs: Any) -> Any:
            return original(*args, **kwargs) if kwargs else FollowedRun(self.mod, self.mode).run(*args)

        object.__setattr__(self.mod, "forward", forward)
        try:
            yield
        finally:
            object.__delattr__(self.mod, "forward")

    def _module_stack(self) -> dict[str, tuple[str, str]]:
        return {key: (path, kind) for key, path, kind in self._modules}

    def _keep_call(self, module: Any, path: str, args: Any, kwargs: Any, out: Any) -> None:
        """Notes how a submodule is called."""
        inputs, in_spec = tree_flatten((args, kwargs))
        outputs, out_spec = tree_flatten(out)
        number, key = 0, path
        while key in self.calls:
            number += 1
            key = f"{path}@{number}"
        self.calls[key] = ModuleCallSignature(
            [self._argument(a) for a in inputs], [self._argument(a) for a in outputs], in_spec, out_spec
        )

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return TensorArgument(self.mode.node_of(value).name)
        if isinstance(value, SymInt):
            node = self.mode.node_of_number(value)
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
