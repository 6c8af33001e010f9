"""Names of PyTorch's internals, and linear layers with zeros in blocks."""

from copy import deepcopy

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_compiler.fx import symbolic_trace
from tl_nn import functional as F
from tl_quantization.backend_config import get_native_backend_config
from tl_quantization.compat import (
    graph_functions,
    handlers,
    lower_to_fbgemm,
    patterns,
    qconfigs,
    script_layers,
    scripts,
)
from tl_quantization.nn.quantized import dynamic as nnqd
from tl_quantization.nn.sparse import quantized as nnsq
from tl_quantization.nn.sparse.quantized.utils import LinearBlockSparsePattern
from tl_quantization.quantize_fx import convert_fx, convert_to_reference_fx, prepare_fx


def test_handlers_of_patterns():
    table = handlers._get_pattern_to_quantize_handlers(get_native_backend_config())
    add = next(n for n in symbolic_trace(lambda x, y: x + y).graph.nodes if n.op == "call_function")
    handler = table[add.target](add, {})
    assert (
        handler.num_tensor_args == 2 and handler.root_node is add and not handler.is_general_tensor_value_op()
    )
    shares = symbolic_trace(lambda x: F.max_pool2d(x, 2)).graph.nodes
    pool = next(n for n in shares if n.op == "call_function")
    assert table[F.max_pool2d](pool, {}).is_general_tensor_value_op()
    custom = handlers.CustomModuleQuantizeHandler(add, {}, is_custom_module=True)
    assert custom.is_custom_module() and not custom.is_standalone_module()


def test_tables_of_patterns():
    table = {}
    try:
        handler = patterns._register_quant_pattern("mine", tq.default_fixed_qparams_range_0to1_observer)(
            object
        )
        assert patterns.get_default_quant_patterns() == {"mine": handler}
        assert list(patterns.get_default_output_activation_post_process_map(True)) == ["mine"]
        assert patterns._register_fusion_pattern(("relu", "mine"))(int) is int
        table = patterns.get_default_fusion_patterns()
    finally:
        for each in (
            patterns._DEFAULT_FUSION_PATTERNS,
            patterns._DEFAULT_QUANTIZATION_PATTERNS,
            patterns._DEFAULT_OUTPUT_FAKE_QUANTIZE_MAP,
            patterns._DEFAULT_OUTPUT_OBSERVER_MAP,
        ):
            each.clear()
    assert table == {("relu", "mine"): int}
    assert list(patterns._sorted_patterns_dict({"a": 1, ("b", ("c", "d")): 2})) == [("b", ("c", "d")), "a"]


def test_functions_over_nodes():
    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.shift = nn.Parameter(tl.ones(2))

        def forward(self, x):
            return (x + (self.shift * 2).relu()).sum()

    model = symbolic_trace(Shifted())
    relu = next(n for n in model.graph.nodes if n.target == "relu")
    nodes = graph_functions.collect_producer_nodes(relu)
    assert graph_functions.graph_module_from_producer_nodes(model, nodes)().tolist() == [2.0, 2.0]
    assert graph_functions.collect_producer_nodes(model.graph.output_node()) is None
    with pytest.raises(AssertionError, match="can not be empty"):
        graph_functions.graph_module_from_producer_nodes(model, [])
    read = graph_functions.create_getattr_from_value(model, model.graph, "scale.", 0.5)
    assert read.target == "scale_0" and float(model.scale_0) == 0.5
    assert graph_functions.assert_and_get_unique_device(model) == tl.device("cpu")
    with pytest.raises(AssertionError, match="Didn't find prepack op"):
        graph_functions.get_qconv_prepack_op(F.linear)
    with pytest.raises(Exception, match=r"linear prepack op for dtype: torch\.float32"):
        graph_functions.get_linear_prepack_op_for_dtype(tl.float32)
    assert graph_functions.maybe_get_next_module(relu, {}, None, None) is None


def test_the_configuration_of_nodes():
    mapping = tq.QConfigMapping().set_module_name("a", tq.default_qconfig).set_object_type(nn.ReLU, None)
    assert qconfigs._get_module_name_qconfig(mapping, "a.b", None) == tq.default_qconfig
    assert qconfigs._get_module_name_qconfig(mapping, "b", "other") == "other"
    assert qconfigs._maybe_adjust_qconfig_for_module_type_or_name(mapping, nn.Conv2d, "a", None) is not None
    assert qconfigs._get_object_type_qconfig(mapping, nn.ReLU, "other") is None


def test_the_lowering_of_engines():
    x, model = tl.rand(4, 3), nn.Sequential(nn.Linear(3, 2)).eval()
    observed = prepare_fx(model, tq.get_default_qconfig_mapping(), (x,))
    observed(x)
    reference = convert_to_reference_fx(deepcopy(observed))
    lowered = lower_to_fbgemm.lower_to_fbgemm(reference, {}, {})
    assert tl.equal(lowered(x), convert_fx(observed)(x))


def test_missing_parts_name_themselves():
    with pytest.raises(NotImplementedError, match="quantize_jit quantizes the code of a scripted program"):
        scripts.quantize_jit(None, {}, None, None)
    with pytest.raises(RuntimeError, match=r"nn\.quantized\.dynamic\.GRUCell"):
        script_layers.QuantizedGRUCell(None)
    with pytest.raises(RuntimeError, match="quantize_linear_modules function is no longer supported"):
        script_layers.quantize_linear_modules(None)


# ---- zeros in blocks -------------------------------------------------------------------------------------------------


def sparse_layer(qconfig):
    layer = nn.Linear(8, 4)
    with tl.no_grad():
        layer.weight.copy_(tl.from_numpy(np.random.RandomState(0).randn(4, 8).astype("float32")))
        layer.weight[1, 4:] = 0
    layer.sparse_params, layer.qconfig = {"sparse_block_shape": (1, 4)}, qconfig
    return layer


def test_sparse_layers_have_the_results_of_dense_ones():
    layer, x = sparse_layer(tq.default_dynamic_qconfig), tl.rand(3, 8)
    sparse = nnsq.dynamic.Linear.from_float(layer)
    assert tl.equal(sparse(x), nnqd.Linear.from_float(layer)(x))
    assert bool((sparse.weight().int_repr()[1, 4:] == 0).all())
    static = sparse_layer(tq.default_qconfig)
    static.activation_post_process = tq.default_qconfig.activation()
    static.activation_post_process(static(x))
    integers = nnsq.Linear.from_float(static)
    q = tq.quantize_per_tensor(x, 0.01, 0, tq.quint8)
    assert tl.equal(integers(q).int_repr(), tq.nn.quantized.Linear.from_float(static)(q).int_repr())


def test_sparse_state():
    one = nnsq.dynamic.Linear.from_float(sparse_layer(tq.default_dynamic_qconfig))
    other = nnsq.dynamic.Linear(8, 4, 8, 1)
    other.load_state_dict(one.state_dict())
    x = tl.rand(2, 8)
    assert tl.equal(one(x), other(x)) and other._packed_params.row_block_size == 1
    assert deepcopy(one)._packed_params.col_block_size == 4


def test_refused_blocks():
    with pytest.raises(AssertionError, match="must be 1 and 4 or 8 and 1, but got 2 and 2"):
        nnsq.Linear(8, 4, 2, 2)
    with pytest.raises(NotImplementedError, match=r"only|Only QINT8"):
        nnsq.Linear(8, 4, 1, 4, dtype=tl.float16)
    with pytest.raises(AssertionError, match="must have sparse_params"):
        nnsq.dynamic.Linear.from_float(nn.Linear(4, 4))
    with pytest.raises(AssertionError, match="takes a Linear, but got ReLU"):
        nnsq.dynamic.Linear.from_float(nn.ReLU())
    with pytest.raises(AssertionError, match="Invalid linear block sparse pattern"):
        LinearBlockSparsePattern(3, 3)
