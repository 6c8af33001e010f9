"""The steps, tables and types of the eager mode and the graph mode under PyTorch's private names."""

import warnings

import pytest

import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_compiler import fx
from tl_quantization import utils
from tl_quantization.backend_config import DTypeConfig
from tl_quantization.compat import (
    eager_steps,
    eager_tables,
    equalize,
    graph_functions,
    graph_steps,
    layer_helpers,
    learnable_fake_quantize,
    observed_graphs,
    observer_names,
    qconfigs,
    scripts,
)


@pytest.fixture
def observed():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU()).eval()
    model.qconfig = tq.get_default_qconfig("x86")
    return tq.prepare(model)


def test_observers_have_names(observed):
    observers = {}
    eager_steps._get_observer_dict(observed, observers, "net")
    assert list(observers) == ["net.0.activation_post_process"]
    observers = {}
    eager_steps._get_observer_dict(observed, observers)
    assert list(observers) == ["0.activation_post_process"]


def test_observers_and_configurations_go(observed):
    eager_steps._remove_qconfig(observed)
    assert not any(hasattr(part, "qconfig") for part in observed.modules())
    assert not observed[0]._forward_hooks and not hasattr(observed[0], "activation_post_process")


def test_a_hook_lets_an_observer_see_inputs():
    layer = nn.Linear(2, 3)
    layer.activation_post_process = tq.MinMaxObserver()
    eager_steps._register_activation_post_process_hook(layer, pre_hook=True)
    layer(tl.tensor([[-1.0, 4.0]]))
    assert float(layer.activation_post_process.max_val) == 4.0
    eager_steps._remove_activation_post_process(layer)
    assert not layer._forward_pre_hooks
    with pytest.raises(AssertionError, match="already attached"):
        eager_steps._register_activation_post_process_hook(layer)


def test_configurations_reach_parts_by_name():
    model, mine = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2)), tq.get_default_qconfig("x86")
    eager_steps._propagate_qconfig_helper(model, {"net.1": mine}, None, "net")
    assert model[0].qconfig is None and model[1].qconfig is mine
    eager_steps._add_observer_(model)
    assert not hasattr(model[0], "activation_post_process") and hasattr(model[1], "activation_post_process")
    assert len(eager_steps._get_unique_devices_(model)) == 1


def test_layers_are_set_by_name():
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 3)))
    eager_steps._set_module(model, "0.0", nn.ReLU())
    assert isinstance(eager_steps._get_module(model, "0.0"), nn.ReLU)
    fused = eager_steps._fuse_modules(nn.Sequential(nn.Linear(1, 1), nn.ReLU()).eval(), ["0", "1"], False)
    assert type(fused[0]).__name__ == "LinearReLU"


def test_tables_have_operators_and_fixed_ranges():
    assert (
        eager_tables.get_quantized_operator(nn.functional.layer_norm)._qualified_op_name
        == "quantized::layer_norm"
    )
    with pytest.raises(AssertionError, match="does not have corresponding quantized op"):
        eager_tables.get_quantized_operator(nn.functional.relu)
    sigmoid = nn.Sigmoid()
    assert eager_tables._has_special_act_post_process(sigmoid.train())
    assert not eager_tables._has_special_act_post_process(sigmoid.eval())
    assert eager_tables._get_special_act_post_process(sigmoid)().activation_post_process.scale == 1 / 256


def test_the_older_configuration_takes_constructors():
    with pytest.raises(ValueError, match="constructor of an observer"):
        eager_tables.QConfigDynamic(weight=tq.MinMaxObserver())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert eager_tables.QConfigDynamic(weight=tq.MinMaxObserver).activation is nn.Identity


def test_observers_are_made_on_the_device_of_a_module():
    qconfig = eager_tables._add_module_to_qconfig_obs_ctr(tq.default_qconfig, nn.Linear(1, 1))
    assert qconfig.activation().eps.device.type == "cpu"
    plain = tq.QConfig(tq.PlaceholderObserver, tq.default_weight_observer)
    assert (
        eager_tables._add_module_to_qconfig_obs_ctr(plain, nn.Linear(1, 1)).activation
        is tq.PlaceholderObserver
    )
    assert eager_tables._add_module_to_qconfig_obs_ctr(None, None) is None


def test_factories_take_arguments_that_are_computed_late():
    make = observer_names._with_callable_args(tq.MinMaxObserver, dtype=lambda: tq.qint8)
    assert make().dtype is tq.qint8 and observer_names._with_args(make, dtype=tq.quint8)().dtype is tq.quint8
    assert observer_names._is_symmetric_quant(tq.per_channel_symmetric)
    assert not observer_names._is_symmetric_quant(tq.per_tensor_affine)
    assert not observer_names._is_fake_quant_script_module(tq.FakeQuantize())
    assert not observer_names._is_per_channel_script_obs_instance(tq.MinMaxObserver())


def test_paddings_and_pairs():
    assert layer_helpers._reverse_repeat_padding([1, 2, 3]) == [3, 3, 2, 2, 1, 1]
    assert layer_helpers._pair_from_first((4, 5)) == (4, 4) and layer_helpers._ntuple_from_first(3)(7) == (
        7,
        7,
        7,
    )
    text = layer_helpers._hide_packed_params_repr(nn.Sequential(nn.ReLU(), nn.Linear(1, 1)), nn.Linear)
    assert "ReLU" in text and "Linear" not in text


def test_weights_stay_in_the_range_of_their_observer():
    """A weight may exceed an averaged range."""
    watching = tq.MinMaxObserver(dtype=tq.qint8, quant_min=-10, quant_max=10, qscheme=tq.per_tensor_symmetric)
    weight = tl.tensor([-1000.0, 1000.0])
    watching(weight)
    assert layer_helpers._quantize_weight(weight * 1.2, watching).int_repr().tolist() == [-10, 10]


def test_the_graph_mode_runs_in_steps():
    model, x = nn.Sequential(nn.Linear(2, 3), nn.ReLU()).eval(), tl.ones(1, 2)
    with pytest.raises(ValueError):
        graph_steps._check_is_graph_module(model)
    fused = graph_steps._fuse_fx(fx.symbolic_trace(model), False)
    assert type(getattr(fused, "0")).__name__ == "LinearReLU"
    prepared = graph_steps._prepare_fx(model, tq.get_default_qconfig_mapping("x86"), False, (x,))
    prepared(x)
    converted = graph_steps._convert_fx(prepared, is_reference=False)
    assert type(getattr(converted, "0")).__name__ == "LinearReLU" and converted(x).shape == (1, 3)


def test_names_choose_configurations_by_expressions():
    mapping = tq.QConfigMapping().set_module_name_regex("a.*", tq.default_qconfig)
    assert graph_steps._get_module_name_regex_qconfig(mapping, "abc", None) is tq.default_qconfig
    assert graph_steps._get_module_name_regex_qconfig(mapping, "cba", 3) == 3
    node = next(iter(fx.symbolic_trace(nn.ReLU()).graph.nodes))
    assert graph_steps._default_root_node_getter(("relu", ("conv", node))) is node


def test_scripted_programs_are_told_apart():
    with pytest.raises(ValueError, match="script module"):
        scripts._check_is_script_module(nn.ReLU())
    with pytest.raises(NotImplementedError, match="quantize_fx"):
        scripts._convert_jit(nn.ReLU())


def test_parts_are_listed_with_their_arguments():
    class Part(nn.Module):
        def forward(self, x, first=1, second=2):
            return x

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part()

        def forward(self, x):
            return self.part(x, second=5)

    inputs = utils.get_fqn_to_example_inputs(Whole(), (3,))
    assert inputs == {"": (3,), "part": (3, 1, 5)}


def test_questions_about_configurations():
    assert utils.activation_is_int8_quantized(tq.default_qconfig)
    assert not utils.activation_is_int8_quantized(tq.float16_static_qconfig)
    assert utils.weight_is_statically_quantized(tq.default_qconfig)
    table = {tq.QuantType.STATIC: {nn.Linear: nn.ReLU}}
    assert utils.get_swapped_custom_module_class(nn.Linear(1, 1), table, tq.default_qconfig) is nn.ReLU
    with pytest.raises(AssertionError, match="did not find corresponding"):
        utils.get_swapped_custom_module_class(nn.ReLU(), table, tq.default_qconfig)


def test_a_scale_is_trained():
    module = learnable_fake_quantize._LearnableFakeQuantize(
        tq.MovingAverageMinMaxObserver, quant_min=0, quant_max=255, scale=0.1
    )
    x = tl.tensor([0.26, 3.0])
    module(x)
    assert abs(float(module.scale) - 3.0 / 255) < 1e-6
    module.enable_param_learning()
    module.scale.data.fill_(0.5)
    y = module(x)
    y.sum().backward()
    assert y.tolist() == [0.5, 3.0]
    # the gradient of a number within the range: the rounding error in steps
    assert abs(float(module.scale.grad) - (round(0.26 / 0.5) - 0.26 / 0.5 + 6 - 3.0 / 0.5)) < 1e-6
    module.enable_static_observation()
    assert module(x) is x and not module.scale.requires_grad
    with pytest.raises(AssertionError, match="strictly less"):
        learnable_fake_quantize._LearnableFakeQuantize(tq.MinMaxObserver, quant_min=3, quant_max=3)


def test_an_observer_is_inserted_behind_a_node():
    model = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    node, modules = (
        next(node for node in model.graph.nodes if node.target == "0"),
        dict(model.named_modules()),
    )
    for number in range(2):
        observer = tq.MinMaxObserver()
        call = observed_graphs._insert_obs_or_fq(node, observer, model, modules, model.graph)
        assert call.target == f"activation_post_process_{number}" and call.args == (node,)
        assert modules[call.target] is observer is getattr(model, call.target)
    assert [user.target for user in node.users] == [
        "1",
        "activation_post_process_0",
        "activation_post_process_1",
    ]
    assert graph_functions._get_module(call, modules) is observer
    assert graph_functions._get_module(next(iter(model.graph.nodes)), modules) is None
    observed_graphs._save_state(
        model, {"0": None}, {}, None, {"0": "equal"}, tq.QConfigMapping(), True, {"0"}
    )
    assert equalize.update_obs_for_equalization(model, modules) == {"0": "equal"}
    assert observed_graphs._parent_name("layers.0.conv") == ("layers.0", "conv")


def test_the_weight_of_a_call():
    graph = fx.Graph()
    x, w = graph.placeholder("x"), graph.placeholder("w")
    by_name, by_position = graph.call_function(max, (x,), {"weight": w}), graph.call_function(max, (x, w))
    assert graph_functions.node_arg_is_weight(by_name, w) and not graph_functions.node_arg_is_weight(
        by_name, x
    )
    assert not graph_functions.node_arg_is_weight(by_position, w)
    by_position.meta["target_dtype_info"] = {"weight_index": 1}
    assert graph_functions.node_arg_is_weight(by_position, w) and not graph_functions.node_arg_is_weight(
        by_position, x
    )


def test_types_that_a_backend_lists():
    static = DTypeConfig(tq.quint8, tq.quint8, tq.qint8, tl.float32)
    dynamic = DTypeConfig(tq.quint8, tl.float32, tq.qint8, tl.float32, is_dynamic=True)
    supported = qconfigs._is_qconfig_supported_by_dtype_configs
    assert supported(tq.default_qconfig, [static]) and not supported(tq.default_qconfig, [dynamic])
    assert supported(tq.default_dynamic_qconfig, [static, dynamic])
    assert not supported(tq.float16_static_qconfig, [static, dynamic])


def test_tables_of_prepare_and_convert():
    before = tq.QConfigMapping().set_global(tq.default_qconfig).set_object_type(nn.Linear, tq.default_qconfig)
    after = tq.QConfigMapping().set_global(None)
    with pytest.raises(AssertionError, match="lacks"):
        qconfigs._compare_prepare_convert_qconfig_mappings(before, after)
    qconfigs._compare_prepare_convert_qconfig_mappings(before, after.set_object_type(nn.Linear, None))
    with pytest.raises(AssertionError, match="in prepare"):
        after.set_object_type(nn.Linear, tq.default_dynamic_qconfig)
        qconfigs._compare_prepare_convert_qconfig_mappings(before, after)
    qconfigs._update_qconfig_for_qat(before, tq.backend_config.get_native_backend_config())
    assert before.object_type_qconfigs[tq.nn.qat.Linear] is tq.default_qconfig
