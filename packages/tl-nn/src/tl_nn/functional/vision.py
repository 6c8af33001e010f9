"""Padding, interpolating, sampling and rearranging grids."""

import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import tl_core
from tl_core import Tensor
from tl_core.functions import nn as nn_functions
from tl_core.overrides import made_of_others, overridable

from .adaptive_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = [
    "affine_grid",
    "channel_shuffle",
    "grid_sample",
    "interpolate",
    "native_channel_shuffle",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]


@overridable
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    r"""A larger tensor, filled around the input.

    Formula:
        .. math::

            y_i = x_{r(i - l)}

        `i` is a position of the output in a dimension, and `l` the padding before this dimension, of size `S`. With
        `j = i - l`, `r(j)` is `j` inside of the input, and outside: "reflect": `-j` or `2 (S - 1) - j`.
        "replicate": 0 or `S - 1`. "circular": `j mod S`. For "constant" the element is `value`.

    Args:
        input (Tensor): Of any shape; for the modes but "constant", of one or two dimensions more than are padded.
        pad (sequence of ints): Before and after the last dimension, then before and after the one before it, and
            so on. A negative number cuts.
        mode (str): "constant": a number; "reflect": the input mirrored at its border, which isn't repeated;
            "replicate": the border itself; "circular": the other side.
        value (float, optional): The number, by default 0.

    Shape:
        - Input: `(*, S_n, ..., S_1)`, where `pad` has n pairs.
        - Output: the same sizes, with `pad[2 k] + pad[2 k + 1]` more in the dimension `k` counted from the end.

    Notes:
        - "constant" pads any number of dimensions. The other modes pad the last one to three, of inputs with one or
          two dimensions more.
        - A width of "reflect" is less than the size of its dimension, of "circular" at most the size.
        - The value is converted to the type of the input. Only "constant" accepts a value other than 0.
        - The gradient of an element is the sum of the gradients of its copies.

    Raises:
        RuntimeError: If there are more widths than dimensions, or a width is too large for the mode.
        NotImplementedError: If there is no such mode, or it doesn't pad so many dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.pad(tl_core.tensor([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect")
        tensor([[3., 2., 1., 2., 3., 2.]])
    """
    return nn_functions.pad(input, pad, mode, value)


# Interpolation

_PLAIN = {"nearest": "upsample_nearest{}d", "nearest-exact": "_upsample_nearest_exact{}d"}
_ALIGNED = {
    ("linear", 1): "upsample_linear1d",
    ("bilinear", 2): "upsample_bilinear2d",
    ("trilinear", 3): "upsample_trilinear3d",
    ("bicubic", 2): "upsample_bicubic2d",
}
_AREA = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)


def _size_or_factors(
    input: Tensor, size: Any, scale_factor: Any
) -> tuple[list[int] | None, list[float] | None]:
    """The result's size or its factors, one for each axis of the grid."""
    n = input.dim() - 2
    value, name = (size, "output size") if size is not None else (scale_factor, "scale_factor")
    if size is not None and scale_factor is not None:
        raise ValueError(f"only one of size or scale_factor should be defined, got {size} and {scale_factor}")
    if value is None:
        raise ValueError("either size or scale_factor should be defined")
    items = list(value) if isinstance(value, list | tuple) else [value] * n
    if len(items) != n:
        raise ValueError(
            f"Input and {'output' if size is not None else 'scale_factor'} must have the same number of spatial "
            f"dimensions, but got input with spatial dimensions of {list(input.shape[2:])} and {name} of {value}. "
            "Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            f"{name} in {'(o1, o2, ...,oK)' if size is not None else '(s1, s2, ...,sK)'} format."
        )
    return (items, None) if size is not None else (None, items)


def _check_interpolation(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
            f"trilinear, got {align_corners} with mode={mode!r}"
        )
    if antialias and not (mode in ("bilinear", "bicubic") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input, "
            f"got mode={mode!r} and {input.dim()} dimensions"
        )


@overridable
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    r"""A grid of another size, its elements computed from those nearby.

    Formula:
        .. math::

            u(i) = \frac{S}{S_{\mathrm{out}}} \left( i + \tfrac{1}{2} \right) - \tfrac{1}{2} \qquad \text{or} \qquad
            u(i) = \frac{S - 1}{S_{\mathrm{out}} - 1} \, i

        The element `i` of the output is computed from the input near the coordinate `u(i)`: the first formula holds
        for `align_corners=False`, the second for True, each for every spatial dimension. "linear", "bilinear" and
        "trilinear" interpolate between the two neighbours in each dimension, "bicubic" between four. "nearest"
        reads the element `floor(i S / S_out)`, "nearest-exact" the one nearest to the first `u(i)`. "area" is
        adaptive average pooling.

    Args:
        input (Tensor, shape (batch, channels, width), (batch, channels, height, width) or (…, depth, height,
            width)): Of floating numbers; uint8 too for "nearest", "nearest-exact", "bilinear" and "bicubic".
        size (int or sequence of ints, optional): The size of the result's grid.
        scale_factor (float or sequence of floats, optional): That size in units of the input's, if `size` isn't
            given.
        mode (str): "nearest", "nearest-exact", "area" (means of windows), "linear" (in one dimension),
            "bilinear", "bicubic" (in two), "trilinear" (in three). "nearest" rounds down, "nearest-exact" to the
            nearest centre.
        align_corners (bool, optional): Whether the centres of the outermost elements lie on each other, or else
            the edges of the grids.
        recompute_scale_factor (bool, optional): Whether the sizes, not `scale_factor`, say where the elements
            lie.
        antialias (bool): Whether "bilinear" and "bicubic" take more elements into account where the result is
            coarser.
        input: the grid, (batch, channels, *spatial).

    Shape:
        - Input: `(N, C, L)`, `(N, C, H, W)` or `(N, C, D, H, W)`.
        - Output: the same with the spatial sizes `size`, or

        .. math::

            S_{\mathrm{out}} = \lfloor S \cdot \mathrm{scale\_factor} \rfloor

    Notes:
        - Coordinates outside of the input read its edge. "bicubic" uses Keys' kernel with a = -0.75 and may exceed
          the input's range.
        - A reduction samples the input without a filter. `antialias` widens the kernel of "bilinear" and "bicubic"
          images by the factor of the reduction, so that every element counts.
        - The type is a floating-point type, or uint8 for "nearest", "nearest-exact", "bilinear" and "bicubic" of
          images.

    Raises:
        ValueError: If not exactly one of `size` and `scale_factor` is given, or an option doesn't go with the
            mode.
        NotImplementedError: If there is no such mode for so many dimensions.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.interpolate(tl_core.tensor([[[1.0, 2.0]]]), scale_factor=2, mode="linear")
        tensor([[[1.0000, 1.2500, 1.7500, 2.0000]]])
    """
    _check_interpolation(input, mode, align_corners, antialias)
    n = input.dim() - 2
    sizes, factors = _size_or_factors(input, size, scale_factor)
    if recompute_scale_factor and sizes is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if factors is not None and (recompute_scale_factor or (mode == "area" and sizes is None)):
        sizes, factors = [int(float(s) * f) for s, f in zip(input.shape[2:], factors)], None
    if mode == "area" and sizes is not None and 1 <= n <= 3:
        return _AREA[n - 1](input, sizes)
    if mode in _PLAIN and 1 <= n <= 3:
        return getattr(nn_functions, _PLAIN[mode].format(n))(input, sizes, factors)
    name = _ALIGNED.get((mode, n)) or _refuse(mode, input.dim())
    if antialias:
        name = f"_{name}_aa"
    return getattr(nn_functions, name)(input, sizes, bool(align_corners), factors)


# For callers that have already tried `__torch_function__` of their arguments.
_interpolated: Any = made_of_others(interpolate)


def _refuse(mode: str, ndim: int) -> NoReturn:
    dims = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}.get(mode)
    if dims is not None and 3 <= ndim <= 5:
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {dims}D input")
    raise NotImplementedError(
        "Input Error: Only 3D, 4D and 5D input Tensors supported "
        f"(got {ndim}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact "
        f"(got {mode})"
    )


@overridable
def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The older name of `interpolate`.

    Args:
        input: the grid, (batch, channels, *spatial).
        size: the spatial size of the result, instead of `scale_factor`.
        scale_factor: the factor of each spatial size.
        mode: "nearest", "linear", "bilinear", "bicubic", "trilinear" or "area".
        align_corners: whether the corners' elements keep their values. Only for modes that interpolate.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     F.upsample(tl_core.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return _interpolated(input, size, scale_factor, mode, align_corners)


@overridable
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "nearest".

    Args:
        input: the grid, (batch, channels, *spatial).
        size: the spatial size of the result, instead of `scale_factor`.
        scale_factor: the factor of each spatial size.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     F.upsample_nearest(tl_core.tensor([[[[1.0, 2.0]]]]), scale_factor=2)
        tensor([[[[1., 1., 2., 2.],
                  [1., 1., 2., 2.]]]])
    """
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return _interpolated(input, size, scale_factor, mode="nearest")


@overridable
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "bilinear" and aligned corners.

    Args:
        input: the grid, (batch, channels, *spatial).
        size: the spatial size of the result, instead of `scale_factor`.
        scale_factor: the factor of each spatial size.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     F.upsample_bilinear(tl_core.tensor([[[[0.0, 3.0]]]]), scale_factor=2)
        tensor([[[[0., 1., 2., 3.],
                  [0., 1., 2., 3.]]]])
    """
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return _interpolated(input, size, scale_factor, mode="bilinear", align_corners=True)


# Reading at given points

_METHODS = ("bilinear", "nearest", "bicubic")
_OUTSIDE = ("zeros", "border", "reflection")


@overridable
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    r"""The input read at given points, between its elements where need be.

    Formula:
        .. math::

            y_{n, c, p} = \sum_{q} x_{n, c, q} \prod_{d} k\bigl(u_d - q_d\bigr), \qquad
            u_d = \frac{(g_d + 1) S_d - 1}{2} \qquad \text{or} \qquad u_d = \frac{(g_d + 1) (S_d - 1)}{2}

        `p` is a position of the output, `g` its point in `grid[n, p]`, and `q` a position of the input, with sizes
        `S`. The first `u` holds for `align_corners=False`, the second for True. `k` is the kernel of the mode:
        `max(0, 1 - |t|)` for "bilinear", Keys' cubic kernel with a = -0.75 for "bicubic". "nearest" reads the
        element at the rounded `u`, halves to even.

    Args:
        input (Tensor, shape (batch, channels, height, width) or (batch, channels, depth, height, width)): Of
            floating numbers.
        grid (Tensor, shape (batch, out height, out width, 2) or (batch, out depth, out height, out width, 3)):
            Points as (x, y) or (x, y, z). -1 and 1 are the input's borders.
        mode (str): "bilinear", "nearest" or, of images, "bicubic".
        padding_mode (str): The values outside of the input: "zeros", its "border", or its "reflection".
        align_corners (bool, optional): Whether -1 and 1 are the centres of the outermost elements, or else
            (False) their outer edges.

    Returns:
        Tensor, shape (batch, channels, out height, out width) or (…, out depth, out height, out width)

    Shape:
        - Input: `(N, C, H, W)` or `(N, C, D, H, W)`.
        - Grid: `(N, H_out, W_out, 2)`, points (x, y), or `(N, D_out, H_out, W_out, 3)`, points (x, y, z).
        - Output: `(N, C, H_out, W_out)` or `(N, C, D_out, H_out, W_out)`.

    Notes:
        - x belongs to the last dimension of the input, unlike the order of indices.
        - None for `align_corners` is False, with a warning. `affine_grid` needs the same value.
        - "border" reads the nearest element, "reflection" mirrors at the outer edges, with `align_corners` at the
          outermost centers.
        - A NaN coordinate counts as -1.
        - The gradient of the points is 0 for "nearest", and for "bilinear" it jumps where a point passes a center.
        - Source: Jaderberg et al., Spatial Transformer Networks, 2015.

    Raises:
        ValueError: If `mode` or `padding_mode` isn't one of these.
        RuntimeError: If the shapes don't go together.

    Example:
        >>> import tl_core, tl_nn
        >>> image = tl_core.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> tl_nn.functional.grid_sample(image, tl_core.zeros(1, 1, 1, 2), align_corners=False)
        tensor([[[[2.5000]]]])
    """
    method = _code("mode", mode, _METHODS)
    outside = _code("padding_mode", padding_mode, _OUTSIDE)
    return tl_core.grid_sampler(input, grid, method, outside, _aligns_corners("grid_sample", align_corners))


def _code(argument: str, name: str, codes: tuple[str, ...]) -> int:
    """The number of a name in the operator's arguments: its position in `codes`."""
    # A comparison, not a lookup in a table: a traced name raises here that it has no value.
    if name not in codes:
        *quotes, last = (repr(code) for code in codes)
        raise ValueError(
            f"nn.functional.grid_sample(): expected {argument} to be {', '.join(quotes)} or {last}, but got: '{name}'"
        )
    return codes.index(name)


@overridable
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    r"""The points for `grid_sample` that an affine map sends each position of the result to.

    Formula:
        .. math::

            g_{n, p} = \theta_n \begin{pmatrix} b_p \\ 1 \end{pmatrix}, \qquad b_i =
            \frac{2 i + 1}{S} - 1 \qquad \text{or}
            \qquad b_i = \frac{2 i}{S - 1} - 1

        `p` is a position of the output, and `b_p` its point (x, y) or (x, y, z), with the first `b` for
        `align_corners=False`, the second for True, `i` the index in a dimension and `S` its size.

    Args:
        theta (Tensor, shape (batch, 2, 3) or (batch, 3, 4)): The maps' matrices.
        size (sequence of four or five ints): The shape of the result of `grid_sample`.
        align_corners (bool, optional): As of `grid_sample`.

    Returns:
        Tensor, shape (batch, height, width, 2) or (batch, depth, height, width, 3)

    Shape:
        - `theta`: `(N, 2, 3)` or `(N, 3, 4)`.
        - Output: `(N, H, W, 2)` or `(N, D, H, W, 3)`, for `size` `(N, C, H, W)` or `(N, C, D, H, W)`.

    Notes:
        - The map goes from the output to the input: `theta` with a factor of 0.5 enlarges the image.
        - None for `align_corners` is False, with a warning. A dimension of size 1 has the point 0.
        - Source: Jaderberg et al., Spatial Transformer Networks, 2015.

    Raises:
        ValueError: If `theta` isn't of floating numbers or has another shape, or a size isn't positive.
        NotImplementedError: If `size` has another length.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> shift = tl_core.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]])
        >>> F.affine_grid(shift, (1, 1, 1, 2), align_corners=False)
        tensor([[[[0., 0.],
                  [1., 0.]]]])
    """
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    n = len(size) - 2
    if theta.dim() != 3 or theta.shape[-2] != n or theta.shape[-1] != n + 1:
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    aligned = _aligns_corners("affine_grid", align_corners)
    if aligned and min(size[2:]) == 1:
        warnings.warn(
            "affine_grid: along a dimension of size 1, align_corners=True gives the center, not both ends. See the "
            "documentation of affine_grid for details.",
            stacklevel=2,
        )
    return tl_core.affine_grid_generator(theta, size, aligned)


def _aligns_corners(name: str, align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            f"{name}: align_corners is False if left out: -1 and 1 are the outer edges. Give it to be clear.",
            stacklevel=3,
        )
    return bool(align_corners)


# Rearranging


@overridable
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(…, channels * r * r, height, width) as (…, channels, height * r, width * r): Shi et al., 2016.

    Raises:
        RuntimeError: If the factor r isn't positive or its square doesn't divide the channels.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.pixel_shuffle(tl_core.arange(4).reshape(4, 1, 1), 2)
        tensor([[[0, 1],
                 [2, 3]]])
    """
    return tl_core.pixel_shuffle(input, upscale_factor)


@overridable
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(…, channels, height * r, width * r) as (…, channels * r * r, height, width): undoes `pixel_shuffle`.

    Raises:
        RuntimeError: If the factor r isn't positive or doesn't divide height and width.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.pixel_unshuffle(tl_core.arange(4.0).view(1, 2, 2), 2).flatten(1)
        tensor([[0.],
                [1.],
                [2.],
                [3.]])
    """
    return tl_core.pixel_unshuffle(input, downscale_factor)


@overridable
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels in another order, taken from each of `groups` groups in turn: Zhang et al., 2018.

    Raises:
        RuntimeError: If `groups` isn't positive or doesn't divide the channels.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.functional.channel_shuffle(tl_core.arange(4).reshape(1, 4, 1), 2).flatten()
        tensor([0, 2, 1, 3])
    """
    return tl_core.channel_shuffle(input, groups)


@overridable
def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """`channel_shuffle`.

    Example:
        >>> import tl_core
        >>> from tl_nn import functional as F
        >>> F.native_channel_shuffle(tl_core.arange(4.0).view(1, 4, 1, 1), 2).flatten()
        tensor([0., 2., 1., 3.])
    """
    return tl_core.native_channel_shuffle(input, groups)
