"""From an exported program to what JSON holds."""

from __future__ import annotations

import math
import operator
from typing import Any

import tl_core
from tl_core.operators.packets import OpOverload
from tl_core.pytree.files import treespec_dumps
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ...fx.node import Node
from ...symbolic.expression import Expr, Integer, sympify
from ...symbolic.printing import stored_text
from ...symbolic.ranges import int_oo
from ...tracer.schemas import schema_of
from ..graph_signature import (
    ConstantArgument,
    InputKind,
    OutputKind,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from .codes import DTYPES, LAYOUTS, MEMORY_FORMATS, name_of_function
from .portable import portable_name, positional_count

__all__ = ["SCHEMA_VERSION", "program_as_json", "tensor_meta"]

SCHEMA_VERSION = (8, 20)
_DTYPE_CODES = {d: c for c, d in DTYPES.items()}
_LAYOUT_CODES = {v: c for c, v in LAYOUTS.items()}
_FORMAT_CODES = {v: c for c, v in MEMORY_FORMATS.items()}
Json = dict[str, Any]


def _device(d: Any) -> Json:
    return {"type": d.type, "index": d.index}


def _sym_int(n: Any) -> Json:
    e = sympify(n)
    if isinstance(e, Integer):
        return {"as_int": e.value}
    return {"as_expr": _expression(e, n)}


def _expression(e: Expr, number: Any) -> Json:
    hint = number.node.hint if hasattr(number, "node") else None
    kinds = {bool: "as_bool", int: "as_int", float: "as_float"}
    return {"expr_str": stored_text(e), "hint": None if hint is None else {kinds[type(hint)]: hint}}


def tensor_meta(t: Any) -> Json:
    """What files say of a tensor.

    Args:
        t: the tensor, or what stands for it.
    """
    return {
        "dtype": _DTYPE_CODES[t.dtype],
        "sizes": [_sym_int(n) for n in t.shape],
        "requires_grad": bool(t.requires_grad),
        "device": _device(t.device),
        "strides": [_sym_int(n) for n in t.stride()],
        "storage_offset": {"as_int": int(t.storage_offset())},
        "layout": _LAYOUT_CODES[t.layout],
    }


class _GraphWriter:
    """Writes one graph; subgraphs have writers of their own."""

    def __init__(self, module: Any, single: bool = False) -> None:
        self.module, self.single = module, single
        self.tensors: Json = {}
        self.ints: Json = {}
        self.bools: Json = {}
        self.floats: Json = {}
        self.nodes: list[Json] = []
        self.inputs: list[Json] = []
        self.outputs: list[Json] = []

    def write(self) -> Json:
        """The graph."""
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                self.inputs.append(self.input(node))
            elif node.op == "output":
                results = node.args[0]
                results = results if isinstance(results, (list, tuple)) else [results]
                self.outputs = [self.argument(a) for a in results]
            elif node.op == "call_function" and node.target is not operator.getitem:
                self.nodes.append(self.node(node))
        return {
            "inputs": self.inputs,
            "outputs": self.outputs,
            "nodes": self.nodes,
            "tensor_values": self.tensors,
            "sym_int_values": self.ints,
            "sym_bool_values": self.bools,
            "is_single_tensor_return": self.single,
            "custom_obj_values": {},
            "sym_float_values": self.floats,
        }

    def input(self, node: Node) -> Json:
        """An input: what is noted of it, or a constant."""
        value = node.meta.get("val")
        if isinstance(value, (tl_core.Tensor, SymInt, SymFloat, SymBool)):
            return self.result(node, value)
        return self.constant(value)

    # ---- values
    def result(self, node: Node, value: Any) -> Json:
        """The value of a node as an argument, with what is noted of it."""
        name = node.name
        if isinstance(value, tl_core.Tensor):
            self.tensors[name] = tensor_meta(value)
            return {"as_tensor": {"name": name}}
        return self.number(name, value)

    def number(self, name: str, value: Any) -> Json:
        """A number that isn't a constant."""
        if isinstance(value, SymBool):
            self.bools[name] = {"as_expr": _expression(value.node.expr, value)}
            return {"as_sym_bool": {"as_name": name}}
        if isinstance(value, SymFloat):
            self.floats[name] = {"as_expr": _expression(value.node.expr, value)}
            return {"as_sym_float": {"as_name": name}}
        if isinstance(value, bool):
            self.bools[name] = {"as_bool": value}
            return {"as_sym_bool": {"as_name": name}}
        self.ints[name] = _sym_int(value)
        return {"as_sym_int": {"as_name": name}}

    def constant(self, value: Any) -> Json:
        """A constant."""
        if value is None:
            return {"as_none": True}
        if isinstance(value, bool):
            return {"as_bool": value}
        if isinstance(value, int):
            return {"as_int": value}
        if isinstance(value, float):
            return {
                "as_float": value
                if math.isfinite(value)
                else str(value).replace("inf", "Infinity").replace("nan", "NaN")
            }
        if isinstance(value, str):
            return {"as_string": value}
        if isinstance(value, complex):
            return {"as_complex": {"real": value.real, "imag": value.imag}}
        if isinstance(value, tl_core.dtype):
            return {"as_scalar_type": _DTYPE_CODES[value]}
        if isinstance(value, tl_core.device):
            return {"as_device": _device(value)}
        if isinstance(value, tl_core.layout):
            return {"as_layout": _LAYOUT_CODES[value]}
        if isinstance(value, tl_core.memory_format):
            return {"as_memory_format": _FORMAT_CODES[value]}
        if isinstance(value, OpOverload):
            return {"as_operator": f"torch.ops.{value}"}
        raise NotImplementedError(f"an argument of type {type(value).__name__} can't stand in a file")

    def argument(self, a: Any, kind: str = "") -> Json:
        """An argument of a node."""
        if isinstance(a, Node):
            return self.of_node(a)
        if isinstance(a, (list, tuple)):
            return self.sequence(list(a), kind)
        return self.constant(a)

    def of_node(self, node: Node) -> Json:
        """An argument that is the value of another node."""
        if node.op == "get_attr":
            attribute = self.module
            for part in str(node.target).split("."):
                attribute = getattr(attribute, part)
            if hasattr(attribute, "graph"):
                return {"as_graph": {"name": node.name, "graph": _GraphWriter(attribute).write()}}
            raise NotImplementedError(f"the attribute {node.target} can't stand in a file")
        value = node.meta.get("val")
        if isinstance(value, tl_core.Tensor):
            return {"as_tensor": {"name": node.name}}
        if isinstance(value, (list, tuple)):
            raise NotImplementedError(f"{node.name} is a sequence that is used as a whole")
        kinds = {SymBool: "as_sym_bool", SymFloat: "as_sym_float", bool: "as_sym_bool"}
        return {kinds.get(type(value), "as_sym_int"): {"as_name": node.name}}

    def sequence(self, items: list[Any], kind: str) -> Json:
        """A list among the arguments."""
        values = [i.meta.get("val") if isinstance(i, Node) else i for i in items]
        if any(isinstance(v, tl_core.Tensor) for v in values) or "Tensor" in kind:
            if all(isinstance(v, tl_core.Tensor) for v in values) and "?" not in kind:
                return {"as_tensors": [{"name": i.name} for i in items]}
            return {
                "as_optional_tensors": [
                    {"as_tensor": {"name": i.name}} if isinstance(i, Node) else {"as_none": True}
                    for i in items
                ]
            }
        if any(isinstance(i, Node) for i in items):
            return {
                "as_sym_ints": [{"as_name": i.name} if isinstance(i, Node) else {"as_int": i} for i in items]
            }
        if all(isinstance(v, bool) for v in items) and (items or "bool" in kind):
            return {"as_bools": items}
        if all(isinstance(v, int) and not isinstance(v, bool) for v in items) and "float" not in kind:
            return {"as_ints": items}
        if all(isinstance(v, str) for v in items):
            return {"as_strings": items}
        if all(isinstance(v, (int, float)) for v in items):
            return {"as_floats": [float(v) for v in items]}
        raise NotImplementedError(f"a list of {[type(v).__name__ for v in items]} can't stand in a file")

    # ---- nodes
    def node(self, node: Node) -> Json:
        """A node."""
        target: Any = node.target
        inputs = (
            self.operator_inputs(node, target) if isinstance(target, OpOverload) else self.plain_inputs(node)
        )
        return {
            "target": f"torch.ops.{portable_name(node)}"
            if isinstance(target, OpOverload)
            else name_of_function(target),
            "inputs": inputs,
            "outputs": self.node_outputs(node),
            "metadata": _metadata(node),
            "is_hop_single_tensor_return": _single_of_higher_order(node),
            "name": node.name,
        }

    def operator_inputs(self, node: Node, target: OpOverload) -> list[Json]:
        """The arguments of an operator, by the names of its schema."""
        parameters = schema_of(target).arguments
        positional = positional_count(node)
        entries = [
            {"name": p.name, "arg": self.argument(a, p.type), "kind": 1 if i < positional else 2}
            for i, (p, a) in enumerate(zip(parameters, node.args, strict=False))
        ]
        types = {p.name: p.type for p in parameters}
        entries += [
            {"name": k, "arg": self.argument(v, types.get(k, "")), "kind": 2} for k, v in node.kwargs.items()
        ]
        return entries

    def plain_inputs(self, node: Node) -> list[Json]:
        """The arguments of a function of Python, or of a higher-order operator."""
        names = ["a", "b", "c"] if getattr(node.target, "__module__", "") == "_operator" else []
        entries = [
            {"name": names[i] if i < len(names) else "", "arg": self.argument(a), "kind": 1}
            for i, a in enumerate(node.args)
        ]
        return entries + [{"name": k, "arg": self.argument(v), "kind": 2} for k, v in node.kwargs.items()]

    def node_outputs(self, node: Node) -> list[Json]:
        """The results of a node: those of several have the names of the nodes that take them out."""
        value = node.meta.get("val")
        if value is None:
            return []
        if not isinstance(value, (list, tuple)):
            return [self.result(node, value)]
        users = {u.args[1]: u for u in node.users if u.target is operator.getitem}
        entries = []
        for i, item in enumerate(value):
            if isinstance(item, tl_core.Tensor):
                user = users.get(i)
                name = user.name if user is not None else f"{node.name}_unused_{i}"
                self.tensors[name] = tensor_meta(item)
                entries.append({"as_tensor": {"name": name}})
            elif isinstance(item, (SymInt, SymFloat, SymBool)):
                user = users.get(i)
                entries.append(
                    self.number(user.name if user is not None else f"{node.name}_unused_{i}", item)
                )
            else:
                entries.append(self.constant(item))
        target = node.target
        if isinstance(target, OpOverload) and schema_of(target).returns == ("Tensor[]",):
            return [{"as_tensors": [f["as_tensor"] for f in entries]}]
        return entries


def _single_of_higher_order(node: Node) -> bool | None:
    """Of a higher-order operator, whether it returns one tensor; None of others."""
    if getattr(node.target, "namespace", None) != "higher_order":
        return None
    return isinstance(node.meta.get("val"), tl_core.Tensor)


def _metadata(node: Node) -> dict[str, str]:
    metadata: dict[str, str] = {}
    trace = node.meta.get("stack_trace")
    if trace:
        metadata["stack_trace"] = str(trace)
    stack = node.meta.get("nn_module_stack")
    if stack:
        metadata["nn_module_stack"] = ";".join(f"{k},{path},{kind}" for k, (path, kind) in stack.items())
    return metadata


def _argument_spec(arg: Any) -> Json:
    if isinstance(arg, TensorArgument):
        return {"as_tensor": {"name": arg.name}}
    if isinstance(arg, SymIntArgument):
        return {"as_sym_int": {"as_name": arg.name}}
    if isinstance(arg, SymFloatArgument):
        return {"as_sym_float": {"as_name": arg.name}}
    if isinstance(arg, SymBoolArgument):
        return {"as_sym_bool": {"as_name": arg.name}}
    if isinstance(arg, ConstantArgument):
        return _GraphWriter(None).constant(arg.value)
    raise NotImplementedError(f"{type(arg).__name__} can't stand in a file")


def _input_spec(spec: Any) -> Json:
    if spec.kind is InputKind.USER_INPUT:
        if isinstance(spec.arg, ConstantArgument):
            value = _GraphWriter(None).constant(spec.arg.value)
            return {"constant_input": {"name": spec.arg.name, "value": value}}
        return {"user_input": {"arg": _argument_spec(spec.arg)}}
    arg = {"name": spec.arg.name}
    if spec.kind is InputKind.PARAMETER:
        return {"parameter": {"arg": arg, "parameter_name": spec.target}}
    if spec.kind is InputKind.BUFFER:
        return {"buffer": {"arg": arg, "buffer_name": spec.target, "persistent": bool(spec.persistent)}}
    if spec.kind is InputKind.CONSTANT_TENSOR:
        return {"tensor_constant": {"arg": arg, "tensor_constant_name": spec.target}}
    raise NotImplementedError(f"an input of kind {spec.kind.name} can't stand in a file")


_OUTPUTS = {
    OutputKind.BUFFER_MUTATION: ("buffer_mutation", "buffer_name"),
    OutputKind.PARAMETER_MUTATION: ("parameter_mutation", "parameter_name"),
    OutputKind.USER_INPUT_MUTATION: ("user_input_mutation", "user_input_name"),
    OutputKind.GRADIENT_TO_PARAMETER: ("gradient_to_parameter", "parameter_name"),
    OutputKind.GRADIENT_TO_USER_INPUT: ("gradient_to_user_input", "user_input_name"),
}


def _output_spec(spec: Any) -> Json:
    if spec.kind is OutputKind.USER_OUTPUT:
        return {"user_output": {"arg": _argument_spec(spec.arg)}}
    if spec.kind is OutputKind.LOSS_OUTPUT:
        return {"loss_output": {"arg": {"name": spec.arg.name}}}
    kind, field = _OUTPUTS[spec.kind]
    return {kind: {"arg": {"name": spec.arg.name}, field: spec.target}}


def _call_entry(entry: Any) -> Json:
    signature = entry.signature
    if signature is None:
        return {"fqn": entry.fqn, "signature": None}
    return {
        "fqn": entry.fqn,
        "signature": {
            "inputs": [_argument_spec(a) for a in signature.inputs],
            "outputs": [_argument_spec(a) for a in signature.outputs],
            "in_spec": treespec_dumps(signature.in_spec, 1),
            "out_spec": treespec_dumps(signature.out_spec, 1),
            "forward_arg_names": signature.forward_arg_names,
        },
    }


def _bound(x: Any) -> int | None:
    return None if x in (int_oo, -int_oo) else int(x)


def program_as_json(ep: Any, opset_version: dict[str, int] | None = None) -> Json:
    """An exported program as JSON holds it.

    Args:
        ep: the program.
        opset_version: versions of sets of operators to note.

    Returns:
        Dictionaries, lists, texts and numbers.

    Raises:
        NotImplementedError: it holds what files can't.
    """
    signature = ep.graph_signature
    return {
        "graph_module": {
            "graph": _GraphWriter(ep.graph_module).write(),
            "signature": {
                "input_specs": [_input_spec(s) for s in signature.input_specs],
                "output_specs": [_output_spec(s) for s in signature.output_specs],
            },
            "module_call_graph": [_call_entry(e) for e in ep.module_call_graph],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": {"aten": 10, **(opset_version or {})},
        "range_constraints": {
            str(s): {"min_val": _bound(r.lower), "max_val": _bound(r.upper)}
            for s, r in ep.range_constraints.items()
            if getattr(s, "is_symbol", True)
        },
        "schema_version": {"major": SCHEMA_VERSION[0], "minor": SCHEMA_VERSION[1]},
        "verifiers": [v.dialect for v in ep.verifiers],
        "torch_version": "2.7.0",
        "guards_code": list(ep._guards_code),
    }
