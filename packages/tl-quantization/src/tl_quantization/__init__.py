"""Quantized tensors and networks: 8-bit integers for floating numbers, observers and conversion.

>>> import tl_core, tl_quantization as tq
>>> q = tq.quantize_per_tensor(tl_core.tensor([0.1, 0.5]), scale=0.1, zero_point=0, dtype=tq.quint8)
>>> q.int_repr(), q.dequantize()
(tensor([1, 5], dtype=torch.uint8), tensor([0.1000, 0.5000]))
"""

from typing import TYPE_CHECKING

from tl_core.base import backend_registry
from tl_core.base.lazy_attributes import attach
from tl_core.base.operator_hooks import add_python_operators
from tl_core.dispatch import overridable

from . import operators as operators  # without them, quantized tensors can't be computed with
from . import writes as writes
from .version import __version__ as __version__

if TYPE_CHECKING:
    from . import nn
    from .creation import *
    from .dtypes import *
    from .fake_quantization import *
    from .fake_quantize import *
    from .functions import *
    from .fuse_modules import *
    from .fuser_method_mappings import *
    from .observer import *
    from .qconfig import *
    from .qconfig_mapping import *
    from .quant_type import *
    from .quantization_mappings import *
    from .quantize import *
    from .stubs import *
    from .tensor import *
    from .tensor_quantizer import *
    from .weight_only import *

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "creation": ("empty_quantized",),
        "dtypes": (
            "QScheme",
            "bits_of",
            "bounds",
            "is_quantized_dtype",
            "per_channel_affine",
            "per_channel_affine_float_qparams",
            "per_channel_symmetric",
            "per_tensor_affine",
            "per_tensor_symmetric",
            "qint8",
            "qint32",
            "quantized_dtype",
            "quint2x4",
            "quint4x2",
            "quint8",
            "storage_dtype",
        ),
        "fake_quantization": ("fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"),
        "fake_quantize": (
            "FakeQuantize",
            "FakeQuantizeBase",
            "FixedQParamsFakeQuantize",
            "FusedMovingAvgObsFakeQuantize",
            "default_affine_fixed_qparams_fake_quant",
            "default_dynamic_fake_quant",
            "default_embedding_fake_quant",
            "default_embedding_fake_quant_4bit",
            "default_fake_quant",
            "default_fixed_qparams_range_0to1_fake_quant",
            "default_fixed_qparams_range_neg1to1_fake_quant",
            "default_fused_act_fake_quant",
            "default_fused_per_channel_wt_fake_quant",
            "default_fused_wt_fake_quant",
            "default_histogram_fake_quant",
            "default_per_channel_weight_fake_quant",
            "default_symmetric_fixed_qparams_fake_quant",
            "default_weight_fake_quant",
            "disable_fake_quant",
            "disable_observer",
            "enable_fake_quant",
            "enable_observer",
            "fused_per_channel_wt_fake_quant_range_neg_127_to_127",
            "fused_wt_fake_quant_range_neg_127_to_127",
        ),
        "functions": (
            "dequantize",
            "int_repr",
            "q_per_channel_axis",
            "q_per_channel_scales",
            "q_per_channel_zero_points",
            "q_scale",
            "q_zero_point",
            "quantize_per_channel",
            "quantize_per_tensor",
            "quantize_per_tensor_dynamic",
            "quantized_batch_norm",
            "quantized_max_pool1d",
            "quantized_max_pool2d",
            "quantized_max_pool3d",
        ),
        "fuse_modules": ("fuse_known_modules", "fuse_modules", "fuse_modules_qat"),
        "fuser_method_mappings": (
            "fuse_conv_bn",
            "fuse_conv_bn_relu",
            "fuse_convtranspose_bn",
            "fuse_linear_bn",
            "get_fuser_method",
            "sequential_fuser",
        ),
        "observer": (
            "FixedQParamsObserver",
            "HistogramObserver",
            "MinMaxObserver",
            "MovingAverageMinMaxObserver",
            "MovingAveragePerChannelMinMaxObserver",
            "NoopObserver",
            "ObserverBase",
            "PerChannelMinMaxObserver",
            "PlaceholderObserver",
            "RecordingObserver",
            "ReuseInputObserver",
            "UniformQuantizationObserverBase",
            "default_debug_observer",
            "default_dynamic_quant_observer",
            "default_affine_fixed_qparams_observer",
            "default_fixed_qparams_range_0to1_observer",
            "default_fixed_qparams_range_neg1to1_observer",
            "default_float_qparams_observer",
            "default_float_qparams_observer_4bit",
            "default_histogram_observer",
            "default_observer",
            "default_per_channel_weight_observer",
            "default_placeholder_observer",
            "default_reuse_input_observer",
            "default_symmetric_fixed_qparams_observer",
            "default_weight_observer",
            "get_observer_state_dict",
            "load_observer_state_dict",
            "per_channel_weight_observer_range_neg_127_to_127",
            "weight_observer_range_neg_127_to_127",
        ),
        "qconfig": (
            "QConfig",
            "default_activation_only_qconfig",
            "default_debug_qconfig",
            "default_dynamic_qat_qconfig",
            "default_dynamic_qconfig",
            "default_embedding_qat_qconfig",
            "default_embedding_qat_qconfig_4bit",
            "default_per_channel_qconfig",
            "default_per_channel_symmetric_qnnpack_qat_qconfig",
            "default_per_channel_symmetric_qnnpack_qconfig",
            "default_qat_qconfig",
            "default_qat_qconfig_v2",
            "default_qconfig",
            "default_reuse_input_qconfig",
            "default_symmetric_qnnpack_qat_qconfig",
            "default_symmetric_qnnpack_qconfig",
            "default_weight_only_qconfig",
            "float16_dynamic_qconfig",
            "float16_static_qconfig",
            "float_qparams_weight_only_qconfig",
            "float_qparams_weight_only_qconfig_4bit",
            "get_default_qat_qconfig",
            "get_default_qconfig",
            "per_channel_dynamic_qconfig",
            "qconfig_equals",
        ),
        "packing": ("pack_bits", "unpack_bits"),
        "qconfig_mapping": (
            "QConfigMapping",
            "get_default_qat_qconfig_mapping",
            "get_default_qconfig_mapping",
        ),
        "qparams": ("choose_qparams", "range_qparams"),
        "quant_type": ("QuantType", "quant_type_from_str", "quant_type_to_str"),
        "quantization_mappings": (
            "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS",
            "DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS",
            "DEFAULT_MODULE_TO_ACT_POST_PROCESS",
            "DEFAULT_QAT_MODULE_MAPPINGS",
            "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS",
            "DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS",
            "get_default_compare_output_module_list",
            "get_default_dynamic_quant_module_mappings",
            "get_default_dynamic_sparse_quant_module_mappings",
            "get_default_qat_module_mappings",
            "get_default_qconfig_propagation_list",
            "get_default_static_quant_module_mappings",
            "get_default_static_quant_reference_module_mappings",
            "get_default_static_sparse_quant_module_mappings",
            "get_dynamic_quant_module_class",
            "get_embedding_qat_module_mappings",
            "get_embedding_static_quant_module_mappings",
            "get_static_quant_module_class",
            "no_observer_set",
        ),
        "quantize": (
            "add_quant_dequant",
            "convert",
            "default_eval_fn",
            "prepare",
            "prepare_qat",
            "propagate_qconfig_",
            "quantize",
            "quantize_dynamic",
            "quantize_qat",
            "swap_module",
        ),
        "tensor_quantizer": ("PerChannel", "PerTensor", "Quantizer"),
        "stubs": ("DeQuantStub", "QuantStub", "QuantWrapper"),
        "weight_only": ("WeightOnlyLinear", "quantize_weights"),
        "tensor": ("implements", "integers_of", "is_quantized_tensor", "made_of", "quantizer_of"),
    },
    ["nn"],
)


def _load_operators() -> None:
    from .libraries import load_all

    load_all()


def _load_packed_weights() -> None:
    from .packed import states as states


add_python_operators("tl_quantization.composite_operators")
backend_registry.register("quantized operators", _load_operators)
backend_registry.register("packed weights", _load_packed_weights)
overridable.add_modules(
    "torch",
    "tl_quantization.functions",
    "tl_quantization.fake_quantization",
    "tl_quantization.learnable_fake_quantization",
    "tl_quantization.observed_fake_quantization",
    "tl_quantization.recurrent_functions",
)
