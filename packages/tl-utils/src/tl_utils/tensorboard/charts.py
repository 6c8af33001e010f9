"""Summaries of TensorBoard's plug-ins: curves of precision and recall, meshes, layouts of charts, hyperparameters."""

from __future__ import annotations

import json
from typing import Any

import numpy
from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

import tl_core
from tl_utils.tensorboard._convert_np import make_np

__all__ = ["compute_curve", "custom_scalars", "hparams", "mesh", "pr_curve", "pr_curve_raw"]

_MOST_THRESHOLDS = 127  # 0.0, 1/126, ... 1.0
_TINY = 1e-10
_Array = numpy.ndarray[Any, Any]


def _metadata(plugin: str, content: bytes = b"") -> SummaryMetadata:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=content))


def _floats(values: _Array) -> TensorProto:
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in values.shape])
    return TensorProto(dtype="DT_FLOAT", float_val=values.reshape(-1).tolist(), tensor_shape=shape)


def compute_curve(labels: _Array, predictions: _Array, num_thresholds: int | None = None,
                  weights: Any = None) -> _Array:  # fmt: skip
    """Counts and rates at evenly spaced thresholds.

    Args:
        labels: which elements are positive.
        predictions: their probabilities, from 0 to 1.
        num_thresholds: the number of thresholds, by default 127.
        weights: the weights of the elements, by default 1.

    Returns:
        array of six rows: true positives, false positives, true negatives, false negatives, precision, recall.

    Raises:
        ValueError: shapes differ, or a probability is outside of 0 to 1.

    Example:
        >>> from tl_utils.tensorboard import summary
        >>> import numpy
        >>> summary.compute_curve(numpy.array([0, 1]), numpy.array([0.2, 0.9]), 3).shape
        (6, 3)
    """
    n = _MOST_THRESHOLDS if num_thresholds is None else num_thresholds
    if labels.shape != predictions.shape:
        raise ValueError(
            f"pr_curve: labels and predictions have the shapes {labels.shape} and {predictions.shape}"
        )
    if n < 2 or not ((predictions >= 0) & (predictions <= 1)).all():
        raise ValueError(
            "pr_curve: predictions must lie in 0 to 1, and there must be two thresholds at least"
        )
    weight = numpy.broadcast_to(1.0 if weights is None else make_np(weights), predictions.shape).reshape(-1)
    bins = numpy.floor(predictions.reshape(-1).astype(numpy.float64) * (n - 1)).astype(numpy.int64)
    positive = labels.reshape(-1).astype(numpy.float64)

    def at_least(share: _Array) -> _Array:
        counts: _Array = numpy.bincount(bins, weights=share * weight, minlength=n)
        return counts[::-1].cumsum()[::-1]

    tp, fp = at_least(positive), at_least(1.0 - positive)
    precision = tp / numpy.maximum(_TINY, tp + fp)
    recall = tp / max(_TINY, tp[0])
    return numpy.stack([tp, fp, fp[0] - fp, tp[0] - tp, precision, recall])


def pr_curve(
    tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None
) -> Summary:
    """A curve of precision and recall.

    Args:
        tag: its name.
        labels: which elements are positive.
        predictions: their probabilities.
        num_thresholds: the number of thresholds, 127 at most.
        weights: of the elements.

    Example:
        >>> from tl_utils.tensorboard import summary
        >>> import numpy
        >>> summary.pr_curve("curve", numpy.array([0, 1]), numpy.array([0.2, 0.9]), 3).value[0].tag
        'curve'
    """
    n = min(num_thresholds, _MOST_THRESHOLDS)
    data = compute_curve(make_np(labels), make_np(predictions), n, weights)
    return _curve(tag, data, n)


def pr_curve_raw(tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any, num_thresholds: int = 127,
                 weights: Any = None) -> Summary:  # fmt: skip
    """A curve of precision and recall, from counts at each threshold.

    Args:
        tag: its name.
        tp: true positives.
        fp: false positives.
        tn: true negatives.
        fn: false negatives.
        precision: the precision at each threshold.
        recall: the recall at each threshold.
        num_thresholds: the number of thresholds, 127 at most.
        weights: not used.

    Example:
        >>> from tl_utils.tensorboard import summary
        >>> import numpy
        >>> counts = [numpy.ones(3)] * 6
        >>> summary.pr_curve_raw("curve", *counts, num_thresholds=3).value[0].tag
        'curve'
    """
    rows = [numpy.asarray(r, dtype=numpy.float64) for r in (tp, fp, tn, fn, precision, recall)]
    return _curve(tag, numpy.stack(rows), min(num_thresholds, _MOST_THRESHOLDS))


def _curve(tag: str, data: _Array, n: int) -> Summary:
    content = PrCurvePluginData(version=0, num_thresholds=n).SerializeToString()
    metadata = _metadata("pr_curves", content)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=_floats(data))])


def mesh(tag: str, vertices: Any, colors: Any, faces: Any, config_dict: dict[str, Any] | None, display_name: str = "",
         description: str | None = None) -> Summary:  # fmt: skip
    """A mesh, or a cloud of points.

    Args:
        tag: its name.
        vertices: coordinates: (B, N, 3).
        colors: of each vertex: (B, N, 3), or None.
        faces: numbers of the vertices of each triangle: (B, M, 3), or None.
        config_dict: settings of the view, for three.js.
        display_name: the name that TensorBoard shows.
        description: the text that TensorBoard shows with it.

    Raises:
        ValueError: a shape is another.

    Example:
        >>> from tl_utils.tensorboard import summary
        >>> import numpy
        >>> summary.mesh("cloud", numpy.zeros((1, 4, 3)), None, None, None).value[0].tag
        'cloud_VERTEX'
    """
    kinds = (MeshPluginData.VERTEX, vertices), (MeshPluginData.FACE, faces), (MeshPluginData.COLOR, colors)
    parts = [(kind, make_np(values)) for kind, values in kinds if values is not None]
    for _, values in parts:
        if values.ndim != 3 or values.shape[2] != 3:
            raise ValueError(
                f"{tag}: vertices, colors and faces have the shape (B, N, 3), got {values.shape}"
            )
    components = mesh_metadata.get_components_bitmask([kind for kind, _ in parts])
    config, entries = json.dumps(config_dict or {}, sort_keys=True), []
    for kind, values in parts:
        metadata = mesh_metadata.create_summary_metadata(
            tag, display_name, kind, components, values.shape, description, json_config=config
        )
        name = mesh_metadata.get_instance_name(tag, kind)
        entries.append(
            Summary.Value(tag=name, tensor=_floats(values.astype(numpy.float64)), metadata=metadata)
        )
    return Summary(value=entries)


def _chart(title: str, kind: str, tags: list[str]) -> layout_pb2.Chart:
    if kind == "Margin":
        if len(tags) != 3:
            raise ValueError(
                f"custom_scalars: the chart {title!r} is a Margin and needs three tags, got {tags}"
            )
        series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
        return layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series]))
    if kind != "Multiline":
        raise ValueError(f"custom_scalars: the chart {title!r} must be a Multiline or Margin, got {kind!r}")
    return layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))


def custom_scalars(layout: dict[str, dict[str, list[Any]]]) -> Summary:
    """Charts made of several scalars.

    Args:
        layout: by category, by title: `["Multiline", tags]` or `["Margin", [value, lower, upper]]`.

    Raises:
        ValueError: a chart is something else.

    Example:
        >>> from tl_utils.tensorboard import summary
        >>> summary.custom_scalars({"loss": {"both": ["Multiline", ["train", "test"]]}}).value[0].tag
        'custom_scalars__config__'
    """
    categories = [
        layout_pb2.Category(title=name, chart=[_chart(title, *chart) for title, chart in charts.items()])
        for name, charts in layout.items()
    ]
    text = layout_pb2.Layout(category=categories).SerializeToString()
    tensor = TensorProto(dtype="DT_STRING", string_val=[text], tensor_shape=TensorShapeProto())
    value = Summary.Value(tag="custom_scalars__config__", tensor=tensor, metadata=_metadata("custom_scalars"))
    return Summary(value=[value])


_Types = api_pb2.DataType


def _hparam(name: str, value: Any) -> tuple[Any, Any]:
    """A hyperparameter's value as a protocol buffer, and its type."""
    if isinstance(value, tl_core.Tensor):
        value = value.item()
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value), _Types.Value("DATA_TYPE_BOOL")
    if isinstance(value, (int, float)):
        return struct_pb2.Value(number_value=value), _Types.Value("DATA_TYPE_FLOAT64")
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value), _Types.Value("DATA_TYPE_STRING")
    if value is None:
        return struct_pb2.Value(string_value="None"), _Types.Value("DATA_TYPE_STRING")
    raise ValueError(
        f"hparams: {name!r} must be a bool, int, float, str, None or tensor of one element, got {type(value).__name__}"
    )


def _domain(name: str, kind: Any, allowed: list[Any] | None) -> Any:
    info = api_pb2.HParamInfo(name=name, type=kind)
    if allowed is not None:
        if any(_hparam(name, value)[1] != kind for value in allowed):
            raise TypeError(f"hparams: the values that {name!r} may take must have its type, got {allowed}")
        info.domain_discrete.extend(allowed)
    return info


def hparams(hparam_dict: dict[str, Any], metric_dict: dict[str, Any],
            hparam_domain_discrete: dict[str, list[Any]] | None = None
            ) -> tuple[Summary, Summary, Summary]:  # fmt: skip
    """Hyperparameters and their results.

    Args:
        hparam_dict: hyperparameters by name.
        metric_dict: results by name.
        hparam_domain_discrete: the values that hyperparameters may take, by name.

    Returns:
        three summaries: the experiment, the session's beginning, its end.

    Raises:
        TypeError: an argument is no dictionary, or values that may be taken have another type.
        ValueError: a value has a type that isn't shown, or a name in `hparam_domain_discrete` is unknown.

    Example:
        >>> from tl_utils.tensorboard import summary
        >>> len(summary.hparams({"lr": 0.1}, {"accuracy": 0.75}))
        3
    """
    for argument, name in ((hparam_dict, "hparam_dict"), (metric_dict, "metric_dict")):
        if not isinstance(argument, dict):
            raise TypeError(f"hparams: {name} must be a dict, got {type(argument).__name__}")
    domains = hparam_domain_discrete or {}
    if unknown := sorted({*domains} - {*hparam_dict}):
        raise ValueError(f"hparams: hparam_domain_discrete names {unknown}, which hparam_dict has not")
    values = {name: _hparam(name, value) for name, value in hparam_dict.items()}
    infos = [_domain(name, kind, domains.get(name)) for name, (_, kind) in values.items()]
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metric_dict]
    start = plugin_data_pb2.SessionStartInfo()
    for name, (value, _) in values.items():
        start.hparams[name].CopyFrom(value)
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    contents = (
        (
            hparams_metadata.EXPERIMENT_TAG,
            {"experiment": api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)},
        ),
        (hparams_metadata.SESSION_START_INFO_TAG, {"session_start_info": start}),
        (hparams_metadata.SESSION_END_INFO_TAG, {"session_end_info": end}),
    )
    summaries = []
    for tag, content in contents:
        data = plugin_data_pb2.HParamsPluginData(version=hparams_metadata.PLUGIN_DATA_VERSION, **content)
        metadata = _metadata(hparams_metadata.PLUGIN_NAME, data.SerializeToString())
        summaries.append(Summary(value=[Summary.Value(tag=tag, metadata=metadata)]))
    return summaries[0], summaries[1], summaries[2]
