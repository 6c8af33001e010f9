"""The patterns of each family of operators and the settings of quantizers, as PyTorch 2.13 has them."""

import operator

import pytest

import tl_core
import tl_nn as nn
import tl_quantization as tq
from tl_compiler.fx import Graph, symbolic_trace
from tl_nn import functional as F
from tl_quantization import backend_config as bc
from tl_quantization.backend_config import native, operator_patterns, utils
from tl_quantization.backend_config.dtype_configs import embedding_types
from tl_quantization.backend_config.executorch import get_executorch_backend_config
from tl_quantization.backend_config.fbgemm import get_fbgemm_backend_config
from tl_quantization.backend_config.onednn import get_onednn_backend_config
from tl_quantization.backend_config.patterns import nested_form
from tl_quantization.backend_config.qnnpack import get_qnnpack_backend_config
from tl_quantization.backend_config.tensorrt import (
    get_tensorrt_backend_config,
    get_tensorrt_backend_config_dict,
)
from tl_quantization.backend_config.wildcard import MatchAllNode
from tl_quantization.nn import intrinsic
from tl_quantization.nn.quantized import reference
from tl_quantization.quant_type import QuantType, quant_type_from_str, quant_type_to_str
from tl_quantization.quantizer.configurations import (
    OperatorConfig,
    QuantizationConfig,
    bias_spec,
    input_spec,
    module_filter,
    name_filter,
    output_spec,
    weight_spec,
)
from tl_quantization.quantizer.embedding_quantizer import get_embedding_operators_config
from tl_quantization.quantizer.quantizer import QuantizationSpec, QuantizationSpecBase
from tl_quantization.quantizer.x86_inductor_quantizer import get_x86_inductor_linear_dynamic_fp16_config
from tl_quantization.quantizer.xnnpack_quantizer import activation_factory
from tl_quantization.quantizer.xpu_inductor_quantizer import get_default_xpu_inductor_quantization_config

TYPES = [bc.DTypeConfig(tq.quint8, tq.quint8, tq.qint8, tl_core.float32)]
KINDS = bc.ObservationType


def patterns(configs):
    return [config.pattern for config in configs]


# ---- families


def test_convolutions():
    one = patterns(operator_patterns.conv_patterns(TYPES, (2,), transposed=False))
    assert {nn.Conv2d, F.conv2d, (nn.Conv2d, nn.ReLU), (nn.Conv2d, nn.BatchNorm2d, F.relu)} <= {*one}
    assert nn.ConvTranspose2d not in one and nn.Conv1d not in one
    every = patterns(operator_patterns.conv_patterns(TYPES))
    assert {nn.Conv1d, nn.Conv3d, nn.ConvTranspose2d, (nn.ConvTranspose3d, nn.BatchNorm3d)} <= {*every}
    assert len(every) == len({*every})


def test_linear_layers():
    alone = operator_patterns.linear_patterns(TYPES, fused=False)
    assert patterns(alone) == [nn.Linear, tq.nn.qat.Linear, F.linear]
    assert [c.reference_quantized_module for c in alone] == [reference.Linear, reference.Linear, None]
    assert alone[2]._input_type_to_index == {"weight": 1, "bias": 2}
    every = {str(c.pattern): c for c in operator_patterns.linear_patterns(TYPES)}
    fused = every[str((nn.Linear, nn.ReLU))]
    assert fused.fused_module is intrinsic.LinearReLU
    assert type(fused.fuser_method(False, nn.Linear(1, 1), nn.ReLU())) is intrinsic.LinearReLU
    assert every[str(intrinsic.LinearBn1d)].qat_module is intrinsic.qat.LinearBn1d
    assert len(every) == 12


def test_sums_and_products():
    configs = operator_patterns.binary_patterns(TYPES, (operator.add,))
    assert patterns(configs) == [
        (operator.add, nn.ReLU), (operator.add, F.relu), (operator.add, tl_core.relu), operator.add
    ]  # fmt: skip
    by_tensors = configs[0]._num_tensor_args_to_observation_type
    assert by_tensors == {
        0: KINDS.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT, 1: KINDS.OUTPUT_SHARE_OBSERVER_WITH_INPUT,
        2: KINDS.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT,
    }  # fmt: skip
    every = patterns(operator_patterns.binary_patterns(TYPES))
    assert every[-1] is tl_core.matmul and {operator.mul, tl_core.add, tl_core.mul} <= {*every}


def test_operators_with_one_observer():
    cat = operator_patterns.cat_pattern(TYPES)
    assert (cat.pattern, cat.observation_type) == (tl_core.cat, KINDS.OUTPUT_SHARE_OBSERVER_WITH_INPUT)
    shared = operator_patterns.shared_patterns(TYPES, ("a", "b"))
    assert patterns(shared) == ["a", "b"]
    assert {c.observation_type for c in shared} == {KINDS.OUTPUT_SHARE_OBSERVER_WITH_INPUT}
    assert {nn.MaxPool2d, F.max_pool2d, "reshape", nn.ReLU} <= {
        *patterns(operator_patterns.shared_patterns(TYPES))
    }
    sizes = operator_patterns.size_patterns(TYPES)
    assert patterns(sizes) == ["shape", "size"]
    assert {c.observation_type for c in sizes} == {KINDS.INPUT_OUTPUT_NOT_OBSERVED}
    plain = operator_patterns.pattern_of("x", TYPES)
    assert plain.observation_type is KINDS.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
    assert plain.dtype_configs == TYPES


def test_norms_and_activations():
    configs = {c.pattern: c for c in operator_patterns.default_patterns(TYPES)}
    assert configs[F.group_norm]._input_type_to_index == {"weight": 2, "bias": 3}
    assert configs[F.instance_norm]._input_type_to_index == {"weight": 3, "bias": 4}
    assert {nn.ELU, nn.Hardswish, F.leaky_relu} <= {*configs}
    norms = patterns(operator_patterns.batch_norm_patterns(TYPES))
    assert {nn.BatchNorm2d, nn.BatchNorm3d, (nn.BatchNorm3d, nn.ReLU), intrinsic.BNReLU2d} <= {*norms}
    assert patterns(operator_patterns.batch_norm_patterns(TYPES, (nn.BatchNorm2d,), fused=False)) == [
        nn.BatchNorm2d
    ]
    layers = {c.pattern: c for c in operator_patterns.layer_norm_patterns(TYPES)}
    assert {nn.LayerNorm, F.layer_norm} == {*layers}
    assert layers[F.layer_norm]._input_type_to_index == {"weight": 2, "bias": 3}


@pytest.mark.parametrize(
    ("function", "scale", "zero"),
    [(tl_core.sigmoid, 1 / 256, 0), (nn.Tanh, 2 / 256, 128), ("softmax", None, None)],
)
def test_fixed_ranges(function, scale, zero):
    configs = {c.pattern: c for c in operator_patterns.fixed_patterns(TYPES)}
    if scale is None:
        assert function not in configs
        return
    limits = configs[function].dtype_configs[0].output_dtype_with_constraints
    assert (limits.scale_exact_match, limits.zero_point_exact_match) == (scale, zero)


def test_tables_and_recurrent_layers():
    types = embedding_types(tq.quint8, tl_core.quint4x2)
    assert [(c.input_dtype, c.output_dtype, c.weight_dtype) for c in types] == [
        (tl_core.float32, tl_core.float32, tq.quint8), (tl_core.float32, tl_core.float32, tl_core.quint4x2)
    ]  # fmt: skip
    tables = operator_patterns.embedding_patterns(types)
    assert {nn.Embedding, nn.EmbeddingBag} <= {*patterns(tables)} and F.embedding not in patterns(tables)
    assert F.embedding in patterns(operator_patterns.embedding_patterns(types, function=True))
    cells = {c.pattern: c for c in operator_patterns.recurrent_patterns(TYPES)}
    assert {nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell, nn.RNNCell} <= {*cells}
    assert cells[nn.LSTM].reference_quantized_module is reference.LSTM
    assert cells[nn.LSTMCell].root_module is nn.LSTMCell


# ---- backends


def types_of(config, pattern):
    return next(c for c in config.configs if c.pattern == pattern).dtype_configs


def test_what_backends_support():
    half = tl_core.float16
    lists = {
        name: [(c.input_dtype, c.weight_dtype, bool(c.is_dynamic)) for c in types_of(config, nn.Linear)]
        for name, config in (
            ("fbgemm", get_fbgemm_backend_config()), ("onednn", get_onednn_backend_config()),
            ("qnnpack", get_qnnpack_backend_config()), ("executorch", get_executorch_backend_config()),
            ("tensorrt", get_tensorrt_backend_config()),
        )
    }  # fmt: skip
    static, dynamic, halves = (tq.quint8, tq.qint8, False), (tq.quint8, tq.qint8, True), (half, half, True)
    signed, signed_dynamic = (tq.qint8, tq.qint8, False), (tq.qint8, tq.qint8, True)
    assert lists == {
        "fbgemm": [static, dynamic, halves], "onednn": [static, dynamic],
        "qnnpack": [signed, static, dynamic, halves],
        "executorch": [signed, static, dynamic, signed_dynamic, halves], "tensorrt": [signed],
    }  # fmt: skip


def test_the_fp16_backend_of_tests():
    config = native.get_test_only_legacy_native_backend_config()
    assert types_of(config, nn.Conv2d)[-1].input_dtype is tl_core.float16
    assert native.get_test_only_legacy_native_backend_config_dict()["name"] == "_native_and_fp16"
    table = native.get_native_backend_config_dict()
    assert table["name"] == "native" and len(table["configs"]) == 194
    assert bc.BackendConfig.from_dict(table).to_dict() == table
    assert get_tensorrt_backend_config_dict()["name"] == "tensorrt"


def test_tables_of_a_backend():
    config = native.get_native_backend_config()
    assert {tq.nn.qat.Linear, intrinsic.qat.ConvBnReLU2d} <= {*utils.get_qat_module_classes(config)}
    assert {intrinsic.ConvReLU2d, intrinsic.LinearBn1d} <= {*utils.get_fused_module_classes(config)}
    types = utils.get_pattern_to_dtype_configs(config)
    assert types[(nn.ReLU, nn.Linear)] == types_of(config, (nn.Linear, nn.ReLU))
    assert utils.get_fusion_pattern_to_root_node_getter(config) == {}
    assert utils.get_fusion_pattern_to_extra_inputs_getter(config) == {}
    onednn = get_onednn_backend_config()
    roots = utils.get_fusion_pattern_to_root_node_getter(onednn)
    extras = utils.get_fusion_pattern_to_extra_inputs_getter(onednn)
    pattern = (operator.add, nn.Conv2d, MatchAllNode)
    nodes = (operator.add, "conv", "other")
    assert (roots[pattern](nodes), roots.keys()) == ("conv", extras.keys())


def test_names_of_patterns():
    name = utils.remove_boolean_dispatch_from_name
    assert name(F.max_pool1d) == "torch.nn.functional.max_pool1d" and name(F.relu) is F.relu
    shown = utils.pattern_to_human_readable((nn.ReLU, (F.max_pool3d, "add")))
    assert shown == (nn.ReLU, ("torch.nn.functional.max_pool3d", "add"))


def test_nested_forms():
    form = lambda p: nested_form(bc.BackendPatternConfig(p))  # noqa: E731 - one expression
    assert form("a") == "a"
    assert (form(("a", "b")), form(("a", "b", "c"))) == (("b", "a"), ("c", ("b", "a")))
    assert nested_form(bc.BackendPatternConfig()._set_pattern_complex_format(("x", "y"))) == ("x", "y")


# ---- settings of quantizers


@pytest.mark.parametrize("name", ["dynamic", "static", "qat", "weight_only"])
def test_kinds_of_quantization_have_names(name):
    kind = quant_type_from_str(name)
    assert kind is QuantType[name.upper()] and quant_type_to_str(kind) == name


def test_an_unknown_kind():
    with pytest.raises(ValueError, match="must be one of dynamic, static, qat, weight_only"):
        quant_type_from_str("half")


def spec(scheme, dtype=tl_core.int8):
    return QuantizationSpec(
        dtype, tq.MinMaxObserver, -128, 127, scheme, 0 if "channel" in str(scheme) else None
    )


def test_specifications_of_a_configuration():
    tensor, channels = spec(tq.per_tensor_affine), spec(tq.per_channel_symmetric)
    bias = spec(None)
    config = QuantizationConfig(tensor, tensor, channels, bias)
    assert isinstance(tensor, QuantizationSpecBase) and not config.is_qat
    assert [f(config) for f in (input_spec, output_spec, weight_spec, bias_spec)] == [
        tensor,
        tensor,
        channels,
        bias,
    ]
    assert [f(None) for f in (input_spec, output_spec, weight_spec, bias_spec)] == [None] * 4
    with pytest.raises(ValueError, match="activation"):
        input_spec(QuantizationConfig(channels, None, None, None))
    with pytest.raises(ValueError, match="weight"):
        weight_spec(QuantizationConfig(None, None, tensor, None))
    with pytest.raises(AssertionError, match="weight"):
        weight_spec(QuantizationConfig(tensor, tensor, None, None))


def test_filters_by_name_and_class():
    node = Graph().placeholder("x")
    node.meta["nn_module_stack"] = {"1": ("L['self'].block", nn.Linear), "2": ("block.fc", "my.Layer")}
    assert [name_filter(n)(node) for n in ("block", "block.fc", "fc", "bloc")] == [True, True, False, False]
    assert [module_filter(k)(node) for k in (nn.Linear, nn.ReLU)] == [True, False]
    kind = type("Layer", (), {"__module__": "my"})
    assert module_filter(kind)(node)
    assert not module_filter(nn.Linear)(Graph().placeholder("x"))


def test_settings_of_weights():
    rows = get_embedding_operators_config()
    assert isinstance(rows, OperatorConfig) and rows.operators == [[nn.Embedding]]
    weight = rows.config.weight
    assert (weight.dtype, weight.qscheme, weight.ch_axis) == (
        tl_core.uint8, tq.per_channel_affine_float_qparams, 0
    )  # fmt: skip
    assert weight.observer_or_fake_quant_ctr().eps == 2**-12
    half = get_x86_inductor_linear_dynamic_fp16_config()
    assert (half.weight.dtype, half.input_activation, half.bias) == (tl_core.float16, None, None)
    with pytest.raises(NotImplementedError, match="get_default_xpu_inductor_quantization_config"):
        get_default_xpu_inductor_quantization_config()


@pytest.mark.parametrize(
    ("is_qat", "is_dynamic", "kind"),
    [
        (False, False, tq.HistogramObserver),
        (False, True, tq.PlaceholderObserver),
        (True, False, tq.FusedMovingAvgObsFakeQuantize),
        (True, True, tq.FakeQuantize),
    ],
)
def test_observers_of_activations(is_qat, is_dynamic, kind):
    observer = activation_factory(is_qat, is_dynamic)()
    assert type(observer) is kind
    if is_qat and is_dynamic:  # the range of the last call alone
        observer(tl_core.tensor([-100.0, 100.0]))
        observer(tl_core.tensor([0.0, 2.55]))
        assert float(observer.calculate_qparams()[0]) == pytest.approx(0.01, rel=1e-5)
    assert symbolic_trace(nn.ReLU()) is not None
