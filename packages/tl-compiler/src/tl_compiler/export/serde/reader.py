"""From JSON to an exported program. What stands in the file is data: names are looked up in tables, nothing is run."""

from __future__ import annotations

import builtins
import operator
import re
from typing import Any

import tl_core
import tl_nn
from tl_core.operators.packets import OpOverload
from tl_core.pytree.files import treespec_loads

from ...fx.graph import Graph
from ...fx.graph_module import GraphModule
from ...fx.node import Node
from ...symbolic.expression import Expr, Integer, Symbol, sympify
from ...symbolic.parsing import parse
from ...symbolic.ranges import ValueRanges, int_oo
from ...symbolic.shape_env import ShapeEnv
from ...tracer.schemas import schema_of
from ...tracer.symbolic_fakes import fake_of_sizes, mode_for
from ..exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from ..graph_signature import (
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
from ..verifier import load_verifier
from .codes import DTYPES, LAYOUTS, MEMORY_FORMATS, FileRefused, function_named, is_identifier

__all__ = ["Reader", "sizes_of_meta"]

_FQN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*\Z")
_MOST_NODES = 1_000_000
Json = dict[str, Any]


def _only(data: Any, what: str) -> tuple[str, Any]:
    """The one entry of a union."""
    if not isinstance(data, dict) or len(data) != 1:
        raise FileRefused(f"{what} has one entry, got {str(data)[:80]}")
    return next(iter(data.items()))


def _name(text: Any) -> str:
    if not is_identifier(text):
        raise FileRefused(f"{str(text)[:80]!r} is no name")
    return str(text)


def _fqn(text: Any) -> str:
    if not isinstance(text, str) or (text and not _FQN.match(text)):
        raise FileRefused(f"{str(text)[:80]!r} is no name of a parameter or module")
    return text


def _device(data: Any) -> Any:
    index = data.get("index")
    kind = data["type"]
    if not isinstance(kind, str) or not re.match(r"[a-z0-9]{1,16}\Z", kind):
        raise FileRefused(f"{str(kind)[:40]!r} is no device")
    return tl_core.device(kind) if index is None else tl_core.device(kind, int(index))


def _code(table: dict[int, Any], data: Any, what: str) -> Any:
    if data not in table:
        raise FileRefused(f"{data} is no {what}")
    return table[data]


def _number(data: Any) -> float:
    return float(data) if isinstance(data, str) else data


def sizes_of_meta(meta: Json) -> tuple[list[int], list[int], int]:
    """The geometry of a tensor whose sizes are all numbers.

    Args:
        meta: what the file says of it.
    """

    def number(data: Any) -> int:
        kind, value = _only(data, "a size")
        if kind != "as_int" or isinstance(value, bool) or not isinstance(value, int):
            raise FileRefused(f"the size of a stored tensor is a number, got {data}")
        return value

    return (
        [number(n) for n in meta["sizes"]],
        [number(n) for n in meta["strides"]],
        number(meta["storage_offset"]),
    )


def _texts(data: Any, what: str) -> list[str]:
    if not isinstance(data, list):
        raise FileRefused(f"{what} is a list of texts, got {str(data)[:80]}")
    return [str(text) for text in data]


class Reader:
    """Reads one program.

    Args:
        data: what JSON held.
        tensors: the stored tensors by name.
        constants: the stored constants by name.
    """

    def __init__(self, data: Json, tensors: dict[str, Any], constants: dict[str, Any]) -> None:
        self.data, self.tensors, self.constants = data, tensors, constants
        self.mode = mode_for(())
        self.env: ShapeEnv = self.mode.shape_env
        self.symbols: dict[str, Symbol] = {}
        self.ranges: dict[Any, ValueRanges] = {}
        self.read_nodes = 0

    def read(self) -> ExportedProgram:
        """The program."""
        version = self.data["schema_version"]
        if version["major"] != 8:
            raise FileRefused(
                f"the file's format has version {version['major']}.{version['minor']}, this library reads 8"
            )
        self._ranges()
        module = self.data["graph_module"]
        signature = self._signature(module["signature"])
        gm = _GraphReader(self, module["graph"], signature).read()
        gm.meta["shape_env"] = self.env
        entries = [self._entry(e) for e in module["module_call_graph"]]
        state = {
            s.target: self._state(s)
            for s in signature.input_specs
            if s.kind in _STATE and s.persistent is not False
        }
        constants = {
            s.target: self._constant(s)
            for s in signature.input_specs
            if s.kind is InputKind.CONSTANT_TENSOR or s.persistent is False
        }
        program = ExportedProgram(
            root=gm,
            graph=gm.graph,
            graph_signature=signature,
            state_dict=state,  # type: ignore[arg-type]
            range_constraints=self.ranges,
            module_call_graph=entries,
            constants=constants,  # type: ignore[arg-type]
            verifiers=self._verifiers(),
        )
        program._guards_code = _texts(self.data.get("guards_code") or [], "guards_code")
        return program

    def _verifiers(self) -> list[Any]:
        dialects = _texts(self.data.get("verifiers") or ["TRAINING"], "verifiers")
        return list(
            dict.fromkeys(load_verifier(d) for d in dialects)
        )  # each checks once, however often it is named

    def _state(self, spec: Any) -> Any:
        if spec.target not in self.tensors:
            raise FileRefused(f"the file lacks the tensor {spec.target!r}")
        tensor = self.tensors[spec.target]
        if spec.kind is InputKind.PARAMETER and not isinstance(tensor, tl_nn.Parameter):
            wants = tensor.requires_grad
            tensor = self.tensors[spec.target] = tl_nn.Parameter(tensor, wants)
        return tensor

    def _constant(self, spec: Any) -> Any:
        value = self.constants.get(spec.target, self.tensors.get(spec.target))
        if value is None:
            raise FileRefused(f"the file lacks the constant {spec.target!r}")
        return value

    # ---- symbols
    def _ranges(self) -> None:
        for name, entry in (self.data.get("range_constraints") or {}).items():
            e = self.expression(name, None)
            low = -int_oo if entry.get("min_val") is None else int(entry["min_val"])
            high = int_oo if entry.get("max_val") is None else int(entry["max_val"])
            self.ranges[e] = ValueRanges(low, high)
            if isinstance(e, Symbol):
                self.env.var_to_range[e] = self.ranges[e]

    def expression(self, text: Any, hint: Any) -> Expr:
        """An expression, with its symbols noted."""
        if not isinstance(text, str):
            raise FileRefused("an expression is a text")
        try:
            e = parse(text, self.symbols)
        except ValueError as error:
            raise FileRefused(str(error)) from error
        for symbol in e.free_symbols:
            self.env.var_to_range.setdefault(symbol, ValueRanges(0 if symbol.positive else -int_oo, int_oo))
        if isinstance(e, Symbol) and hint is not None and e not in self.env.var_to_val:
            _, value = _only(hint, "a hint")
            self.env.var_to_val[e] = value
        return e

    def number(self, data: Any, what: str) -> Expr:
        """A size: a number or an expression."""
        kind, value = _only(data, what)
        if kind == "as_expr":
            return self.expression(value["expr_str"], value.get("hint"))
        if kind not in ("as_int", "as_float", "as_bool"):
            raise FileRefused(f"{what} is a number or an expression, got {kind}")
        return sympify(value)

    def symbolic(self, e: Expr, kind: str) -> Any:
        """A number of an expression."""
        if e.is_number:
            return e.evaluate({})
        if kind == "bool":
            return self.env.create_symboolnode(e)
        if kind == "float":
            return self.env.create_symfloatnode(e, hint=None)
        return self.env.create_symintnode(e, hint=self.env.size_hint(e, allow_none=True))

    def fake(self, meta: Json) -> Any:
        """What stands for a tensor in what is noted of nodes."""
        sizes = [self.number(n, "a size") for n in meta["sizes"]]
        strides = [self.number(n, "a stride") for n in meta["strides"]]
        dtype = _code(DTYPES, meta["dtype"], "dtype")
        _code(LAYOUTS, meta["layout"], "layout")
        for e in (*sizes, *strides):
            if isinstance(e, Integer) and not 0 <= e.value < 1 << 62:
                raise FileRefused(f"a tensor of size {e.value}")
        fake = fake_of_sizes(self.mode, sizes, strides, dtype, _device(meta["device"]))
        return fake.requires_grad_() if meta["requires_grad"] else fake

    # ---- the signature
    def _signature(self, data: Json) -> ExportGraphSignature:
        return ExportGraphSignature(
            [self._input_spec(s) for s in data["input_specs"]],
            [self._output_spec(s) for s in data["output_specs"]],
        )

    def _argument_spec(self, data: Any) -> Any:
        kind, value = _only(data, "an argument")
        if kind == "as_tensor":
            return TensorArgument(_name(value["name"]))
        symbolic = {
            "as_sym_int": SymIntArgument,
            "as_sym_float": SymFloatArgument,
            "as_sym_bool": SymBoolArgument,
        }
        if kind in symbolic:
            named, content = _only(value, "a number")
            return symbolic[kind](_name(content)) if named == "as_name" else ConstantArgument("", content)
        return ConstantArgument("", _constant_value(kind, value))

    def _input_spec(self, data: Any) -> InputSpec:
        kind, value = _only(data, "an input")
        if kind == "user_input":
            return InputSpec(InputKind.USER_INPUT, self._argument_spec(value["arg"]), None)
        if kind == "constant_input":
            constant = _constant_value(*_only(value["value"], "a constant"))
            return InputSpec(InputKind.USER_INPUT, ConstantArgument(_name(value["name"]), constant), None)
        kinds = {
            "parameter": (InputKind.PARAMETER, "parameter_name"),
            "buffer": (InputKind.BUFFER, "buffer_name"),
            "tensor_constant": (InputKind.CONSTANT_TENSOR, "tensor_constant_name"),
        }
        if kind not in kinds:
            raise FileRefused(f"an input of kind {kind!r} isn't taken")
        input_kind, field = kinds[kind]
        arg = TensorArgument(_name(value["arg"]["name"]))
        persistent = bool(value["persistent"]) if kind == "buffer" else None
        return InputSpec(input_kind, arg, _fqn(value[field]), persistent)

    def _output_spec(self, data: Any) -> OutputSpec:
        kind, value = _only(data, "an output")
        if kind == "user_output":
            return OutputSpec(OutputKind.USER_OUTPUT, self._argument_spec(value["arg"]), None)
        arg = TensorArgument(_name(value["arg"]["name"]))
        if kind == "loss_output":
            return OutputSpec(OutputKind.LOSS_OUTPUT, arg, None)
        kinds = {
            "buffer_mutation": (OutputKind.BUFFER_MUTATION, "buffer_name"),
            "parameter_mutation": (OutputKind.PARAMETER_MUTATION, "parameter_name"),
            "user_input_mutation": (OutputKind.USER_INPUT_MUTATION, "user_input_name"),
            "gradient_to_parameter": (OutputKind.GRADIENT_TO_PARAMETER, "parameter_name"),
            "gradient_to_user_input": (OutputKind.GRADIENT_TO_USER_INPUT, "user_input_name"),
        }
        if kind not in kinds:
            raise FileRefused(f"an output of kind {kind!r} isn't taken")
        output_kind, field = kinds[kind]
        return OutputSpec(output_kind, arg, _fqn(value[field]))

    def _entry(self, data: Any) -> ModuleCallEntry:
        call_signature = data.get("signature")
        if call_signature is None:
            return ModuleCallEntry(_fqn(data["fqn"]))
        names = call_signature.get("forward_arg_names")
        signature = ModuleCallSignature(
            [self._argument_spec(a) for a in call_signature["inputs"]],
            [self._argument_spec(a) for a in call_signature["outputs"]],
            _spec(call_signature["in_spec"]),
            _spec(call_signature["out_spec"]),
            None if names is None else [_name(n) for n in names],
        )
        return ModuleCallEntry(_fqn(data["fqn"]), signature)


_STATE = (InputKind.PARAMETER, InputKind.BUFFER)


def _spec(text: Any) -> Any:
    try:
        return treespec_loads(text)
    except (ValueError, NotImplementedError, AttributeError) as error:
        raise FileRefused(f"the structure of arguments isn't taken: {error}") from error


def _constant_value(kind: str, value: Any) -> Any:
    kinds: dict[str, tuple[type, ...]] = {
        "as_int": (int,),
        "as_float": (float, int, str),
        "as_bool": (bool,),
        "as_string": (str,),
    }
    if kind == "as_none":
        return None
    if kind not in kinds or not isinstance(value, kinds[kind]):
        raise FileRefused(f"a constant of kind {kind!r} isn't taken")
    return _number(value) if kind == "as_float" else value


class _GraphReader:
    """Reads one graph."""

    def __init__(
        self, reader: Reader, data: Json, signature: ExportGraphSignature | None, depth: int = 0
    ) -> None:
        if depth > 20:
            raise FileRefused("graphs within graphs of more than 20 levels")
        self.reader, self.data, self.signature, self.depth = reader, data, signature, depth
        self.graph = Graph()
        self.root = tl_nn.Module()
        self.nodes: dict[str, Node] = {}
        self._values: dict[str, Any] = {}

    def read(self) -> GraphModule:
        """The graph as a module."""
        self._inputs()
        for data in self.data["nodes"]:
            self.reader.read_nodes += 1
            if self.reader.read_nodes > _MOST_NODES:
                raise FileRefused(f"more than {_MOST_NODES} nodes")
            self._node(data)
        results = [self.argument(a) for a in self.data["outputs"]]
        single = self.data.get("is_single_tensor_return") and len(results) == 1
        self.graph.output(results[0] if single else tuple(results))
        try:
            return GraphModule(self.root, self.graph, "GraphModule")
        except (SyntaxError, ValueError) as error:
            raise FileRefused("the graph is no program") from error

    def _inputs(self) -> None:
        specs = (
            self.signature.input_specs if self.signature is not None else [None] * len(self.data["inputs"])
        )
        if len(specs) != len(self.data["inputs"]):
            raise FileRefused("the signature and the graph differ in the number of inputs")
        for i, (data, spec) in enumerate(zip(self.data["inputs"], specs, strict=True)):
            kind, value = _only(data, "an input")
            if kind == "as_tensor":
                self._add_input(_name(value["name"]), self._tensor(value["name"]))
            elif kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
                named, name = _only(value, "a number")
                if named != "as_name":
                    raise FileRefused("an input that is a symbolic constant")
                self._add_input(_name(name), self._symbolic(name, kind))
            else:
                constant = _constant_value(kind, value)
                name = spec.arg.name if spec is not None and spec.arg.name else f"arg_{i}"
                self._add_input(_name(name), constant)

    def _add_input(self, name: str, value: Any) -> None:
        node = self.graph.placeholder(name)
        self._name_node(node, name)
        node.meta["val"] = value
        self.nodes[name] = node

    def _name_node(self, node: Node, name: str) -> None:
        """A node keeps the name of the file, also where that is a name of Python's own, such as `input`."""
        if name in self.nodes or (node.name != name and not hasattr(builtins, name)):
            raise FileRefused(f"the name {str(name)[:80]!r} occurs twice, or can't be one")
        node.name = name

    def _tensor(self, name: str) -> Any:
        meta = self.data["tensor_values"].get(name)
        if meta is None:
            raise FileRefused(f"nothing is said of the tensor {name[:80]!r}")
        return self.reader.fake(meta)

    def _symbolic(self, name: str, kind: str) -> Any:
        tables = {
            "as_sym_int": "sym_int_values",
            "as_sym_bool": "sym_bool_values",
            "as_sym_float": "sym_float_values",
        }
        entry = (self.data.get(tables[kind]) or {}).get(name)
        if entry is None:
            raise FileRefused(f"nothing is said of the number {str(name)[:80]!r}")
        e = self.reader.number(entry, "a number")
        return self.reader.symbolic(e, kind.removeprefix("as_sym_"))

    # ---- arguments
    def _ref(self, name: Any) -> Node:
        if name not in self.nodes:
            raise FileRefused(f"{str(name)[:80]!r} is used before it is computed")
        return self.nodes[name]

    def _sym(self, data: Any) -> Any:
        kind, value = _only(data, "a number")
        return self._ref(value) if kind == "as_name" else value

    def argument(self, data: Any) -> Any:
        """An argument of a node."""
        kind, value = _only(data, "an argument")
        method = _ARGUMENTS.get(kind)
        if method is None:
            raise FileRefused(f"an argument of kind {kind!r} isn't taken")
        return method(self, value)

    def _optional(self, data: Any) -> Any:
        kind, value = _only(data, "a tensor or None")
        return self._ref(value["name"]) if kind == "as_tensor" else None

    def _graph(self, value: Any) -> Node:
        name = _name(value["name"])
        gm = _GraphReader(self.reader, value["graph"], None, self.depth + 1).read()
        if hasattr(self.root, name):
            raise FileRefused(f"the name {name!r} occurs twice")
        self.root.add_module(name, gm)
        return self.graph.create_node("get_attr", name, (), {}, name)

    # ---- nodes
    def _node(self, data: Json) -> None:
        target = function_named(data["target"])
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        if isinstance(target, OpOverload):
            self._operator_arguments(data, target, args, kwargs)
        else:
            args = [self.argument(i["arg"]) for i in data["inputs"] if i.get("kind") != 2]
            kwargs = {_name(i["name"]): self.argument(i["arg"]) for i in data["inputs"] if i.get("kind") == 2}
        outputs = data["outputs"]
        single = len(outputs) == 1 and _only(outputs[0], "a result")[0] != "as_tensors"
        several = not single and bool(outputs)
        hop_many = not isinstance(target, OpOverload) and data.get("is_hop_single_tensor_return") is False
        name = self._own_name(data, outputs if single and not hop_many else [])
        node = self.graph.create_node("call_function", target, tuple(args), kwargs, name)
        _note_origin(node, data.get("metadata") or {})
        if single and not hop_many:
            self._result(node, outputs[0])
        elif several or hop_many:
            self._results(node, outputs)

    def _own_name(self, data: Json, outputs: list[Any]) -> str | None:
        if outputs:
            kind, value = _only(outputs[0], "a result")
            if kind == "as_tensor":
                return _name(value["name"])
            if kind.startswith("as_sym_"):
                return _name(_only(value, "a number")[1])
        name = data.get("name")
        return _name(name) if name is not None else None

    def _operator_arguments(self, data: Json, target: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
        parameters = schema_of(target).arguments
        by_name = {p.name: p for p in parameters}
        for i, entry in enumerate(data["inputs"]):
            value, name = self.argument(entry["arg"]), entry["name"]
            if not isinstance(name, str):
                raise FileRefused("an argument without a name")
            keyword = entry.get("kind") == 2 or (name in by_name and by_name[name].keyword_only)
            if keyword:
                kwargs[_name(name)] = value
            elif i == len(args) and i < len(parameters):
                args.append(value)
            else:
                raise FileRefused(f"{target} has no argument {name[:40]!r} at place {i}")
        unknown = [k for k in kwargs if k not in by_name]
        if unknown == ["pin_memory"] and not kwargs["pin_memory"]:
            del kwargs["pin_memory"]
        elif unknown:
            raise FileRefused(f"{target} has no argument {unknown[0]!r}")

    def _result(self, node: Node, data: Any) -> None:
        kind, value = _only(data, "a result")
        if kind == "as_tensor":
            self._add_result(node, value["name"], self._tensor(value["name"]))
        elif kind.startswith("as_sym_"):
            name = _only(value, "a number")[1]
            self._add_result(node, name, self._symbolic(name, kind))
        else:
            raise FileRefused(f"a result of kind {kind!r} isn't taken")

    def _add_result(self, node: Node, name: str, value: Any) -> None:
        self._name_node(node, name)
        node.meta["val"] = value
        self.nodes[name] = node

    def _results(self, node: Node, outputs: list[Any]) -> None:
        flat = outputs
        if len(outputs) == 1 and "as_tensors" in outputs[0]:
            flat = [{"as_tensor": t} for t in outputs[0]["as_tensors"]]
        values: list[Any] = []
        for i, data in enumerate(flat):
            kind, value = _only(data, "a result")
            if kind == "as_none":
                values.append(None)
                continue
            if kind in ("as_int", "as_bool", "as_float"):
                values.append(value)
                continue
            name = _name(value["name"] if kind == "as_tensor" else _only(value, "a number")[1])
            item = self.graph.create_node("call_function", operator.getitem, (node, i), {}, name)
            self._result(item, data)
            values.append(item.meta["val"])
        node.meta["val"] = values


def _note_origin(node: Node, metadata: Json) -> None:
    trace, stack = metadata.get("stack_trace"), metadata.get("nn_module_stack")
    if isinstance(trace, str):
        node.meta["stack_trace"] = trace
    if isinstance(stack, str) and stack:
        parts = [p.split(",") for p in stack.split(";")]
        node.meta["nn_module_stack"] = {p[0]: (p[1], p[2]) for p in parts if len(p) == 3}


_ARGUMENTS: dict[str, Any] = {
    "as_none": lambda self, v: None,
    "as_tensor": lambda self, v: self._ref(v["name"]),
    "as_tensors": lambda self, v: [self._ref(t["name"]) for t in v],
    "as_optional_tensor": lambda self, v: self._optional(v),
    "as_optional_tensors": lambda self, v: [self._optional(t) for t in v],
    "as_int": lambda self, v: int(v),
    "as_ints": lambda self, v: [int(n) for n in v],
    "as_float": lambda self, v: float(v),
    "as_floats": lambda self, v: [float(n) for n in v],
    "as_string": lambda self, v: str(v),
    "as_strings": lambda self, v: [str(n) for n in v],
    "as_bool": lambda self, v: bool(v),
    "as_bools": lambda self, v: [bool(n) for n in v],
    "as_sym_int": lambda self, v: self._sym(v),
    "as_sym_ints": lambda self, v: [self._sym(n) for n in v],
    "as_sym_float": lambda self, v: self._sym(v),
    "as_sym_floats": lambda self, v: [self._sym(n) for n in v],
    "as_sym_bool": lambda self, v: self._sym(v),
    "as_sym_bools": lambda self, v: [self._sym(n) for n in v],
    "as_scalar_type": lambda self, v: _code(DTYPES, v, "dtype"),
    "as_memory_format": lambda self, v: _code(MEMORY_FORMATS, v, "memory format"),
    "as_layout": lambda self, v: _code(LAYOUTS, v, "layout"),
    "as_device": lambda self, v: _device(v),
    "as_complex": lambda self, v: complex(_number(v["real"]), _number(v["imag"])),
    "as_graph": lambda self, v: self._graph(v),
    "as_operator": lambda self, v: function_named(v),
    "as_nested_tensors": lambda self, v: [[self._ref(t["name"]) for t in row] for row in v],
    "as_int_lists": lambda self, v: [[int(n) for n in row] for row in v],
    "as_float_lists": lambda self, v: [[float(n) for n in row] for row in v],
}
