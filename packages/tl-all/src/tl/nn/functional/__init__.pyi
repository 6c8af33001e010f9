# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.jit.decorations import BroadcastingList1 as BroadcastingList1
from tl_compiler.jit.decorations import BroadcastingList2 as BroadcastingList2
from tl_compiler.jit.decorations import BroadcastingList3 as BroadcastingList3
from tl_compiler.jit.internal import _overload as _overload
from tl_compiler.jit.internal import boolean_dispatch as boolean_dispatch
from tl_core._C import Tensor as Tensor
from tl_core.functions.distances import pdist as pdist
from tl_core.overrides import handle_torch_function as handle_torch_function
from tl_core.overrides import has_torch_function as has_torch_function
from tl_core.overrides import has_torch_function_unary as has_torch_function_unary
from tl_core.overrides import has_torch_function_variadic as has_torch_function_variadic
from tl_nn.functional.activations import _get_softmax_dim as _get_softmax_dim
from tl_nn.functional.activations import celu as celu
from tl_nn.functional.activations import celu_ as celu_
from tl_nn.functional.activations import elu as elu
from tl_nn.functional.activations import elu_ as elu_
from tl_nn.functional.activations import gelu as gelu
from tl_nn.functional.activations import glu as glu
from tl_nn.functional.activations import hardshrink as hardshrink
from tl_nn.functional.activations import hardsigmoid as hardsigmoid
from tl_nn.functional.activations import hardswish as hardswish
from tl_nn.functional.activations import hardtanh as hardtanh
from tl_nn.functional.activations import hardtanh_ as hardtanh_
from tl_nn.functional.activations import leaky_relu as leaky_relu
from tl_nn.functional.activations import leaky_relu_ as leaky_relu_
from tl_nn.functional.activations import log_softmax as log_softmax
from tl_nn.functional.activations import logsigmoid as logsigmoid
from tl_nn.functional.activations import mish as mish
from tl_nn.functional.activations import prelu as prelu
from tl_nn.functional.activations import relu as relu
from tl_nn.functional.activations import relu6 as relu6
from tl_nn.functional.activations import relu_ as relu_
from tl_nn.functional.activations import rrelu as rrelu
from tl_nn.functional.activations import rrelu_ as rrelu_
from tl_nn.functional.activations import selu as selu
from tl_nn.functional.activations import selu_ as selu_
from tl_nn.functional.activations import sigmoid as sigmoid
from tl_nn.functional.activations import silu as silu
from tl_nn.functional.activations import softmax as softmax
from tl_nn.functional.activations import softmin as softmin
from tl_nn.functional.activations import softplus as softplus
from tl_nn.functional.activations import softshrink as softshrink
from tl_nn.functional.activations import softsign as softsign
from tl_nn.functional.activations import tanh as tanh
from tl_nn.functional.activations import tanhshrink as tanhshrink
from tl_nn.functional.activations import threshold as __threshold_
from tl_nn.functional.activations import threshold as threshold
from tl_nn.functional.activations import threshold_ as threshold_
from tl_nn.functional.adaptive_pooling import adaptive_avg_pool1d as adaptive_avg_pool1d
from tl_nn.functional.adaptive_pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from tl_nn.functional.adaptive_pooling import adaptive_avg_pool3d as adaptive_avg_pool3d
from tl_nn.functional.adaptive_pooling import adaptive_max_pool1d as __adaptive_max_pool1d_
from tl_nn.functional.adaptive_pooling import adaptive_max_pool1d as adaptive_max_pool1d
from tl_nn.functional.adaptive_pooling import (
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices,
)
from tl_nn.functional.adaptive_pooling import adaptive_max_pool2d as __adaptive_max_pool2d_
from tl_nn.functional.adaptive_pooling import adaptive_max_pool2d as adaptive_max_pool2d
from tl_nn.functional.adaptive_pooling import (
    adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices,
)
from tl_nn.functional.adaptive_pooling import adaptive_max_pool3d as __adaptive_max_pool3d_
from tl_nn.functional.adaptive_pooling import adaptive_max_pool3d as adaptive_max_pool3d
from tl_nn.functional.adaptive_pooling import (
    adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices,
)
from tl_nn.functional.affine import bilinear as bilinear
from tl_nn.functional.affine import linear as linear
from tl_nn.functional.attention import _is_batched as __mha_shape_check_
from tl_nn.functional.attention import multi_head_attention_forward as multi_head_attention_forward
from tl_nn.functional.attention import scaled_dot_product_attention as scaled_dot_product_attention
from tl_nn.functional.average_pooling import avg_pool1d as avg_pool1d
from tl_nn.functional.average_pooling import avg_pool2d as avg_pool2d
from tl_nn.functional.average_pooling import avg_pool3d as avg_pool3d
from tl_nn.functional.average_pooling import lp_pool1d as lp_pool1d
from tl_nn.functional.average_pooling import lp_pool2d as lp_pool2d
from tl_nn.functional.average_pooling import lp_pool3d as lp_pool3d
from tl_nn.functional.class_losses import cross_entropy as cross_entropy
from tl_nn.functional.class_losses import nll_loss as nll_loss
from tl_nn.functional.convolutions import conv1d as conv1d
from tl_nn.functional.convolutions import conv2d as conv2d
from tl_nn.functional.convolutions import conv3d as conv3d
from tl_nn.functional.convolutions import conv_tbc as conv_tbc
from tl_nn.functional.convolutions import conv_transpose1d as conv_transpose1d
from tl_nn.functional.convolutions import conv_transpose2d as conv_transpose2d
from tl_nn.functional.convolutions import conv_transpose3d as conv_transpose3d
from tl_nn.functional.convolutions import fold as fold
from tl_nn.functional.convolutions import unfold as unfold
from tl_nn.functional.distances import cosine_similarity as cosine_similarity
from tl_nn.functional.distances import pairwise_distance as pairwise_distance
from tl_nn.functional.dropouts import alpha_dropout as alpha_dropout
from tl_nn.functional.dropouts import dropout as dropout
from tl_nn.functional.dropouts import dropout1d as dropout1d
from tl_nn.functional.dropouts import dropout2d as dropout2d
from tl_nn.functional.dropouts import dropout3d as dropout3d
from tl_nn.functional.dropouts import feature_alpha_dropout as feature_alpha_dropout
from tl_nn.functional.elementwise_losses import binary_cross_entropy as binary_cross_entropy
from tl_nn.functional.elementwise_losses import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from tl_nn.functional.elementwise_losses import gaussian_nll_loss as gaussian_nll_loss
from tl_nn.functional.elementwise_losses import huber_loss as huber_loss
from tl_nn.functional.elementwise_losses import kl_div as kl_div
from tl_nn.functional.elementwise_losses import l1_loss as l1_loss
from tl_nn.functional.elementwise_losses import mse_loss as mse_loss
from tl_nn.functional.elementwise_losses import poisson_nll_loss as poisson_nll_loss
from tl_nn.functional.elementwise_losses import smooth_l1_loss as smooth_l1_loss
from tl_nn.functional.fractional_pooling import fractional_max_pool2d as __fractional_max_pool2d_
from tl_nn.functional.fractional_pooling import fractional_max_pool2d as fractional_max_pool2d
from tl_nn.functional.fractional_pooling import (
    fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices,
)
from tl_nn.functional.fractional_pooling import fractional_max_pool3d as __fractional_max_pool3d_
from tl_nn.functional.fractional_pooling import fractional_max_pool3d as fractional_max_pool3d
from tl_nn.functional.fractional_pooling import (
    fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices,
)
from tl_nn.functional.grouped_products import grouped_mm as grouped_mm
from tl_nn.functional.helpers import GRID_SAMPLE_INTERPOLATION_MODES as GRID_SAMPLE_INTERPOLATION_MODES
from tl_nn.functional.helpers import GRID_SAMPLE_PADDING_MODES as GRID_SAMPLE_PADDING_MODES
from tl_nn.functional.helpers import _canonical_mask as _canonical_mask
from tl_nn.functional.helpers import _check_key_padding_mask as _check_key_padding_mask
from tl_nn.functional.helpers import _in_projection as _in_projection
from tl_nn.functional.helpers import _in_projection_packed as _in_projection_packed
from tl_nn.functional.helpers import _no_grad_embedding_renorm_ as _no_grad_embedding_renorm_
from tl_nn.functional.helpers import _none_or_dtype as _none_or_dtype
from tl_nn.functional.helpers import _verify_spatial_size as _verify_spatial_size
from tl_nn.functional.helpers import assert_int_or_pair as assert_int_or_pair
from tl_nn.functional.linear_losses import linear_cross_entropy as linear_cross_entropy
from tl_nn.functional.margin_losses import cosine_embedding_loss as cosine_embedding_loss
from tl_nn.functional.margin_losses import hinge_embedding_loss as hinge_embedding_loss
from tl_nn.functional.margin_losses import margin_ranking_loss as margin_ranking_loss
from tl_nn.functional.margin_losses import multi_margin_loss as multi_margin_loss
from tl_nn.functional.margin_losses import multilabel_margin_loss as multilabel_margin_loss
from tl_nn.functional.margin_losses import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from tl_nn.functional.margin_losses import soft_margin_loss as soft_margin_loss
from tl_nn.functional.margin_losses import triplet_margin_loss as triplet_margin_loss
from tl_nn.functional.margin_losses import (
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from tl_nn.functional.max_pooling import _unpooled_size as __unpool_output_size_
from tl_nn.functional.max_pooling import max_pool1d as __max_pool1d_
from tl_nn.functional.max_pooling import max_pool1d as max_pool1d
from tl_nn.functional.max_pooling import max_pool1d_with_indices as max_pool1d_with_indices
from tl_nn.functional.max_pooling import max_pool2d as __max_pool2d_
from tl_nn.functional.max_pooling import max_pool2d as max_pool2d
from tl_nn.functional.max_pooling import max_pool2d_with_indices as max_pool2d_with_indices
from tl_nn.functional.max_pooling import max_pool3d as __max_pool3d_
from tl_nn.functional.max_pooling import max_pool3d as max_pool3d
from tl_nn.functional.max_pooling import max_pool3d_with_indices as max_pool3d_with_indices
from tl_nn.functional.max_pooling import max_unpool1d as max_unpool1d
from tl_nn.functional.max_pooling import max_unpool2d as max_unpool2d
from tl_nn.functional.max_pooling import max_unpool3d as max_unpool3d
from tl_nn.functional.normalization import _check_several as __verify_batch_size_
from tl_nn.functional.normalization import batch_norm as batch_norm
from tl_nn.functional.normalization import group_norm as group_norm
from tl_nn.functional.normalization import instance_norm as instance_norm
from tl_nn.functional.normalization import layer_norm as layer_norm
from tl_nn.functional.normalization import local_response_norm as local_response_norm
from tl_nn.functional.normalization import normalize as normalize
from tl_nn.functional.normalization import rms_norm as rms_norm
from tl_nn.functional.sampling import gumbel_softmax as gumbel_softmax
from tl_nn.functional.scaled_products import ScalingType as ScalingType
from tl_nn.functional.scaled_products import SwizzleType as SwizzleType
from tl_nn.functional.scaled_products import scaled_grouped_mm as scaled_grouped_mm
from tl_nn.functional.scaled_products import scaled_mm as scaled_mm
from tl_nn.functional.sequence_losses import ctc_loss as ctc_loss
from tl_nn.functional.sparse import embedding as embedding
from tl_nn.functional.sparse import embedding_bag as embedding_bag
from tl_nn.functional.sparse import one_hot as one_hot
from tl_nn.functional.vision import affine_grid as affine_grid
from tl_nn.functional.vision import channel_shuffle as channel_shuffle
from tl_nn.functional.vision import grid_sample as grid_sample
from tl_nn.functional.vision import interpolate as interpolate
from tl_nn.functional.vision import native_channel_shuffle as native_channel_shuffle
from tl_nn.functional.vision import pad as pad
from tl_nn.functional.vision import pixel_shuffle as pixel_shuffle
from tl_nn.functional.vision import pixel_unshuffle as pixel_unshuffle
from tl_nn.functional.vision import upsample as upsample
from tl_nn.functional.vision import upsample_bilinear as upsample_bilinear
from tl_nn.functional.vision import upsample_nearest as upsample_nearest
from tl_nn.modules.utils import _list_with_default as _list_with_default
from tl_nn.modules.utils import _pair as _pair
from tl_nn.modules.utils import _single as _single
from tl_nn.modules.utils import _triple as _triple

from . import _Reduction as _Reduction
from . import grad as grad

_adaptive_max_pool1d = __adaptive_max_pool1d_
_adaptive_max_pool2d = __adaptive_max_pool2d_
_adaptive_max_pool3d = __adaptive_max_pool3d_
_fractional_max_pool2d = __fractional_max_pool2d_
_fractional_max_pool3d = __fractional_max_pool3d_
_max_pool1d = __max_pool1d_
_max_pool2d = __max_pool2d_
_max_pool3d = __max_pool3d_
_mha_shape_check = __mha_shape_check_
_threshold = __threshold_
_unpool_output_size = __unpool_output_size_
_verify_batch_size = __verify_batch_size_
