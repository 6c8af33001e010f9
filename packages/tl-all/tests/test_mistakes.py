"""Mistakes that programs make: each error has PyTorch's type and says what is wrong.

`data/mistakes.txt` lists one program a line, with `\\n` between the lines of a program, and below it the type of the
error and words of its message. The types were recorded from PyTorch 2.13. Where tl's type is another one, PyTorch's
stands in brackets, or "no error". `data/mistakes_of_pytorch.txt` has the same form, and its words were recorded from
PyTorch's messages too.
"""

import copy
import datetime
import importlib
import io
import json
from pathlib import Path

import numpy as np
import pytest

import tl

FOLDER = Path(__file__).parent / "data"
LINES = [
    line
    for name in ("mistakes.txt", "mistakes_of_pytorch.txt")
    for line in (FOLDER / name).read_text().splitlines()
]
PROGRAMS = [line for line in LINES if line and line[0] not in "# "]
ERRORS = [line.strip() for line in LINES if line.startswith(" ")]
MODULES = (
    "distributed",
    "distributions",
    "export",
    "func",
    "fx",
    "hub",
    "jit",
    "nn.utils.fusion",
    "nn.utils.parametrizations",
    "nn.utils.prune",
    "optim.swa_utils",
    "utils.checkpoint",
    "utils.data.distributed",
)


def names_of_programs():
    for name in MODULES:
        importlib.import_module(f"tl.{name}")
    modules = {
        "nn": tl.nn,
        "F": tl.nn.functional,
        "optim": tl.optim,
        "data": tl.utils.data,
        "dist": tl.distributed,
    }
    library = {"np": np, "io": io, "copy": copy, "datetime": datetime, "json": json}
    return {"torch": tl, **modules, **library, "DataLoader": tl.utils.data.DataLoader, "__name__": "wrong"}


@pytest.fixture
def clean(tmp_path, monkeypatch):
    """An empty folder, and no variables of a launcher. Afterwards the process has no group and the default dtype."""
    monkeypatch.chdir(tmp_path)
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    yield
    tl.set_default_dtype(tl.float32)
    if tl.distributed.is_initialized():
        tl.distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program, error", list(zip(PROGRAMS, ERRORS, strict=True)), ids=PROGRAMS)
def test_the_error_has_the_type_and_the_words(program, error, clean):
    kind, *words = error.split(" | ")
    with pytest.raises(Exception, match="") as caught:
        exec(compile(program.replace("\\n", "\n"), "<wrong>", "exec"), names_of_programs())
    assert type(caught.value).__name__ == kind.partition(" ")[0]
    text = "\n".join((str(caught.value), *getattr(caught.value, "__notes__", ())))
    assert [part for part in words if part not in text] == []


def test_types_are_those_of_pytorch_but_for_few():
    assert len(PROGRAMS) >= 900
    assert len([error for error in ERRORS if "(" in error.partition(" | ")[0]]) <= 30
