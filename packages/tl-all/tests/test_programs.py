"""Programs that say `import torch` run unchanged, and learn."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
WORLD = {
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "MASTER_ADDR": "localhost",
    "MASTER_PORT": "29500",
}


@pytest.fixture
def learn(python, monkeypatch):
    """Runs a program; returns what it said, and the numbers of its line that begins with given words."""
    for name in WORLD:
        monkeypatch.delenv(name, raising=False)

    def run(name: str, *arguments: str, line: str) -> tuple[str, list[float]]:
        text = python("-m", "tl.torch", str(PROGRAMS / name), *arguments, timeout=180)
        matches = re.findall(rf"^{line}.*", text, re.MULTILINE)
        assert matches, text
        return text, [float(number) for number in re.findall(r"-?\d+\.\d+", matches[-1])]

    return run


def test_the_programs_know_nothing_of_tl():
    files = sorted(PROGRAMS.glob("*.py"))
    assert [file.stem for file in files] == ["dqn", "gpt", "resnet", "tagger", "vae"]
    for file in files:
        assert not re.search(r"\btl\b|tl_", file.read_text())


def test_a_gpt(learn, tmp_path, monkeypatch):
    model = str(tmp_path / "model.pt")
    text, (loss,) = learn("gpt.py", "--steps", "120", "--out", model, line="last val loss")
    (first,) = re.findall(r"first val loss (\d+\.\d+)", text)
    assert float(first) > 3.0
    assert loss < 0.8
    assert os.path.getsize(model) > 100_000
    # in a world of one, every loss is the same
    for name, value in WORLD.items():
        monkeypatch.setenv(name, value)
    assert learn_again(learn, "--steps", "120") == text
    for name in WORLD:
        monkeypatch.delenv(name)
    _, (further,) = learn("gpt.py", "--resume", model, "--steps", "140", line="last val loss")
    assert further < loss + 0.05


def learn_again(learn, *arguments):
    text, _ = learn("gpt.py", *arguments, line="last val loss")
    return text


def test_a_residual_network(learn):
    text, (accuracy, loaded) = learn("resnet.py", line="accuracy")
    assert accuracy > 0.9
    assert loaded == accuracy
    assert float(re.findall(r"untrained accuracy (\d\.\d+)", text)[0]) < 0.6


def test_a_variational_autoencoder(learn):
    _, (loss, independent) = learn("vae.py", "--epochs", "25", line="held out")
    assert loss < 0.65 * independent


def test_a_tagger(learn):
    _, (accuracy, without_context) = learn("tagger.py", line="accuracy")
    assert without_context < 0.8
    assert accuracy > 0.95


def test_q_learning(learn):
    _, (by_chance, returns) = learn("dqn.py", line="return by chance")
    assert by_chance < 40
    assert returns > 2 * by_chance


def test_programs_repeat_themselves(learn):
    assert learn("tagger.py", "--epochs", "1", line="accuracy") == learn(
        "tagger.py", "--epochs", "1", line="accuracy"
    )
