"""The examples of function transforms: each compares itself with a loop."""

from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(find_spec("tqdm") is None, reason="the extra `examples` is not installed")

SHORT = {
    "per_sample": ("--steps", "20", "--samples", "32"),
    "ensemble": ("--steps", "60", "--models", "4"),
    "maml": ("--steps", "60", "--tasks", "6"),
    "pinn": (),
    "ntk": ("--points", "5"),
}


@pytest.mark.parametrize("name", SHORT)
def test_examples_agree_with_their_loops(python, name):
    text = python("-m", f"tl.examples.{name}", "--quickstart", "--quiet", *SHORT[name], timeout=300)
    assert "quickstart ok" in text
