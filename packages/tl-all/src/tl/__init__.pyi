# What type checkers and editors see of tl: the names that the finder serves when they are first touched.

import builtins
from collections.abc import Callable
from types import ModuleType
from types import ModuleType as _ModuleType
from typing import Any

import tl_amp as _amp
import tl_autograd as _autograd
import tl_backends.accelerator as _accelerator
import tl_backends.backends as _backends
import tl_backends.compat.onnx as _onnx
import tl_backends.cpu as _cpu
import tl_backends.cuda as _cuda
import tl_backends.mps as _mps
import tl_backends.mtia as _mtia
import tl_backends.xpu as _xpu
import tl_checkpoint.serialization as _serialization
import tl_compiler.compiler as _compiler
import tl_compiler.export as _export
import tl_compiler.fx as _fx
import tl_compiler.jit as _jit
import tl_compiler.package as _package
import tl_core.symbolic.arithmetic as _symbolic
import tl_core.testing as _testing
import tl_distributed as _distributed
import tl_distributions as _distributions
import tl_nn as _nn
import tl_nn.optim as _optim
import tl_profiler as _profiler
import tl_quantization as _quantization
import tl_utils.hub as _hub
import tl_utils.monitor as _monitor
from tl import examples as examples
from tl import functorch as functorch
from tl import torch as torch
from tl import version as version
from tl.version import __version__ as __version__
from tl_amp import GradScaler as GradScaler
from tl_amp import autocast as autocast
from tl_backends.device_modules import get_device_module as get_device_module
from tl_backends.streams import Event as Event
from tl_backends.streams import Stream as Stream
from tl_checkpoint import load as load
from tl_checkpoint import save as save
from tl_checkpoint.archive_files import PyTorchFileReader as PyTorchFileReader
from tl_checkpoint.archive_files import PyTorchFileWriter as PyTorchFileWriter
from tl_compiler.compiler import compile as compile  # noqa: A004
from tl_compiler.higher_order.cond import cond as cond
from tl_compiler.jit import ScriptFunction as ScriptFunction
from tl_compiler.jit import ScriptModule as ScriptModule
from tl_core import *  # noqa: F403
from tl_core import UntypedStorage as _UntypedStorage
from tl_core import memory_format as _memory_format
from tl_core.api.build_config import compiled_with_cxx11_abi as compiled_with_cxx11_abi
from tl_core.compat.fbgemm import fbgemm_linear_fp16_weight as fbgemm_linear_fp16_weight
from tl_core.compat.fbgemm import (
    fbgemm_linear_fp16_weight_fp32_activation as fbgemm_linear_fp16_weight_fp32_activation,
)
from tl_core.compat.fbgemm import fbgemm_linear_int8_weight as fbgemm_linear_int8_weight
from tl_core.compat.fbgemm import (
    fbgemm_linear_int8_weight_fp32_activation as fbgemm_linear_int8_weight_fp32_activation,
)
from tl_core.compat.fbgemm import fbgemm_linear_quantize_weight as fbgemm_linear_quantize_weight
from tl_core.compat.fbgemm import fbgemm_pack_gemm_matrix_fp16 as fbgemm_pack_gemm_matrix_fp16
from tl_core.compat.fbgemm import fbgemm_pack_quantized_matrix as fbgemm_pack_quantized_matrix
from tl_core.compat.native import ScriptObject as ScriptObject
from tl_core.compat.operators import sym_constrain_range as sym_constrain_range
from tl_core.compat.operators import sym_constrain_range_for_size as sym_constrain_range_for_size
from tl_core.dispatch.autocast import autocast_decrement_nesting as autocast_decrement_nesting
from tl_core.dispatch.autocast import autocast_increment_nesting as autocast_increment_nesting
from tl_core.dispatch.autocast import clear_autocast_cache as clear_autocast_cache
from tl_core.dispatch.autocast import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from tl_core.dispatch.autocast import get_autocast_dtype as get_autocast_dtype
from tl_core.dispatch.autocast import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from tl_core.dispatch.autocast import is_autocast_available as is_autocast_available
from tl_core.dispatch.autocast import is_autocast_cache_enabled as is_autocast_cache_enabled
from tl_core.dispatch.autocast import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from tl_core.dispatch.autocast import is_autocast_enabled as is_autocast_enabled
from tl_core.dispatch.autocast import set_autocast_cache_enabled as set_autocast_cache_enabled
from tl_core.dispatch.autocast import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from tl_core.dispatch.autocast import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from tl_core.dispatch.autocast import set_autocast_dtype as set_autocast_dtype
from tl_core.dispatch.autocast import set_autocast_enabled as set_autocast_enabled
from tl_core.dispatch.autocast import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from tl_core.dispatch.keys import DispatchKey as DispatchKey
from tl_core.dispatch.keys import DispatchKeySet as DispatchKeySet
from tl_core.dispatch.layers import ExcludeDispatchKeyGuard as ExcludeDispatchKeyGuard
from tl_core.functions.batch_statistics import batch_norm_backward_elemt as batch_norm_backward_elemt
from tl_core.functions.batch_statistics import batch_norm_backward_reduce as batch_norm_backward_reduce
from tl_core.functions.batch_statistics import batch_norm_elemt as batch_norm_elemt
from tl_core.functions.batch_statistics import batch_norm_gather_stats as batch_norm_gather_stats
from tl_core.functions.batch_statistics import (
    batch_norm_gather_stats_with_counts as batch_norm_gather_stats_with_counts,
)
from tl_core.functions.batch_statistics import batch_norm_stats as batch_norm_stats
from tl_core.functions.batch_statistics import batch_norm_update_stats as batch_norm_update_stats
from tl_core.functions.lobpcg import lobpcg as lobpcg
from tl_core.functions.private import ccol_indices_copy as ccol_indices_copy
from tl_core.functions.private import col_indices_copy as col_indices_copy
from tl_core.functions.private import crow_indices_copy as crow_indices_copy
from tl_core.functions.private import detach_ as detach_
from tl_core.functions.private import indices_copy as indices_copy
from tl_core.functions.private import is_distributed as is_distributed
from tl_core.functions.private import is_inference as is_inference
from tl_core.functions.private import is_same_size as is_same_size
from tl_core.functions.private import native_norm as native_norm
from tl_core.functions.private import nuclear_norm as nuclear_norm
from tl_core.functions.private import row_indices_copy as row_indices_copy
from tl_core.functions.private import slice_inverse as slice_inverse
from tl_core.functions.private import values_copy as values_copy
from tl_core.functions.segments import segment_reduce as segment_reduce
from tl_core.futures import Future as Future
from tl_core.operators.composites import frobenius_norm as frobenius_norm
from tl_core.overrides import DisableTorchFunction as DisableTorchFunction
from tl_core.overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from tl_core.schemas.function_schema import Argument as Argument
from tl_core.schemas.function_schema import FunctionSchema as FunctionSchema
from tl_core.schemas.parser import parse_schema as parse_schema
from tl_core.schemas.tags import Tag as Tag
from tl_core.schemas.types import AnyType as AnyType
from tl_core.schemas.types import AwaitType as AwaitType
from tl_core.schemas.types import BoolType as BoolType
from tl_core.schemas.types import CapsuleType as CapsuleType
from tl_core.schemas.types import ClassType as ClassType
from tl_core.schemas.types import ComplexType as ComplexType
from tl_core.schemas.types import DeviceObjType as DeviceObjType
from tl_core.schemas.types import DictType as DictType
from tl_core.schemas.types import FloatType as FloatType
from tl_core.schemas.types import FutureType as FutureType
from tl_core.schemas.types import GeneratorType as GeneratorType
from tl_core.schemas.types import IntType as IntType
from tl_core.schemas.types import LayoutType as LayoutType
from tl_core.schemas.types import ListType as ListType
from tl_core.schemas.types import MemoryFormatType as MemoryFormatType
from tl_core.schemas.types import NoneType as NoneType
from tl_core.schemas.types import NumberType as NumberType
from tl_core.schemas.types import OptionalType as OptionalType
from tl_core.schemas.types import RRefType as RRefType
from tl_core.schemas.types import ScalarTypeType as ScalarTypeType
from tl_core.schemas.types import StorageType as StorageType
from tl_core.schemas.types import StreamObjType as StreamObjType
from tl_core.schemas.types import StringType as StringType
from tl_core.schemas.types import SymBoolType as SymBoolType
from tl_core.schemas.types import SymFloatType as SymFloatType
from tl_core.schemas.types import SymIntType as SymIntType
from tl_core.schemas.types import TensorType as TensorType
from tl_core.schemas.types import TupleType as TupleType
from tl_core.schemas.types import Type as Type
from tl_core.schemas.types import UnionType as UnionType
from tl_core.schemas.types import VarType as VarType
from tl_core.symbolic.arithmetic import sym_float as sym_float
from tl_core.symbolic.arithmetic import sym_fresh_size as sym_fresh_size
from tl_core.symbolic.arithmetic import sym_int as sym_int
from tl_core.symbolic.arithmetic import sym_ite as sym_ite
from tl_core.symbolic.arithmetic import sym_max as sym_max
from tl_core.symbolic.arithmetic import sym_min as sym_min
from tl_core.symbolic.arithmetic import sym_not as sym_not
from tl_core.symbolic.arithmetic import sym_sum as sym_sum
from tl_core.symbolic.numbers import SymBool as SymBool
from tl_core.symbolic.numbers import SymFloat as SymFloat
from tl_core.symbolic.numbers import SymInt as SymInt
from tl_core.tensors.named_tensor import align_tensors as align_tensors
from tl_core.tensors.removed import eig as eig
from tl_core.tensors.removed import lstsq as lstsq
from tl_core.tensors.removed import matrix_rank as matrix_rank
from tl_core.tensors.removed import solve as solve
from tl_core.tensors.removed import symeig as symeig
from tl_distributed import numa as numa
from tl_nn.functional import bilinear as bilinear
from tl_nn.functional import conv_tbc as conv_tbc
from tl_nn.functional import cosine_similarity as cosine_similarity
from tl_nn.functional import pairwise_distance as pairwise_distance
from tl_nn.functional.numbered_reductions import alpha_dropout as alpha_dropout
from tl_nn.functional.numbered_reductions import alpha_dropout_ as alpha_dropout_
from tl_nn.functional.numbered_reductions import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from tl_nn.functional.numbered_reductions import cosine_embedding_loss as cosine_embedding_loss
from tl_nn.functional.numbered_reductions import ctc_loss as ctc_loss
from tl_nn.functional.numbered_reductions import feature_alpha_dropout as feature_alpha_dropout
from tl_nn.functional.numbered_reductions import feature_alpha_dropout_ as feature_alpha_dropout_
from tl_nn.functional.numbered_reductions import feature_dropout as feature_dropout
from tl_nn.functional.numbered_reductions import feature_dropout_ as feature_dropout_
from tl_nn.functional.numbered_reductions import hinge_embedding_loss as hinge_embedding_loss
from tl_nn.functional.numbered_reductions import kl_div as kl_div
from tl_nn.functional.numbered_reductions import margin_ranking_loss as margin_ranking_loss
from tl_nn.functional.numbered_reductions import norm_except_dim as norm_except_dim
from tl_nn.functional.numbered_reductions import poisson_nll_loss as poisson_nll_loss
from tl_nn.functional.numbered_reductions import triplet_margin_loss as triplet_margin_loss
from tl_quantization import dequantize as dequantize
from tl_quantization import fake_quantize_per_channel_affine as fake_quantize_per_channel_affine
from tl_quantization import fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine
from tl_quantization import per_channel_affine as per_channel_affine
from tl_quantization import per_channel_affine_float_qparams as per_channel_affine_float_qparams
from tl_quantization import per_channel_symmetric as per_channel_symmetric
from tl_quantization import per_tensor_affine as per_tensor_affine
from tl_quantization import per_tensor_symmetric as per_tensor_symmetric
from tl_quantization import quantize_per_channel as quantize_per_channel
from tl_quantization import quantize_per_tensor as quantize_per_tensor
from tl_quantization import quantize_per_tensor_dynamic as quantize_per_tensor_dynamic
from tl_quantization import quantized_batch_norm as quantized_batch_norm
from tl_quantization import quantized_max_pool1d as quantized_max_pool1d
from tl_quantization import quantized_max_pool2d as quantized_max_pool2d
from tl_quantization.functions import int_repr as int_repr
from tl_quantization.functions import q_per_channel_axis as q_per_channel_axis
from tl_quantization.functions import q_per_channel_scales as q_per_channel_scales
from tl_quantization.functions import q_per_channel_zero_points as q_per_channel_zero_points
from tl_quantization.functions import q_scale as q_scale
from tl_quantization.functions import q_zero_point as q_zero_point
from tl_quantization.functions import quantized_max_pool3d as quantized_max_pool3d
from tl_quantization.observed_fake_quantization import choose_qparams_optimized as choose_qparams_optimized
from tl_quantization.observed_fake_quantization import (
    fused_moving_avg_obs_fake_quant as fused_moving_avg_obs_fake_quant,
)

StorageBase = _UntypedStorage
accelerator = _accelerator
amp = _amp
autograd = _autograd
backends = _backends
compiler = _compiler
cpu = _cpu
cuda = _cuda
distributed = _distributed
distributions = _distributions
export = _export
fx = _fx
sym_sqrt = _symbolic._sym_sqrt
package = _package
hub = _hub
jit = _jit
monitor = _monitor
mps = _mps
mtia = _mtia
nn = _nn
onnx = _onnx
optim = _optim
profiler = _profiler
qscheme = _quantization.QScheme
quantization = _quantization
serialization = _serialization
testing = _testing
xpu = _xpu
ao: ModuleType
func: ModuleType
torch_version: ModuleType
utils: ModuleType
vmap: Callable[..., Any]
while_loop: Callable[..., Any]
is_anomaly_check_nan_enabled: Callable[[], builtins.bool]
is_anomaly_enabled: Callable[[], builtins.bool]
set_anomaly_enabled: Callable[..., None]
has_cuda: builtins.bool
has_cudnn: builtins.bool
has_lapack: builtins.bool
has_mkl: builtins.bool
has_mkldnn: builtins.bool
has_mps: builtins.bool
has_openmp: builtins.bool
has_spectral: builtins.bool

legacy_contiguous_format: _memory_format
classes: _ModuleType
contrib: _ModuleType
quasirandom: _ModuleType
