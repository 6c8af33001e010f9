"""The suites of PyTorch's tests of several processes: which run, and what counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.peer_distributed import suites


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """The commands that run, which leave results behind: PyTorch passes two tests of three, tl one of them."""
    called = []
    outcomes = {"torch": ("passed", "passed", "failed"), "tl": ("passed", "failed", "passed")}

    def run(command, **options):
        called.append(command)
        if suites.WHERE in command:
            return subprocess.CompletedProcess(command, 0, stdout="/wheel\n")
        module = command[command.index("--module") + 1]
        words = {name: {"outcome": outcome} for name, outcome in zip("abc", outcomes[module], strict=True)}
        Path(command[command.index("--json") + 1]).write_text(json.dumps(words))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(suites.subprocess, "run", run)
    return called


def test_what_pytorch_passes_counts(commands, monkeypatch, capsys, tmp_path):
    results = tmp_path / "results"
    words = ["--peer-python", "peer", "--source", str(tmp_path), "--results", str(results), "pipelines"]
    monkeypatch.setattr(sys, "argv", ["suites", *words])
    assert suites.main() == 1
    output = capsys.readouterr().out
    assert output == "pipelines: 1 of 2 that PyTorch passes (50.0 %)\nbelow 95 %: pipelines\n"
    peer, own = commands[1:]
    assert peer[0] == "peer" and own[0] == sys.executable
    assert peer[3] == own[3] == str(tmp_path / "test" / "distributed" / "pipelining")
    assert own[-2:] == ["--baseline", str(results / "torch_pipelines.json")]
    assert own[own.index("--world") + 1] == "2"


def test_suites_of_the_wheel_run_without_a_source(commands, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["suites", "--peer-python", "peer"])
    suites.main()
    names = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()[:-1]]
    assert names == [name for name, suite in suites.SUITES.items() if not suite.is_source]
    assert "/wheel/distributed/rpc/rpc_test.py" in {command[3] for command in commands if len(command) > 3}


@pytest.mark.parametrize(
    ("words", "text"),
    [(["nothing"], "there is no suite nothing"), (["mesh"], "the suite mesh needs --source")],
)
def test_names_that_cannot_run(words, text, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["suites", "--peer-python", "peer", *words])
    with pytest.raises(SystemExit):
        suites.main()
    assert text in capsys.readouterr().err
