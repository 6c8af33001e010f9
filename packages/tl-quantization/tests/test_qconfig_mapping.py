"""The table of configurations: entries, dictionaries and the defaults of each backend."""

import pytest

import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_nn import functional as F
from tl_quantization import qconfig_mapping


def filled():
    return (
        tq.QConfigMapping()
        .set_global(1)
        .set_object_type("a", 2)
        .set_module_name_regex("x.*", 3)
        .set_module_name("m", 4)
        .set_module_name_object_type_order("m", int, 0, 5)
    )


def test_entries_become_a_dictionary_and_come_back():
    entries = {
        "": 1,
        "object_type": [("a", 2)],
        "module_name_regex": [("x.*", 3)],
        "module_name": [("m", 4)],
        "module_name_object_type_order": [("m", int, 0, 5)],
    }
    assert filled().to_dict() == entries
    assert tq.QConfigMapping.from_dict(entries).to_dict() == entries
    assert tq.QConfigMapping.from_dict({"": 7}).to_dict() == tq.QConfigMapping().set_global(7).to_dict()
    assert filled().set_object_type("a", 9).object_type_qconfigs == {"a": 9}
    assert repr(filled()).splitlines()[:4] == [
        "QConfigMapping (",
        " global_qconfig",
        "  1",
        " object_type_qconfigs",
    ]


@pytest.mark.parametrize("backend", ["x86", "fbgemm", "qnnpack", "onednn"])
@pytest.mark.parametrize("factory", [tq.get_default_qconfig_mapping, tq.get_default_qat_qconfig_mapping])
def test_defaults_of_a_backend(backend, factory):
    mapping = factory(backend)
    kinds = mapping.object_type_qconfigs
    assert len(kinds) == 23
    is_qat = factory is tq.get_default_qat_qconfig_mapping
    default = (tq.get_default_qat_qconfig if is_qat else tq.get_default_qconfig)(backend)
    assert tq.qconfig_equals(mapping.global_qconfig, default)
    assert kinds["reshape"] is tq.default_reuse_input_qconfig
    observer = kinds[nn.Sigmoid].activation()
    assert float(observer.scale) == 1 / 256 and int(observer.zero_point) == 0
    observer = kinds[tl.tanh].activation()
    assert float(observer.scale) == 1 / 128 and int(observer.zero_point) == 128
    assert kinds[F.layer_norm].weight is tq.PlaceholderObserver
    assert kinds[nn.PReLU].activation is tq.HistogramObserver
    scheme = kinds[nn.ConvTranspose2d].weight().qscheme
    assert scheme == (tq.per_channel_symmetric if backend == "onednn" else tq.per_tensor_symmetric)


def test_an_unknown_backend_is_named():
    with pytest.raises(AssertionError, match="foo"):
        tq.get_default_qconfig_mapping("foo")


def test_symmetric_configurations_of_qnnpack():
    table = qconfig_mapping._get_symmetric_qnnpack_qconfig_mapping()
    assert table.global_qconfig is tq.default_symmetric_qnnpack_qconfig
    assert table.object_type_qconfigs[nn.Sigmoid].activation().scale == 1 / 256
    trained = qconfig_mapping._get_symmetric_qnnpack_qat_qconfig_mapping()
    assert trained.global_qconfig is tq.default_symmetric_qnnpack_qat_qconfig
    assert type(trained.object_type_qconfigs[nn.Tanh].activation()).__name__ == "FixedQParamsFakeQuantize"


def test_each_default_has_factories_of_its_own():
    one, two = tq.get_default_qconfig("x86"), tq.get_default_qconfig("x86")
    assert one != two and tq.qconfig_equals(one, two)
    with pytest.raises(AssertionError, match="backend 'tpu' is not supported, it must be one of fbgemm"):
        tq.get_default_qconfig("tpu")
