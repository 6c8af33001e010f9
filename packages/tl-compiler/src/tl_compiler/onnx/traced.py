"""The program of one run: the model runs on its example inputs, and the operators that ran are the program.

Branches and loops that depend on values are those of the run, so the ONNX model is right for inputs that take the same
path. Sizes are those of the example inputs.
"""

from __future__ import annotations

import warnings
from typing import Any

import tl_core
import tl_nn.func
from tl_core.pytree import tree_flatten, tree_unflatten

from ..export import ExportedProgram
from ..export.dynamic_shapes import _combine_args, check_spec
from ..export.exported_program import ModuleCallEntry, ModuleCallSignature
from ..export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from ..export.naming import input_names
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..tracer.make_fx import make_fx
from .errors import OnnxExporterError, OnnxExporterWarning

__all__ = ["program_of_run"]


def program_of_run(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ExportedProgram:
    """The program of one run of a model.

    Args:
        model: the module.
        args: the example inputs.
        kwargs: those by keyword.

    Returns:
        The program.

    Raises:
        OnnxExporterError: an output is neither a tensor nor a number.
    """
    leaves, in_spec = tree_flatten((args, kwargs))
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    names = list(state)
    positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, tl_core.Tensor)]
    specs: list[Any] = []

    def run(*tensors: Any) -> list[Any]:
        values = list(leaves)
        for position, tensor in zip(positions, tensors[len(names) :], strict=True):
            values[position] = tensor
        new_args, new_kwargs = tree_unflatten(values, in_spec)
        swapped = dict(zip(names, tensors[: len(names)], strict=True))
        out = tl_nn.func.functional_call(model, swapped, tuple(new_args), dict(new_kwargs))
        results, spec = tree_flatten(out)
        specs.append(spec)
        return results

    tensors = [*(t.detach() for t in state.values()), *(leaves[i].detach() for i in positions)]
    trace = make_fx(run, tracing_mode="real", pre_dispatch=True, record_stack_traces=True,
                    _error_on_data_dependent_ops=False)  # fmt: skip
    graph_module = trace(*tensors)
    warnings.warn(
        "the model was traced with its example inputs: branches that depend on values are constants of the ONNX model",
        OnnxExporterWarning,
        stacklevel=4,
    )
    return _program(graph_module, model, state, (args, kwargs), (in_spec, specs[-1]))


def _program(
    module: GraphModule, model: Any, state: dict[str, Any], call: Any, specs: Any
) -> ExportedProgram:
    nodes = [n for n in module.graph.nodes if n.op == "placeholder"]
    inputs, constants = [], {}
    buffers = dict(model.named_buffers())
    for node, name in zip(nodes, state, strict=False):
        kind = InputKind.BUFFER if name in buffers else InputKind.PARAMETER
        persistent = name in model.state_dict() if kind is InputKind.BUFFER else None
        inputs.append(InputSpec(kind, TensorArgument(node.name), name, persistent))
        node.meta["val"] = state[name]
        if kind is InputKind.BUFFER and not persistent:
            constants[name] = state[name]
    inputs += _user_inputs(module, _named_leaves(model, *call), nodes[len(state) :])
    output = module.graph.output_node()
    results = output.args[0] if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    output.args = (tuple(results),)
    outputs = [OutputSpec(OutputKind.USER_OUTPUT, _argument(r), None) for r in results]
    signature = ModuleCallSignature([], [], specs[0], specs[1], None)
    return ExportedProgram(
        root=module,
        graph=module.graph,
        graph_signature=ExportGraphSignature(inputs, outputs),
        state_dict=dict(model.state_dict()),
        range_constraints={},
        module_call_graph=[ModuleCallEntry("", signature)],
        example_inputs=call,
        constants=constants,
    )


def _named_leaves(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[Any, str]]:
    """The leaves of the arguments with the names of their inputs, in the order of the call."""
    by_argument = check_spec(_combine_args(model, args, kwargs), None)
    names = input_names([path for _, _, path in by_argument])
    entries = [(leaf, name) for (leaf, _, _), name in zip(by_argument, names, strict=True)]
    leaves, _ = tree_flatten((args, kwargs))
    if any(a is not b for a, (b, _) in zip(leaves, entries, strict=True)):
        return [(leaf, f"input_{i}") for i, leaf in enumerate(leaves)]
    return entries


def _user_inputs(module: GraphModule, leaves: list[tuple[Any, str]], tensors: list[Node]) -> list[InputSpec]:
    """The inputs of the user: those of tensors get names, and other values become inputs that are constants."""
    specs, rest = [], iter(tensors)
    for leaf, name in leaves:
        if isinstance(leaf, tl_core.Tensor):
            node = next(rest)
            node._rename(name)
            node.target = node.name
            node.meta["val"] = leaf
            specs.append(InputSpec(InputKind.USER_INPUT, TensorArgument(node.name), None))
        else:
            specs.append(_constant_input(module, leaf, name))
    return specs


def _constant_input(module: GraphModule, value: Any, name: str) -> InputSpec:
    first = next(n for n in module.graph.nodes if n.op != "placeholder")
    with module.graph.inserting_before(first):
        node = module.graph.placeholder(name)
    node.meta["val"] = value
    return InputSpec(InputKind.USER_INPUT, ConstantArgument(node.name, value), None)


def _argument(result: Any) -> Any:
    if isinstance(result, Node):
        return TensorArgument(result.name)
    if result is None or isinstance(result, (bool, int, float, str)):
        return ConstantArgument("", result)
    raise OnnxExporterError(f"an output of the model is a {type(result).__name__}, which has no form in ONNX")
