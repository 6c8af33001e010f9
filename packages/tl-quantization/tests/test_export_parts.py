"""The parts of quantized exports: facts of nodes, constants, groups of observers, moved and merged rounding."""

import operator

import pytest

import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_compiler.export import export_for_training
from tl_compiler.fx import Graph, GraphModule
from tl_core.operators import packets
from tl_nn import functional as F
from tl_quantization.export import export_utils, graph_facts, graph_utils, integer_layers, modes
from tl_quantization.export.constant_fold import constant_fold, drop_unread
from tl_quantization.export.derived_observer import DerivedObserver
from tl_quantization.export.duplicate_dq_pass import DuplicateDQPass
from tl_quantization.export.fold_qat import fold_conv_bn_qat
from tl_quantization.export.fuse_conv_bn import fold_parameters, fuse_conv_bn
from tl_quantization.export.fuse_qat import fuse_conv_bn_qat
from tl_quantization.export.lower_embedding import lower_embedding
from tl_quantization.export.lowering import lower_pt2e_quantized_to_x86
from tl_quantization.export.move_quantize import merge_quantizes, quantize_earlier, return_integers_later
from tl_quantization.export.numeric_debugger import NodeAccuracySummary, QuantizationComparisonResult
from tl_quantization.export.observer_groups import group_numbers, observers_of_values
from tl_quantization.export.port_metadata_pass import PortNodeMetaForQDQ
from tl_quantization.quantize_pt2e import convert_pt2e, prepare_pt2e
from tl_quantization.quantizer import QuantizationAnnotation, QuantizationSpec, SharedQuantizationSpec
from tl_quantization.quantizer.x86_patterns import X86Annotation, is_annotated, share_output_observers
from tl_quantization.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from tl_quantization.quantizer.xnnpack_quantizer_utils import convert_scalars_to_attrs, propagate_annotation

OPS, ATEN = packets.quantized_decomposed, packets.aten
KEY = "quantization_annotation"
SPEC = QuantizationSpec(tl.int8, tq.MinMaxObserver.with_args(dtype=tl.int8), -128, 127, tq.per_tensor_affine)
STEP = (0.5, 0, -128, 127, tl.int8)


class ConvNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(1, 2, 1, bias=False), nn.BatchNorm2d(2)

    def forward(self, x):
        return self.bn(self.conv(x))


def exported(model, *inputs):
    return export_for_training(model.eval(), inputs).module()


def node(model, target):
    return next(n for n in model.graph.nodes if n.target == target)


def hand(build, **attributes):
    """A graph module of one input, whose nodes a function adds."""
    root = nn.Module()
    for name, value in attributes.items():
        root.register_buffer(name, value)
    graph = Graph()
    graph.output(build(graph, graph.placeholder("x")))
    return GraphModule(root, graph)


# ---- facts


def test_operators_that_round():
    assert OPS.quantize_per_tensor.tensor in graph_facts.quantize_ops()
    assert OPS.dequantize_per_channel.default in graph_facts.dequantize_ops()
    assert not {*graph_facts.quantize_ops()} & {*graph_facts.dequantize_ops()}


def test_facts_of_an_exported_model():
    model = exported(ConvNorm(), tl.ones(1, 1, 2, 2))
    conv, norm = node(model, ATEN.conv2d.default), node(model, ATEN.batch_norm.default)
    assert [graph_facts.as_conv(n) for n in (conv, norm, 3)] == [True, False, False]
    assert [graph_facts.as_batch_norm(n) for n in (conv, norm)] == [False, True]
    assert not graph_facts.as_conv_transpose(conv)
    assert graph_facts.is_call(conv, (ATEN.conv2d.default,)) and not graph_facts.is_call(
        conv.args[0], (conv.target,)
    )
    assert graph_facts.attribute(model, conv.args[1]) is model.conv.weight
    assert graph_facts.attribute(model, conv) is None and graph_facts.attribute(model, None) is None
    graph_facts.set_attribute(model, "conv.weight", nn.Parameter(tl.zeros(2, 1, 1, 1)))
    assert float(model.conv.weight.sum()) == 0 and "weight" in model.conv._parameters
    graph_facts.set_attribute(model, "conv.weight", tl.ones(2))
    assert "weight" not in model.conv._parameters and "weight" in model.conv._buffers
    assert export_utils.model_is_exported(model) and not export_utils.model_is_exported(ConvNorm())
    assert not export_utils.model_is_exported(hand(lambda graph, x: x))
    assert export_utils.WrapperModule(lambda a, b=1: a + b)(2, b=5) == 7


def test_annotations_and_users():
    def build(graph, x):
        return graph.call_function(operator.add, (x, graph.call_function(ATEN.sym_size.int, (x, 0))))

    model = hand(build)
    x = next(iter(model.graph.nodes))
    add = node(model, operator.add)
    assert graph_facts.tensor_users(x) == [add]
    assert graph_facts.annotation_of(add) is None and not graph_facts.has_annotation(add)
    add.meta[KEY] = QuantizationAnnotation()
    assert graph_facts.annotation_of(add) is add.meta[KEY] and not graph_facts.has_annotation(add)
    for one in (QuantizationAnnotation({x: SPEC}), QuantizationAnnotation(output_qspec=SPEC)):
        add.meta[KEY] = one
        assert graph_facts.has_annotation(add)
    model.observer, model.other = tq.MinMaxObserver(), nn.ReLU()
    calls = [model.graph.call_module(name, (x,)) for name in ("observer", "other")]
    assert [graph_facts.observer_of(n, model) for n in (*calls, add)] == [model.observer, None, None]


# ---- sequences and branches


class Branches(nn.Module):
    def forward(self, x):
        from tl_compiler.higher_order import cond

        return cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))


def test_branches_of_control_flow():
    program = export_for_training(Branches(), (tl.ones(2),))
    branches = graph_utils.get_control_flow_submodules(program.graph_module)
    assert ["sin" in b.code for _, b, _ in branches] == [True, False]
    assert {n.name for _, _, n in branches} == {branches[0][2].name}
    targets = []
    graph_utils.bfs_trace_with_node_process(program, lambda n: targets.append(str(n.target)))
    assert sum("sin" in t for t in targets) == 1 == sum("cos" in t for t in targets)
    assert "output" not in targets


def test_modules_that_follow_each_other():
    groups = graph_utils.get_equivalent_types()
    assert {nn.ReLU, F.relu, F.relu_} in groups
    former = list(groups)
    model = exported(nn.Sequential(nn.Conv2d(1, 1, 1), nn.ReLU(), nn.Conv2d(1, 1, 1)), tl.ones(1, 1, 2, 2))
    first, relu, second = (n for n in model.graph.nodes if n.op == "call_function")
    for part, kind in ((first, nn.Conv2d), (relu, F.relu), (second, nn.Conv2d)):
        part.meta["source_fn_stack"] = [(part.name, kind)]
    ((conv, activation),) = graph_utils.find_sequential_partitions(model, [nn.Conv2d, nn.ReLU])
    assert (conv.output_nodes, activation.output_nodes) == ([first], [relu])
    ((conv, activation),) = graph_utils.find_sequential_partitions(model, [nn.Conv2d, nn.ReLU], False)
    assert (conv.output_nodes, activation.output_nodes) == ([first], [relu])  # by the stack of modules
    del relu.meta["nn_module_stack"]
    assert graph_utils.find_sequential_partitions(model, [nn.Conv2d, nn.ReLU], False) == []
    assert (
        graph_utils.find_sequential_partitions(model, [nn.Conv2d, nn.ReLU], filter_fn=lambda n: n is not relu)
        == []
    )
    assert graph_utils.find_sequential_partitions(model, [nn.ReLU, nn.BatchNorm2d]) == []
    with pytest.raises(ValueError, match="must be unique"):
        graph_utils.find_sequential_partitions(model, [nn.ReLU, F.relu])
    with pytest.raises(ValueError, match="should not be None"):
        graph_utils.update_equivalent_types_dict()
    try:
        graph_utils.update_equivalent_types_dict([{nn.ReLU}])
        assert graph_utils.get_equivalent_types() == [{nn.ReLU}]
        assert graph_utils.find_sequential_partitions(model, [nn.ReLU, F.relu]) == []
    finally:
        graph_utils.update_equivalent_types_dict(former)


# ---- constants


def test_constants_are_computed_once():
    def build(graph, x):
        twice = graph.call_function(tl.mul, (graph.create_node("get_attr", "weight"), 2))
        return graph.call_function(tl.add, (x, graph.call_function(tl.neg, (twice,))))

    model = hand(build, weight=tl.tensor([1.0, 3.0]))
    constant_fold(model, lambda n: n.target is tl.neg)
    assert [n.op for n in model.graph.nodes] == ["placeholder", "get_attr", "call_function", "output"]
    assert model._frozen_param0.tolist() == [-2.0, -6.0] and not hasattr(model, "weight")
    assert model(tl.zeros(2)).tolist() == [-2.0, -6.0]
    other = hand(build, weight=tl.tensor([1.0, 3.0]))
    constant_fold(other, lambda n: False)
    assert list(dict(other.named_buffers())) == ["weight"]
    other.register_buffer("unread", tl.ones(1))
    drop_unread(other)
    assert list(dict(other.named_buffers())) == ["weight"]


# ---- scales


def test_a_scale_of_other_scales():
    first = tq.MinMaxObserver()
    first(tl.tensor([0.0, 2.55]))
    square = DerivedObserver(
        [first], lambda others: (others[0].calculate_qparams()[0] ** 2, 3), tl.int32, quant_min=-7
    )
    scale, zero = square.calculate_qparams()
    assert float(scale) == pytest.approx(1e-4) and int(zero) == 3
    assert (square.quant_min, square.quant_max) == (-7, 2**31 - 1)
    assert square(first) is first and not list(square.children())


def test_values_with_one_observer():
    def build(graph, x):
        y = graph.call_method("relu", (x,))
        return graph.call_function(operator.add, (y, x))

    model = hand(build)
    x, relu, add, _ = model.graph.nodes
    specs = {(x, relu): SPEC, relu: SharedQuantizationSpec((x, relu)), (relu, add): SPEC, add: SPEC}
    numbers = group_numbers(specs)
    assert numbers[(x, relu)] == numbers[relu] != numbers[add]
    observers = observers_of_values(numbers, specs, False)
    assert list(observers) == list(specs)
    assert observers[(x, relu)] is observers[relu] and observers[relu] is not observers[add]
    assert type(observers[add]) is tq.MinMaxObserver


# ---- rounding


def chain(graph, x, *steps):
    for target, *args in steps:
        x = graph.call_function(target, (x, *args))
    return x


def targets(model):
    return [n.target for n in model.graph.nodes if n.op == "call_function"]


QUANTIZE, DEQUANTIZE = OPS.quantize_per_tensor.default, OPS.dequantize_per_tensor.default


def test_a_value_is_rounded_once():
    def build(graph, x):
        a, b = (chain(graph, x, (QUANTIZE, *STEP), (DEQUANTIZE, *STEP)) for _ in range(2))
        return chain(graph, graph.call_function(ATEN.add.Tensor, (a, b)), (ATEN.neg.default,))

    model = hand(build)
    merge_quantizes(model.graph)
    model.graph.eliminate_dead_code()
    assert targets(model).count(QUANTIZE) == 1 and targets(model).count(DEQUANTIZE) == 2
    again = hand(lambda graph, x: chain(graph, x, *[(QUANTIZE, *STEP), (DEQUANTIZE, *STEP)] * 2))
    merge_quantizes(again.graph)
    again.graph.eliminate_dead_code()
    assert targets(again) == [QUANTIZE, DEQUANTIZE]
    other = hand(
        lambda graph, x: chain(graph, x, (QUANTIZE, *STEP), (DEQUANTIZE, *STEP), (QUANTIZE, 0.25, *STEP[1:]))
    )
    merge_quantizes(other.graph)
    assert targets(other).count(QUANTIZE) == 2


def test_layers_return_integers_before_moves():
    def build(graph, x):
        layer = graph.call_function(ATEN.linear.default, (x, graph.create_node("get_attr", "w")))
        return chain(graph, layer, (ATEN.view.default, [-1]), (QUANTIZE, *STEP), (DEQUANTIZE, *STEP))

    model = hand(build, w=tl.tensor([[1.0, 2.0], [0.3, -1.0]]))
    x = tl.tensor([[0.9, 0.2]])
    expected = model(x)
    quantize_earlier(model.graph)
    model.graph.eliminate_dead_code()
    model.recompile()
    assert targets(model)[:3] == [ATEN.linear.default, QUANTIZE, ATEN.view.default]
    assert tl.equal(model(x), expected)


def test_moves_take_integers():
    def build(graph, x):
        y = chain(graph, x, (QUANTIZE, *STEP), (DEQUANTIZE, *STEP))
        return graph.call_function(ATEN.view.default, (y, [-1]))

    model = hand(build)
    x = tl.tensor([[0.9, 0.2]])
    expected = model(x)
    return_integers_later(model.graph)
    model.graph.eliminate_dead_code()
    model.recompile()
    assert targets(model) == [QUANTIZE, ATEN.view.default, DEQUANTIZE]
    assert tl.equal(model(x), expected) and expected.tolist() == [1.0, 0.0]


def test_each_annotated_user_has_its_dequantize():
    def build(graph, x):
        y = chain(graph, x, (QUANTIZE, *STEP), (DEQUANTIZE, *STEP))
        return graph.call_function(ATEN.add.Tensor, (chain(graph, y, (ATEN.relu.default,)), y))

    model = hand(build)
    for target in (ATEN.relu.default, ATEN.add.Tensor):
        n = node(model, target)
        n.meta[KEY] = QuantizationAnnotation({n.args[-1]: SPEC}, _annotated=True)
    x = tl.tensor([0.9, -0.2])
    expected = model(x)
    result = DuplicateDQPass()(model)
    assert result.modified and targets(model).count(DEQUANTIZE) == 2
    sources = {node(model, t).args[-1] for t in (ATEN.relu.default, ATEN.add.Tensor)}
    assert len(sources) == 2 and tl.equal(model(x), expected)


def test_rounding_has_the_lines_of_its_layer():
    def build(graph, x):
        return chain(
            graph, x, (QUANTIZE, *STEP), (DEQUANTIZE, *STEP), (ATEN.relu.default,), (QUANTIZE, *STEP)
        )

    model = hand(build)
    x, first, back, relu, last, _ = model.graph.nodes
    relu.meta.update(
        {KEY: QuantizationAnnotation({x: SPEC}, SPEC), "stack_trace": "line 7", "nn_module_stack": {}}
    )
    PortNodeMetaForQDQ()(model)
    assert [n.meta.get("stack_trace") for n in (first, back, last)] == [None, "line 7", "line 7"]
    assert "nn_module_stack" not in back.meta


# ---- layers


def test_a_norm_is_folded_into_its_convolution():
    source = ConvNorm()
    source.bn.running_mean.copy_(tl.tensor([0.5, -1.0]))
    source.bn.running_var.copy_(tl.tensor([4.0, 0.25]))
    x = tl.arange(4.0).reshape(1, 1, 2, 2)
    model = exported(source, x)
    expected = model(x)
    conv, norm = node(model, ATEN.conv2d.default), node(model, ATEN.batch_norm.default)
    weight, bias = fold_parameters(model, conv, conv.args[1], None, norm)
    conv.args = (conv.args[0], weight, bias, *conv.args[3:])
    norm.replace_all_uses_with(conv)
    model.graph.erase_node(norm)
    model.recompile()
    assert (weight.target, bias.target) == ("conv.weight", "conv.weight_bias")
    assert tl.allclose(model(x), expected, atol=1e-6)
    root = tl.tensor([4.0, 0.25]) + 1e-5
    assert tl.allclose(graph_facts.attribute(model, bias), tl.tensor([-0.5, 1.0]) / root.sqrt())


def test_a_folded_norm_leaves_no_code_and_no_tensors():
    x = tl.arange(4.0).reshape(1, 1, 2, 2)
    source = ConvNorm()
    source.bn.running_mean.copy_(tl.tensor([0.5, -1.0]))
    model = exported(source, x)
    expected = model(x)
    fuse_conv_bn(model)
    assert targets(model) == [ATEN.conv2d.default] and "batch_norm" not in model.code
    assert {name for name, _ in model.named_parameters()} == {"conv.weight", "conv.weight_bias"}
    assert [name for name, _ in model.named_buffers()] == []
    assert tl.allclose(model(x), expected, atol=1e-6)


def test_models_without_a_norm_stay_as_they_are():
    x = tl.ones(1, 1, 2, 2)
    model = exported(nn.Conv2d(1, 1, 1), x)
    before = [n.name for n in model.graph.nodes]
    fuse_conv_bn_qat(model)
    assert fold_conv_bn_qat(model) is model and [n.name for n in model.graph.nodes] == before


def test_a_table_of_integers():
    def build(graph, x):
        table = chain(graph, graph.create_node("get_attr", "table"), (DEQUANTIZE, *STEP))
        return graph.call_function(ATEN.embedding.default, (table, x))

    model = hand(build, table=tl.tensor([[1, 2], [-3, 4]], dtype=tl.int8))
    lower_embedding(model, node(model, ATEN.embedding.default))
    model.graph.eliminate_dead_code()
    model.recompile()
    assert targets(model) == [ATEN.embedding.default, DEQUANTIZE]
    assert model(tl.tensor([1])).tolist() == [[-1.5, 2.0]]


def test_packed_layers():
    integers = tl.tensor([[2, -4]], dtype=tl.int8)
    quantizer = tq.PerTensor(0.5, 0, tq.qint8)
    packed = integer_layers.pack_linear(integers, quantizer, tl.tensor([0.25]))
    assert packed.weight().dequantize().tolist() == [[1.0, -2.0]] and packed.bias.tolist() == [0.25]
    kernel = integer_layers.pack_convolution(integers.reshape(2, 1, 1), quantizer, None, 2)
    assert kernel.weight().int_repr().flatten().tolist() == [2, -4] and kernel.groups == 2


def test_a_lowered_model_computes_the_same():
    x = tl.arange(8.0).reshape(2, 4) / 4 - 1
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(exported(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), x), quantizer)
    prepared(x)
    model = convert_pt2e(prepared)
    expected = model(x)
    lowered = lower_pt2e_quantized_to_x86(model, (x,))
    step = float((expected[expected > 0]).min()) if bool((expected > 0).any()) else 1.0
    assert float((lowered(x) - expected).abs().max()) <= step * 1.01
    assert ATEN.linear.default not in targets(lowered)


def test_modes_of_exported_models():
    model = exported(nn.Sequential(nn.Dropout(0.9)), tl.ones(100))
    assert tl.equal(model(tl.ones(100)), tl.ones(100))
    modes.move_exported_model_to_train(model)
    assert int((model(tl.ones(100)) == 0).sum()) > 50
    modes.refuse_train_eval(model)
    for change in (model.train, model.eval):
        with pytest.raises(NotImplementedError, match="not supported yet"):
            change()


def test_values_beside_their_reference():
    x, y = tl.tensor([3.0, 4.0]), tl.tensor([3.0, 3.5])
    result = QuantizationComparisonResult(y, x)
    assert float(result.mse_loss) == pytest.approx(0.125)
    assert float(result.sqnr) == pytest.approx(20 * 0.9637878, rel=1e-3)
    assert float(result.loss(lambda a, b: (a - b).abs().max())) == 0.5
    with pytest.raises(ValueError, match="Cannot compare tensors of shapes"):
        QuantizationComparisonResult(x, tl.ones(3))
    with pytest.raises(ValueError, match="Cannot compare <class"):
        QuantizationComparisonResult(x, [x])
    summary = NodeAccuracySummary(3, "linear", "fc", "linear_1", "fc", [result])
    assert (summary.handle, summary.results[0].ref) == (3, x)


# ---- annotations


def test_operators_that_keep_a_scale_share_it():
    model = exported(nn.Sequential(nn.ReLU(), nn.MaxPool2d(1), nn.Flatten()), tl.ones(1, 1, 2, 2))
    relu = node(model, ATEN.relu.default)
    pool = next(iter(relu.users))
    propagate_annotation(model)
    assert KEY not in pool.meta
    relu.meta[KEY] = QuantizationAnnotation(output_qspec=SPEC, _annotated=True)
    propagate_annotation(model)
    annotation = pool.meta[KEY]
    assert annotation.output_qspec == SharedQuantizationSpec(relu) == annotation.input_qspec_map[relu]
    flatten = next(iter(pool.users))
    assert flatten.meta[KEY].output_qspec == SharedQuantizationSpec(pool)


def test_numbers_become_buffers():
    class Scale(nn.Module):
        def forward(self, x):
            return x * 2.5 + 1

    model = exported(Scale(), tl.ones(2))
    expected = model(tl.ones(2))
    convert_scalars_to_attrs(model)
    assert all(not isinstance(a, float) for n in model.graph.nodes for a in n.args)
    assert sorted(float(b) for _, b in model.named_buffers()) == [1.0, 2.5]
    assert tl.equal(model(tl.ones(2)), expected) and expected.tolist() == [3.5, 3.5]


def test_ends_of_patterns_share_the_scale_of_their_input():
    model = exported(nn.Sequential(nn.MaxPool2d(1)), tl.ones(1, 1, 2, 2))
    pool = next(n for n in model.graph.nodes if n.op == "call_function")
    x = pool.args[0]
    assert not is_annotated(pool)
    pool.meta[KEY] = X86Annotation({x: SPEC}, _annotated=True, _is_output_of_quantized_pattern=True)
    assert is_annotated(pool)
    share_output_observers(model)
    assert pool.meta[KEY].output_qspec == SharedQuantizationSpec((x, pool))
    pool.meta[KEY] = X86Annotation({x: SPEC}, _annotated=True)
    share_output_observers(model)
    assert pool.meta[KEY].output_qspec is None
