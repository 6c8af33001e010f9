# ruff: noqa: E501 - a signature is one line
"""The functions of `nn.functional` as programs: the calls of each, in the language that the compiler takes.

Losses, windows and attention have files of their own.
"""

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

def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    return aten.elu_(input, alpha)

def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    return aten.leaky_relu_(input, negative_slope)

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

def embedding_bag(input: Tensor, weight: Tensor, offsets: Optional[Tensor] = None, max_norm: Optional[float] = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Optional[Tensor] = None, include_last_offset: bool = False, padding_idx: Optional[int] = None) -> Tensor:
    factors = per_sample_weights
    if factors is not None:
        if input.size() != factors.size():
            raise ValueError(f"embedding_bag: If per_sample_weights ({factors.size()}) is not None, then it must have the same shape as the input ({input.size()})")
        if mode != "sum":
            raise NotImplementedError(f"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode='{mode}').")
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences.")
        count = input.size(0) + 1 if include_last_offset else input.size(0)
        bags = aten.arange(count, dtype=input.dtype, device=input.device) * input.size(1)
        indices = input.reshape(-1)
        if factors is not None:
            factors = factors.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        bags, indices = offsets, input
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    number = 0
    if mode == "mean":
        number = 1
    elif mode == "max":
        number = 2
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")
    elif mode != "sum":
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode}")
    if max_norm is not None:
        aten.embedding_renorm_(weight.detach(), indices, max_norm, norm_type)
    return aten.embedding_bag(weight, indices, bags, scale_grad_by_freq, number, sparse, factors, include_last_offset, padding_idx)[0]

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
"""
