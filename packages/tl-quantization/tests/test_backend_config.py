"""Backend configurations: their patterns and types, as PyTorch 2.13 has them."""

import pytest

import tl_core
import tl_nn as nn
import tl_quantization as tq
from tl_nn import functional as F
from tl_quantization import backend_config as bc
from tl_quantization.backend_config import utils
from tl_quantization.backend_config.x86 import get_x86_backend_config

SIZES = {"native": 194, "fbgemm": 192, "onednn": 221, "qnnpack": 190, "executorch": 84, "tensorrt": 149}


def configuration(name):
    return get_x86_backend_config() if name == "x86" else getattr(bc, f"get_{name}_backend_config")()


@pytest.mark.parametrize(("name", "size"), [*SIZES.items(), ("x86", 192)])
def test_patterns(name, size):
    config = configuration(name)
    assert (config.name, len(config.configs)) == (name, size)
    again = bc.BackendConfig.from_dict(config.to_dict())
    assert again.to_dict() == config.to_dict()


def find(name, pattern):
    return next(c for c in configuration(name).configs if c.pattern == pattern)


def test_types():
    linear = find("native", nn.Linear)
    assert [c.is_dynamic for c in linear.dtype_configs] == [None, True, True]
    assert [c.input_dtype for c in linear.dtype_configs] == [tq.quint8, tq.quint8, tl_core.float16]
    assert (linear.root_module, linear.qat_module.__name__) == (nn.Linear, "Linear")
    sigmoid = find("native", tl_core.sigmoid).dtype_configs[0].output_dtype_with_constraints
    assert (sigmoid.scale_exact_match, sigmoid.zero_point_exact_match) == (1 / 256, 0)
    weight = find("qnnpack", F.conv2d).dtype_configs[0].weight_dtype_with_constraints
    assert (weight.quant_min_lower_bound, weight.scale_min_lower_bound) == (-127, 2**-12)
    rows = find("native", nn.Embedding)
    assert [c.weight_dtype for c in rows.dtype_configs] == [tq.quint8, tl_core.quint4x2]


def test_observation():
    kinds = bc.ObservationType
    assert find("native", nn.ReLU).observation_type is kinds.OUTPUT_SHARE_OBSERVER_WITH_INPUT
    assert find("native", "size").observation_type is kinds.INPUT_OUTPUT_NOT_OBSERVED
    assert find("native", nn.Conv2d).observation_type is kinds.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT


def test_a_configuration_of_one_s_own():
    types = bc.DTypeConfig(
        tq.quint8, bc.DTypeWithConstraints(tq.quint8, 0, 127), tq.qint8, tl_core.float32, True
    )
    assert bc.DTypeConfig.from_dict(types.to_dict()) == types
    pattern = (
        bc.BackendPatternConfig((nn.Linear, nn.ReLU)).add_dtype_config(types).set_fused_module(nn.Identity)
    )
    table = pattern.to_dict()
    assert table["pattern"] == (nn.Linear, nn.ReLU)
    assert bc.BackendPatternConfig.from_dict(table).to_dict() == table
    config = bc.BackendConfig("mine").set_backend_pattern_config(pattern).set_backend_pattern_config(pattern)
    assert len(config.configs) == 1
    assert list(config._pattern_complex_format_to_config) == [(nn.ReLU, nn.Linear)]


def test_errors():
    with pytest.raises(ValueError, match="2 or 3"):
        bc.BackendConfig().set_backend_pattern_config(bc.BackendPatternConfig((nn.Linear,) * 4))
    with pytest.raises(ValueError, match="pattern_complex_format"):
        bc.BackendPatternConfig(nn.Linear)._set_pattern_complex_format(nn.Linear)
    with pytest.raises(ValueError, match="input_dtype"):
        bc.DTypeConfig.from_dict({"input_dtype": "quint8"})
    with pytest.raises(ValueError, match="configs"):
        bc.BackendConfig.from_dict({"configs": [3]})
    with pytest.raises(ValueError, match="dtype_configs"):
        bc.BackendPatternConfig.from_dict({"dtype_configs": [3]})


def test_tables():
    config = configuration("native")
    assert utils.get_root_module_to_quantized_reference_module(config)[nn.Linear].__name__ == "Linear"
    assert (nn.ReLU, (nn.BatchNorm2d, nn.Conv2d)) in utils.get_fuser_method_mapping(config)
    assert utils.get_pattern_to_input_type_to_index(config)[F.linear] == {"weight": 1, "bias": 2}
    assert nn.Linear in utils.get_module_to_qat_module(config)
    assert "torch.nn.functional.max_pool2d" in utils.entry_to_pretty_str(find("native", F.max_pool2d))


def test_a_dictionary_has_pytorchs_order():
    config = bc.BackendPatternConfig(nn.Linear).set_root_module(nn.Linear)
    config.set_dtype_configs([bc.DTypeConfig()])
    assert list(config.to_dict()) == ["pattern", "observation_type", "dtype_configs", "root_module"]
