"""The protocol buffers of TensorBoard's data: numbers, distributions, sound, texts."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from tl_utils.tensorboard._convert_np import make_np
from tl_utils.tensorboard.charts import (
    compute_curve,
    custom_scalars,
    hparams,
    mesh,
    pr_curve,
    pr_curve_raw,
)
from tl_utils.tensorboard.images import _calc_scale_factor as _calc_scale_factor
from tl_utils.tensorboard.images import image, image_boxes, make_image, make_video, video
from tl_utils.tensorboard.tensors import half_to_int, int_to_half, tensor_proto

__all__ = [
    "audio",
    "compute_curve",
    "custom_scalars",
    "half_to_int",
    "histogram",
    "histogram_raw",
    "hparams",
    "image",
    "image_boxes",
    "int_to_half",
    "make_histogram",
    "make_image",
    "make_video",
    "mesh",
    "pr_curve",
    "pr_curve_raw",
    "scalar",
    "tensor_proto",
    "text",
    "video",
]


def _metadata(plugin: str, content: bytes = b"") -> SummaryMetadata:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=content))


def scalar(name: str, tensor: Any, collections: Any = None, new_style: bool = False,
           double_precision: bool = False) -> Summary:  # fmt: skip
    """A number.

    Args:
        name: its name.
        tensor: the number, or a tensor of one element.
        collections: not used.
        new_style: whether it is stored as a tensor, which loads faster.
        double_precision: whether it then keeps double precision.

    Raises:
        AssertionError: there are several elements.

    Example:
        >>> scalar("loss", 0.5).value[0].simple_value
        0.5
    """
    values = make_np(tensor)
    if values.size != 1:
        raise AssertionError(f"{name}: a scalar has one element, got the shape {values.shape}")
    value = float(values.reshape(-1)[0])
    if not new_style:
        return Summary(value=[Summary.Value(tag=name, simple_value=value)])
    proto = TensorProto(double_val=[value], dtype="DT_DOUBLE") if double_precision else None
    proto = proto or TensorProto(float_val=[value], dtype="DT_FLOAT")
    return Summary(value=[Summary.Value(tag=name, tensor=proto, metadata=_metadata("scalars"))])


def histogram_raw(name: str, min: float, max: float, num: float, sum: float, sum_squares: float,
                  bucket_limits: list[float], bucket_counts: list[float]) -> Summary:  # fmt: skip
    """A distribution whose bins were counted already.

    Args:
        name: its name.
        min: the smallest value.
        max: the largest value.
        num: how many there are.
        sum: their sum.
        sum_squares: the sum of their squares.
        bucket_limits: the upper limit of each bin.
        bucket_counts: how many are in each.

    Raises:
        ValueError: there are not as many limits as counts.

    Example:
        >>> from tl_utils.tensorboard import summary
        >>> summary.histogram_raw("weights", 0.0, 1.0, 2, 1.0, 1.0, [0.5, 1.0], [1, 1]).value[0].histo.num
        2.0
    """
    if len(bucket_limits) != len(bucket_counts):
        raise ValueError(
            f"{name}: there must be a limit for each count, got {len(bucket_limits)} and {len(bucket_counts)}"
        )
    proto = HistogramProto(min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits,
                           bucket=bucket_counts)  # fmt: skip
    return Summary(value=[Summary.Value(tag=name, histo=proto)])


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Summary:
    """A distribution.

    Args:
        name: its name.
        values: the values of the histogram.
        bins: limits, a number of bins, or one of numpy's rules.
        max_bins: more bins than these are merged.

    Example:
        >>> from tl_utils.tensorboard import summary
        >>> import numpy
        >>> summary.histogram("weights", numpy.arange(4.0), bins="auto").value[0].histo.num
        4.0
    """
    return Summary(
        value=[Summary.Value(tag=name, histo=make_histogram(make_np(values).astype(float), bins, max_bins))]
    )


def make_histogram(values: numpy.ndarray[Any, Any], bins: Any, max_bins: int | None = None) -> HistogramProto:
    """Counts bins. Empty ones at both ends are left out, but for one below, whose limit is where the first one begins.

    Args:
        values: the values of the histogram.
        bins: limits, a number of bins, or one of numpy's rules.
        max_bins: more bins than these are merged.

    Raises:
        ValueError: the array is empty, or every value is outside the bins.

    Example:
        >>> made = make_histogram(numpy.array([1.0, 2.0, 2.5]), [0, 1, 2, 3, 4])
        >>> made.bucket_limit, made.bucket
        ([1.0, 2.0, 3.0], [0.0, 1.0, 2.0])
    """
    if not values.size:
        raise ValueError("histogram: there are no values")
    values = values.reshape(-1)
    counts, limits = numpy.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        width = len(counts) // max_bins
        starts = numpy.arange(0, len(counts), width)
        counts, limits = numpy.add.reduceat(counts, starts), numpy.append(limits[starts], limits[-1])
    filled = numpy.flatnonzero(counts)
    if not filled.size:
        raise ValueError("histogram: no value lies in any bin")
    first, last = int(filled[0]), int(filled[-1])
    return HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=limits[first : last + 2].tolist(),
        bucket=[0.0, *counts[first : last + 1].tolist()],
    )


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Summary:
    """A sound of one channel.

    Args:
        tag: its name.
        tensor: the samples, from -1 to 1: (L), or (1, L).
        sample_rate: samples a second.

    Raises:
        ValueError: its shape is another.

    Example:
        >>> import tl_core
        >>> from tl_utils.tensorboard import summary
        >>> summary.audio("tone", tl_core.zeros(1, 100)).value[0].tag
        'tone'
    """
    samples = make_np(tensor).squeeze()
    if samples.ndim != 1:
        raise ValueError(f"{tag}: sound has the shape (1, L), got {make_np(tensor).shape}")
    scaled = (samples.clip(-1, 1) * numpy.iinfo(numpy.int16).max).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes(scaled.tobytes())
    clip = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(samples),
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=clip)])


def text(tag: str, text: str) -> Summary:
    """A text in Markdown.

    Args:
        tag: its name.
        text: the text, in Markdown.

    Example:
        >>> from tl_utils.tensorboard import summary
        >>> summary.text("note", "hello").value[0].tag
        'note/text_summary'
    """
    metadata = _metadata("text", TextPluginData(version=0).SerializeToString())
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    tensor = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=shape)
    return Summary(value=[Summary.Value(tag=f"{tag}/text_summary", metadata=metadata, tensor=tensor)])
