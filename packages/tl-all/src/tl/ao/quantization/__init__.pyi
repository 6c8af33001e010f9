# Written by `python -m tools.facade_stubs --write`.
from typing import Any

from tl_quantization import creation as creation
from tl_quantization import dtypes as dtypes
from tl_quantization import fake_quantization as fake_quantization
from tl_quantization import functions as functions
from tl_quantization import packing as packing
from tl_quantization import qparams as qparams
from tl_quantization import quant_type as quant_type
from tl_quantization import tensor as tensor
from tl_quantization import tensor_quantizer as tensor_quantizer
from tl_quantization import weight_only as weight_only
from tl_quantization.compat.eager_tables import ObserverOrFakeQuantize as ObserverOrFakeQuantize
from tl_quantization.creation import empty_quantized as empty_quantized
from tl_quantization.dtypes import QScheme as QScheme
from tl_quantization.dtypes import bits_of as bits_of
from tl_quantization.dtypes import bounds as bounds
from tl_quantization.dtypes import is_quantized_dtype as is_quantized_dtype
from tl_quantization.dtypes import per_channel_affine as per_channel_affine
from tl_quantization.dtypes import per_channel_affine_float_qparams as per_channel_affine_float_qparams
from tl_quantization.dtypes import per_channel_symmetric as per_channel_symmetric
from tl_quantization.dtypes import per_tensor_affine as per_tensor_affine
from tl_quantization.dtypes import per_tensor_symmetric as per_tensor_symmetric
from tl_quantization.dtypes import qint8 as qint8
from tl_quantization.dtypes import qint32 as qint32
from tl_quantization.dtypes import quantized_dtype as quantized_dtype
from tl_quantization.dtypes import quint2x4 as quint2x4
from tl_quantization.dtypes import quint4x2 as quint4x2
from tl_quantization.dtypes import quint8 as quint8
from tl_quantization.dtypes import storage_dtype as storage_dtype
from tl_quantization.export.modes import allow_exported_model_train_eval as allow_exported_model_train_eval
from tl_quantization.export.modes import move_exported_model_to_eval as move_exported_model_to_eval
from tl_quantization.export.modes import move_exported_model_to_train as move_exported_model_to_train
from tl_quantization.export.numeric_debugger import CUSTOM_KEY as CUSTOM_KEY
from tl_quantization.export.numeric_debugger import NUMERIC_DEBUG_HANDLE_KEY as NUMERIC_DEBUG_HANDLE_KEY
from tl_quantization.export.numeric_debugger import compare_results as compare_results
from tl_quantization.export.numeric_debugger import (
    extract_results_from_loggers as extract_results_from_loggers,
)
from tl_quantization.export.numeric_debugger import (
    generate_numeric_debug_handle as generate_numeric_debug_handle,
)
from tl_quantization.export.numeric_debugger import (
    prepare_for_propagation_comparison as prepare_for_propagation_comparison,
)
from tl_quantization.fake_quantization import (
    fake_quantize_per_channel_affine as fake_quantize_per_channel_affine,
)
from tl_quantization.fake_quantization import (
    fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine,
)
from tl_quantization.fake_quantize import FakeQuantize as FakeQuantize
from tl_quantization.fake_quantize import FakeQuantizeBase as FakeQuantizeBase
from tl_quantization.fake_quantize import FixedQParamsFakeQuantize as FixedQParamsFakeQuantize
from tl_quantization.fake_quantize import FusedMovingAvgObsFakeQuantize as FusedMovingAvgObsFakeQuantize
from tl_quantization.fake_quantize import (
    default_affine_fixed_qparams_fake_quant as default_affine_fixed_qparams_fake_quant,
)
from tl_quantization.fake_quantize import default_dynamic_fake_quant as default_dynamic_fake_quant
from tl_quantization.fake_quantize import default_embedding_fake_quant as default_embedding_fake_quant
from tl_quantization.fake_quantize import (
    default_embedding_fake_quant_4bit as default_embedding_fake_quant_4bit,
)
from tl_quantization.fake_quantize import default_fake_quant as default_fake_quant
from tl_quantization.fake_quantize import (
    default_fixed_qparams_range_0to1_fake_quant as default_fixed_qparams_range_0to1_fake_quant,
)
from tl_quantization.fake_quantize import (
    default_fixed_qparams_range_neg1to1_fake_quant as default_fixed_qparams_range_neg1to1_fake_quant,
)
from tl_quantization.fake_quantize import default_fused_act_fake_quant as default_fused_act_fake_quant
from tl_quantization.fake_quantize import (
    default_fused_per_channel_wt_fake_quant as default_fused_per_channel_wt_fake_quant,
)
from tl_quantization.fake_quantize import default_fused_wt_fake_quant as default_fused_wt_fake_quant
from tl_quantization.fake_quantize import default_histogram_fake_quant as default_histogram_fake_quant
from tl_quantization.fake_quantize import (
    default_per_channel_weight_fake_quant as default_per_channel_weight_fake_quant,
)
from tl_quantization.fake_quantize import (
    default_symmetric_fixed_qparams_fake_quant as default_symmetric_fixed_qparams_fake_quant,
)
from tl_quantization.fake_quantize import default_weight_fake_quant as default_weight_fake_quant
from tl_quantization.fake_quantize import disable_fake_quant as disable_fake_quant
from tl_quantization.fake_quantize import disable_observer as disable_observer
from tl_quantization.fake_quantize import enable_fake_quant as enable_fake_quant
from tl_quantization.fake_quantize import enable_observer as enable_observer
from tl_quantization.fake_quantize import (
    fused_per_channel_wt_fake_quant_range_neg_127_to_127 as fused_per_channel_wt_fake_quant_range_neg_127_to_127,
)
from tl_quantization.fake_quantize import (
    fused_wt_fake_quant_range_neg_127_to_127 as fused_wt_fake_quant_range_neg_127_to_127,
)
from tl_quantization.functions import dequantize as dequantize
from tl_quantization.functions import int_repr as int_repr
from tl_quantization.functions import q_per_channel_axis as q_per_channel_axis
from tl_quantization.functions import q_per_channel_scales as q_per_channel_scales
from tl_quantization.functions import q_per_channel_zero_points as q_per_channel_zero_points
from tl_quantization.functions import q_scale as q_scale
from tl_quantization.functions import q_zero_point as q_zero_point
from tl_quantization.functions import quantize_per_channel as quantize_per_channel
from tl_quantization.functions import quantize_per_tensor as quantize_per_tensor
from tl_quantization.functions import quantize_per_tensor_dynamic as quantize_per_tensor_dynamic
from tl_quantization.functions import quantized_batch_norm as quantized_batch_norm
from tl_quantization.functions import quantized_max_pool1d as quantized_max_pool1d
from tl_quantization.functions import quantized_max_pool2d as quantized_max_pool2d
from tl_quantization.functions import quantized_max_pool3d as quantized_max_pool3d
from tl_quantization.fuse_modules import fuse_known_modules as fuse_known_modules
from tl_quantization.fuse_modules import fuse_modules as fuse_modules
from tl_quantization.fuse_modules import fuse_modules_qat as fuse_modules_qat
from tl_quantization.fuser_method_mappings import fuse_conv_bn as fuse_conv_bn
from tl_quantization.fuser_method_mappings import fuse_conv_bn_relu as fuse_conv_bn_relu
from tl_quantization.fuser_method_mappings import fuse_convtranspose_bn as fuse_convtranspose_bn
from tl_quantization.fuser_method_mappings import fuse_linear_bn as fuse_linear_bn
from tl_quantization.fuser_method_mappings import get_fuser_method as get_fuser_method
from tl_quantization.fuser_method_mappings import sequential_fuser as sequential_fuser
from tl_quantization.histogram_observer import HistogramObserver as HistogramObserver
from tl_quantization.observer import (
    default_affine_fixed_qparams_observer as default_affine_fixed_qparams_observer,
)
from tl_quantization.observer import default_debug_observer as default_debug_observer
from tl_quantization.observer import default_dynamic_quant_observer as default_dynamic_quant_observer
from tl_quantization.observer import (
    default_fixed_qparams_range_0to1_observer as default_fixed_qparams_range_0to1_observer,
)
from tl_quantization.observer import (
    default_fixed_qparams_range_neg1to1_observer as default_fixed_qparams_range_neg1to1_observer,
)
from tl_quantization.observer import default_float_qparams_observer as default_float_qparams_observer
from tl_quantization.observer import (
    default_float_qparams_observer_4bit as default_float_qparams_observer_4bit,
)
from tl_quantization.observer import default_histogram_observer as default_histogram_observer
from tl_quantization.observer import default_observer as default_observer
from tl_quantization.observer import (
    default_per_channel_weight_observer as default_per_channel_weight_observer,
)
from tl_quantization.observer import default_placeholder_observer as default_placeholder_observer
from tl_quantization.observer import default_reuse_input_observer as default_reuse_input_observer
from tl_quantization.observer import (
    default_symmetric_fixed_qparams_observer as default_symmetric_fixed_qparams_observer,
)
from tl_quantization.observer import default_weight_observer as default_weight_observer
from tl_quantization.observer import get_observer_state_dict as get_observer_state_dict
from tl_quantization.observer import load_observer_state_dict as load_observer_state_dict
from tl_quantization.observer import (
    per_channel_weight_observer_range_neg_127_to_127 as per_channel_weight_observer_range_neg_127_to_127,
)
from tl_quantization.observer import (
    weight_observer_range_neg_127_to_127 as weight_observer_range_neg_127_to_127,
)
from tl_quantization.observer_base import ObserverBase as ObserverBase
from tl_quantization.observer_base import UniformQuantizationObserverBase as UniformQuantizationObserverBase
from tl_quantization.qconfig import QConfig as QConfig
from tl_quantization.qconfig import default_activation_only_qconfig as default_activation_only_qconfig
from tl_quantization.qconfig import default_debug_qconfig as default_debug_qconfig
from tl_quantization.qconfig import default_dynamic_qat_qconfig as default_dynamic_qat_qconfig
from tl_quantization.qconfig import default_dynamic_qconfig as default_dynamic_qconfig
from tl_quantization.qconfig import default_embedding_qat_qconfig as default_embedding_qat_qconfig
from tl_quantization.qconfig import default_embedding_qat_qconfig_4bit as default_embedding_qat_qconfig_4bit
from tl_quantization.qconfig import default_per_channel_qconfig as default_per_channel_qconfig
from tl_quantization.qconfig import (
    default_per_channel_symmetric_qnnpack_qat_qconfig as default_per_channel_symmetric_qnnpack_qat_qconfig,
)
from tl_quantization.qconfig import (
    default_per_channel_symmetric_qnnpack_qconfig as default_per_channel_symmetric_qnnpack_qconfig,
)
from tl_quantization.qconfig import default_qat_qconfig as default_qat_qconfig
from tl_quantization.qconfig import default_qat_qconfig_v2 as default_qat_qconfig_v2
from tl_quantization.qconfig import default_qconfig as default_qconfig
from tl_quantization.qconfig import default_reuse_input_qconfig as default_reuse_input_qconfig
from tl_quantization.qconfig import (
    default_symmetric_qnnpack_qat_qconfig as default_symmetric_qnnpack_qat_qconfig,
)
from tl_quantization.qconfig import default_symmetric_qnnpack_qconfig as default_symmetric_qnnpack_qconfig
from tl_quantization.qconfig import default_weight_only_qconfig as default_weight_only_qconfig
from tl_quantization.qconfig import float16_dynamic_qconfig as float16_dynamic_qconfig
from tl_quantization.qconfig import float16_static_qconfig as float16_static_qconfig
from tl_quantization.qconfig import float_qparams_weight_only_qconfig as float_qparams_weight_only_qconfig
from tl_quantization.qconfig import (
    float_qparams_weight_only_qconfig_4bit as float_qparams_weight_only_qconfig_4bit,
)
from tl_quantization.qconfig import get_default_qat_qconfig as get_default_qat_qconfig
from tl_quantization.qconfig import get_default_qconfig as get_default_qconfig
from tl_quantization.qconfig import per_channel_dynamic_qconfig as per_channel_dynamic_qconfig
from tl_quantization.qconfig import qconfig_equals as qconfig_equals
from tl_quantization.qconfig_mapping import QConfigMapping as QConfigMapping
from tl_quantization.qconfig_mapping import get_default_qat_qconfig_mapping as get_default_qat_qconfig_mapping
from tl_quantization.qconfig_mapping import get_default_qconfig_mapping as get_default_qconfig_mapping
from tl_quantization.quant_type import QuantType as QuantType
from tl_quantization.quant_type import quant_type_from_str as quant_type_from_str
from tl_quantization.quant_type import quant_type_to_str as quant_type_to_str
from tl_quantization.quantization_mappings import (
    DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS as DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
)
from tl_quantization.quantization_mappings import (
    DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS as DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS,
)
from tl_quantization.quantization_mappings import (
    DEFAULT_MODULE_TO_ACT_POST_PROCESS as DEFAULT_MODULE_TO_ACT_POST_PROCESS,
)
from tl_quantization.quantization_mappings import DEFAULT_QAT_MODULE_MAPPINGS as DEFAULT_QAT_MODULE_MAPPINGS
from tl_quantization.quantization_mappings import (
    DEFAULT_STATIC_QUANT_MODULE_MAPPINGS as DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
)
from tl_quantization.quantization_mappings import (
    DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS as DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS,
)
from tl_quantization.quantization_mappings import (
    get_default_compare_output_module_list as get_default_compare_output_module_list,
)
from tl_quantization.quantization_mappings import (
    get_default_dynamic_quant_module_mappings as get_default_dynamic_quant_module_mappings,
)
from tl_quantization.quantization_mappings import (
    get_default_dynamic_sparse_quant_module_mappings as get_default_dynamic_sparse_quant_module_mappings,
)
from tl_quantization.quantization_mappings import (
    get_default_qat_module_mappings as get_default_qat_module_mappings,
)
from tl_quantization.quantization_mappings import (
    get_default_qconfig_propagation_list as get_default_qconfig_propagation_list,
)
from tl_quantization.quantization_mappings import (
    get_default_static_quant_module_mappings as get_default_static_quant_module_mappings,
)
from tl_quantization.quantization_mappings import (
    get_default_static_quant_reference_module_mappings as get_default_static_quant_reference_module_mappings,
)
from tl_quantization.quantization_mappings import (
    get_default_static_sparse_quant_module_mappings as get_default_static_sparse_quant_module_mappings,
)
from tl_quantization.quantization_mappings import (
    get_dynamic_quant_module_class as get_dynamic_quant_module_class,
)
from tl_quantization.quantization_mappings import (
    get_embedding_qat_module_mappings as get_embedding_qat_module_mappings,
)
from tl_quantization.quantization_mappings import (
    get_embedding_static_quant_module_mappings as get_embedding_static_quant_module_mappings,
)
from tl_quantization.quantization_mappings import (
    get_static_quant_module_class as get_static_quant_module_class,
)
from tl_quantization.quantization_mappings import no_observer_set as no_observer_set
from tl_quantization.quantize import add_quant_dequant as add_quant_dequant
from tl_quantization.quantize import convert as convert
from tl_quantization.quantize import default_eval_fn as default_eval_fn
from tl_quantization.quantize import prepare as prepare
from tl_quantization.quantize import prepare_qat as prepare_qat
from tl_quantization.quantize import propagate_qconfig_ as propagate_qconfig_
from tl_quantization.quantize import quantize as quantize
from tl_quantization.quantize import quantize_dynamic as quantize_dynamic
from tl_quantization.quantize import quantize_qat as quantize_qat
from tl_quantization.quantize import swap_module as swap_module
from tl_quantization.range_observers import MinMaxObserver as MinMaxObserver
from tl_quantization.range_observers import MovingAverageMinMaxObserver as MovingAverageMinMaxObserver
from tl_quantization.range_observers import (
    MovingAveragePerChannelMinMaxObserver as MovingAveragePerChannelMinMaxObserver,
)
from tl_quantization.range_observers import PerChannelMinMaxObserver as PerChannelMinMaxObserver
from tl_quantization.rangeless_observers import FixedQParamsObserver as FixedQParamsObserver
from tl_quantization.rangeless_observers import NoopObserver as NoopObserver
from tl_quantization.rangeless_observers import PlaceholderObserver as PlaceholderObserver
from tl_quantization.rangeless_observers import RecordingObserver as RecordingObserver
from tl_quantization.rangeless_observers import ReuseInputObserver as ReuseInputObserver
from tl_quantization.stubs import DeQuantStub as DeQuantStub
from tl_quantization.stubs import QuantStub as QuantStub
from tl_quantization.stubs import QuantWrapper as QuantWrapper
from tl_quantization.tensor import implements as implements
from tl_quantization.tensor import integers_of as integers_of
from tl_quantization.tensor import is_quantized_tensor as is_quantized_tensor
from tl_quantization.tensor import made_of as made_of
from tl_quantization.tensor import quantizer_of as quantizer_of
from tl_quantization.tensor_quantizer import PerChannel as PerChannel
from tl_quantization.tensor_quantizer import PerTensor as PerTensor
from tl_quantization.tensor_quantizer import Quantizer as Quantizer
from tl_quantization.weight_only import WeightOnlyLinear as WeightOnlyLinear
from tl_quantization.weight_only import quantize_weights as quantize_weights

from ...ao import nn as nn
from . import _correct_bias as _correct_bias
from . import _equalize as _equalize
from . import _learnable_fake_quantize as _learnable_fake_quantize
from . import fake_quantize as fake_quantize
from . import fuser_method_mappings as fuser_method_mappings
from . import fx as fx
from . import observer as observer
from . import pt2e as pt2e
from . import qconfig as qconfig
from . import qconfig_mapping as qconfig_mapping
from . import quantization_mappings as quantization_mappings
from . import quantize_fx as quantize_fx
from . import quantize_jit as quantize_jit
from . import quantizer as quantizer
from . import stubs as stubs
from . import utils as utils

choose_qparams: Any
pack_bits: Any
range_qparams: Any
unpack_bits: Any
