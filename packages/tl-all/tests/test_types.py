"""What a type checker sees of the façade."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

import tl
import tl_core

PROGRAM = """
import tl
import tl as torch
from tl import nn

reveal_type(torch.nn.Linear)
reveal_type(nn.functional.relu)
reveal_type(tl.optim.SGD)
reveal_type(tl.autograd.Function)
reveal_type(tl.Tensor)
reveal_type(tl.cuda.is_available())
reveal_type(tl.backends.cudnn.enabled)
reveal_type(tl.__version__)
tl.compile
tl.nonsense
"""

REVEALED = [
    "tl_nn.modules.linear.Linear",
    "relu|def (",
    "tl_nn.optim.sgd.SGD",
    "tl_autograd.",
    "tl_core.",
    '"bool"',
    '"bool"',
    '"str"',
]


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_sees_every_name(tmp_path, monkeypatch):
    from mypy import api

    # mypy finds installed packages, but not those that are only on Python's path
    owners = (
        "tl",
        "tl_core",
        "tl_autograd",
        "tl_nn",
        "tl_backends",
        "tl_checkpoint",
        "tl_amp",
        "tl_distributed",
        "tl_quantization",
        "tl_distributions",
        "tl_compiler",
        "tl_utils",
        "tl_profiler",
    )
    sources = {str(Path(find_spec(name).origin).parents[1]) for name in owners}
    monkeypatch.setenv("MYPYPATH", os.pathsep.join(path for path in sources if "-packages" not in path))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    out, err, _ = api.run(["--cache-dir", str(tmp_path / "cache"), str(program)])
    notes = [line for line in out.splitlines() if "Revealed type" in line]
    assert len(notes) == len(REVEALED), out + err
    for note, expected in zip(notes, REVEALED, strict=True):
        assert any(part in note for part in expected.split("|")), note
    errors = [line for line in out.splitlines() if " error: " in line and "program.py" in line]
    assert len(errors) == 1, out
    assert '"nonsense"' in errors[0]


def test_the_stub_names_all_that_is_served():
    stub = Path(tl.__file__).with_suffix(".pyi").read_text()
    served = {name for name in dir(tl) if not name.startswith("_")} - set(dir(tl_core))
    assert not {name for name in served if name not in stub}
