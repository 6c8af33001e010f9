"""Sparsifiers and quantization together, in any order."""

import pytest

import tl_core
import tl_nn as nn
import tl_quantization as tq
from tl_nn.utils import parametrize
from tl_quantization.nn import qat, quantized
from tl_quantization.pruning import WeightNormSparsifier
from tl_quantization.quantize_fx import convert_fx, prepare_fx, prepare_qat_fx

CONFIG = [{"tensor_fqn": "1.weight"}, {"tensor_fqn": "3.weight"}]


def build():
    return nn.Sequential(tq.QuantStub(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4), tq.DeQuantStub())


def share(weight):
    return float((weight.dequantize() == 0).float().mean())


@pytest.mark.parametrize("is_squashed", [True, False])
@pytest.mark.parametrize("is_fused", [True, False])
@pytest.mark.parametrize("is_qat", [True, False])
def test_modules(is_squashed, is_fused, is_qat):
    model = build().train(is_qat)
    model.qconfig = tq.get_default_qat_qconfig("x86") if is_qat else tq.get_default_qconfig("x86")
    sparsifier = WeightNormSparsifier(0.5, (1, 4))
    sparsifier.prepare(model, CONFIG)
    if is_fused:
        fuse = tq.fuse_modules_qat if is_qat else tq.fuse_modules
        fuse(model, [["1", "2"]], inplace=True)
        sparsifier.groups[0]["module"] = model[1][0]
    (tq.prepare_qat if is_qat else tq.prepare)(model, inplace=True)
    if is_qat:
        assert isinstance(model[3], qat.Linear)
        for group, module in zip(sparsifier.groups, (model[1], model[3]), strict=True):
            group["module"] = module
    assert parametrize.is_parametrized(model[3], "weight")
    sparsifier.step()
    if is_squashed:
        sparsifier.squash_mask()
    x = tl_core.randn(6, 8)
    model(x)
    integer = tq.convert(model.eval())
    assert isinstance(integer[3], quantized.Linear) and integer(x).shape == (6, 4)
    assert share(integer[3]._weight_bias()[0]) >= 0.5 and share(integer[1].weight()) >= 0.5


@pytest.mark.parametrize("is_qat", [True, False])
def test_graphs(is_qat):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).train(is_qat)
    sparsifier = WeightNormSparsifier(0.5, (1, 4))
    sparsifier.prepare(model, [{"tensor_fqn": "0.weight"}, {"tensor_fqn": "2.weight"}])
    sparsifier.step()
    x = tl_core.randn(6, 8)
    mapping = tq.get_default_qat_qconfig_mapping("x86") if is_qat else tq.get_default_qconfig_mapping("x86")
    prepared = (prepare_qat_fx if is_qat else prepare_fx)(model, mapping, (x,))
    prepared(x)
    integer = convert_fx(prepared.eval())
    assert share(getattr(integer, "2").weight()) >= 0.5 and share(getattr(integer, "0").weight()) >= 0.5
    assert integer(x).shape == (6, 4)


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_tables_of_layers_with_zeros_in_blocks(is_dynamic):
    model = nn.Sequential(nn.Linear(8, 4)) if is_dynamic else nn.Sequential(tq.QuantStub(), nn.Linear(8, 4))
    model.qconfig = tq.default_dynamic_qconfig if is_dynamic else tq.get_default_qconfig("fbgemm")
    sparsifier = WeightNormSparsifier(0.5, (1, 4))
    sparsifier.prepare(model, [{"tensor_fqn": f"{len(model) - 1}.weight"}])
    sparsifier.step()
    sparsifier.squash_mask(("sparse_block_shape",))
    x = tl_core.rand(3, 8)
    if is_dynamic:
        tq.propagate_qconfig_(model)
        table = tq.get_default_dynamic_sparse_quant_module_mappings()
    else:
        tq.prepare(model, inplace=True)(x)
        table = (
            tq.get_default_static_quant_module_mappings()
            | tq.get_default_static_sparse_quant_module_mappings()
        )
    layer = tq.convert(model, mapping=table)[-1]
    assert type(layer) is table[nn.Linear] and type(layer).__module__.startswith("tl_quantization.nn.sparse")
    weight, bias, rows, columns = layer._packed_params._weight_bias()
    assert (tuple(weight.shape), tuple(bias.shape), rows, columns) == ((4, 8), (4,), 1, 4)
    assert share(weight) == 0.5
