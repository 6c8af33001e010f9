# Written by `python -m tools.facade_stubs --write`.
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import Any

from tl import examples as examples
from tl import functorch as functorch
from tl import stubs as stubs
from tl import torch as torch
from tl import version as version
from tl._device_modules import register_device_module as __register_device_module_
from tl.version import __version__ as __version__
from tl_amp import GradScaler as GradScaler
from tl_amp import autocast as autocast
from tl_autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from tl_autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from tl_autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from tl_autograd.compat.functional_tensor import _disable_functionalization as _disable_functionalization
from tl_autograd.compat.functional_tensor import _enable_functionalization as _enable_functionalization
from tl_autograd.compat.functional_tensor import _from_functional_tensor as _from_functional_tensor
from tl_autograd.compat.functional_tensor import _is_functional_tensor as _is_functional_tensor
from tl_autograd.compat.functional_tensor import _sync as _sync
from tl_autograd.compat.functional_tensor import _to_functional_tensor as _to_functional_tensor
from tl_autograd.func import vmap as vmap
from tl_backends.device_modules import get_device_module as get_device_module
from tl_backends.streams import Event as Event
from tl_backends.streams import Stream as Stream
from tl_checkpoint.archive_files import PyTorchFileReader as PyTorchFileReader
from tl_checkpoint.archive_files import PyTorchFileWriter as PyTorchFileWriter
from tl_checkpoint.serialization import load as load
from tl_checkpoint.serialization import save as save
from tl_compiler.compiler import compile as compile
from tl_compiler.higher_order.cond import cond as cond
from tl_compiler.higher_order.while_loop import while_loop as while_loop
from tl_compiler.jit import ScriptFunction as ScriptFunction
from tl_compiler.jit import ScriptModule as ScriptModule
from tl_core import cdouble as cdouble
from tl_core import cfloat as cfloat
from tl_core import chalf as chalf
from tl_core import double as double
from tl_core import float as float
from tl_core import half as half
from tl_core import int as int
from tl_core import long as long
from tl_core import newaxis as newaxis
from tl_core import short as short
from tl_core.api.build_config import compiled_with_cxx11_abi as compiled_with_cxx11_abi
from tl_core.base.errors import OutOfMemoryError as OutOfMemoryError
from tl_core.base.former_names import attributes_of as attributes_of
from tl_core.base.type_info import finfo as finfo
from tl_core.base.type_info import iinfo as iinfo
from tl_core.compat.attention import _fused_sdp_choice as _fused_sdp_choice
from tl_core.compat.attention import _native_multi_head_attention as _native_multi_head_attention
from tl_core.compat.attention import _transform_bias_rescale_qkv as _transform_bias_rescale_qkv
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
from tl_core.compat.native import has_cuda as has_cuda
from tl_core.compat.native import has_cudnn as has_cudnn
from tl_core.compat.native import has_lapack as has_lapack
from tl_core.compat.native import has_mkl as has_mkl
from tl_core.compat.native import has_mkldnn as has_mkldnn
from tl_core.compat.native import has_mps as has_mps
from tl_core.compat.native import has_openmp as has_openmp
from tl_core.compat.native import has_spectral as has_spectral
from tl_core.compat.zero_tensor import _efficientzerotensor as _efficientzerotensor
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
from tl_core.dispatch.grad_mode import enable_grad as enable_grad
from tl_core.dispatch.grad_mode import inference_mode as inference_mode
from tl_core.dispatch.grad_mode import is_grad_enabled as is_grad_enabled
from tl_core.dispatch.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from tl_core.dispatch.grad_mode import no_grad as no_grad
from tl_core.dispatch.grad_mode import set_grad_enabled as set_grad_enabled
from tl_core.dispatch.keys import DispatchKey as DispatchKey
from tl_core.dispatch.keys import DispatchKeySet as DispatchKeySet
from tl_core.dispatch.layers import ExcludeDispatchKeyGuard as ExcludeDispatchKeyGuard
from tl_core.extensions.custom_classes import ScriptObject as ScriptObject
from tl_core.extensions.headers import get_include as get_include
from tl_core.functional import as_tensor as as_tensor
from tl_core.functional import asarray as asarray
from tl_core.functional import atleast_1d as atleast_1d
from tl_core.functional import atleast_2d as atleast_2d
from tl_core.functional import atleast_3d as atleast_3d
from tl_core.functional import block_diag as block_diag
from tl_core.functional import broadcast_shapes as broadcast_shapes
from tl_core.functional import broadcast_tensors as broadcast_tensors
from tl_core.functional import cartesian_prod as cartesian_prod
from tl_core.functional import from_file as from_file
from tl_core.functional import frombuffer as frombuffer
from tl_core.functional import get_device as get_device
from tl_core.functional import is_complex as is_complex
from tl_core.functional import is_conj as is_conj
from tl_core.functional import is_floating_point as is_floating_point
from tl_core.functional import is_neg as is_neg
from tl_core.functional import is_nonzero as is_nonzero
from tl_core.functional import is_signed as is_signed
from tl_core.functional import is_storage as is_storage
from tl_core.functional import is_tensor as is_tensor
from tl_core.functional import meshgrid as meshgrid
from tl_core.functional import nonzero as nonzero
from tl_core.functional import numel as numel
from tl_core.functional import typename as typename
from tl_core.functions.batch_statistics import batch_norm_backward_elemt as batch_norm_backward_elemt
from tl_core.functions.batch_statistics import batch_norm_backward_reduce as batch_norm_backward_reduce
from tl_core.functions.batch_statistics import batch_norm_elemt as batch_norm_elemt
from tl_core.functions.batch_statistics import batch_norm_gather_stats as batch_norm_gather_stats
from tl_core.functions.batch_statistics import (
    batch_norm_gather_stats_with_counts as batch_norm_gather_stats_with_counts,
)
from tl_core.functions.batch_statistics import batch_norm_stats as batch_norm_stats
from tl_core.functions.batch_statistics import batch_norm_update_stats as batch_norm_update_stats
from tl_core.functions.contractions import chain_matmul as chain_matmul
from tl_core.functions.contractions import einsum as einsum
from tl_core.functions.contractions import tensordot as tensordot
from tl_core.functions.distances import cdist as cdist
from tl_core.functions.distances import pdist as pdist
from tl_core.functions.finite_differences import gradient as gradient
from tl_core.functions.index_conversion import unravel_index as unravel_index
from tl_core.functions.lobpcg import lobpcg as lobpcg
from tl_core.functions.loss_scale import (
    _amp_foreach_non_finite_check_and_unscale_ as _amp_foreach_non_finite_check_and_unscale_,
)
from tl_core.functions.loss_scale import _amp_update_scale_ as _amp_update_scale_
from tl_core.functions.lowrank import lu as lu
from tl_core.functions.lowrank import pca_lowrank as pca_lowrank
from tl_core.functions.lowrank import svd_lowrank as svd_lowrank
from tl_core.functions.norms import norm as norm
from tl_core.functions.private import _addmm_activation as _addmm_activation
from tl_core.functions.private import _assert_async as _assert_async
from tl_core.functions.private import _assert_tensor_metadata as _assert_tensor_metadata
from tl_core.functions.private import _compute_linear_combination as _compute_linear_combination
from tl_core.functions.private import _conj_copy as _conj_copy
from tl_core.functions.private import _cslt_compress as _cslt_compress
from tl_core.functions.private import _cslt_sparse_mm as _cslt_sparse_mm
from tl_core.functions.private import _disable_dynamo as _disable_dynamo
from tl_core.functions.private import _foreach_norm as _foreach_norm
from tl_core.functions.private import _has_compatible_shallow_copy_type as _has_compatible_shallow_copy_type
from tl_core.functions.private import _indices_copy as _indices_copy
from tl_core.functions.private import _is_zerotensor as _is_zerotensor
from tl_core.functions.private import _masked_softmax as _masked_softmax
from tl_core.functions.private import _neg_view_copy as _neg_view_copy
from tl_core.functions.private import _nnpack_available as _nnpack_available
from tl_core.functions.private import _reshape_from_tensor as _reshape_from_tensor
from tl_core.functions.private import _running_with_deploy as _running_with_deploy
from tl_core.functions.private import _shape_as_tensor as _shape_as_tensor
from tl_core.functions.private import _unique as _unique
from tl_core.functions.private import _unique2 as _unique2
from tl_core.functions.private import _values_copy as _values_copy
from tl_core.functions.private import ccol_indices_copy as ccol_indices_copy
from tl_core.functions.private import col_indices_copy as col_indices_copy
from tl_core.functions.private import crow_indices_copy as crow_indices_copy
from tl_core.functions.private import detach_ as detach_
from tl_core.functions.private import indices_copy as indices_copy
from tl_core.functions.private import is_distributed as is_distributed
from tl_core.functions.private import is_inference as is_inference
from tl_core.functions.private import is_same_size as is_same_size
from tl_core.functions.private import nuclear_norm as nuclear_norm
from tl_core.functions.private import row_indices_copy as row_indices_copy
from tl_core.functions.private import slice_inverse as slice_inverse
from tl_core.functions.private import values_copy as values_copy
from tl_core.functions.split_copies import split_copy as split_copy
from tl_core.functions.split_copies import split_with_sizes_copy as split_with_sizes_copy
from tl_core.functions.split_copies import unbind_copy as unbind_copy
from tl_core.functions.statistics import corrcoef as corrcoef
from tl_core.functions.statistics import cov as cov
from tl_core.functions.unique import unique as unique
from tl_core.functions.unique import unique_consecutive as unique_consecutive
from tl_core.futures import Future as Future
from tl_core.memory.typed_storage import BFloat16Storage as BFloat16Storage
from tl_core.memory.typed_storage import BoolStorage as BoolStorage
from tl_core.memory.typed_storage import ByteStorage as ByteStorage
from tl_core.memory.typed_storage import CharStorage as CharStorage
from tl_core.memory.typed_storage import ComplexDoubleStorage as ComplexDoubleStorage
from tl_core.memory.typed_storage import ComplexFloatStorage as ComplexFloatStorage
from tl_core.memory.typed_storage import DoubleStorage as DoubleStorage
from tl_core.memory.typed_storage import FloatStorage as FloatStorage
from tl_core.memory.typed_storage import HalfStorage as HalfStorage
from tl_core.memory.typed_storage import IntStorage as IntStorage
from tl_core.memory.typed_storage import LongStorage as LongStorage
from tl_core.memory.typed_storage import QInt8Storage as QInt8Storage
from tl_core.memory.typed_storage import QInt32Storage as QInt32Storage
from tl_core.memory.typed_storage import QUInt2x4Storage as QUInt2x4Storage
from tl_core.memory.typed_storage import QUInt4x2Storage as QUInt4x2Storage
from tl_core.memory.typed_storage import QUInt8Storage as QUInt8Storage
from tl_core.memory.typed_storage import ShortStorage as ShortStorage
from tl_core.memory.typed_storage import Storage as Storage
from tl_core.memory.typed_storage import TypedStorage as TypedStorage
from tl_core.memory.untyped_storage import UntypedStorage as UntypedStorage
from tl_core.memory.untyped_storage import UntypedStorage as _StorageBase_
from tl_core.memory.untyped_storage import bytes_of as bytes_of
from tl_core.memory.untyped_storage import memory_of as memory_of
from tl_core.memory.untyped_storage import read_tensor as read_tensor
from tl_core.memory.untyped_storage import tensor_on as tensor_on
from tl_core.nested.from_padded import from_mask as __nested_tensor_from_mask_
from tl_core.nested.from_padded import from_padded as __nested_from_padded_
from tl_core.nested.from_padded import from_padded_and_example as __nested_from_padded_and_nested_example_
from tl_core.nested.from_padded import is_left_aligned as __nested_tensor_from_mask_left_aligned_
from tl_core.overrides import DisableTorchFunction as DisableTorchFunction
from tl_core.overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from tl_core.random import fork_rng as fork_rng
from tl_core.random import get_rng_state as get_rng_state
from tl_core.random import initial_seed as initial_seed
from tl_core.random import manual_seed as manual_seed
from tl_core.random import seed as seed
from tl_core.random import set_rng_state as set_rng_state
from tl_core.schemas.function_schema import Argument as Argument
from tl_core.schemas.function_schema import FunctionSchema as FunctionSchema
from tl_core.schemas.parser import parse_schema as parse_schema
from tl_core.schemas.tags import Tag as Tag
from tl_core.schemas.types import AwaitType as AwaitType
from tl_core.schemas.types import ClassType as ClassType
from tl_core.schemas.types import DictType as DictType
from tl_core.schemas.types import FutureType as FutureType
from tl_core.schemas.types import ListType as ListType
from tl_core.schemas.types import OptionalType as OptionalType
from tl_core.schemas.types import RRefType as RRefType
from tl_core.schemas.types import TupleType as TupleType
from tl_core.schemas.types import Type as Type
from tl_core.schemas.types import UnionType as UnionType
from tl_core.schemas.types import VarType as VarType
from tl_core.settings.determinism import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
)
from tl_core.settings.determinism import get_deterministic_debug_mode as get_deterministic_debug_mode
from tl_core.settings.determinism import (
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
)
from tl_core.settings.determinism import set_deterministic_debug_mode as set_deterministic_debug_mode
from tl_core.settings.determinism import use_deterministic_algorithms as use_deterministic_algorithms
from tl_core.settings.machine import cpu_capability as cpu_capability
from tl_core.settings.machine import get_num_interop_threads as get_num_interop_threads
from tl_core.settings.machine import get_num_threads as get_num_threads
from tl_core.settings.machine import set_flush_denormal as set_flush_denormal
from tl_core.settings.machine import set_num_interop_threads as set_num_interop_threads
from tl_core.settings.machine import set_num_threads as set_num_threads
from tl_core.settings.nan_check import numerics as numerics
from tl_core.settings.precision import get_float32_matmul_precision as get_float32_matmul_precision
from tl_core.settings.precision import set_float32_matmul_precision as set_float32_matmul_precision
from tl_core.settings.warn_always import is_warn_always_enabled as is_warn_always_enabled
from tl_core.settings.warn_always import set_warn_always as set_warn_always
from tl_core.sparse_layouts.construction import sparse_bsc_tensor as sparse_bsc_tensor
from tl_core.sparse_layouts.construction import sparse_bsr_tensor as sparse_bsr_tensor
from tl_core.sparse_layouts.construction import sparse_compressed_tensor as sparse_compressed_tensor
from tl_core.sparse_layouts.construction import sparse_coo_tensor as sparse_coo_tensor
from tl_core.sparse_layouts.construction import sparse_csc_tensor as sparse_csc_tensor
from tl_core.sparse_layouts.construction import sparse_csr_tensor as sparse_csr_tensor
from tl_core.sparse_layouts.functions import dsmm as dsmm
from tl_core.sparse_layouts.functions import hsmm as hsmm
from tl_core.sparse_layouts.functions import hspmm as hspmm
from tl_core.sparse_layouts.functions import saddmm as saddmm
from tl_core.sparse_layouts.functions import smm as smm
from tl_core.sparse_layouts.functions import spmm as spmm
from tl_core.sparse_layouts.functions import sspaddmm as sspaddmm
from tl_core.symbolic.arithmetic import _sym_sqrt as _sym_sqrt
from tl_core.symbolic.arithmetic import _sym_sqrt as _sym_sqrt_
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
from tl_core.tensors.defaults import get_default_device as get_default_device
from tl_core.tensors.defaults import get_default_dtype as get_default_dtype
from tl_core.tensors.defaults import set_default_device as set_default_device
from tl_core.tensors.defaults import set_default_dtype as set_default_dtype
from tl_core.tensors.defaults import set_default_tensor_type as set_default_tensor_type
from tl_core.tensors.dlpack import from_dlpack as from_dlpack
from tl_core.tensors.dlpack import to_dlpack as to_dlpack
from tl_core.tensors.named_tensor import align_tensors as align_tensors
from tl_core.tensors.parameter import Buffer as Buffer
from tl_core.tensors.parameter import Parameter as Parameter
from tl_core.tensors.printing import set_printoptions as set_printoptions
from tl_core.tensors.removed import eig as eig
from tl_core.tensors.removed import lstsq as lstsq
from tl_core.tensors.removed import matrix_rank as matrix_rank
from tl_core.tensors.removed import solve as solve
from tl_core.tensors.removed import symeig as symeig
from tl_core.tensors.size import Size as Size
from tl_core.tensors.tensor_types import BFloat16Tensor as BFloat16Tensor
from tl_core.tensors.tensor_types import BoolTensor as BoolTensor
from tl_core.tensors.tensor_types import ByteTensor as ByteTensor
from tl_core.tensors.tensor_types import CharTensor as CharTensor
from tl_core.tensors.tensor_types import DoubleTensor as DoubleTensor
from tl_core.tensors.tensor_types import FloatTensor as FloatTensor
from tl_core.tensors.tensor_types import HalfTensor as HalfTensor
from tl_core.tensors.tensor_types import IntTensor as IntTensor
from tl_core.tensors.tensor_types import LongTensor as LongTensor
from tl_core.tensors.tensor_types import ShortTensor as ShortTensor
from tl_nn.functional.affine import bilinear as bilinear
from tl_nn.functional.distances import cosine_similarity as cosine_similarity
from tl_nn.functional.distances import pairwise_distance as pairwise_distance
from tl_nn.functional.numbered_reductions import _weight_norm as _weight_norm
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
from tl_quantization.creation import _choose_qparams_per_tensor as _choose_qparams_per_tensor
from tl_quantization.creation import _empty_affine_quantized as _empty_affine_quantized
from tl_quantization.creation import (
    _empty_per_channel_affine_quantized as _empty_per_channel_affine_quantized,
)
from tl_quantization.creation import _make_per_channel_quantized_tensor as _make_per_channel_quantized_tensor
from tl_quantization.creation import _make_per_tensor_quantized_tensor as _make_per_tensor_quantized_tensor
from tl_quantization.creation import _saturate_weight_to_fp16 as _saturate_weight_to_fp16
from tl_quantization.creation import empty_quantized as empty_quantized
from tl_quantization.dtypes import QScheme as _qscheme_
from tl_quantization.dtypes import per_channel_affine as per_channel_affine
from tl_quantization.dtypes import per_channel_affine_float_qparams as per_channel_affine_float_qparams
from tl_quantization.dtypes import per_channel_symmetric as per_channel_symmetric
from tl_quantization.dtypes import per_tensor_affine as per_tensor_affine
from tl_quantization.dtypes import per_tensor_symmetric as per_tensor_symmetric
from tl_quantization.fake_quantization import (
    fake_quantize_per_channel_affine as fake_quantize_per_channel_affine,
)
from tl_quantization.fake_quantization import (
    fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine,
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
from tl_quantization.learnable_fake_quantization import (
    _fake_quantize_learnable_per_channel_affine as _fake_quantize_learnable_per_channel_affine,
)
from tl_quantization.learnable_fake_quantization import (
    _fake_quantize_learnable_per_tensor_affine as _fake_quantize_learnable_per_tensor_affine,
)
from tl_quantization.observed_fake_quantization import choose_qparams_optimized as choose_qparams_optimized
from tl_quantization.observed_fake_quantization import (
    fused_moving_avg_obs_fake_quant as fused_moving_avg_obs_fake_quant,
)
from tl_quantization.recurrent_functions import quantized_gru as quantized_gru
from tl_quantization.recurrent_functions import quantized_gru_cell as quantized_gru_cell
from tl_quantization.recurrent_functions import quantized_lstm as quantized_lstm
from tl_quantization.recurrent_functions import quantized_lstm_cell as quantized_lstm_cell
from tl_quantization.recurrent_functions import quantized_rnn_relu_cell as quantized_rnn_relu_cell
from tl_quantization.recurrent_functions import quantized_rnn_tanh_cell as quantized_rnn_tanh_cell

# isort: split
from tl_core._C import *  # type: ignore[assignment]

# isort: split
from tl_core.functional import atleast_1d as atleast_1d
from tl_core.functional import atleast_2d as atleast_2d
from tl_core.functional import atleast_3d as atleast_3d
from tl_core.functional import block_diag as block_diag
from tl_core.functional import broadcast_tensors as broadcast_tensors
from tl_core.functional import cartesian_prod as cartesian_prod
from tl_core.functional import meshgrid as meshgrid
from tl_core.functional import nonzero as nonzero
from tl_core.functions.contractions import chain_matmul as chain_matmul
from tl_core.functions.contractions import einsum as einsum
from tl_core.functions.contractions import tensordot as tensordot
from tl_core.functions.split_copies import split_copy as split_copy
from tl_core.functions.split_copies import split_with_sizes_copy as split_with_sizes_copy
from tl_core.functions.split_copies import unbind_copy as unbind_copy
from tl_core.memory.typed_storage import TypedStorage as TypedStorage
from tl_core.memory.untyped_storage import UntypedStorage as UntypedStorage
from tl_core.memory.untyped_storage import UntypedStorage as _StorageBase_
from tl_core.settings.machine import get_num_threads as get_num_threads
from tl_core.settings.machine import set_num_threads as set_num_threads
from tl_core.tensors.defaults import get_default_dtype as get_default_dtype
from tl_core.tensors.size import Size as Size

# isort: split
from tl_core._C import contiguous_format as _legacy_contiguous_format_
from tl_core._C import segment_reduce as __segment_reduce_

from . import _C as _C
from . import _VF as _VF
from . import __config__ as __config__
from . import __future__ as __future__
from . import _custom_op as _custom_op
from . import _custom_ops as _custom_ops
from . import _decomp as _decomp
from . import _dispatch as _dispatch
from . import _dynamo as _dynamo
from . import _export as _export
from . import _functorch as _functorch
from . import _guards as _guards
from . import _higher_order_ops as _higher_order_ops
from . import _inductor as _inductor
from . import _jit_internal as _jit_internal
from . import _library as _library
from . import _linalg_utils as _linalg_utils
from . import _lobpcg as _lobpcg
from . import _logging as _logging
from . import _lowrank as _lowrank
from . import _namedtensor_internals as _namedtensor_internals
from . import _ops as _ops
from . import _prims as _prims
from . import _prims_common as _prims_common
from . import _refs as _refs
from . import _six as _six
from . import _subclasses as _subclasses
from . import _tensor as _tensor
from . import _tensor_str as _tensor_str
from . import _utils as _utils
from . import _utils_internal as _utils_internal
from . import _vmap_internals as _vmap_internals
from . import accelerator as accelerator
from . import amp as amp
from . import ao as ao
from . import autograd as autograd
from . import backends as backends
from . import checkpoint as checkpoint
from . import classes as classes
from . import compiler as compiler
from . import contrib as contrib
from . import cpu as cpu
from . import cuda as cuda
from . import distributed as distributed
from . import distributions as distributions
from . import export as export
from . import fft as fft
from . import func as func
from . import functional as functional
from . import futures as futures
from . import fx as fx
from . import hub as hub
from . import jit as jit
from . import library as library
from . import linalg as linalg
from . import masked as masked
from . import monitor as monitor
from . import mps as mps
from . import mtia as mtia
from . import multiprocessing as multiprocessing
from . import nested as nested
from . import nn as nn
from . import numa as numa
from . import onnx as onnx
from . import ops as ops
from . import optim as optim
from . import overrides as overrides
from . import package as package
from . import profiler as profiler
from . import quantization as quantization
from . import quasirandom as quasirandom
from . import random as random
from . import return_types as return_types
from . import serialization as serialization
from . import signal as signal
from . import sparse as sparse
from . import special as special
from . import storage as storage
from . import testing as testing
from . import torch_version as torch_version
from . import types as types
from . import utils as utils
from . import xpu as xpu

StorageBase = _StorageBase_
_nested_from_padded = __nested_from_padded_
_nested_from_padded_and_nested_example = __nested_from_padded_and_nested_example_
_nested_tensor_from_mask = __nested_tensor_from_mask_
_nested_tensor_from_mask_left_aligned = __nested_tensor_from_mask_left_aligned_
_register_device_module = __register_device_module_
_segment_reduce = __segment_reduce_
legacy_contiguous_format = _legacy_contiguous_format_
qscheme = _qscheme_
sym_sqrt = _sym_sqrt_
AnyType: Any
BoolType: Any
CapsuleType: Any
ComplexType: Any
DeviceObjType: Any
FloatType: Any
GeneratorType: Any
IntType: Any
LayoutType: Any
MemoryFormatType: Any
NoneType: Any
NumberType: Any
ScalarTypeType: Any
StorageType: Any
StreamObjType: Any
StringType: Any
SymBoolType: Any
SymFloatType: Any
SymIntType: Any
TensorType: Any
_assert_scalar: Any
_cast_Byte: Any
_cast_Char: Any
_cast_Double: Any
_cast_Float: Any
_cast_Half: Any
_cast_Int: Any
_cast_Long: Any
_cast_Short: Any
_chunk_cat: Any
_conj_physical: Any
_convolution: Any
_convolution_mode: Any
_cummax_helper: Any
_cummin_helper: Any
_embedding_bag: Any
_euclidean_dist: Any
_grouped_mm: Any
_is_all_true: Any
_is_any_true: Any
_linalg_det: Any
_linalg_eigh: Any
_linalg_slogdet: Any
_linalg_solve_ex: Any
_linalg_svd: Any
_native_batch_norm_legit: Any
_native_batch_norm_legit_no_training: Any
_pin_memory: Any
_prelu_kernel: Any
_reshape_alias_copy: Any
_safe_softmax: Any
_scaled_dot_product_flash_attention_for_cpu: Any
_scaled_grouped_mm: Any
_scaled_mm: Any
_scaled_mm_v2: Any
_stack: Any
_sym_acos: Any
_sym_asin: Any
_sym_atan: Any
_sym_cos: Any
_sym_cosh: Any
_sym_exp: Any
_sym_log: Any
_sym_log10: Any
_sym_log2: Any
_sym_sin: Any
_sym_sinh: Any
_sym_tan: Any
_sym_tanh: Any
_trilinear: Any
_unsafe_index: Any
_unsafe_index_put: Any
_unsafe_masked_index: Any
_unsafe_masked_index_put_accumulate: Any
frobenius_norm: Any
sym_constrain_range: Any
sym_constrain_range_for_size: Any
