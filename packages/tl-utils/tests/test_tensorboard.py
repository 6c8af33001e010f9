"""Event files, read back by TensorBoard's own reader."""

from __future__ import annotations

import importlib
import io
import os
import sys
import wave

import pytest

import tl_core
import tl_nn

numpy = pytest.importorskip("numpy")
pytest.importorskip("tensorboard")
Image = pytest.importorskip("PIL.Image")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402
from tensorboard.compat.proto.graph_pb2 import GraphDef  # noqa: E402
from tensorboard.plugins.custom_scalar import layout_pb2  # noqa: E402
from tensorboard.plugins.hparams import plugin_data_pb2  # noqa: E402
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData  # noqa: E402
from tensorboard.util import tensor_util  # noqa: E402

from tl_utils.tensorboard import SummaryWriter, summary  # noqa: E402
from tl_utils.tensorboard._utils import _prepare_video, convert_to_HWC, make_grid  # noqa: E402

EVERYTHING = {"images": 0, "audio": 0, "scalars": 0, "histograms": 0, "tensors": 0}


def read(folder):
    result = EventAccumulator(str(folder), size_guidance=EVERYTHING)
    result.Reload()
    return result


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path / "run") as result:
        yield result


def test_scalars(writer, tmp_path):
    for step, value in enumerate([1.0, tl_core.tensor(0.5, requires_grad=True), numpy.float64(0.25)]):
        writer.add_scalar("loss/train", value, step, walltime=100.0 + step)
    writer.add_scalar("new", 1e-300, 7, new_style=True, double_precision=True)
    writer.close()
    events = read(tmp_path / "run")
    assert [(e.step, e.wall_time, e.value) for e in events.Scalars("loss/train")] == [
        (0, 100.0, 1.0),
        (1, 101.0, 0.5),
        (2, 102.0, 0.25),
    ]
    (event,) = events.Tensors("new")
    assert event.step == 7
    assert tensor_util.make_ndarray(event.tensor_proto) == 1e-300
    with pytest.raises(AssertionError, match="one element"):
        writer.add_scalar("x", tl_core.ones(2))


def test_several_scalars_in_a_chart(writer, tmp_path):
    for step in range(2):
        writer.add_scalars("a/b", {"x": step, "y": 2 * step}, step)
    writer.close()
    values = {
        name: [e.value for e in read(tmp_path / "run" / name).Scalars("a/b")] for name in ("a_b_x", "a_b_y")
    }
    assert values == {"a_b_x": [0.0, 1.0], "a_b_y": [0.0, 2.0]}


def test_a_run_that_goes_on_hides_later_steps(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step in range(5):
            writer.add_scalar("x", step, step)
    with SummaryWriter(tmp_path, purge_step=3) as writer:
        writer.add_scalar("x", 30, 3)
    assert [e.value for e in read(tmp_path).Scalars("x")] == [0, 1, 2, 30]


def test_histograms(writer, tmp_path):
    values = tl_core.tensor([1.0, 2.0, 2.5, 7.0])
    writer.add_histogram("edges", values, 3, bins=[0, 1, 2, 3, 8])
    writer.add_histogram("half", tl_core.rand(50, dtype=tl_core.bfloat16))
    writer.add_histogram("whole", tl_core.arange(100), bins="auto", max_bins=4)
    writer.add_histogram_raw("raw", 0, 1, 3, 1.5, 1.25, [0.5, 1.0], [1, 2])
    writer.close()
    events = read(tmp_path / "run")
    (event,) = events.Histograms("edges")
    result = event.histogram_value
    assert event.step == 3
    assert (result.min, result.max, result.num, result.sum, result.sum_squares) == (1, 7, 4, 12.5, 60.25)
    assert (result.bucket_limit, result.bucket) == ([1, 2, 3, 8], [0, 1, 2, 1])
    assert sum(events.Histograms("half")[0].histogram_value.bucket) == 50
    assert sum(events.Histograms("whole")[0].histogram_value.bucket) == 100
    assert len(events.Histograms("whole")[0].histogram_value.bucket) <= 8
    assert events.Histograms("raw")[0].histogram_value.bucket == [1, 2]
    for values, bins in ((tl_core.empty(0), "auto"), (tl_core.ones(2), [5, 6])):
        with pytest.raises(ValueError, match="no value"):
            writer.add_histogram("x", values, bins=bins)
    with pytest.raises(ValueError, match="a limit for each count"):
        writer.add_histogram_raw("x", 0, 1, 3, 1.5, 1.25, [0.5], [1, 2])
    with pytest.raises(NotImplementedError):
        writer.add_histogram("x", [1, 2])


def pixels(event):
    return numpy.asarray(Image.open(io.BytesIO(event.encoded_image_string)))


def test_images_keep_their_pixels(writer, tmp_path):
    image = numpy.arange(3 * 4 * 5, dtype=numpy.uint8).reshape(3, 4, 5)
    writer.add_image("chw", tl_core.from_numpy(image))
    writer.add_image("hwc", image.transpose(1, 2, 0), dataformats="HWC")
    writer.add_image("wh", image[0].T, dataformats="WH")
    writer.add_image("unit", image / 255)
    writer.add_images("batch", numpy.stack([image] * 10))
    writer.add_images("list", [image] * 2)
    writer.close()
    events = read(tmp_path / "run")
    expected = image.transpose(1, 2, 0)
    for name in ("chw", "hwc", "unit"):
        (event,) = events.Images(name)
        assert (event.height, event.width) == (4, 5)
        numpy.testing.assert_allclose(pixels(event), expected, atol=1 if name == "unit" else 0)
    numpy.testing.assert_array_equal(pixels(events.Images("wh")[0]), numpy.stack([image[0]] * 3, 2))
    assert pixels(events.Images("batch")[0]).shape == (8, 40, 3)
    numpy.testing.assert_array_equal(pixels(events.Images("list")[0]), numpy.concatenate([expected] * 2, 1))


@pytest.mark.parametrize(
    ("formats", "shape"), [("CHW", (3, 4)), ("HH", (3, 4)), ("CH", (3, 4)), ("NCHW", (2, 5, 3, 3))]
)
def test_wrong_formats(writer, formats, shape):
    with pytest.raises(ValueError, match=r"dataformats|make_grid"):
        writer.add_image("x", numpy.zeros(shape), dataformats=formats)


def test_boxes(writer, tmp_path):
    writer.add_image_with_boxes("b", numpy.zeros((3, 20, 20)), numpy.array([[2, 3, 12, 15]]), labels="l")
    writer.close()
    result = pixels(read(tmp_path / "run").Images("b")[0])
    assert result[10, 2].tolist() == result[3, 7].tolist() == [255, 0, 0]
    assert result[10, 7].tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="a label for each box"):
        writer.add_image_with_boxes("b", numpy.zeros((3, 20, 20)), numpy.zeros((2, 4)), labels="l")


def test_grids_and_videos():
    images = numpy.random.RandomState(0).rand(5, 1, 2, 3)
    grid = make_grid(images, ncols=2)
    assert grid.shape == (3, 6, 6)
    numpy.testing.assert_array_equal(grid[1, 2:4, 3:6], images[3, 0])
    assert convert_to_HWC(images, "NCHW").shape == (2, 15, 3)
    videos = numpy.random.RandomState(0).rand(5, 4, 3, 2, 2)
    frames = _prepare_video(videos)
    assert frames.shape == (4, 4, 8, 3)
    numpy.testing.assert_allclose(frames.sum((1, 2, 3)), videos.sum((0, 2, 3, 4)))


def test_videos_are_animated(writer, tmp_path):
    video = numpy.zeros((1, 3, 3, 8, 8), numpy.uint8)
    video[0, 1] = 255
    writer.add_video("v", tl_core.from_numpy(video), 2, fps=10)
    writer.close()
    (event,) = read(tmp_path / "run").Images("v")
    result = Image.open(io.BytesIO(event.encoded_image_string))
    assert (result.n_frames, result.info["duration"], event.step) == (3, 100, 2)
    levels = []
    for frame in range(3):
        result.seek(frame)
        levels.append(int(numpy.asarray(result.convert("RGB")).mean()))
    assert levels == [0, 255, 0]
    for wrong, fps in ((video[0], 4), (video, 0)):
        with pytest.raises(ValueError, match=r"\(N, T, 1 or 3, H, W\)|fps"):
            writer.add_video("v", wrong, fps=fps)


def test_figures(writer, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    figures = [pyplot.figure(figsize=(2, 1), dpi=50) for _ in range(2)]
    writer.add_figure("one", figures[0], close=False)
    writer.add_figure("two", figures)
    writer.close()
    assert not any(pyplot.fignum_exists(f.number) for f in figures)
    assert pixels(read(tmp_path / "run").Images("one")[0]).shape == (50, 100, 3)
    assert pixels(read(tmp_path / "run").Images("two")[0]).shape == (50, 200, 3)


def test_sound(writer, tmp_path):
    writer.add_audio("a", tl_core.tensor([[0.0, 0.5, -1.0, 2.0]]), 1, sample_rate=8000)
    writer.close()
    (event,) = read(tmp_path / "run").Audio("a")
    with wave.open(io.BytesIO(event.encoded_audio_string)) as file:
        assert (file.getframerate(), file.getnchannels()) == (8000, 1)
        samples = numpy.frombuffer(file.readframes(4), "<i2")
    assert samples.tolist() == [0, 16383, -32767, 32767]
    with pytest.raises(ValueError, match="shape"):
        writer.add_audio("a", tl_core.zeros(2, 5))


def test_text(writer, tmp_path):
    writer.add_text("t", "# größer", 4)
    writer.close()
    events = read(tmp_path / "run")
    (event,) = events.Tensors("t/text_summary")
    assert event.tensor_proto.string_val[0].decode() == "# größer"
    assert "t/text_summary" in events.PluginTagToContent("text")


@pytest.mark.parametrize(
    "dtype",
    [
        tl_core.float16,
        tl_core.bfloat16,
        tl_core.float64,
        tl_core.int8,
        tl_core.int64,
        tl_core.bool,
        tl_core.complex64,
    ],
)
def test_whole_tensors(writer, tmp_path, dtype):
    x = tl_core.tensor([[1, 2], [3, 0]]).to(dtype)
    writer.add_tensor("x", x, 1)
    writer.add_tensor("empty", tl_core.empty(0))
    writer.close()
    proto = read(tmp_path / "run").Tensors("x")[0].tensor_proto
    if dtype is tl_core.bfloat16:  # numpy, and so TensorBoard's reader, has no such type
        assert list(proto.half_val) == [0x3F80, 0x4000, 0x4040, 0]
    else:
        assert tensor_util.make_ndarray(proto).tolist() == x.tolist()
    with pytest.raises(ValueError, match="no element type"):
        writer.add_tensor("x", tl_core.zeros(2, dtype=tl_core.uint16))


def test_precision_and_recall(writer, tmp_path):
    labels, predictions = numpy.array([1, 0, 1, 1]), numpy.array([0.9, 0.8, 0.3, 1.0])
    writer.add_pr_curve("c", labels, predictions, num_thresholds=3)
    writer.add_pr_curve_raw("r", [1, 0], [1, 0], [0, 1], [0, 1], [0.5, 0], [1, 0], num_thresholds=2)
    writer.close()
    events = read(tmp_path / "run")
    result = tensor_util.make_ndarray(events.Tensors("c")[0].tensor_proto)
    expected = []
    for threshold in (0.0, 0.5, 1.0):
        choice = predictions >= threshold
        tp, fp = (choice & (labels == 1)).sum(), (choice & (labels == 0)).sum()
        fn, tn = 3 - tp, 1 - fp
        expected.append([tp, fp, tn, fn, tp / max(tp + fp, 1), tp / 3])
    numpy.testing.assert_allclose(result, numpy.array(expected).T, rtol=1e-6)
    content = events.PluginTagToContent("pr_curves")["c"]
    assert PrCurvePluginData.FromString(content).num_thresholds == 3
    assert tensor_util.make_ndarray(events.Tensors("r")[0].tensor_proto).shape == (6, 2)
    for wrong in (predictions[:2], predictions * 2):
        with pytest.raises(ValueError, match="pr_curve"):
            writer.add_pr_curve("c", labels, wrong)


def test_layouts(writer, tmp_path):
    writer.add_custom_scalars({"c": {"m": ["Multiline", ["a", "b"]], "n": ["Margin", ["a", "b", "c"]]}})
    writer.close()
    (event,) = read(tmp_path / "run").Tensors("custom_scalars__config__")
    (category,) = layout_pb2.Layout.FromString(event.tensor_proto.string_val[0]).category
    assert list(category.chart[0].multiline.tag) == ["a", "b"]
    assert category.chart[1].margin.series[0].upper == "c"
    for chart in (["Margin", ["a"]], ["Pie", ["a"]]):
        with pytest.raises(ValueError, match="custom_scalars"):
            writer.add_custom_scalars({"c": {"m": chart}})


def test_meshes(writer, tmp_path):
    vertices = tl_core.rand(1, 4, 3)
    writer.add_mesh(
        "m",
        vertices,
        colors=(vertices * 255).to(tl_core.uint8),
        faces=tl_core.zeros(1, 2, 3, dtype=tl_core.int32),
    )
    writer.close()
    events = read(tmp_path / "run")
    numpy.testing.assert_array_equal(
        tensor_util.make_ndarray(events.Tensors("m_VERTEX")[0].tensor_proto), vertices.numpy()
    )
    assert tensor_util.make_ndarray(events.Tensors("m_FACE")[0].tensor_proto).shape == (1, 2, 3)
    assert "m_COLOR" in events.PluginTagToContent("mesh")
    with pytest.raises(ValueError, match=r"\(B, N, 3\)"):
        writer.add_mesh("m", vertices[0])


def test_hyperparameters(writer, tmp_path):
    values = {"lr": 0.1, "size": tl_core.tensor(4), "name": "adam", "fast": True, "none": None}
    writer.add_hparams(values, {"hparam/loss": 0.5}, {"lr": [0.1, 0.2]}, run_name="trial", global_step=9)
    events = read(tmp_path / "run" / "trial")
    contents = events.PluginTagToContent("hparams")
    data = plugin_data_pb2.HParamsPluginData.FromString(
        contents["_hparams_/session_start_info"]
    ).session_start_info
    assert data.hparams["lr"].number_value == 0.1
    assert data.hparams["name"].string_value == "adam"
    assert data.hparams["fast"].bool_value
    experiment = plugin_data_pb2.HParamsPluginData.FromString(contents["_hparams_/experiment"]).experiment
    domains = {i.name: [v.number_value for v in i.domain_discrete.values] for i in experiment.hparam_infos}
    assert domains["lr"] == [0.1, 0.2]
    assert [(e.step, e.value) for e in events.Scalars("hparam/loss")] == [(9, 0.5)]
    for wrong, error in (([], TypeError), ({"x": []}, ValueError)):
        with pytest.raises(error, match="hparam"):
            writer.add_hparams(wrong, {})
    for domain, error in (({"y": [1]}, ValueError), ({"x": ["a"]}, TypeError)):
        with pytest.raises(error, match="hparams"):
            writer.add_hparams({"x": 1}, {}, domain)


class Model(tl_nn.Module):
    def __init__(self, wrap=None):
        super().__init__()
        self.blocks = tl_nn.Sequential(tl_nn.Linear(3, 4), tl_nn.ReLU(), tl_nn.Linear(4, 2))
        self.wrap = wrap

    def forward(self, x):
        y = self.blocks(x) + x.sum()
        return {"y": y} if self.wrap else y


def test_graphs(writer, tmp_path):
    writer.add_graph(Model(), tl_core.ones(2, 3))
    writer.close()
    graph = GraphDef.FromString(read(tmp_path / "run").Graph().SerializeToString())
    nodes = {node.name: node for node in graph.node}
    first = nodes["Model/Sequential[blocks]/Linear[0]/linear"]
    assert (first.op, first.input[0]) == ("aten::linear", "input/x")
    assert nodes[first.input[1]].op == "Parameter"
    assert [d.size for d in first.attr["_output_shapes"].list.shape[0].dim] == [2, 4]
    assert "Model/Sequential[blocks]/ReLU[1]/relu" in nodes
    output = nodes["output/output"]
    assert {*nodes[output.input[0]].input} == {"Model/Sequential[blocks]/Linear[2]/linear", "Model/sum"}
    assert all(source in nodes for node in graph.node for source in node.input)


def exported():
    from tl_compiler import export

    return export.export(Model(), (tl_core.ones(2, 3),)), {"linear", "relu", "add", "sum"}


def trace():
    from tl_compiler import fx

    return fx.symbolic_trace(Model()), {"Linear", "ReLU", "add", "sum"}


@pytest.mark.parametrize("made", [exported, trace])
def test_graphs_of_programs_need_no_run(writer, tmp_path, made):
    program, expected = made()
    writer.add_graph(program)
    writer.close()
    graph = GraphDef.FromString(read(tmp_path / "run").Graph().SerializeToString())
    nodes = {node.name: node for node in graph.node}
    assert expected <= {name.rpartition("/")[2].partition(".")[0] for name in nodes}
    assert all(source in nodes for node in graph.node for source in node.input)
    output = nodes["output/output"]
    assert output.op == "IO Node" and nodes[output.input[0]].name.rpartition("/")[2] == "add"
    if made is exported:
        (first,) = [n for n in graph.node if "Linear[blocks.0]" in n.name or "Linear[0]" in n.name]
        assert nodes[first.input[1]].op == "Parameter" and first.input[0].startswith("input/")
        assert [d.size for d in first.attr["_output_shapes"].list.shape[0].dim] == [2, 4]


def test_a_traced_module_with_an_input_is_run(writer, tmp_path):
    program, _ = trace()
    writer.add_graph(program, tl_core.ones(2, 3))
    writer.close()
    graph = GraphDef.FromString(read(tmp_path / "run").Graph().SerializeToString())
    assert "aten::linear" in {node.op for node in graph.node}


def test_graphs_of_dictionaries_and_errors(writer):
    with pytest.raises(RuntimeError, match="use_strict_trace=False"):
        writer.add_graph(Model(wrap=True), tl_core.ones(2, 3))
    writer.add_graph(Model(wrap=True), tl_core.ones(2, 3), use_strict_trace=False)
    with pytest.raises(RuntimeError):
        writer.add_graph(Model(), tl_core.ones(2, 5))
    with pytest.raises(NotImplementedError, match="ONNX"):
        writer.add_onnx_graph("x.onnx")


def test_points(writer, tmp_path):
    labels, pictures = ["a", "b\tc", "d"], tl_core.rand(3, 3, 4, 6)
    writer.add_embedding(tl_core.arange(6).reshape(3, 2), labels, pictures, 5, "my/tag")
    writer.add_embedding(tl_core.ones(3, 2), [(1, "x")] * 3, tag="two", metadata_header=["n", "s"])
    writer.add_embedding(tl_core.ones(3, 2), tag="two")
    folder = tmp_path / "run" / "00005" / "my%2Ftag"
    assert (folder / "tensors.tsv").read_text().splitlines()[1] == "2\t3"
    assert (folder / "metadata.tsv").read_text().splitlines() == ["a", "b c", "d"]
    with Image.open(folder / "sprite.png") as sprite:
        assert sprite.size == (12, 12)
    config = (tmp_path / "run" / "projector_config.pbtxt").read_text()
    assert config.count("tensor_name") == 2
    assert (tmp_path / "run" / "00000" / "two" / "metadata.tsv").read_text().startswith("n\ts\n1\tx\n")
    for arguments in (
        {"metadata": ["a"]},
        {"label_img": pictures[:1]},
        {"label_img": tl_core.zeros(3, 1, 5000, 5000)},
    ):
        with pytest.raises(ValueError, match="add_embedding"):
            writer.add_embedding(tl_core.ones(3, 2), **arguments)
    with pytest.raises(ValueError, match="metadata_header"):
        writer.add_embedding(tl_core.ones(1, 2), [(1,)], metadata_header=["n", "s"])
    with pytest.raises(ValueError, match=r"\(N, D\)"):
        writer.add_embedding(tl_core.ones(3))


def test_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_note") as writer:
        assert writer.get_logdir().startswith("runs" + os.sep)
    assert os.listdir("runs")[0].endswith("_note")
    writer.add_scalar("again", 1)
    assert len(os.listdir(writer.get_logdir())) == 2
    writer.close()
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="can't write events"):
        SummaryWriter(tmp_path / "file" / "run")


def test_the_extra_is_named(monkeypatch):
    for name in [n for n in sys.modules if n.startswith("tl_utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ImportError, match=r"pip install 'tl-utils\[tensorboard\]'"):
        importlib.import_module("tl_utils.tensorboard")


def test_charts_have_names():
    assert {"scalar", "histogram", "hparams"} <= {*summary.__all__}
    assert all(hasattr(summary, name) for name in summary.__all__)
