"""Images and videos as files in memory."""

from __future__ import annotations

import io
from typing import Any

import numpy
from tensorboard.compat.proto.summary_pb2 import Summary

from tl_utils.tensorboard._convert_np import make_np
from tl_utils.tensorboard._utils import _prepare_video, convert_to_HWC

__all__ = ["image", "image_boxes", "make_image", "make_video", "video"]

_Array = numpy.ndarray[Any, Any]


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "images need the package pillow: pip install 'tl-utils[tensorboard]'", name="PIL"
        ) from error
    return Image


def _calc_scale_factor(tensor: Any) -> int:
    """The factor that scales values to 0 .. 255: 1 for uint8, 255 for values of 0 .. 1."""
    return 1 if make_np(tensor).dtype == numpy.uint8 else 255


def _bytes(tensor: _Array) -> _Array:
    scaled = tensor.astype(numpy.float32) * _calc_scale_factor(tensor)
    return numpy.nan_to_num(scaled).clip(0, 255).astype(numpy.uint8)


def make_image(
    tensor: _Array, rescale: float = 1, rois: Any = None, labels: list[str] | None = None
) -> Summary.Image:
    """An image of bytes (H, W, C) as a PNG file.

    Args:
        tensor: the image.
        rescale: by which it is made larger.
        rois: boxes to be drawn: left, top, right and bottom edge of each.
        labels: a text for each box.

    Example:
        >>> from tl_utils.tensorboard import summary
        >>> import numpy
        >>> summary.make_image(numpy.zeros((4, 6, 3), dtype="uint8")).width
        6
    """
    height, width, channels = tensor.shape
    height, width = int(height * rescale), int(width * rescale)
    picture = _pillow().fromarray(tensor)
    if rois is not None:
        picture = _draw_boxes(picture, rois, labels)
    picture = picture.resize((width, height), _pillow().Resampling.LANCZOS)
    file = io.BytesIO()
    picture.save(file, format="PNG")
    return Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue()
    )


def _draw_boxes(picture: Any, boxes: Any, labels: list[str] | None) -> Any:
    from PIL import ImageDraw

    picture = picture.copy()
    draw = ImageDraw.Draw(picture)
    for i, (left, top, right, bottom) in enumerate(numpy.asarray(boxes)[:, :4].tolist()):
        corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        draw.line(corners, width=2, fill="Red")
        if labels is not None:
            x0, y0, x1, y1 = draw.textbbox((left, bottom), labels[i])
            draw.rectangle((x0, y0, x1 + 1, y1 + 1), fill="Red")
            draw.text((left, bottom), labels[i], fill="black")
    return picture


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Summary:
    """An image, or a grid of them.

    Args:
        tag: its name.
        tensor: bytes, or numbers from 0 to 1.
        rescale: by which it is made larger.
        dataformats: the order of the dimensions, such as CHW.

    Example:
        >>> import tl_core
        >>> from tl_utils.tensorboard import summary
        >>> summary.image("blank", tl_core.zeros(1, 3, 4, 4)).value[0].image.width
        4
    """
    pixels = _bytes(convert_to_HWC(make_np(tensor), dataformats))
    return Summary(value=[Summary.Value(tag=tag, image=make_image(pixels, rescale))])


def image_boxes(tag: str, tensor_image: Any, tensor_boxes: Any, rescale: float = 1, dataformats: str = "CHW",
                labels: list[str] | None = None) -> Summary:  # fmt: skip
    """An image with boxes.

    Args:
        tag: its name.
        tensor_image: bytes, or numbers from 0 to 1.
        tensor_boxes: left, top, right and bottom edge of each box.
        rescale: by which the image is made larger.
        dataformats: the order of the dimensions.
        labels: a text for each box.

    Raises:
        ValueError: there are more boxes than labels, or the reverse.

    Example:
        >>> import tl_core
        >>> from tl_utils.tensorboard import summary
        >>> summary.image_boxes("box", tl_core.zeros(3, 8, 8), tl_core.tensor([[1.0, 1.0, 4.0, 4.0]])).value[0].tag
        'box'
    """
    boxes = make_np(tensor_boxes)
    if labels is not None and len(labels) != len(boxes):
        raise ValueError(f"{tag}: there must be a label for each box, got {len(labels)} for {len(boxes)}")
    pixels = _bytes(convert_to_HWC(make_np(tensor_image), dataformats))
    encoded = make_image(pixels, rescale, boxes, labels)
    return Summary(value=[Summary.Value(tag=tag, image=encoded)])


def make_video(tensor: _Array, fps: float) -> Summary.Image:
    """Frames of bytes (T, H, W, C) as an animated GIF.

    Example:
        >>> from tl_utils.tensorboard import summary
        >>> summary.make_video(frames, fps=4)  # doctest: +SKIP
    """
    _, height, width, channels = tensor.shape
    frames = numpy.repeat(tensor, 3, axis=3) if channels == 1 else tensor
    pictures = [_pillow().fromarray(frame) for frame in frames]
    file = io.BytesIO()
    pause = max(round(1000 / fps), 1)  # milliseconds
    pictures[0].save(file, format="GIF", save_all=True, append_images=pictures[1:], duration=pause, loop=0)
    return Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue()
    )


def video(tag: str, tensor: Any, fps: float = 4) -> Summary:
    """A batch of videos, side by side.

    Args:
        tag: its name.
        tensor: bytes, or numbers from 0 to 1: (N, T, C, H, W).
        fps: frames a second.

    Raises:
        ValueError: its shape is another.

    Example:
        >>> import tl_core
        >>> from tl_utils.tensorboard import summary
        >>> summary.video("clip", tl_core.zeros(1, 2, 3, 4, 4))  # doctest: +SKIP
    """
    frames = make_np(tensor)
    if frames.ndim != 5 or not frames.size or frames.shape[2] not in (1, 3):
        raise ValueError(f"{tag}: a video has the shape (N, T, 1 or 3, H, W), got {frames.shape}")
    if fps <= 0:
        raise ValueError(f"{tag}: fps must be positive, got {fps}")
    encoded = make_video(_bytes(_prepare_video(frames)), fps)
    return Summary(value=[Summary.Value(tag=tag, image=encoded)])
