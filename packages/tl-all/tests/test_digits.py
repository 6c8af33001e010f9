"""The example that learns to read digits."""

import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest

needs_extra = pytest.mark.skipif(
    find_spec("sklearn") is None or find_spec("tqdm") is None, reason="the extra `examples` is not installed"
)


@needs_extra
def test_it_learns(python):
    text = python("-m", "tl.examples.digits", "--quickstart", "--quiet", timeout=300)
    word, accuracy, seconds = text.splitlines()[-1].rsplit(" ", 2)
    assert word == "quickstart ok:"
    assert float(accuracy.removeprefix("accuracy=")) >= 0.985
    assert float(seconds.removeprefix("seconds=")) > 0


@needs_extra
def test_the_same_seed_gives_the_same_network():
    import tl
    from tl.examples import digits

    images = digits.load()
    outcomes = []
    for seed in (1, 1, 2):
        tl.manual_seed(seed)
        options = digits.arguments().parse_args(["--quiet", "--epochs", "2"])
        outcomes.append(digits.train(digits.network(), *digits.split(images, 0.2), options))
    assert outcomes[0] == outcomes[1] != outcomes[2]


@needs_extra
def test_held_out_images_are_not_learned_from():
    import tl
    from tl.examples import digits

    images = digits.Images(tl.arange(50).reshape(50, 1), tl.arange(50))
    train, held_out = digits.split(images, 0.2)
    assert len(held_out) == 10
    assert sorted(train.digits.tolist() + held_out.digits.tolist()) == list(range(50))
    assert train.pixels[:, 0].tolist() == train.digits.tolist()


@needs_extra
@pytest.mark.skipif(find_spec("matplotlib") is None, reason="the extra `examples` is not installed")
def test_it_plots_the_curve(python, tmp_path):
    python("-m", "tl.examples.digits", "--quiet", "--epochs", "2", "--plot", "curve.png", timeout=300)
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@needs_extra
def test_progress_is_shown(python):
    assert "2/2" in python("-m", "tl.examples.digits", "--epochs", "2", timeout=300)


@needs_extra
def test_an_interrupt_ends_it_cleanly(tmp_path):
    command = [sys.executable, "-m", "tl.examples.digits", "--epochs", "100000"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as program:
        text = b""
        while b"accuracy=" not in text:
            more = program.stderr.read1(100)
            assert more, text.decode()
            text += more
        program.send_signal(signal.SIGINT)
        start = time.monotonic()
        _, err = program.communicate(timeout=60)
    assert program.returncode == 130
    assert b"Traceback" not in err
    assert b"interrupted" in err
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("missing", ["sklearn", "tqdm", "matplotlib"])
def test_a_missing_extra_is_named(python, missing):
    blocker = f"""
import sys
from importlib.util import find_spec
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
from tl.examples import digits
sys.exit(digits.main(["--epochs", "1", "--plot", "curve.png"]))
"""
    if any(find_spec(name) is None for name in ("sklearn", "tqdm", "matplotlib") if name != missing):
        pytest.skip("the extra `examples` is not installed")
    text = python("-c", blocker, code=1)
    assert "which is not installed: pip install 'tl-all[examples]'" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    "arguments", [["--epochs", "0"], ["--batch-size", "-1"], ["--epochs", "many"], ["--nonsense"]]
)
def test_wrong_arguments(python, arguments):
    assert "usage: tl examples digits" in python("-m", "tl.examples.digits", *arguments, code=2)


def test_help(python):
    text = python("-m", "tl.examples.digits", "--help")
    for option in ("--epochs", "--seed", "--lr", "--batch-size", "--plot"):
        assert option in text
