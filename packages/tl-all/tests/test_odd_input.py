"""Commands of `tl` on missing, damaged and wrong input: one sentence and an exit status, without a traceback."""

import os
import signal
import subprocess
import sys

import pytest
from tl_commands import main

import tl

FAILING = "def fail():\n    raise ValueError('no data')\nfail()\n"
LONG = "import time\nprint('begun', flush=True)\ntime.sleep(60)\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tl.save({"weight": tl.ones(2)}, "model.pt")
    data = (tmp_path / "model.pt").read_bytes()
    (tmp_path / "cut.pt").write_bytes(data[: len(data) // 2])
    (tmp_path / "empty.pt").write_bytes(b"")
    (tmp_path / "text.pt").write_text("hello")
    (tmp_path / "folder.pt").mkdir()
    (tmp_path / os.fsdecode(b"na\xffme.pt")).write_bytes(data)
    (tmp_path / "wrong.py").write_text("def (:\n")
    (tmp_path / "zero.py").write_bytes(b"print(1)\0")
    (tmp_path / "fail.py").write_text(FAILING)
    (tmp_path / "long.py").write_text(LONG)
    return tmp_path


def status_of(words):
    """The exit status of a call in this process."""
    try:
        return main(words)
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize("command", ["inspect", "verify", "convert"])
@pytest.mark.parametrize("file", ["absent.pt", "cut.pt", "empty.pt", "text.pt", "folder.pt", "", "x" * 300])
def test_files_that_are_no_weights(command, file, folder, capsys):
    more = ["--to", "other.safetensors"] if command == "convert" else []
    assert status_of([command, file, *more]) in (1, 2)
    text = capsys.readouterr().err
    assert len(text.splitlines()) == 1 and "Traceback" not in text


def test_a_name_that_is_no_text(folder, capsysbinary):
    assert main(["inspect", os.fsdecode(b"na\xffme.pt")]) == 0
    assert b"weight" in capsysbinary.readouterr().out


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["stubs", "model.pt"], 1, "tl stubs: model.pt/torch: Not a directory\n"),
        (["stubs", ""], 2, "the name of the directory is empty\n"),
        (
            ["profile", "--sort", "size", "fail.py"],
            2,
            "--sort needs a column such as cpu_time_total or count",
        ),
        (["profile", "--rows", "-1", "fail.py"], 2, "--rows needs a number from 0 on, got -1"),
        (["simulate", "--world", "4", "absent.py"], 2, "tl simulate: there is no file 'absent.py' to run\n"),
        (["simulate", "--world", "0", "fail.py"], 2, "tl simulate: world must be 1 or more, got 0\n"),
        (["simulate", "--world", "2", "--rank", "2", "fail.py"], 2, "rank must be one of 0 .. 1, got 2"),
    ],
)
def test_wrong_words(words, status, text, folder, capsys):
    assert status_of(words) == status
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("command", [["profile"], ["simulate", "--world", "2"]])
def test_errors_of_a_program_begin_with_its_frames(command, folder, python):
    text = python("-m", "tl", *command, "fail.py", code=1)
    assert "Traceback (most recent call last):\n" in text and "ValueError: no data" in text
    assert "runpy" not in text and "tl_core" not in text and text.count('  File "') == 2
    for wrong in ("wrong.py", "zero.py"):
        text = python("-m", "tl", *command, wrong, code=1)
        assert "Traceback" not in text and "SyntaxError: " in text
    assert python("-m", "tl", *command, "-m", "absent_module", code=1).endswith(
        "No module named absent_module\n"
    )


def test_logs_below_a_file(folder, python):
    text = python("-m", "tl", "run", "--log-dir", "model.pt/logs", "--redirects", "3", "fail.py", code=1)
    assert text == "tl run: [Errno 20] Not a directory: 'model.pt/logs'\n"


@pytest.mark.parametrize("words", [["--help"], ["env"], ["inspect", "model.pt"], ["stubs", "out"]])
def test_a_reader_that_ends_before_the_output(words, folder):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "tl", *words]
    process = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=100)
    os.close(writing)
    assert (process.returncode, process.stderr) == (1, "")


def test_an_interrupt_of_a_profile_keeps_the_profile(folder):
    def hear():  # a process in the background ignores the signal
        signal.signal(signal.SIGINT, signal.default_int_handler)

    command = [sys.executable, "-m", "tl", "profile", "--trace", "trace.json", "long.py"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=hear) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "KeyboardInterrupt" in errors and "runpy" not in errors
    assert (folder / "trace.json").stat().st_size > 100
