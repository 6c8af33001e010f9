"""Tables and plots of reports."""

from __future__ import annotations

from collections import OrderedDict
from importlib import import_module
from typing import Any

from tl_core import Tensor

__all__ = ["ModelReportVisualizer"]

_MISSING = "Not Applicable"


class ModelReportVisualizer:
    """Tables and plots of the numbers of reports: those of tensors, and those of channels.

    Filters are parts of the names of numbers and layers. The empty text selects all.

    Args:
        generated_reports (OrderedDict): The numbers by the name of the layer.

    Example:
        >>> from collections import OrderedDict
        >>> import tl_core
        >>> facts = OrderedDict(a={"largest": tl_core.tensor([1.0, 2.0])}, b={"largest": tl_core.tensor([3.0, 4.0])})
        >>> ModelReportVisualizer(facts).generate_table_visualization()
        Channel Level Information
          idx  layer_fqn      channel    largest
        -----  -----------  ---------  ---------
            0  a                    0          1
            1  a                    1          2
            2  b                    0          3
            3  b                    1          4
    """

    TABLE_TENSOR_KEY = "tensor_level_info"
    TABLE_CHANNEL_KEY = "channel_level_info"
    NUM_NON_FEATURE_TENSOR_HEADERS = 2
    NUM_NON_FEATURE_CHANNEL_HEADERS = 3
    CHANNEL_NUM_INDEX = 2

    def __init__(self, generated_reports: OrderedDict[str, Any]) -> None:
        self.generated_reports = generated_reports

    def get_all_unique_module_fqns(self) -> set[str]:
        """The names of the layers."""
        return set(self.generated_reports)

    def get_all_unique_feature_names(self, plottable_features_only: bool = True) -> set[str]:
        """The names of the numbers.

        Args:
            plottable_features_only: whether only tensors count.
        """
        return {
            key
            for facts in self.generated_reports.values()
            for key, value in facts.items()
            if isinstance(value, Tensor) or not plottable_features_only
        }

    def _get_filtered_data(self, feature_filter: str, module_fqn_filter: str) -> OrderedDict[str, Any]:
        return OrderedDict(
            (name, {key: value for key, value in facts.items() if feature_filter in key})
            for name, facts in self.generated_reports.items()
            if module_fqn_filter in name
        )

    def generate_filtered_tables(
        self, feature_filter: str = "", module_fqn_filter: str = ""
    ) -> dict[str, tuple[list[str], list[list[Any]]]]:
        """The table of tensors and that of channels, each as its head and its rows.

        Args:
            feature_filter: a part of the names of numbers.
            module_fqn_filter: a part of the names of layers.
        """
        data = self._get_filtered_data(feature_filter, module_fqn_filter)
        by_channel = {key: len(v) for facts in data.values() for key, v in facts.items() if _has_channels(v)}
        names = sorted({key for facts in data.values() for key in facts} - by_channel.keys())
        rows = (
            [[i, name, *(_cell(data[name], key) for key in names)] for i, name in enumerate(data)]
            if names
            else []
        )
        channels = sorted(by_channel)
        positions = [(name, c) for name in data for c in range(_channels(data[name]))] if channels else []
        wide = [
            [i, name, c, *(_cell(data[name], key, c) for key in channels)]
            for i, (name, c) in enumerate(positions)
        ]
        return {
            self.TABLE_TENSOR_KEY: (["idx", "layer_fqn", *names] if rows else [], rows),
            self.TABLE_CHANNEL_KEY: (["idx", "layer_fqn", "channel", *channels] if wide else [], wide),
        }

    def generate_table_visualization(self, feature_filter: str = "", module_fqn_filter: str = "") -> None:
        """Prints the tables.

        Args:
            feature_filter: a part of the names of numbers.
            module_fqn_filter: a part of the names of layers.
        """
        tables = self.generate_filtered_tables(feature_filter, module_fqn_filter)
        titles = {self.TABLE_TENSOR_KEY: "Tensor", self.TABLE_CHANNEL_KEY: "Channel"}
        texts = [
            f"{title} Level Information\n{_table(*tables[key])}"
            for key, title in titles.items()
            if tables[key][1]
        ]
        print("\n\n".join(texts) or "No data points to generate table with.")

    def _get_plottable_data(
        self, feature_filter: str, module_fqn_filter: str
    ) -> tuple[list[int], list[Any], bool]:
        """The numbers of the layers, their values, for channels a list each, and whether they are of channels."""
        tables = self.generate_filtered_tables(feature_filter, module_fqn_filter)
        head, rows = tables[self.TABLE_TENSOR_KEY]
        wide_head, wide = tables[self.TABLE_CHANNEL_KEY]
        if len(wide_head) - self.NUM_NON_FEATURE_CHANNEL_HEADERS == 1:
            layers = {name: i for i, name in enumerate(dict.fromkeys(row[1] for row in wide))}
            numbers = [row for row in wide if not isinstance(row[-1], str)]
            values: list[Any] = [[] for _ in range(max(row[self.CHANNEL_NUM_INDEX] for row in wide) + 1)]
            for row in numbers:
                values[row[self.CHANNEL_NUM_INDEX]].append(row[-1])
            return list(dict.fromkeys(layers[row[1]] for row in numbers)), values, True
        if len(head) - self.NUM_NON_FEATURE_TENSOR_HEADERS == 1:
            numbers = [row for row in rows if not isinstance(row[-1], str)]
            return [row[0] for row in numbers], [row[-1] for row in numbers], False
        raise ValueError(
            f"feature_filter must select one number, but got {feature_filter!r}; get_all_unique_feature_names lists all"
        )

    def generate_plot_visualization(self, feature_filter: str, module_fqn_filter: str = "") -> None:
        """Shows a number by layer, for channels their mean. Needs matplotlib.

        Args:
            feature_filter: a part of the name that selects one number.
            module_fqn_filter: a part of the names of layers.

        Raises:
            ImportError: If matplotlib isn't installed.
            ValueError: If the filter selects no number or several.
        """
        x, y, is_by_channel = self._get_plottable_data(feature_filter, module_fqn_filter)
        pyplot = _pyplot()
        axes = pyplot.subplot()
        axes.set_ylabel(feature_filter)
        axes.set_title(f"{feature_filter} Plot")
        axes.set_xlabel("idx")
        pyplot.xticks(x)
        if is_by_channel:
            means = [
                sum(column) / len(column) for column in zip(*(c for c in y if len(c) == len(x)), strict=True)
            ]
            axes.plot(x, means, label=f"mean of {len(y)} channels")
            axes.legend(loc="upper right")
        else:
            axes.plot(x, y)
        pyplot.show()

    def generate_histogram_visualization(
        self, feature_filter: str, module_fqn_filter: str = "", num_bins: int = 10
    ) -> None:
        """Shows how often a number has which value. Needs matplotlib.

        Args:
            feature_filter: a part of the name that selects one number.
            module_fqn_filter: a part of the names of layers.
            num_bins: the number of bars.

        Raises:
            ImportError: If matplotlib isn't installed.
            ValueError: If the filter selects no number or several.
        """
        _, y, is_by_channel = self._get_plottable_data(feature_filter, module_fqn_filter)
        pyplot = _pyplot()
        axes = pyplot.subplot()
        axes.set_xlabel(feature_filter)
        axes.set_ylabel("Frequency")
        axes.set_title(f"{feature_filter} Histogram")
        values = [value for channel in y for value in channel] if is_by_channel else y
        pyplot.xticks(pyplot.hist(values, bins=num_bins, rwidth=0.8)[1])
        pyplot.show()


def _has_channels(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, Tensor) and value.dim() > 0)


def _channels(facts: dict[str, Any]) -> int:
    """The number of channels of a layer."""
    return max((len(value) for value in facts.values() if _has_channels(value)), default=1)


def _cell(facts: dict[str, Any], key: str, channel: int | None = None) -> Any:
    """A number of a layer or of a channel."""
    value = facts.get(key, _MISSING)
    if channel is not None and _has_channels(value):
        value = value[channel] if channel < len(value) else _MISSING
    return value.item() if isinstance(value, Tensor) else value


def _table(head: list[str], rows: list[list[Any]]) -> str:
    """A table in aligned columns: numbers at the right, texts at the left."""
    columns = []
    for i, name in enumerate(head):
        cells = [row[i] for row in rows]
        is_text = any(isinstance(cell, (str, bool)) for cell in cells)
        texts = [str(cell) if isinstance(cell, (str, bool, int)) else f"{cell:g}" for cell in cells]
        width = max(len(text) for text in (*texts, name + " " * 2))
        align = "<" if is_text else ">"
        columns.append([f"{text:{align}{width}}" for text in (name, "-" * width, *texts)])
    return "\n".join("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))


def _pyplot() -> Any:
    try:
        return import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError("plots of reports need matplotlib: python -m pip install matplotlib") from error
