"""A report on a model: observers for detectors, their reports, and the configurations that they advise."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from tl_compiler.fx import GraphModule, Node
from tl_core import Tensor

from ...qconfig_mapping import QConfigMapping
from .detector_base import (
    DETECTOR_IS_POST_OBS_KEY,
    DETECTOR_OBS_ARGS_KEY,
    DETECTOR_OBS_TO_INSERT_KEY,
    DETECTOR_TARGET_NODE_KEY,
    DetectorBase,
    DetectorQConfigInfo,
)
from .model_report_visualizer import ModelReportVisualizer

__all__ = ["ModelReport"]


class ModelReport:
    """Reports on a prepared model: what its data say about its configuration.

    Call `prepare_detailed_calibration`, run the model on data, then call `generate_model_report`. The configurations
    need the observers, so generate them before observers are removed.

    Args:
        model (GraphModule): From `prepare_fx`. The observers of the report become parts of it.
        desired_report_detectors (set): The detectors.

    Raises:
        ValueError: Without a detector.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> from tl_quantization.graph.model_report.detector import PerChannelDetector
        >>> from tl_quantization.quantize_fx import prepare_fx
        >>> x, mapping = tl_core.ones(1, 2), tq.QConfigMapping().set_global(tq.default_qconfig)
        >>> model = prepare_fx(tl_nn.Sequential(tl_nn.Linear(2, 2)).eval(), mapping, (x,))
        >>> report = ModelReport(model, {PerChannelDetector("x86")})
        >>> _ = report.prepare_detailed_calibration()(x)
        >>> text, _ = report.generate_model_report(remove_inserted_observers=False)["per_channel_detector"]
        >>> print(text.splitlines()[1])
        The weight of 0 can have a scale for each channel.
        >>> report.generate_qconfig_mapping().module_name_qconfigs["0"].weight is tq.default_per_channel_weight_observer
        True
    """

    def __init__(self, model: GraphModule, desired_report_detectors: Iterable[DetectorBase]) -> None:
        detectors = list(desired_report_detectors)
        if not detectors:
            raise ValueError("desired_report_detectors must have at least one detector")
        self._model = model
        self._detectors = detectors
        self._observers: dict[str, set[str]] = {detector.get_detector_name(): set() for detector in detectors}
        self._is_prepared = False
        self._has_removed_observers = False
        self._reports: dict[str, dict[str, Any]] = {}

    def get_desired_reports_names(self) -> set[str]:
        """The names of the detectors."""
        return set(self._observers)

    def get_observers_of_interest(self) -> dict[str, set[str]]:
        """The names of the inserted observers by detector."""
        return dict(self._observers)

    def prepare_detailed_calibration(self) -> GraphModule:
        """Inserts the observers of all detectors.

        Returns:
            The model itself.

        Raises:
            ValueError: In a second call.
        """
        if self._is_prepared:
            raise ValueError("the model has the observers of the report already: run it on data")
        insertions: dict[str, Any] = {}
        for detector in self._detectors:
            points = detector.determine_observer_insert_points(self._model)
            insertions.update(points)
            self._observers[detector.get_detector_name()] = set(points)
        for name, entry in insertions.items():
            node: Node = entry[DETECTOR_TARGET_NODE_KEY]
            position = node.next if entry[DETECTOR_IS_POST_OBS_KEY] else node
            with self._model.graph.inserting_before(position):
                self._model.add_submodule(name, entry[DETECTOR_OBS_TO_INSERT_KEY])
                self._model.graph.create_node("call_module", name, entry[DETECTOR_OBS_ARGS_KEY])
        self._model.recompile()
        self._is_prepared = True
        return self._model

    def _check_observers(self) -> None:
        if not self._is_prepared:
            raise RuntimeError("call prepare_detailed_calibration and run the model before the report")
        if self._has_removed_observers:
            raise RuntimeError("the observers of the report are removed, so nothing can be said of the model")

    def _remove_observers(self) -> None:
        names = set().union(*self._observers.values())
        for node in list(self._model.graph.nodes):
            if node.op == "call_module" and node.target in names:
                self._model.graph.erase_node(node)
        for name in names:
            self._model.delete_submodule(name)
        self._model.recompile()
        self._has_removed_observers = True

    def generate_model_report(self, remove_inserted_observers: bool) -> dict[str, tuple[str, dict[str, Any]]]:
        """The reports by detector: a text, and numbers by the name of the layer.

        Args:
            remove_inserted_observers: whether the model loses the observers of the report afterwards.

        Raises:
            RuntimeError: Before `prepare_detailed_calibration`, or if the observers are removed.
        """
        self._check_observers()
        result = {d.get_detector_name(): d.generate_detector_report(self._model) for d in self._detectors}
        if remove_inserted_observers:
            self._remove_observers()
        self._reports = {name: facts for name, (_, facts) in result.items()}
        return result

    def _facts_by_layer(self) -> OrderedDict[str, dict[str, Any]]:
        """The numbers of all reports by layer, in the order of the model."""
        joined: dict[str, dict[str, Any]] = {}
        for report in self._reports.values():
            for name, facts in report.items():
                present = joined.setdefault(name, {})
                for key in present.keys() & facts.keys():
                    if not _is_same(present[key], facts[key]):
                        raise ValueError(f"two detectors have other values for {key} of {name}")
                joined[name] = {**facts, **present}
        return OrderedDict((name, joined[name]) for name, _ in self._model.named_modules() if name in joined)

    def generate_visualizer(self) -> ModelReportVisualizer:
        """Tables and plots of the last reports.

        Raises:
            RuntimeError: Before `generate_model_report`.
            ValueError: If two detectors have other values for one entry of a layer.
        """
        if not self._reports:
            raise RuntimeError("call generate_model_report before generate_visualizer")
        return ModelReportVisualizer(self._facts_by_layer())

    def _mapping(self, make: Callable[[DetectorQConfigInfo, Any], Any]) -> QConfigMapping:
        """A table with a configuration for each layer that a detector speaks of."""
        self._check_observers()
        joined: dict[str, DetectorQConfigInfo] = {}
        for detector in self._detectors:
            for name, info in detector.get_qconfig_info(self._model).items():
                info_of_all = joined.setdefault(name, info)
                for key in ("is_activation_dynamic", "is_weight_per_channel", "is_equalization_recommended"):
                    setattr(info_of_all, key, getattr(info_of_all, key) or getattr(info, key))
        result = QConfigMapping()
        for name, module in self._model.named_modules():
            if name in joined:
                result.set_module_name(name, make(joined[name], module))
        return result

    def generate_qconfig_mapping(self) -> QConfigMapping:
        """The configurations of quantization that the detectors advise, for `prepare_fx`.

        Raises:
            RuntimeError: Before `prepare_detailed_calibration`, or if the observers are removed.
        """
        return self._mapping(lambda info, module: info.generate_quantization_qconfig(module))

    def generate_equalization_mapping(self) -> QConfigMapping:
        """The configurations of equalization for the layers that the detectors speak of.

        Raises:
            RuntimeError: Before `prepare_detailed_calibration`, or if the observers are removed.
        """
        return self._mapping(lambda info, module: info.generate_equalization_qconfig())


def _is_same(a: Any, b: Any) -> bool:
    """Whether two entries are equal."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        is_pair = isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape
        return is_pair and bool((a == b).all())
    return bool(a == b)
