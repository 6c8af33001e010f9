"""Reports: of the environment, of a program's time, of calls a second, of files."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections import OrderedDict

import pytest

import tl_checkpoint
import tl_core
import tl_nn
from tl_utils import bottleneck, collect_env, model_dump, show_pickle
from tl_utils.bottleneck import __main__ as bottleneck_main
from tl_utils.throughput_benchmark import ThroughputBenchmark, format_time


def test_the_environment():
    report = collect_env.get_pretty_env_info()
    for line in (
        "tl version: 0.",
        "Python version: 3.",
        "OS: ",
        "Is CUDA available: False",
        "[pip3] tl-core==",
    ):
        assert line in report
    assert "None" not in report
    assert len(report.splitlines()) > 25


def test_the_environment_as_a_program():
    process = subprocess.run(
        [sys.executable, "-m", "tl_utils.collect_env"], capture_output=True, text=True, check=True
    )
    assert process.stdout.startswith("Collecting environment information...\ntl version")


def test_commands_that_fail(monkeypatch):
    assert collect_env.run(["false"])[0] == 1
    assert collect_env.run("echo a; exit 3")[:2] == (3, "a")
    monkeypatch.setattr(collect_env, "_SECONDS", 0.05)
    assert collect_env.run(["sleep", "5"])[0] == 124
    assert collect_env.run_and_return_first_line(lambda command: (1, "x", ""), "x") is None
    assert (
        collect_env.run_and_parse_first_match(lambda command: (0, "gcc 12\n", ""), "x", r"gcc (.*)") == "12"
    )


def test_bottlenecks(tmp_path, capsys):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, tl_core\nassert sys.argv[1:] == ['--n', '3']\ntl_core.ones(3).exp()\nsys.exit(0)\n"
    )
    assert bottleneck_main.main([str(program), "--n", "3"]) == 0
    printed = capsys.readouterr().out
    for part in (
        "Environment Summary",
        "cProfile output",
        "function calls",
        "autograd profiler output",
        "exp",
    ):
        assert part in printed
    assert bottleneck_main.main([str(tmp_path / "none.py")]) == 2
    assert "can't read" in capsys.readouterr().err
    program.write_text("raise SystemExit(3)")
    with pytest.raises(SystemExit):
        bottleneck_main.main([str(program)])
    assert bottleneck.__doc__


def test_calls_from_several_threads(tmp_path):
    threads = set()
    import threading

    def call(x, y=0):
        threads.add(threading.get_ident())
        return x + y

    bench = ThroughputBenchmark(call)
    with pytest.raises(RuntimeError, match="add_input"):
        bench.benchmark()
    bench.add_input(1, y=2)
    assert bench.run_once(1, y=2) == 3
    stats = bench.benchmark(num_calling_threads=3, num_warmup_iters=2, num_iters=30)
    assert (stats.num_iters, len(threads)) == (30, 4)
    assert stats.total_time_seconds * stats.iters_per_second == pytest.approx(30)
    assert "Total number of iterations: 30" in str(stats)
    assert stats.latency_avg_ms < 1000
    for arguments in ({"num_calling_threads": 0}, {"num_iters": 0}, {"num_warmup_iters": -1}):
        with pytest.raises(ValueError, match="positive"):
            bench.benchmark(**arguments)
    with pytest.raises(TypeError, match="callable"):
        ThroughputBenchmark(1)


def test_errors_in_threads_come_out():
    def fail(x):
        raise KeyError(x)

    bench = ThroughputBenchmark(fail)
    bench.add_input("here")
    for warm_up in (0, 1):
        with pytest.raises(KeyError, match="here"):
            bench.benchmark(num_calling_threads=2, num_warmup_iters=warm_up)


def test_times_in_units():
    assert [format_time(time_us=5), format_time(time_ms=5), format_time(time_s=5)] == [
        "5.000us",
        "5.000ms",
        "5.000s",
    ]
    with pytest.raises(ValueError, match="expected one"):
        format_time()


class Evil:
    def __reduce__(self):
        return os.system, ("touch evil",)


def test_pickles_are_shown_and_not_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    value = {"a": [1, (2.5, "x")], "b": OrderedDict(k=b"v"), "e": Evil(), "s": {1}}
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(value))
    out = io.StringIO()
    assert show_pickle.main(["", "a.pkl"], out) is None
    text = out.getvalue()
    for part in ("[1, (2.5, 'x')]", "collections.OrderedDict()", "posix.system('touch evil')", "b'v'", "{1}"):
        assert part in text
    assert not (tmp_path / "evil").exists()
    (tmp_path / "bad.pkl").write_bytes(b"\x80\x04nonsense")
    for name in ("bad.pkl", "none.pkl", "a.pkl@*"):
        assert show_pickle.main(["", name], out) == 2
    assert "show_pickle: can't read" in capsys.readouterr().err


def test_pickles_in_archives(tmp_path, capsys):
    tl_checkpoint.save({"w": tl_core.ones(2)}, tmp_path / "m.pt")
    out = io.StringIO()
    assert show_pickle.main(["", f"{tmp_path / 'm.pt'}@*/data.pkl"], out) is None
    assert "_rebuild_tensor_v2" in out.getvalue()
    assert "pers.obj" in out.getvalue()
    assert show_pickle.main(["", "--recursive", f"{tmp_path}@*.pkl"], out) is None
    assert show_pickle.main(["", f"{tmp_path / 'm.pt'}@*.none"], out) == 2
    assert "nothing matches" in capsys.readouterr().err


def test_texts_that_are_no_utf8():
    data = b"\x80\x03X\x02\x00\x00\x00\xff\xfe."
    assert show_pickle.DumpUnpickler(io.BytesIO(data), catch_invalid_utf8=True).load() == b"\xff\xfe"
    with pytest.raises(UnicodeDecodeError):
        show_pickle.DumpUnpickler(io.BytesIO(data)).load()


def test_models_are_dumped(tmp_path):
    path = tmp_path / "m.pt"
    tl_checkpoint.save({"model": tl_nn.Linear(2, 3).state_dict(), "note": "</script>"}, path)
    info = model_dump.get_model_info(str(path), title="T")
    assert (info["title"], info["file_size"]) == ("T", path.stat().st_size)
    assert any(f["filename"].endswith("data.pkl") for f in info["zip_files"])
    text = json.dumps(info["model_data"])
    assert '"weight"' in text
    assert "[3, 2], [2, 1]" in text
    assert '["Float", "0", "cpu", 6]' in text
    page = model_dump.get_info_and_burn_skeleton(io.BytesIO(path.read_bytes()))
    assert page.count("</script>") == 1
    assert "src=" not in page
    assert "http" not in page
    out = io.StringIO()
    model_dump.main(["", "--style", "json", str(path)], stdout=out)
    assert json.loads(out.getvalue())["version"] == info["version"]


def test_files_that_are_no_models(tmp_path):
    (tmp_path / "a").write_text("x")
    with pytest.raises(ValueError, match="no archive"):
        model_dump.get_model_info(str(tmp_path / "a"))
    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        archive.writestr("a/x", "1")
        archive.writestr("b/x", "1")
    with pytest.raises(ValueError, match="one folder"):
        model_dump.get_model_info(str(tmp_path / "z"))
    with pytest.raises(ValueError, match="no mark"):
        model_dump.burn_in_info("page", {})
    with pytest.raises(ValueError, match="stand-in of a storage"):
        model_dump.get_storage_info(show_pickle.FakeObject("a", "b", ()))
