"""The examples that learn the text of the standard library, and the residual network."""

import gzip
import json
import sys
from importlib.util import find_spec
from math import log

import pytest

needs_extra = pytest.mark.skipif(
    find_spec("sklearn") is None or find_spec("tqdm") is None, reason="the extra `examples` is not installed"
)
SIZES = {"steps": 12, "batch-size": 2, "context": 16, "layers": 1, "heads": 2, "width": 16, "sample": 8}
SMALL_GPT = ["--quiet", *(f"--{name}={value}" for name, value in SIZES.items())]
SMALL_LSTM = ["--quiet", "--steps=12", "--batch-size=4", "--length=8", "--layers=1", "--width=16"]


def last_figures(said):
    return {
        key: float(value)
        for key, _, value in (word.partition("=") for word in said.splitlines()[-1].split() if "=" in word)
    }


@pytest.fixture
def tiny(monkeypatch):
    """A corpus of a few hundred characters in place of the library."""
    import tl
    from tl.examples import corpus

    text = corpus.encode("def add(a, b):\n    return a + b\n" * 40)
    monkeypatch.setattr(corpus, "read", lambda: corpus.Corpus(text, text[:600]))
    tl.manual_seed(0)
    yield corpus
    tl.set_float32_matmul_precision("highest")


@needs_extra
@pytest.mark.parametrize(("name", "options"), [("gpt", SMALL_GPT), ("lstm", SMALL_LSTM)])
def test_they_report_their_figures(name, options, tiny, capsys):
    import importlib

    example = importlib.import_module(f"tl.examples.{name}")
    assert example.main(options) == 0
    figures = last_figures(capsys.readouterr().out)
    assert set(figures) == {"val_loss", "ngram", "tokens_per_s", "seconds"}
    assert 0 < figures["val_loss"] < 5
    assert example.main([*options, "--quickstart"]) == 1


@needs_extra
@pytest.mark.parametrize("precision", ["highest", "mixed"])
def test_the_gpt_learns(precision, tiny):
    from tl.examples import gpt

    sizes = ["--steps", "150", "--batch-size", "8", "--width", "32", "--precision", precision]
    options = gpt.arguments().parse_args([*SMALL_GPT, *sizes])
    model = gpt.GPT(len(tiny.SYMBOLS), 32, 2, 1, 16)
    before = gpt.loss_of(model, tiny.read().held_out, 16)
    gpt.train(model, tiny.read(), options)
    assert gpt.loss_of(model, tiny.read().held_out, 16) < before / 3
    assert gpt.write(model, "def ", 5).startswith("def ")


@needs_extra
def test_the_gpt_sees_only_what_came_before():
    import tl
    from tl.examples import gpt

    model = gpt.GPT(10, 16, 2, 2, 8).eval()
    text = tl.arange(8).unsqueeze(0)
    changed = text.clone()
    changed[0, 5] = 9
    first, second = model(text), model(changed)
    assert tl.allclose(first[:, :5], second[:, :5], atol=1e-6)
    assert not tl.allclose(first[:, 5:], second[:, 5:], atol=1e-6)


def test_the_text_survives_its_numbers():
    from tl.examples import corpus

    text = "def f(x):\n    return '~'\n"
    assert corpus.decode(corpus.encode(text)) == text
    assert corpus.encode("\N{GREEK SMALL LETTER ALPHA}").item() == len(corpus.SYMBOLS) - 1


def test_held_out_files_are_decided_by_name():
    from pathlib import Path

    from tl.examples import corpus

    held_out = [path for path in corpus.files() if corpus.is_held_out(path)]
    assert 0.02 < len(held_out) / len(corpus.files()) < 0.2
    assert all(corpus.is_held_out(Path("elsewhere") / path.name) for path in held_out)


def test_the_table_counts():
    import tl
    from tl.examples import corpus

    period = corpus.encode("abcd" * 20_000)
    assert corpus.table_loss(corpus.Corpus(period, period[:400])) < 0.1
    tl.manual_seed(0)
    coins = tl.randint(2, (200_000,)) + 5
    assert abs(corpus.table_loss(corpus.Corpus(coins, coins[:2000])) - log(2)) < 0.02


def test_the_table_mixes_as_witten_and_bell_do():
    from tl.examples import corpus

    pair = corpus.Corpus(corpus.encode("aab"), corpus.encode("a"))
    chance = (2 + 2 / len(corpus.SYMBOLS)) / (3 + 2)  # a: 2 of 3 characters, 2 kinds of them
    assert abs(corpus.table_loss(pair, order=1) + log(chance)) < 1e-12


@needs_extra
def test_the_residual_network_learns(capsys):
    from tl.examples import resnet

    # After one epoch the running statistics are still far off.
    assert resnet.main(["--epochs", "2", "--quiet"]) == 0
    assert last_figures(capsys.readouterr().out)["accuracy"] > 0.6  # by chance: 0.1


@needs_extra
def test_the_gpt_writes_for_tensorboard(tiny, tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    from tl.examples import gpt

    assert gpt.main([*SMALL_GPT, "--steps", "20", "--tensorboard", str(tmp_path / "run")]) == 0
    result = accumulator.EventAccumulator(str(tmp_path / "run"))
    result.Reload()
    assert [e.step for e in result.Scalars("loss/learned")] == [10, 20]


@needs_extra
def test_the_extra_of_tensorboard_is_named(tiny, tmp_path, capsys, monkeypatch):
    from tl.examples import gpt

    monkeypatch.setitem(sys.modules, "tensorboard", None)
    for name in [n for n in sys.modules if n.startswith("tl_utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    assert gpt.main([*SMALL_GPT, "--tensorboard", str(tmp_path / "run")]) == 1
    assert "tl-utils[tensorboard]" in capsys.readouterr().err


@needs_extra
@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_the_gpt_writes_a_profile(tiny, tmp_path, capsys, name):
    from tl.examples import gpt

    path = tmp_path / name
    assert gpt.main([*SMALL_GPT, "--steps", "10", "--profile", str(path)]) == 0
    content = path.read_bytes()
    trace = json.loads(gzip.decompress(content) if name.endswith(".gz") else content)
    names = [e["name"] for e in trace["traceEvents"]]
    assert sorted(n for n in names if n.startswith("ProfilerStep#")) == [
        f"ProfilerStep#{i}" for i in range(1, 6)
    ]
    assert names.count("Optimizer.step#AdamW.step") == 5 and f"profile: {path}" in capsys.readouterr().out
