"""The base of tests that compare exported models before and after a quantizer: PyTorch's wheel no longer has it."""

from __future__ import annotations

import copy
import importlib
from typing import Any


def export(model: Any, inputs: Any, is_dynamic: bool = False) -> Any:
    """The graph of a model.

    Args:
        model: the model.
        inputs: its arguments.
        is_dynamic: whether the first size of the first argument may differ.
    """
    module: Any = importlib.import_module("torch.export")
    sizes = ({0: module.Dim("size")}, *[None] * (len(inputs) - 1)) if is_dynamic else None
    return module.export_for_training(model, inputs, dynamic_shapes=sizes).module()


def quantize(model: Any, quantizer: Any, inputs: Any, is_qat: bool = False) -> Any:
    """The quantized graph.

    Args:
        model: the graph.
        quantizer: the quantizer.
        inputs: the arguments whose range decides.
        is_qat: whether the observers are those of training.
    """
    modes: Any = importlib.import_module("torch.ao.quantization.quantize_pt2e")
    observed = (modes.prepare_qat_pt2e if is_qat else modes.prepare_pt2e)(model, quantizer)
    observed(*inputs)
    return modes.convert_pt2e(observed)


def quantize_by_modules(model: Any, inputs: Any, mapping: Any) -> Any:
    """The model, quantized as a graph of modules.

    Args:
        model: the model.
        inputs: the arguments whose range decides.
        mapping: the configurations of its layers.
    """
    fx: Any = importlib.import_module("torch.ao.quantization.quantize_fx")
    configs: Any = importlib.import_module("torch.ao.quantization.backend_config")
    backend = configs.get_executorch_backend_config()
    observed = fx.prepare_fx(copy.deepcopy(model), mapping, inputs, backend_config=backend)
    observed(*inputs)
    return fx._convert_to_reference_decomposed_fx(observed, backend_config=backend)


def exported_case(helpers: Any) -> type:
    """The class `PT2EQuantizationTestCase`.

    Args:
        helpers: PyTorch's module `common_quantization`, whose test case counts the nodes of graphs.
    """
    torch: Any = importlib.import_module("torch")
    call = helpers.NodeSpec.call_function

    class PT2EQuantizationTestCase(helpers.QuantizationTestCase):
        """Quantizes an exported model and counts its nodes."""

        def _quantize(self, model: Any, quantizer: Any, inputs: Any, is_qat: bool = False) -> Any:
            return quantize(export(model, inputs), quantizer, inputs, is_qat)

        def _get_pt2e_quantized_linear(self, is_per_channel: bool = False) -> Any:
            xnnpack: Any = importlib.import_module("torch.ao.quantization.quantizer.xnnpack_quantizer")
            config = xnnpack.get_symmetric_quantization_config(is_per_channel=is_per_channel)
            model = torch.nn.Sequential()
            model.add_module("linear", torch.nn.Linear(2, 2))
            quantizer = xnnpack.XNNPACKQuantizer().set_global(config)
            return self._quantize(model.eval(), quantizer, (torch.randn(2, 2),))

        def _test_quantizer(
            self,
            model: Any,
            example_inputs: Any,
            quantizer: Any,
            expected_node_occurrence: Any,
            expected_node_list: Any = None,
            check_against_fx_quant: bool = False,
            fx_qconfig_mapping: Any = None,
            export_with_dynamic_shape: bool = False,
            is_qat: bool = False,
            is_debug_mode: bool = False,
            training_ir_node_occurrence: Any = None,
        ) -> Any:
            model, inputs, is_dynamic = model.eval(), example_inputs, export_with_dynamic_shape
            result = quantize(export(copy.deepcopy(model), inputs, is_dynamic), quantizer, inputs, is_qat)
            self.checkGraphModuleNodes(
                result,
                expected_node_occurrence={call(op): n for op, n in expected_node_occurrence.items()},
                expected_node_list=[*map(call, expected_node_list or ())],
            )
            if check_against_fx_quant:
                peer = export(quantize_by_modules(model, inputs, fx_qconfig_mapping), inputs, is_dynamic)
                counts = {call(op): n for op, n in (training_ir_node_occurrence or {}).items()}
                self.checkGraphModuleNodes(peer, expected_node_occurrence=counts)
                self.assertEqual(peer(*inputs), result(*inputs))
            return result

    return PT2EQuantizationTestCase
