"""The parts of the tools: operation counts, random sizes, charts, reports of environments, pickles, downloads."""

import io
import math
import pickle
import zipfile

import pytest

import tl_core as tl
from tl_utils import backcompat, collect_env, flop_counter, model_dump, show_pickle, throughput_benchmark
from tl_utils.benchmark.op_fuzzers import sizes, spectral
from tl_utils.benchmark.utils import fuzzer
from tl_utils.benchmark.utils.compare import Colorize
from tl_utils.hub import archives, github, progress

# ---- operations


def test_products_have_two_operations_for_each_pair():
    count = 2 * 3 * 4 * 5
    assert flop_counter.mm_flop((3, 4), (4, 5)) == flop_counter.addmm_flop((5,), (3, 4), (4, 5)) == count
    assert flop_counter.bmm_flop((7, 3, 4), (7, 4, 5)) == 7 * count
    assert flop_counter.baddbmm_flop((5,), (7, 3, 4), (7, 4, 5)) == 7 * count


@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions_meet_each_weight_at_each_position(transposed):
    x, w, out = (2, 3, 8, 9), (4, 3, 3, 2), (2, 4, 6, 8)
    positions = 8 * 9 if transposed else 6 * 8
    expected = 2 * 2 * positions * 4 * 3 * 3 * 2
    assert flop_counter.conv_flop_count(x, w, out, transposed) == expected
    assert flop_counter.conv_flop(x, w, None, 1, 0, 1, transposed, out_shape=out) == expected


def test_attention_is_products_of_matrices():
    q, k, v = (2, 5, 7, 4), (2, 5, 9, 4), (2, 5, 9, 3)
    scores, weighted = 2 * 10 * 7 * 9 * 4, 2 * 10 * 7 * 9 * 3
    assert flop_counter.sdpa_flop_count(q, k, v) == flop_counter.sdpa_flop(q, k, v) == scores + weighted
    backward = (
        scores + 2 * scores + 2 * weighted
    )  # scores again; gradients of queries, keys, weights and values
    assert flop_counter.sdpa_backward_flop_count(v, q, k, v) == backward
    assert flop_counter.sdpa_backward_flop(v, q, k, v) == backward


def test_formulas_see_shapes():
    records = []
    function = flop_counter.shape_wrapper(lambda *shapes, out_shape: records.append((shapes, out_shape)) or 3)
    assert function(tl.ones(2, 3), [tl.ones(4)], 5, out_val=tl.ones(6)) == 3
    assert records == [(((2, 3), [(4,)], 5), (6,))]
    assert flop_counter.get_shape(tl.ones(2)) == (2,) and flop_counter.get_shape("text") == "text"


def test_numbers_are_short():
    assert [flop_counter.get_suffix_str(10**n) for n in (0, 3, 4, 6, 7, 9, 10, 30)] == [
        "",
        "",
        "K",
        "K",
        "M",
        "M",
        "B",
        "T",
    ]
    assert flop_counter.convert_num_with_suffix(2_500_000, "M") == "2.500M"
    assert (
        flop_counter.convert_to_percent_str(1, 3) == "33.33%"
        and flop_counter.convert_to_percent_str(1, 0) == "0%"
    )


# ---- random sizes


def test_products_powers_and_bytes():
    assert fuzzer.prod([2, 3, 4]) == 24 and fuzzer.prod([], 5) == 5 and fuzzer.prod([2**40] * 3) == 2**120
    assert [fuzzer.dtype_size(d) for d in (tl.bool, tl.float16, tl.float64, tl.complex128)] == [1, 2, 8, 16]
    assert spectral.power_range(81, 3) == (1, 3, 9, 27, 81) and spectral.power_range(1, 7) == (1,)
    numpy = pytest.importorskip("numpy", reason="the fuzzer draws with numpy")
    state = numpy.random.RandomState(0)
    dim = sizes.dimensions({1: 0.5, 3: 0.5})
    assert dim.name == "dim" and {dim.sample(state) for _ in range(40)} == {1, 3}
    parameters = {p.name: p for p in sizes.sizes("n", 64)}
    assert {*parameters} == {f"n{i}{end}" for i in range(3) for end in ("", "_any", "_pow2")}
    for _ in range(50):
        assert (
            parameters["n0_any"].sample(state) <= 64
            and math.log2(parameters["n1_pow2"].sample(state)).is_integer()
        )


def test_tables_and_results():
    assert [member.value for member in Colorize] == ["none", "columnwise", "rowwise"]
    config = throughput_benchmark.BenchmarkConfig(2, 1, 4)
    stats = throughput_benchmark.ExecutionStats([0.001, 0.003, 0.002, 0.002], 0.005, config)
    assert (
        stats.latency_avg_ms == pytest.approx(2.0)
        and stats.num_iters == 4
        and stats.benchmark_config is config
    )


# ---- TensorBoard


def test_halves_as_bits():
    tensors = pytest.importorskip("tl_utils.tensorboard.tensors", reason="needs the extra tensorboard")
    values = {0.0: 0, 1.0: 0x3C00, -2.0: 0xC000, 65504.0: 0x7BFF, math.inf: 0x7C00}
    assert {value: tensors.half_to_int(value) for value in values} == values
    assert {tensors.int_to_half(bits): bits for bits in values.values()} == values


def test_curves_of_precision_and_recall():
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    import numpy

    from tl_utils.tensorboard import charts

    labels = numpy.array([1, 0, 1, 1, 0])
    predictions = numpy.array([0.9, 0.8, 0.4, 0.1, 0.05])
    rows = charts.compute_curve(labels, predictions, 5)
    for i, threshold in enumerate(numpy.arange(5) / 4):
        is_positive = predictions >= threshold
        tp, fp = (is_positive & (labels == 1)).sum(), (is_positive & (labels == 0)).sum()
        tn, fn = (~is_positive & (labels == 0)).sum(), (~is_positive & (labels == 1)).sum()
        assert rows[:4, i].tolist() == [tp, fp, tn, fn]
        assert rows[5, i] == pytest.approx(tp / 3) and (
            tp + fp == 0 or rows[4, i] == pytest.approx(tp / (tp + fp))
        )
    weighted = charts.compute_curve(labels, predictions, 5, weights=numpy.array([2.0, 1, 1, 1, 1]))
    assert weighted[0, 0] == 4
    with pytest.raises(ValueError, match="shapes"):
        charts.compute_curve(labels, predictions[:2])
    with pytest.raises(ValueError, match="two thresholds"):
        charts.compute_curve(labels, predictions * 2)
    raw = charts.pr_curve_raw("tag", *rows, num_thresholds=5).value[0]
    assert raw.tag == "tag" and [d.size for d in raw.tensor.tensor_shape.dim] == [6, 5]
    numpy.testing.assert_allclose(raw.tensor.float_val, rows.reshape(-1), rtol=1e-6)


def test_histograms():
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    import numpy

    from tl_utils.tensorboard import summary

    values = numpy.array([0.5, 1.5, 1.6, 2.5, 2.6, 2.7])
    proto = summary.make_histogram(values, [-1, 0, 1, 2, 3, 4, 5])
    assert list(proto.bucket_limit) == [0.0, 1.0, 2.0, 3.0] and list(proto.bucket) == [0.0, 1.0, 2.0, 3.0]
    assert (proto.min, proto.max, proto.num) == (0.5, 2.7, 6) and proto.sum == pytest.approx(values.sum())
    assert proto.sum_squares == pytest.approx((values**2).sum())
    merged = summary.make_histogram(numpy.arange(8.0), 8, max_bins=4)
    assert sum(merged.bucket) == 8 and len(merged.bucket) == 5
    raw = summary.histogram_raw("tag", 0.0, 2.0, 3, 4.0, 5.0, [1.0, 2.0], [1, 2]).value[0]
    assert raw.tag == "tag" and list(raw.histo.bucket) == [1.0, 2.0] and raw.histo.sum_squares == 5.0
    for wrong in (numpy.array([]), numpy.array([9.0])):
        with pytest.raises(ValueError, match="histogram"):
            summary.make_histogram(wrong, [0, 1])
    with pytest.raises(ValueError, match="a limit for each count"):
        summary.histogram_raw("tag", 0, 1, 1, 1, 1, [1.0], [1, 2])


def test_pictures():
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    image_module = pytest.importorskip("PIL.Image", reason="pictures are decoded by Pillow")
    import numpy

    from tl_utils.tensorboard import images

    pixels = numpy.zeros((4, 6, 3), dtype=numpy.uint8)
    pixels[1, 2] = (10, 20, 30)
    result = images.make_image(pixels)
    picture = image_module.open(io.BytesIO(result.encoded_image_string))
    assert (result.height, result.width, result.colorspace) == (4, 6, 3) and picture.getpixel((2, 1)) == (
        10,
        20,
        30,
    )
    boxed = images.image_boxes("tag", numpy.zeros((3, 20, 20)), numpy.array([[5, 5, 15, 15]])).value[0].image
    picture = image_module.open(io.BytesIO(boxed.encoded_image_string))
    assert picture.getpixel((5, 10))[:3] == (255, 0, 0) and picture.getpixel((1, 1))[:3] == (0, 0, 0)
    frames = numpy.stack([numpy.full((4, 6, 1), level, dtype=numpy.uint8) for level in (0, 255)])
    video = images.make_video(frames, 4)
    animation = image_module.open(io.BytesIO(video.encoded_image_string))
    assert animation.n_frames == 2 and animation.size == (6, 4) and animation.info["duration"] == 250


# ---- reports of environments


def test_versions_are_read_from_the_tools():
    outputs = {
        "gcc": (0, "gcc (Debian) 14.2\nmore", ""), "clang": (127, "", "absent"),
        "cmake": (0, "cmake version 3.31", ""), "lscpu": (0, "Model: X", ""),
    }  # fmt: skip

    def run(command):
        return outputs[command[0]]

    assert collect_env.run_and_read_all(run, ["lscpu"]) == "Model: X"
    assert collect_env.run_and_read_all(run, ["clang"]) is None
    assert collect_env.get_gcc_version(run) == "(Debian) 14.2" and collect_env.get_clang_version(run) is None
    assert (
        collect_env.get_cmake_version(run) == "version 3.31" and collect_env.get_cpu_info(run) == "Model: X"
    )
    assert collect_env.get_os(run) and collect_env.get_libc_version()
    tool, lines = collect_env.get_pip_packages(run, ("tl-core",))
    assert tool.startswith("pip") and lines.startswith("tl-core==")


def test_a_report_has_a_line_for_each_fact(monkeypatch):
    monkeypatch.setenv("CONDA_EXE", "/nowhere/conda")
    assert collect_env.get_conda_packages(None) is None
    info = collect_env.get_env_info()
    assert isinstance(info, collect_env.SystemEnv) and info.num_threads == str(tl.get_num_threads())
    text = collect_env.pretty_str(info._replace(gcc_version="14.2 of a test", clang_version=None))
    assert "14.2 of a test" in text and info.python_platform in text


# ---- pickles and downloads


def test_pickles_without_their_classes():
    kind = show_pickle.FakeClass("project", "Tokenizer")
    result = kind(1, "x")
    assert isinstance(result, show_pickle.FakeObject) and (result.module, result.name, result.args) == (
        "project",
        "Tokenizer",
        (1, "x"),
    )
    assert model_dump.hierarchical_pickle([1, None, ("a", 2.5)]) == [
        1,
        None,
        {"__tuple_values__": ["a", 2.5]},
    ]
    nested = model_dump.hierarchical_pickle({"k": {1: True}})
    assert (
        nested["keys"] == ["k"]
        and nested["values"][0]["keys"] == [1]
        and nested["values"][0]["values"] == [True]
    )
    page = model_dump.get_inline_skeleton()
    assert "<html" in page and len(pickle.dumps(page)) > 1000


def test_archives_and_addresses(tmp_path):
    repository = github.Repository("owner", "name", "v1")
    assert github.archive_url(repository) == "https://github.com/owner/name/zipball/v1"
    one, two, none = tmp_path / "one.zip", tmp_path / "two.zip", tmp_path / "none.zip"
    for path, names in ((one, ["a.pt"]), (two, ["a.pt", "b.pt"])):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, b"x")
    none.write_bytes(b"text")
    assert archives.single_file(one).filename == "a.pt"
    assert archives.single_file(two) is None and archives.single_file(none) is None
    with zipfile.ZipFile(one, "w") as archive:
        archive.writestr("../a.pt", b"x")
    with pytest.raises(ValueError, match="outside its folder"):
        archives.single_file(one)


def test_a_bar_without_tqdm(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    bar = progress.PlainBar(desc="file", total=8)
    bar.update(2)
    bar.set_description("other")
    bar.update(2)
    assert bar.n == 4 and terminal.getvalue() == "\rfile:  25.0%\rother:  50.0%"
    hidden = progress.PlainBar(total=8, disable=True)
    hidden.update(8)
    progress.PlainBar().update(3)
    assert terminal.getvalue().endswith("\r3") and "100" not in terminal.getvalue()


def test_warnings_of_old_programs_stay_off():
    warning = backcompat.Warning("a subject")
    warning.enabled = False
    assert warning.enabled is False and warning.get_enabled() is False
    for switch in (lambda: setattr(warning, "enabled", True), lambda: warning.set_enabled(True)):
        with pytest.raises(NotImplementedError, match="a subject"):
            switch()
