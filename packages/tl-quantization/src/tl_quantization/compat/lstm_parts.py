"""An LSTM whose parts have observers of their own."""

from __future__ import annotations

import operator
from copy import deepcopy
from typing import Any

import tl_core
from tl_compiler.fx import GraphModule

from ..fake_quantize import FakeQuantizeBase, default_weight_fake_quant
from ..functions import quantize_per_tensor
from ..nn import quantizable, quantized
from ..observer import default_weight_observer
from ..qconfig import QConfig
from ..qconfig_mapping import QConfigMapping
from ..quantize_fx import convert_to_reference_fx, prepare_fx

__all__: list[str] = []


def _configuration(make: Any) -> QConfig:
    """The configuration of a gate whose result an observer of the program's watches."""
    is_rounding = isinstance(make(), FakeQuantizeBase)
    return QConfig(make, default_weight_fake_quant if is_rounding else default_weight_observer)


def _get_lstm_with_individually_observed_parts(
    float_lstm: Any,
    example_inputs: tuple[Any, ...],
    backend_config: Any = None,
    linear_output_obs_ctr: Any = None,
    sigmoid_obs_ctr: Any = None,
    tanh_obs_ctr: Any = None,
    cell_state_obs_ctr: Any = None,
    hidden_state_obs_ctr: Any = None,
    split_gates: bool = False,
) -> quantizable.LSTM:
    """A quantizable LSTM whose cells are observed graphs, each part with the observer that a function makes.

    Args:
        float_lstm: an LSTM with a `qconfig`, which holds for parts without a function.
        example_inputs: inputs of a cell.
        backend_config: the backend.
        linear_output_obs_ctr: for the sum of the linear layers.
        sigmoid_obs_ctr: for the input, forget and output gates.
        tanh_obs_ctr: for the cell gate.
        cell_state_obs_ctr: for the new cell and its two terms.
        hidden_state_obs_ctr: for the new state.
        split_gates: whether each gate has linear layers of its own.
    """
    lstm = quantizable.LSTM.from_float(float_lstm, split_gates=split_gates)
    mapping = QConfigMapping().set_global(float_lstm.qconfig)
    gates = {"input_gate": sigmoid_obs_ctr, "forget_gate": sigmoid_obs_ctr, "output_gate": sigmoid_obs_ctr}
    for name, make in {**gates, "cell_gate": tanh_obs_ctr}.items():
        if make is not None:
            mapping.set_module_name(name, _configuration(make))
    sums = [linear_output_obs_ctr] * (4 if split_gates else 1) + [cell_state_obs_ctr]
    products = [cell_state_obs_ctr, cell_state_obs_ctr, hidden_state_obs_ctr]
    for layer in lstm.layers:
        directions = [layer.layer_fw, *([layer.layer_bw] if lstm.bidirectional else [])]
        for direction in directions:
            cell = prepare_fx(direction.cell, mapping, example_inputs, backend_config=backend_config)
            _set_observers(cell, {tl_core.add: list(sums), tl_core.mul: list(products)})
            direction.cell = cell
    return lstm


def _set_observers(cell: GraphModule, makers: dict[Any, list[Any]]) -> None:
    """Replaces the observers behind the sums and products of a cell, in their order."""
    for node in cell.graph.nodes:
        makes = makers.get(node.target)
        if not makes:
            continue
        make = makes.pop(0)
        if make is None:
            continue
        if len(node.users) != 1:
            raise AssertionError(
                f"{node.name} of the cell must have one user, its observer, but got {len(node.users)}"
            )
        setattr(cell, str(next(iter(node.users)).target), make())


def _get_reference_quantized_lstm_module(
    observed_lstm: quantizable.LSTM, backend_config: Any = None
) -> quantized.LSTM:
    """A quantized LSTM whose cells are reference graphs, from `_get_lstm_with_individually_observed_parts`.

    Args:
        observed_lstm: the observed LSTM.
        backend_config: the backend.
    """
    result = quantized.LSTM(
        observed_lstm.input_size,
        observed_lstm.hidden_size,
        observed_lstm.num_layers,
        observed_lstm.bias,
        observed_lstm.batch_first,
        observed_lstm.dropout,
        observed_lstm.bidirectional,
    )
    for layer, observed in zip(result.layers, observed_lstm.layers, strict=True):
        layer.layer_fw.cell = _reference_cell(observed.layer_fw.cell, backend_config)
        if observed_lstm.bidirectional:
            layer.layer_bw.cell = _reference_cell(observed.layer_bw.cell, backend_config)
    return result


def _reference_cell(cell: Any, backend_config: Any) -> GraphModule:
    """The reference graph of a cell that takes quantized inputs and returns quantized results."""
    graph_module = convert_to_reference_fx(deepcopy(cell), backend_config=backend_config)
    for node in list(graph_module.graph.nodes):
        if node.target is quantize_per_tensor:
            source: Any = node.args[0]
            is_state = source.target is operator.getitem and source.args[0].target == "hidden"
            if source.target == "x" or is_state:
                node.replace_all_uses_with(source)
                graph_module.graph.erase_node(node)
        elif node.op == "output":
            for part in list(node.args[0]):
                node.replace_input_with(part, part.args[0])
    graph_module.graph.eliminate_dead_code()
    graph_module.recompile()
    return graph_module
