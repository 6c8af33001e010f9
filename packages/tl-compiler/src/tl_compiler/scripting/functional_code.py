# ruff: noqa: E501 - a signature is one line
"""The functions of `nn.functional` as programs: what each calls, in the language that the compiler takes."""

from __future__ import annotations

__all__ = ["FUNCTIONAL"]

FUNCTIONAL = """
def linear(input: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    return aten.linear(input, weight, bias)

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    return aten.bilinear(input1, input2, weight, bias)

def relu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.relu_(input)
    return aten.relu(input)

def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.hardtanh_(input, 0.0, 6.0)
    return aten.hardtanh(input, 0.0, 6.0)

def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.hardtanh_(input, min_val, max_val)
    return aten.hardtanh(input, min_val, max_val)

def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.hardsigmoid_(input)
    return aten.hardsigmoid(input)

def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.hardswish_(input)
    return aten.hardswish(input)

def silu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.silu_(input)
    return aten.silu(input)

def mish(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.mish_(input)
    return aten.mish(input)

def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.elu_(input, alpha)
    return aten.elu(input, alpha)

def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.celu_(input, alpha)
    return aten.celu(input, alpha)

def selu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.selu_(input)
    return aten.selu(input)

def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.leaky_relu_(input, negative_slope)
    return aten.leaky_relu(input, negative_slope)

def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.rrelu_(input, lower, upper, training)
    return aten.rrelu(input, lower, upper, training)

def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.threshold_(input, threshold, value)
    return aten.threshold(input, threshold, value)

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    return aten.prelu(input, weight)

def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    return aten.gelu(input, approximate=approximate)

def glu(input: Tensor, dim: int = -1) -> Tensor:
    return aten.glu(input, dim)

def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    return aten.softplus(input, beta, threshold)

def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    return aten.hardshrink(input, lambd)

def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    return aten.softshrink(input, lambd)

def tanhshrink(input: Tensor) -> Tensor:
    return input - input.tanh()

def softsign(input: Tensor) -> Tensor:
    return input / (input.abs() + 1)

def logsigmoid(input: Tensor) -> Tensor:
    return aten.log_sigmoid(input)

def sigmoid(input: Tensor) -> Tensor:
    return aten.sigmoid(input)

def tanh(input: Tensor) -> Tensor:
    return aten.tanh(input)

def softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        own = _softmax_dim(input.dim())
    else:
        own = dim
    return aten.softmax(input, own, dtype)

def log_softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        own = _softmax_dim(input.dim())
    else:
        own = dim
    return aten.log_softmax(input, own, dtype)

def softmin(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        own = _softmax_dim(input.dim())
    else:
        own = dim
    return aten.softmax(-input, own, dtype)

def _softmax_dim(ndim: int) -> int:
    if ndim == 0 or ndim == 1 or ndim == 3:
        return 0
    return 1

def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.dropout_(input, p, training)
    return aten.dropout(input, p, training)

def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.alpha_dropout_(input, p, training)
    return aten.alpha_dropout(input, p, training)

def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.feature_alpha_dropout_(input, p, training)
    return aten.feature_alpha_dropout(input, p, training)

def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.feature_dropout_(input, p, training)
    return aten.feature_dropout(input, p, training)

def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.feature_dropout_(input, p, training)
    return aten.feature_dropout(input, p, training)

def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.feature_dropout_(input, p, training)
    return aten.feature_dropout(input, p, training)

def embedding(input: Tensor, weight: Tensor, padding_idx: Optional[int] = None, max_norm: Optional[float] = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    index = -1
    if padding_idx is not None:
        index = padding_idx
        if index < 0:
            index = weight.size(0) + index
    if max_norm is not None:
        aten.embedding_renorm_(weight.detach(), input.contiguous(), max_norm, norm_type)
    return aten.embedding(weight, input, index, scale_grad_by_freq, sparse)

def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-5) -> Tensor:
    return aten.layer_norm(input, normalized_shape, weight, bias, eps)

def rms_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None, eps: Optional[float] = None) -> Tensor:
    return aten.rms_norm(input, normalized_shape, weight, eps)

def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-5) -> Tensor:
    return aten.group_norm(input, num_groups, weight, bias, eps)

def batch_norm(input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    return aten.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)

def instance_norm(input: Tensor, running_mean: Optional[Tensor] = None, running_var: Optional[Tensor] = None, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    return aten.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)

def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)

def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    div = input.mul(input)
    if input.dim() == 3:
        div = aten.avg_pool2d(aten.constant_pad_nd(div.unsqueeze(1), [0, 0, size // 2, (size - 1) // 2]), [size, 1], [1, 1]).squeeze(1)
    else:
        sizes = input.size()
        div = div.view(sizes[0], 1, sizes[1], sizes[2], -1)
        div = aten.avg_pool3d(aten.constant_pad_nd(div, [0, 0, 0, 0, size // 2, (size - 1) // 2]), [size, 1, 1], [1, 1, 1]).squeeze(1)
        div = div.view(sizes)
    return input / div.mul(alpha).add(k).pow(beta)

def avg_pool1d(input: Tensor, kernel_size: List[int], stride: Optional[List[int]] = None, padding: List[int] = [0], ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    own = kernel_size if stride is None else stride
    return aten.avg_pool1d(input, kernel_size, own, padding, ceil_mode, count_include_pad)

def avg_pool2d(input: Tensor, kernel_size: List[int], stride: Optional[List[int]] = None, padding: List[int] = [0], ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None) -> Tensor:
    own = kernel_size if stride is None else stride
    return aten.avg_pool2d(input, kernel_size, own, padding, ceil_mode, count_include_pad, divisor_override)

def avg_pool3d(input: Tensor, kernel_size: List[int], stride: Optional[List[int]] = None, padding: List[int] = [0], ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Optional[int] = None) -> Tensor:
    own = kernel_size if stride is None else stride
    return aten.avg_pool3d(input, kernel_size, own, padding, ceil_mode, count_include_pad, divisor_override)

def max_pool1d(input: Tensor, kernel_size: List[int], stride: Optional[List[int]] = None, padding: List[int] = [0], dilation: List[int] = [1], ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    own = kernel_size if stride is None else stride
    return aten.max_pool1d(input, kernel_size, own, padding, dilation, ceil_mode)

def max_pool2d(input: Tensor, kernel_size: List[int], stride: Optional[List[int]] = None, padding: List[int] = [0], dilation: List[int] = [1], ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    own = kernel_size if stride is None else stride
    return aten.max_pool2d(input, kernel_size, own, padding, dilation, ceil_mode)

def max_pool3d(input: Tensor, kernel_size: List[int], stride: Optional[List[int]] = None, padding: List[int] = [0], dilation: List[int] = [1], ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    own = kernel_size if stride is None else stride
    return aten.max_pool3d(input, kernel_size, own, padding, dilation, ceil_mode)

def max_pool1d_with_indices(input: Tensor, kernel_size: List[int], stride: Optional[List[int]] = None, padding: List[int] = [0], dilation: List[int] = [1], ceil_mode: bool = False, return_indices: bool = True) -> Tuple[Tensor, Tensor]:
    own = kernel_size if stride is None else stride
    return aten.max_pool1d_with_indices(input, kernel_size, own, padding, dilation, ceil_mode)

def max_pool2d_with_indices(input: Tensor, kernel_size: List[int], stride: Optional[List[int]] = None, padding: List[int] = [0], dilation: List[int] = [1], ceil_mode: bool = False, return_indices: bool = True) -> Tuple[Tensor, Tensor]:
    own = kernel_size if stride is None else stride
    return aten.max_pool2d_with_indices(input, kernel_size, own, padding, dilation, ceil_mode)

def max_pool3d_with_indices(input: Tensor, kernel_size: List[int], stride: Optional[List[int]] = None, padding: List[int] = [0], dilation: List[int] = [1], ceil_mode: bool = False, return_indices: bool = True) -> Tuple[Tensor, Tensor]:
    own = kernel_size if stride is None else stride
    return aten.max_pool3d_with_indices(input, kernel_size, own, padding, dilation, ceil_mode)

def adaptive_avg_pool1d(input: Tensor, output_size: List[int]) -> Tensor:
    return aten.adaptive_avg_pool1d(input, output_size)

def adaptive_avg_pool2d(input: Tensor, output_size: List[Optional[int]]) -> Tensor:
    return aten.adaptive_avg_pool2d(input, _pool(input.size(), output_size))

def adaptive_avg_pool3d(input: Tensor, output_size: List[Optional[int]]) -> Tensor:
    return aten.adaptive_avg_pool3d(input, _pool(input.size(), output_size))

def adaptive_max_pool1d(input: Tensor, output_size: List[int], return_indices: bool = False) -> Tensor:
    return aten.adaptive_max_pool1d(input, output_size)[0]

def adaptive_max_pool2d(input: Tensor, output_size: List[Optional[int]], return_indices: bool = False) -> Tensor:
    return aten.adaptive_max_pool2d(input, _pool(input.size(), output_size))[0]

def adaptive_max_pool3d(input: Tensor, output_size: List[Optional[int]], return_indices: bool = False) -> Tensor:
    return aten.adaptive_max_pool3d(input, _pool(input.size(), output_size))[0]

def _pool(sizes: List[int], output_size: List[Optional[int]]) -> List[int]:
    result: List[int] = []
    offset = len(sizes) - len(output_size)
    for i in range(len(output_size)):
        size = output_size[i]
        if size is not None:
            result.append(size)
        else:
            result.append(sizes[offset + i])
    return result

def unfold(input: Tensor, kernel_size: List[int], dilation: List[int] = [1], padding: List[int] = [0], stride: List[int] = [1]) -> Tensor:
    return aten.im2col(input, kernel_size, dilation, padding, stride)

def fold(input: Tensor, output_size: List[int], kernel_size: List[int], dilation: List[int] = [1], padding: List[int] = [0], stride: List[int] = [1]) -> Tensor:
    return aten.col2im(input, output_size, kernel_size, dilation, padding, stride)

def pad(input: Tensor, pad: List[int], mode: str = "constant", value: Optional[float] = None) -> Tensor:
    return aten.pad(input, pad, mode, value)

def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    return aten.pixel_shuffle(input, upscale_factor)

def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    return aten.pixel_unshuffle(input, downscale_factor)

def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    return aten.channel_shuffle(input, groups)

def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    return aten.one_hot(tensor, num_classes)

def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    return aten.cosine_similarity(x1, x2, dim, eps)

def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    return aten.pairwise_distance(x1, x2, p, eps, keepdim)

def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    return aten.pdist(input, p)

def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor] = None, dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False) -> Tensor:
    return aten.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)

def _reduction(reduction: str) -> int:
    if reduction == "none":
        return 0
    if reduction == "mean":
        return 1
    if reduction == "sum":
        return 2
    raise ValueError(f"{reduction} is not a valid value for reduction")

def mse_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    pair = aten.broadcast_tensors([input, target])
    return aten.mse_loss(pair[0], pair[1], _reduction(reduction))

def l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    pair = aten.broadcast_tensors([input, target])
    return aten.l1_loss(pair[0], pair[1], _reduction(reduction))

def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    pair = aten.broadcast_tensors([input, target])
    return aten.smooth_l1_loss(pair[0], pair[1], _reduction(reduction), beta)

def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    pair = aten.broadcast_tensors([input, target])
    return aten.huber_loss(pair[0], pair[1], _reduction(reduction), delta)

def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    return aten.cross_entropy_loss(input, target, weight, _reduction(reduction), ignore_index, label_smoothing)

def nll_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return aten.nll_loss_nd(input, target, weight, _reduction(reduction), ignore_index)

def binary_cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return aten.binary_cross_entropy(input, target, weight, _reduction(reduction))

def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", pos_weight: Optional[Tensor] = None) -> Tensor:
    return aten.binary_cross_entropy_with_logits(input, target, weight, pos_weight, _reduction(reduction))

def kl_div(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", log_target: bool = False) -> Tensor:
    if reduction == "batchmean":
        return aten.kl_div(input, target, 2, log_target=log_target) / input.size(0)
    return aten.kl_div(input, target, _reduction(reduction), log_target=log_target)

def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Optional[bool] = None, eps: float = 1e-8, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return aten.poisson_nll_loss(input, target, log_input, full, eps, _reduction(reduction))

def soft_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return aten.soft_margin_loss(input, target, _reduction(reduction))

def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return aten.hinge_embedding_loss(input, target, margin, _reduction(reduction))

def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return aten.margin_ranking_loss(input1, input2, target, margin, _reduction(reduction))

def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return aten.cosine_embedding_loss(input1, input2, target, margin, _reduction(reduction))

def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return aten.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, _reduction(reduction))

def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return aten.multilabel_margin_loss(input, target, _reduction(reduction))

def interpolate(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[List[float]] = None, mode: str = "nearest", align_corners: Optional[bool] = None, recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Tensor:
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    own_size = size
    own_scale = scale_factor
    corners = False
    if align_corners is not None:
        corners = align_corners
    if recompute_scale_factor is not None and recompute_scale_factor and scale_factor is not None:
        computed: List[int] = []
        for i in range(len(scale_factor)):
            computed.append(int(float(input.size(i + 2)) * scale_factor[i]))
        own_size = computed
        own_scale = None
    dims = input.dim() - 2
    if mode == "nearest":
        if dims == 1:
            return aten.upsample_nearest1d(input, own_size, own_scale)
        if dims == 2:
            return aten.upsample_nearest2d(input, own_size, own_scale)
        return aten.upsample_nearest3d(input, own_size, own_scale)
    if mode == "area":
        if own_size is None:
            raise ValueError("area interpolation takes a size")
        if dims == 1:
            return aten.adaptive_avg_pool1d(input, own_size)
        if dims == 2:
            return aten.adaptive_avg_pool2d(input, own_size)
        return aten.adaptive_avg_pool3d(input, own_size)
    if mode == "linear":
        return aten.upsample_linear1d(input, own_size, corners, own_scale)
    if mode == "bilinear":
        if antialias:
            return aten._upsample_bilinear2d_aa(input, own_size, corners, own_scale)
        return aten.upsample_bilinear2d(input, own_size, corners, own_scale)
    if mode == "trilinear":
        return aten.upsample_trilinear3d(input, own_size, corners, own_scale)
    if mode == "bicubic":
        if antialias:
            return aten._upsample_bicubic2d_aa(input, own_size, corners, own_scale)
        return aten.upsample_bicubic2d(input, own_size, corners, own_scale)
    raise NotImplementedError(f"Input Error: the interpolation mode {mode} isn't one of a program")

def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Optional[bool] = None) -> Tensor:
    kind = 0
    if mode == "nearest":
        kind = 1
    elif mode == "bicubic":
        kind = 2
    border = 0
    if padding_mode == "border":
        border = 1
    elif padding_mode == "reflection":
        border = 2
    corners = False
    if align_corners is not None:
        corners = align_corners
    return aten.grid_sampler(input, grid, kind, border, corners)

def affine_grid(theta: Tensor, size: List[int], align_corners: Optional[bool] = None) -> Tensor:
    corners = False
    if align_corners is not None:
        corners = align_corners
    return aten.affine_grid_generator(theta, size, corners)
"""
