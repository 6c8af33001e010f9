"""Reports on models: numbers of observers from their definitions, advice from numbers."""

import sys

import numpy as np
import pytest

import tl_core
import tl_nn as nn
import tl_quantization as tq
from tl_quantization.graph.model_report.detector import (
    DetectorBase,
    DetectorQConfigInfo,
    DynamicStaticDetector,
    InputWeightEqualizationDetector,
    OutlierDetector,
    PerChannelDetector,
)
from tl_quantization.graph.model_report.model_report import ModelReport
from tl_quantization.graph.model_report.model_report_observer import ModelReportObserver
from tl_quantization.graph.model_report.model_report_visualizer import ModelReportVisualizer
from tl_quantization.quantize_fx import convert_fx, prepare_fx, prepare_qat_fx

RANDOM = np.random.RandomState(0)


def numbers(*shape):
    return RANDOM.randn(*shape).astype("float32")


def prepared(model, x, qconfig=tq.default_qconfig):
    return prepare_fx(model.eval(), tq.QConfigMapping().set_global(qconfig), (x,))


def report_on(model, x, detectors, batches):
    report = ModelReport(prepared(model, x), detectors)
    graph = report.prepare_detailed_calibration()
    for batch in batches:
        graph(batch)
    return report, graph


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_observer(axis):
    batches = [numbers(40, 3, 7) + 1, numbers(40, 3, 7), np.zeros((40, 3, 7), "float32")]
    batches[1][:, 1] = 2
    observer = ModelReportObserver(ch_axis=axis, comp_percentile=0.8)
    for x in batches:
        assert observer(tl_core.from_numpy(x)).shape == x.shape
    epoch = np.stack(batches)
    ranges = [np.ptp(x) for x in batches]
    np.testing.assert_allclose(float(observer.average_batch_activation_range), np.mean(ranges), rtol=1e-6)
    np.testing.assert_allclose(
        float(observer.get_batch_to_epoch_ratio()), np.mean(ranges) / np.ptp(epoch), rtol=1e-6
    )
    rows = np.moveaxis(epoch, axis + 1, 0).reshape(epoch.shape[axis + 1], -1)
    assert (
        observer.min_val.tolist() == rows.min(1).tolist()
        and observer.max_val.tolist() == rows.max(1).tolist()
    )
    ratios, constant = [], []
    for x in batches[:2]:
        rows = np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
        ratios.append(rows.max(1) / np.quantile(rows, 0.8, axis=1, method="lower"))
        constant.append(np.ptp(rows, axis=1) == 0)
    np.testing.assert_allclose(observer.average_percentile_ratio.numpy(), np.mean(ratios, 0), rtol=1e-5)
    assert observer.percentile_batches_tracked.tolist() == [2] * epoch.shape[axis + 1]  # zeros don't count
    assert observer.constant_channels.tolist() == (np.sum(constant, 0) + 1).tolist()
    observer.reset_batch_and_epoch_values()
    assert observer.num_batches_tracked == observer.min_val.numel() == 0
    with pytest.raises(ValueError, match="infinite number or no data"):
        observer.get_batch_to_epoch_ratio()
    observer(tl_core.ones(2, 2, 2))
    with pytest.raises(ValueError, match="one number only"):
        observer.get_batch_to_epoch_ratio()
    with pytest.raises(NotImplementedError, match="only serves reports"):
        observer.calculate_qparams()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.relu = nn.Conv2d(2, 3, 1), nn.ReLU()
        self.inner = nn.Sequential(nn.Linear(4, 5), nn.MaxPool2d(1))

    def forward(self, x):
        return self.inner(self.relu(self.conv(x)))


def test_channels_of_weights():
    x = tl_core.from_numpy(numbers(1, 2, 4, 4))
    for qconfig, is_used in ((tq.default_qconfig, False), (tq.default_per_channel_qconfig, True)):
        text, facts = PerChannelDetector("x86").generate_detector_report(prepared(Net(), x, qconfig))
        assert sorted(facts) == ["conv.0", "inner.0"]
        assert {entry["per_channel_quantization_used"] for entry in facts.values()} == {is_used}
        assert facts["conv.0"]["backend"] == "x86" and facts["conv.0"]["per_channel_quantization_supported"]
        assert text.startswith("Further Optimizations for backend x86: ")
        assert ("inner.0 can have a scale for each channel" in text) is not is_used
        advice = (
            "No further per_channel optimizations possible." if is_used else "observer is one of channels."
        )
        assert text.endswith(advice)
    model = prepare_qat_fx(Net().train(), tq.get_default_qat_qconfig_mapping("x86"), (x,))
    facts = PerChannelDetector().generate_detector_report(model)[1]
    assert facts["inner.0"]["per_channel_quantization_used"]
    with pytest.raises(
        ValueError, match="backend must be one of fbgemm, onednn, qnnpack, x86, but got 'tpu'"
    ):
        PerChannelDetector("tpu")
    with pytest.raises(AssertionError, match="qconfig of 0 must be a QConfig, but got NoneType"):
        PerChannelDetector().generate_detector_report(prepared(nn.Sequential(nn.Linear(1, 1)), x, None))


def test_dynamic_and_static():
    x = tl_core.from_numpy(numbers(8, 4))
    batches = [x * 0.01, x * 0.02, x * 8]
    for data, kind in ((batches, "dynamic"), ([x, x.flip(0)], "static")):
        model = nn.Sequential(nn.Linear(4, 4, bias=False))
        report, _ = report_on(model, x, {DynamicStaticDetector()}, data)
        text, facts = report.generate_model_report(False)["dynamic_vs_static_detector"]
        assert f"0: {kind} quantization is" in text
        expected = np.mean([np.ptp(b.numpy()) for b in data]) / np.ptp(np.stack([b.numpy() for b in data]))
        np.testing.assert_allclose(
            float(facts["0"]["input_activation_dynamic_static_comp_stat"]), expected, rtol=1e-5
        )
        is_dynamic = report.generate_qconfig_mapping().module_name_qconfigs["0"].activation().is_dynamic
        assert is_dynamic is (kind == "dynamic")
    assert (
        "neither linear layers nor"
        in DynamicStaticDetector().generate_detector_report(prepared(nn.Sequential(nn.ReLU()), x))[0]
    )
    model = nn.Sequential(nn.Conv1d(4, 4, 1, bias=False))
    report, _ = report_on(model, x[..., None], [DynamicStaticDetector(0.6)], [b[..., None] for b in batches])
    assert (
        "No layer of its kind quantizes at each call."
        in report.generate_model_report(True)["dynamic_vs_static_detector"][0]
    )


def test_equalization():
    x = tl_core.from_numpy(numbers(50, 3)) * tl_core.tensor([1.0, 100.0, 1.0])
    layer = nn.Linear(3, 4, bias=False)
    report, _ = report_on(nn.Sequential(layer), x, {InputWeightEqualizationDetector(0.5)}, [x])
    text, facts = report.generate_model_report(False)["input_weight_equalization_detector"]
    w, v = layer.weight.detach().numpy(), x.numpy()
    expected = np.sqrt(np.ptp(w, 0) / np.ptp(w)) / np.sqrt(np.ptp(v, 0) / np.ptp(v))
    entry = facts["0"]
    np.testing.assert_allclose(entry["input_weight_channel_comparison_metrics"].numpy(), expected, rtol=1e-5)
    assert entry["input_weight_equalization_recommended"] == [bool(0.5 <= e <= 2) for e in expected]
    assert "1 of 3 channels gain, so leave" in text and len(entry) == 12
    mapping = report.generate_equalization_mapping()
    graph = prepare_fx(
        nn.Sequential(layer).eval(), report.generate_qconfig_mapping(), (x,), _equalization_config=mapping
    )
    graph(x)
    assert (convert_fx(graph)(x) - layer(x)).abs().max() < 0.05 * layer(x).abs().max()
    with pytest.raises(ValueError, match="ratio_threshold must be between 0 and 1, but got 1"):
        InputWeightEqualizationDetector(1)
    report, _ = report_on(nn.Sequential(nn.Linear(3, 1)), x, {InputWeightEqualizationDetector(0.5)}, [])
    with pytest.raises(ValueError, match="the observer before 0 has seen no data"):
        report.generate_model_report(False)
    report, _ = report_on(nn.Sequential(nn.Linear(3, 1)), x, {InputWeightEqualizationDetector(0.5)}, [x * 0])
    with pytest.raises(ValueError, match="the input of 0 is one number only"):
        report.generate_model_report(False)


def test_groups():
    x = tl_core.from_numpy(numbers(2, 4, 3, 3))
    report, _ = report_on(
        nn.Sequential(nn.Conv2d(4, 4, 1, groups=2)), x, {InputWeightEqualizationDetector(0.5)}, [x]
    )
    facts = report.generate_model_report(False)["input_weight_equalization_detector"][1]["0"]
    assert len(facts["input_weight_channel_comparison_metrics"]) == 4


def test_outliers():
    x = numbers(200, 3)
    x[7, 1], x[:, 2] = 500, 3
    x = tl_core.from_numpy(x)
    report, graph = report_on(
        nn.Sequential(nn.Linear(3, 2)), x, {OutlierDetector(reference_percentile=0.95)}, [x, x]
    )
    text, facts = report.generate_model_report(False)["outlier_detector"]
    entry = facts["0"]
    assert entry["outliers_detected"] == [False, True, False] and entry["constant_batch_counts"].tolist() == [
        0,
        0,
        2,
    ]
    assert entry["outlier_detection_is_sufficient_batches"] == [True] * 3 and len(entry) == 9
    assert (
        "Channel 1 of its input has outliers up to 500.0" in text and "one number only in 2 batches" in text
    )
    before = graph.get_submodule("0.model_report_pre_observer").average_percentile_ratio.clone()
    report.generate_model_report(False)
    after = graph.get_submodule("0.model_report_pre_observer").average_percentile_ratio
    assert tl_core.equal(before, after)
    report, _ = report_on(
        nn.Sequential(nn.Linear(3, 2)), x, [OutlierDetector()], [x[:5, :2].repeat(1, 2)[:, :3]]
    )
    assert "No input has outliers" in report.generate_model_report(True)["outlier_detector"][0]
    for name in ("reference_percentile", "fraction_batches_used_threshold"):
        with pytest.raises(AssertionError, match=f"{name} must be between 0 and 1, but got 2"):
            OutlierDetector(**{name: 2})


def test_life_of_a_report():
    x = tl_core.from_numpy(numbers(4, 2, 4, 4))
    detectors = {OutlierDetector(), DynamicStaticDetector(), PerChannelDetector("x86")}
    plain = prepared(Net(), x)
    nodes, modules = len(plain.graph.nodes), len(list(plain.modules()))
    report = ModelReport(plain, detectors)
    assert report.get_desired_reports_names() == {
        "outlier_detector",
        "dynamic_vs_static_detector",
        "per_channel_detector",
    }
    for call in (lambda: report.generate_model_report(False), report.generate_qconfig_mapping):
        with pytest.raises(RuntimeError, match="call prepare_detailed_calibration"):
            call()
    graph = report.prepare_detailed_calibration()
    assert graph is plain and len(graph.graph.nodes) > nodes
    names = report.get_observers_of_interest()
    assert names["per_channel_detector"] == set()
    assert "inner.0.model_report_post_observer" in names["dynamic_vs_static_detector"]
    with pytest.raises(ValueError, match="already"):
        report.prepare_detailed_calibration()
    graph(x)
    with pytest.raises(RuntimeError, match="call generate_model_report before"):
        report.generate_visualizer()
    report.generate_model_report(remove_inserted_observers=True)
    assert len(graph.graph.nodes) == nodes and len(list(graph.modules())) == modules
    graph(x)
    with pytest.raises(RuntimeError, match="are removed"):
        report.generate_model_report(False)
    assert list(report.generate_visualizer().generated_reports) == ["conv.0", "conv.1", "inner.0", "inner.1"]
    with pytest.raises(ValueError, match="at least one detector"):
        ModelReport(plain, set())


def test_a_detector_of_ones_own():
    class Other(DetectorBase):
        def get_detector_name(self):
            return "other"

        def determine_observer_insert_points(self, model):
            return {}

        def get_qconfig_info(self, model):
            return {"0": DetectorQConfigInfo("0")}

        def generate_detector_report(self, model):
            return "", {"0": {"backend": "y"}}

    x = tl_core.ones(1, 2)
    report, _ = report_on(nn.Sequential(nn.Linear(2, 2)), x, [Other(), PerChannelDetector("x86")], [x])
    report.generate_model_report(False)
    with pytest.raises(ValueError, match="other values for backend of 0"):
        report.generate_visualizer()
    assert (
        report.generate_qconfig_mapping().module_name_qconfigs["0"].weight
        is tq.default_per_channel_weight_observer
    )
    with pytest.raises(ValueError, match=r"the graph calls neither a\.b nor"):
        Other()._get_targeting_node(prepared(nn.Sequential(nn.Linear(2, 2)), x), "a.b")


def test_transposed_convolutions():
    info = DetectorQConfigInfo("0")
    info.is_weight_per_channel = True
    assert (
        info.generate_quantization_qconfig(nn.ConvTranspose2d(1, 1, 1)).weight is tq.default_weight_observer
    )


FACTS = {
    "a": {
        "wide": tl_core.tensor([1.0, 2.0]),
        "one": tl_core.tensor(3.5),
        "kind": "x",
        "flags": [True, False],
    },
    "b.c": {"wide": tl_core.tensor([5.0, 6.0]), "one": tl_core.tensor(4.5)},
}


def test_tables(capsys):
    visualizer = ModelReportVisualizer(FACTS)
    assert visualizer.get_all_unique_module_fqns() == {"a", "b.c"}
    assert visualizer.get_all_unique_feature_names() == {"wide", "one"}
    assert visualizer.get_all_unique_feature_names(False) == {"wide", "one", "kind", "flags"}
    tables = visualizer.generate_filtered_tables()
    assert tables["tensor_level_info"] == (
        ["idx", "layer_fqn", "kind", "one"], [[0, "a", "x", 3.5], [1, "b.c", "Not Applicable", 4.5]],
    )  # fmt: skip
    assert tables["channel_level_info"] == (
        ["idx", "layer_fqn", "channel", "flags", "wide"],
        [
            *([0, "a", 0, True, 1], [1, "a", 1, False, 2]),
            *([2, "b.c", 0, "Not Applicable", 5], [3, "b.c", 1, "Not Applicable", 6]),
        ],
    )  # fmt: skip
    assert visualizer.generate_filtered_tables("none")["tensor_level_info"] == ([], [])
    visualizer.generate_table_visualization("one")
    assert capsys.readouterr().out.splitlines() == [
        *("Tensor Level Information", "  idx  layer_fqn      one", "-----  -----------  -----"),
        *("    0  a              3.5", "    1  b.c            4.5"),
    ]
    visualizer.generate_table_visualization("none")
    assert capsys.readouterr().out == "No data points to generate table with.\n"


class Plots:
    """A stand-in for `matplotlib.pyplot` and its axes, which records the calls."""

    def __init__(self):
        self.calls = []

    def subplot(self):
        return self

    def __getattr__(self, name):
        return lambda *args, **kwargs: self.calls.append((name, args, kwargs))


@pytest.mark.parametrize(
    ("feature", "x", "y", "options"),
    [("one", [0, 1], [3.5, 4.5], {}), ("wide", [0, 1], [1.5, 5.5], {"label": "mean of 2 channels"})],
)
def test_a_plot_shows_a_number_by_layer(monkeypatch, feature, x, y, options):
    plots = Plots()
    monkeypatch.setitem(sys.modules, "matplotlib", plots)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", plots)
    ModelReportVisualizer(FACTS).generate_plot_visualization(feature)
    assert ("plot", (x, y), options) in plots.calls and plots.calls[-1] == ("show", (), {})
    assert ("set_title", (f"{feature} Plot",), {}) in plots.calls and ("xticks", (x,), {}) in plots.calls
    assert any(name == "legend" for name, *_ in plots.calls) is bool(options)


def test_plots(monkeypatch):
    visualizer = ModelReportVisualizer(FACTS)
    assert visualizer._get_plottable_data("wide", "") == ([0, 1], [[1, 5], [2, 6]], True)
    assert visualizer._get_plottable_data("one", "b") == ([0], [4.5], False)
    with pytest.raises(ValueError, match="must select one number, but got ''"):
        visualizer.generate_plot_visualization("")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for show in (visualizer.generate_plot_visualization, visualizer.generate_histogram_visualization):
        with pytest.raises(ImportError, match="need matplotlib"):
            show("wide")
