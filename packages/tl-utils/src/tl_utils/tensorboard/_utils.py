"""Pictures in the layout that files have: height, width, channels."""

from __future__ import annotations

import math
from typing import Any

import numpy

__all__ = ["convert_to_HWC", "figure_to_image", "make_grid"]

_Array = numpy.ndarray[Any, Any]


def _one_figure(figure: Any, close: bool) -> _Array:
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = numpy.asarray(canvas.buffer_rgba())[:, :, :3]
    if close:
        pyplot.close(figure)
    return numpy.moveaxis(pixels, 2, 0)


def figure_to_image(figures: Any, close: bool = True) -> _Array:
    """Renders figures of matplotlib.

    Args:
        figures: one figure, or a list.
        close: whether they are closed.

    Returns:
        array of uint8: channels, height, width, and for a list one more dimension first.

    Raises:
        ImportError: matplotlib isn't installed.
    """
    if isinstance(figures, list):
        return numpy.stack([_one_figure(figure, close) for figure in figures])
    return _one_figure(figures, close)


def _next_power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def _prepare_video(V: _Array) -> _Array:
    """Puts a batch of videos (N, T, C, H, W) side by side: (T, H, W, C)."""
    n, t, c, h, w = V.shape
    if V.dtype == numpy.uint8:
        V = V.astype(numpy.float32) / 255.0
    count = _next_power_of_two(n)
    V = numpy.concatenate([V, numpy.zeros((count - n, t, c, h, w), V.dtype)])
    rows = 2 ** ((count.bit_length() - 1) // 2)
    cells = V.reshape(rows, count // rows, t, c, h, w).transpose(2, 0, 4, 1, 5, 3)
    return cells.reshape(t, rows * h, count // rows * w, c)


def make_grid(I: _Array, ncols: int = 8) -> _Array:  # noqa: E741 - the name of the API
    """Puts images (N, C, H, W) side by side, in colour: (3, H of all, W of all).

    Args:
        I: the images, of one or three channels.
        ncols: the number of images in a row.

    Raises:
        ValueError: the batch is empty, or has another shape.

    Example:
        >>> make_grid(numpy.ones((10, 1, 4, 4))).shape
        (3, 8, 32)
    """
    if I.ndim != 4 or I.shape[1] not in (1, 3) or not I.shape[0]:
        raise ValueError(f"make_grid: expected images of shape (N, 1 or 3, H, W), got {I.shape}")
    images = numpy.repeat(I, 3, axis=1) if I.shape[1] == 1 else I
    n, _, h, w = images.shape
    ncols = min(n, ncols)
    canvas = numpy.zeros((3, h * math.ceil(n / ncols), w * ncols), dtype=images.dtype)
    for i, image in enumerate(images):
        y, x = divmod(i, ncols)
        canvas[:, y * h : (y + 1) * h, x * w : (x + 1) * w] = image
    return canvas


def convert_to_HWC(tensor: _Array, input_format: str) -> _Array:
    """Reorders an image, or a batch of them, to height, width, channels, in colour.

    Args:
        tensor: the image.
        input_format: the order of the dimensions: CHW, NCHW, HW and so on.

    Raises:
        ValueError: format and shape don't agree.

    Example:
        >>> convert_to_HWC(numpy.ones((3, 4, 5)), "CHW").shape
        (4, 5, 3)
    """
    order = input_format.upper()
    if len({*order}) != len(order) or {*order} - {*"NCHW"} or not {*"HW"} <= {*order}:
        raise ValueError(
            f"dataformats must name H and W and perhaps N and C, each once, got {input_format!r}"
        )
    if len(order) != tensor.ndim:
        raise ValueError(
            f"dataformats {input_format!r} has {len(order)} letters, but the shape is {tensor.shape}"
        )
    if "N" in order:
        batch = tensor if "C" in order else tensor[..., None]
        axes = [(order if "C" in order else order + "C").index(letter) for letter in "NCHW"]
        return numpy.moveaxis(make_grid(batch.transpose(axes)), 0, 2)
    if "C" not in order:
        image = tensor.transpose([order.index(letter) for letter in "HW"])[:, :, None]
    else:
        image = tensor.transpose([order.index(letter) for letter in "HWC"])
    return numpy.repeat(image, 3, axis=2) if image.shape[2] == 1 else image
