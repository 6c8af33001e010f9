"""PyTorch's tests of quantization: what PyTorch passes counts, and outcomes are kept for later runs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tools.peer_quantization import __main__ as program

OUTCOMES = {
    "torch": {"a": "passed", "b": "passed", "c": "failed", "d": "passed"},
    "tl": {"a": "passed", "b": "failed", "c": "passed", "d": "passed"},
}


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """The runs of files, of which PyTorch passes three tests of four, and tl two of these."""
    started = []

    class File:
        def __init__(self, folder, file, limit, expression, python, plugin, variables):
            started.append((file, variables["TL_PEER_MODULE"], "TL_PEER_SUCCESSOR" in variables, python))
            self.outcome = program.Outcome(file)
            words = OUTCOMES[variables["TL_PEER_MODULE"]]
            self.outcome.tests = {f"{file}::{name}": word for name, word in words.items()}
            self.outcome.reasons = {f"{file}::b": "ValueError: two\nlines"}

        def run(self):
            return self.outcome

    wheel = subprocess.CompletedProcess([], 0, stdout="/wheel\n")
    monkeypatch.setattr(program, "File", File)
    monkeypatch.setattr(program.subprocess, "run", lambda *args, **options: wheel)
    for file in ("quantization/eager/test_one.py", "quantization/pt2e/test_two.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    return started


def call(monkeypatch, tmp_path, *words):
    monkeypatch.setattr(sys, "argv", ["peer", str(tmp_path), "--peer-python", "peer", *words])
    return program.main()


def test_what_pytorch_passes_counts(runs, monkeypatch, capsys, tmp_path):
    assert call(monkeypatch, tmp_path, "--results", str(tmp_path / "kept"), "eager") == 1
    file = "quantization/eager/test_one.py"
    assert capsys.readouterr().out == (
        f"  {file}: 2 of 3\n    failed b: ValueError: two\n"
        "eager: 2 of 3 that PyTorch passes (66.7 %)\nbelow 95 %: eager\n"
    )
    assert runs == [(file, "torch", False, "peer"), (file, "tl", False, sys.executable)]
    kept = json.loads((tmp_path / "kept/tl/quantization.eager.test_one.py.json").read_text())
    assert kept["tests"][f"{file}::b"] == "failed"
    call(monkeypatch, tmp_path, "--results", str(tmp_path / "kept"), "eager")
    assert len(runs) == 2  # the outcomes of the first call are read


def test_exported_models_have_a_successor(runs, monkeypatch, tmp_path):
    call(monkeypatch, tmp_path, "pt2e")
    assert [(module, successor) for _, module, successor, _ in runs] == [("torch", True), ("tl", True)]


def test_exceptions_name_existing_suites():
    assert all(reason for reason in program.exceptions().values())


@pytest.mark.parametrize(
    ("words", "text"), [(["nothing"], "there is no suite nothing"), ([], "holds no folder quantization")]
)
def test_calls_that_cannot_run(words, text, monkeypatch, capsys, tmp_path):
    with pytest.raises(SystemExit):
        call(monkeypatch, tmp_path, *words)
    assert text in capsys.readouterr().err
