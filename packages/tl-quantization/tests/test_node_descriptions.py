"""What nodes of exported models say of themselves stays through preparation and conversion."""

import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_compiler.export import export_for_training
from tl_core.operators import packets
from tl_quantization.backend_config import get_qnnpack_backend_config
from tl_quantization.export.numeric_debugger import generate_numeric_debug_handle
from tl_quantization.graph.quantize_fx import _convert_to_reference_decomposed_fx
from tl_quantization.qconfig import default_symmetric_qnnpack_qat_qconfig
from tl_quantization.quantize_fx import prepare_qat_fx
from tl_quantization.quantize_pt2e import convert_pt2e, prepare_pt2e
from tl_quantization.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from tl_quantization.quantizer.xnnpack_quantizer_utils import OP_TO_ANNOTATOR

OPS = packets.quantized_decomposed


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.pool, self.linear = nn.Conv2d(3, 3, 3), nn.AdaptiveAvgPool2d(1), nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(self.pool(self.conv(x)).flatten(1))


def quantizer():
    return XNNPACKQuantizer().set_global(get_symmetric_quantization_config())


class Tagging(XNNPACKQuantizer):
    def annotate(self, model):
        for kind in ("linear", "conv", "adaptive_avg_pool2d"):
            for part in OP_TO_ANNOTATOR[kind](model, get_symmetric_quantization_config(is_per_channel=True)):
                for node in part:
                    node.meta["quantization_tag"] = kind
        return model


def test_quantize_and_dequantize_have_the_tags_of_their_layer():
    x = tl.ones(1, 3, 5, 5)
    observed = prepare_pt2e(export_for_training(Pooled().eval(), (x,)).module(), Tagging())
    observed(x)
    tags = {}
    for node in convert_pt2e(observed).graph.nodes:
        if node.op == "call_function" and "quantization_tag" in node.meta:
            tags.setdefault(node.target, set()).add(node.meta["quantization_tag"])
    every = {"linear", "conv", "adaptive_avg_pool2d"}
    assert tags[OPS.quantize_per_tensor.default] == tags[OPS.dequantize_per_tensor.default] == every
    assert tags[OPS.dequantize_per_channel.default] == {"linear", "conv"}


def handles(model):
    return {
        n.name: n.meta["custom"]["numeric_debug_handle"] for n in model.graph.nodes if n.meta.get("custom")
    }


def test_numbers_of_nodes_go_to_their_observers_and_dequantizes():
    x = tl.ones(1, 3, 5, 5)
    program = export_for_training(Pooled().eval(), (x,))
    generate_numeric_debug_handle(program)
    numbers = {"conv2d": 1, "adaptive_avg_pool2d": 2, "flatten": 3, "linear": 4}
    assert handles(program) == numbers
    generate_numeric_debug_handle(program)
    assert handles(program) == numbers
    observed = prepare_pt2e(program.module(), quantizer())
    assert sorted(handles(observed).values()) == [1, 1, 2, 2, 3, 3, 4, 4]
    observed(x)
    integers = convert_pt2e(observed)
    behind = {n.args[0].args[0].name: handles(integers)[n.name] for n in integers.graph.nodes
              if n.target is OPS.dequantize_per_tensor.default and n.name in handles(integers)}  # fmt: skip
    assert behind == numbers


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(2, 2, 1)

    def forward(self, x, h):
        y, last = self.gru(x * 10, 10 * h)
        return y * 100, last * 2


class AroundGru(XNNPACKQuantizer):
    def annotate(self, model):
        OP_TO_ANNOTATOR["gru_io_only"](model, get_symmetric_quantization_config())
        return model


def test_both_results_of_a_gru_are_observed():
    inputs = tl.ones(1, 3, 2), tl.ones(1, 3, 2)
    observed = prepare_pt2e(export_for_training(Recurrent().eval(), inputs).module(), AroundGru())
    expected = observed(*inputs)
    integers = convert_pt2e(observed)
    rounded = [n.args[0].name for n in integers.graph.nodes if n.target is OPS.quantize_per_tensor.default]
    assert rounded == ["mul", "mul_1", "getitem", "getitem_1"]
    for one, two in zip(integers(*inputs), expected, strict=True):
        assert float((one - two).abs().max()) <= 1.0


def test_converted_layers_have_the_scales_of_training():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 3, 3, bias=False), nn.BatchNorm2d(3)

        def forward(self, x):
            return self.norm(self.conv(x))

    tl.manual_seed(0)
    model, x = Layer(), tl.randn(1, 3, 5, 5)
    mapping = tq.QConfigMapping().set_global(default_symmetric_qnnpack_qat_qconfig)
    backend = get_qnnpack_backend_config()
    trained = prepare_qat_fx(model, mapping, (x,), backend_config=backend)
    trained(x)
    scale = trained.conv.weight_fake_quant.calculate_qparams()[0]
    reference = _convert_to_reference_decomposed_fx(trained.eval(), backend_config=backend)
    assert float(reference.conv.weight_scale) == float(scale)
