# ruff: noqa: E501 - a signature is one line
"""The functions of `nn.functional` that pool, fold, pad and resample, as programs."""

from __future__ import annotations

__all__ = ["WINDOWS"]

_WINDOW = "kernel_size: List[int], stride: Optional[List[int]] = None, padding: List[int] = [0]"
_DILATED = f"{_WINDOW}, dilation: List[int] = [1], ceil_mode: bool = False"
_FRACTIONAL = "kernel_size: List[int], output_size: Optional[List[int]] = None, output_ratio: Optional[List[float]] = None"

_POOLS = """
def max_pool{n}d(input: Tensor, {dilated}, return_indices: bool = False) -> Tensor:
    own = kernel_size if stride is None else stride
    return aten.max_pool{n}d(input, kernel_size, own, padding, dilation, ceil_mode)

def max_pool{n}d_with_indices(input: Tensor, {dilated}, return_indices: bool = True) -> Tuple[Tensor, Tensor]:
    own = kernel_size if stride is None else stride
    return aten.max_pool{n}d_with_indices(input, kernel_size, own, padding, dilation, ceil_mode)

def avg_pool{n}d(input: Tensor, {window}, ceil_mode: bool = False, count_include_pad: bool = True{divisor}) -> Tensor:
    own = kernel_size if stride is None else stride
    return aten.avg_pool{n}d(input, kernel_size, own, padding, ceil_mode, count_include_pad{divisor_name})

def lp_pool{n}d(input: Tensor, norm_type: float, kernel_size: List[int], stride: Optional[List[int]] = None, ceil_mode: bool = False) -> Tensor:
    own = kernel_size if stride is None else stride
    power = aten.avg_pool{n}d(aten.pow(input, norm_type), kernel_size, own, [0], ceil_mode)
    count = 1
    for size in _per_axis(kernel_size, {n}):
        count *= size
    return (aten.sign(power) * aten.relu(aten.abs(power))).mul(count).pow(1.0 / norm_type)

def adaptive_avg_pool{n}d(input: Tensor, output_size: List[int]) -> Tensor:
    return aten.adaptive_avg_pool{n}d(input, output_size)

def adaptive_avg_pool{n}d_partly(input: Tensor, output_size: List[Optional[int]]) -> Tensor:
    return aten.adaptive_avg_pool{n}d(input, _stated_sizes(input.size(), output_size))

def adaptive_max_pool{n}d(input: Tensor, output_size: List[int], return_indices: bool = False) -> Tensor:
    return aten.adaptive_max_pool{n}d(input, output_size)[0]

def adaptive_max_pool{n}d_partly(input: Tensor, output_size: List[Optional[int]], return_indices: bool = False) -> Tensor:
    return aten.adaptive_max_pool{n}d(input, _stated_sizes(input.size(), output_size))[0]

def adaptive_max_pool{n}d_with_indices(input: Tensor, output_size: List[int], return_indices: bool = True) -> Tuple[Tensor, Tensor]:
    return aten.adaptive_max_pool{n}d(input, output_size)

def adaptive_max_pool{n}d_with_indices_partly(input: Tensor, output_size: List[Optional[int]], return_indices: bool = True) -> Tuple[Tensor, Tensor]:
    return aten.adaptive_max_pool{n}d(input, _stated_sizes(input.size(), output_size))
"""

_FRACTIONAL_POOLS = """
def fractional_max_pool{n}d_with_indices(input: Tensor, {fractional}, return_indices: bool = True, _random_samples: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
    sizes = _fractional_sizes(input, {n}, output_size, output_ratio)
    if _random_samples is None:
        batch = 1 if input.dim() == {n} + 1 else input.size(0)
        samples = aten.rand([batch, input.size(-{n} - 1), {n}], dtype=input.dtype, device=input.device)
    else:
        samples = _random_samples
    return aten.fractional_max_pool{n}d(input, _per_axis(kernel_size, {n}), sizes, samples)

def fractional_max_pool{n}d(input: Tensor, {fractional}, return_indices: bool = False, _random_samples: Optional[Tensor] = None) -> Tensor:
    return F.fractional_max_pool{n}d_with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)[0]
"""

_UNPOOLS = """
def max_unpool1d(input: Tensor, indices: Tensor, {window}, output_size: Optional[List[int]] = None) -> Tensor:
    size = _unpooled_sizes(input, 1, kernel_size, stride, padding, output_size)
    if input.size() != indices.size():
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({{input.size()}}) but got indices tensor with shape: {{indices.size()}}")
    return aten.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [size[0], 1]).squeeze(-1)

def max_unpool2d(input: Tensor, indices: Tensor, {window}, output_size: Optional[List[int]] = None) -> Tensor:
    return aten.max_unpool2d(input, indices, _unpooled_sizes(input, 2, kernel_size, stride, padding, output_size))

def max_unpool3d(input: Tensor, indices: Tensor, {window}, output_size: Optional[List[int]] = None) -> Tensor:
    size = _unpooled_sizes(input, 3, kernel_size, stride, padding, output_size)
    own = kernel_size if stride is None else stride
    return aten.max_unpool3d(input, indices, size, _per_axis(own, 3), _per_axis(padding, 3))
"""

_SIZES = """
def _per_axis(sizes: List[int], dims: int) -> List[int]:
    return [sizes[0]] * dims if len(sizes) == 1 else sizes

def _stated_sizes(sizes: List[int], output_size: List[Optional[int]]) -> List[int]:
    result: List[int] = []
    offset = len(sizes) - len(output_size)
    for i in range(len(output_size)):
        size = output_size[i]
        if size is not None:
            result.append(size)
        else:
            result.append(sizes[offset + i])
    return result

def _fractional_sizes(input: Tensor, dims: int, output_size: Optional[List[int]], output_ratio: Optional[List[float]]) -> List[int]:
    if output_size is not None:
        return _per_axis(output_size, dims)
    if output_ratio is None:
        raise ValueError(f"fractional_max_pool{dims}d requires specifying either an output_size or an output_ratio")
    result: List[int] = []
    for i in range(dims):
        ratio = output_ratio[0] if len(output_ratio) == 1 else output_ratio[i]
        result.append(int(float(input.size(i - dims)) * ratio))
    return result

def _unpooled_sizes(input: Tensor, dims: int, kernel_size: List[int], stride: Optional[List[int]], padding: List[int], output_size: Optional[List[int]]) -> List[int]:
    kernels, paddings = _per_axis(kernel_size, dims), _per_axis(padding, dims)
    steps = kernels if stride is None else _per_axis(stride, dims)
    result: List[int] = []
    for i in range(dims):
        result.append((input.size(i - dims) - 1) * steps[i] - 2 * paddings[i] + kernels[i])
    if output_size is None:
        return result
    sizes = output_size[-dims:]
    if len(output_size) != dims and len(output_size) != dims + 2:
        raise ValueError(f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of '{len(output_size)}'")
    for i in range(dims):
        least, most = result[i] - steps[i], result[i] + steps[i]
        if sizes[i] <= least or sizes[i] >= most:
            raise ValueError(f'invalid output_size "{sizes}" (dim {i} must be between {least} and {most})')
    return sizes

def unfold(input: Tensor, kernel_size: List[int], dilation: List[int] = [1], padding: List[int] = [0], stride: List[int] = [1]) -> Tensor:
    return aten.im2col(input, kernel_size, dilation, padding, stride)

def fold(input: Tensor, output_size: List[int], kernel_size: List[int], dilation: List[int] = [1], padding: List[int] = [0], stride: List[int] = [1]) -> Tensor:
    return aten.col2im(input, output_size, kernel_size, dilation, padding, stride)

def pad(input: Tensor, pad: List[int], mode: str = "constant", value: Optional[float] = None) -> Tensor:
    return aten.pad(input, pad, mode, value)
"""

_RESAMPLING = """
def interpolate(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[List[float]] = None, mode: str = "nearest", align_corners: Optional[bool] = None, recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Tensor:
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    own_size = size
    own_scale = scale_factor
    corners = False
    if align_corners is not None:
        corners = align_corners
    recompute = mode == "area"
    if recompute_scale_factor is not None and recompute_scale_factor:
        recompute = True
    if recompute and scale_factor is not None:
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
    if mode == "nearest-exact":
        if dims == 1:
            return aten._upsample_nearest_exact1d(input, own_size, own_scale)
        if dims == 2:
            return aten._upsample_nearest_exact2d(input, own_size, own_scale)
        return aten._upsample_nearest_exact3d(input, own_size, own_scale)
    if mode == "area":
        if own_size is None:
            raise ValueError("either size or scale_factor should be defined")
        if dims == 1:
            return aten.adaptive_avg_pool1d(input, own_size)
        if dims == 2:
            return aten.adaptive_avg_pool2d(input, own_size)
        return aten.adaptive_avg_pool3d(input, own_size)
    if mode == "linear" and dims == 1:
        return aten.upsample_linear1d(input, own_size, corners, own_scale)
    if mode == "bilinear" and dims == 2:
        if antialias:
            return aten._upsample_bilinear2d_aa(input, own_size, corners, own_scale)
        return aten.upsample_bilinear2d(input, own_size, corners, own_scale)
    if mode == "trilinear" and dims == 3:
        return aten.upsample_trilinear3d(input, own_size, corners, own_scale)
    if mode == "bicubic" and dims == 2:
        if antialias:
            return aten._upsample_bicubic2d_aa(input, own_size, corners, own_scale)
        return aten.upsample_bicubic2d(input, own_size, corners, own_scale)
    raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact (got {mode})")

def upsample(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[List[float]] = None, mode: str = "nearest", align_corners: Optional[bool] = None) -> Tensor:
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return F.interpolate(input, size, scale_factor, mode, align_corners)

def upsample_nearest(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[List[float]] = None) -> Tensor:
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return F.interpolate(input, size, scale_factor)

def upsample_bilinear(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[List[float]] = None) -> Tensor:
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return F.interpolate(input, size, scale_factor, "bilinear", True)

def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Optional[bool] = None) -> Tensor:
    kind = 0
    if mode == "nearest":
        kind = 1
    elif mode == "bicubic":
        kind = 2
    elif mode != "bilinear":
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    border = 0
    if padding_mode == "border":
        border = 1
    elif padding_mode == "reflection":
        border = 2
    elif padding_mode != "zeros":
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'")
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


def _pools(n: int) -> str:
    divisor = ", divisor_override: Optional[int] = None" if n > 1 else ""
    name = ", divisor_override" if n > 1 else ""
    return _POOLS.format(n=n, dilated=_DILATED, window=_WINDOW, divisor=divisor, divisor_name=name)


WINDOWS = "".join([
    *map(_pools, (1, 2, 3)), *(_FRACTIONAL_POOLS.format(n=n, fractional=_FRACTIONAL) for n in (2, 3)),
    _UNPOOLS.format(window=_WINDOW), _SIZES, _RESAMPLING,
])  # fmt: skip
