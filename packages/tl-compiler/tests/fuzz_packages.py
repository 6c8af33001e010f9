"""Opens many damaged and forged packages: `python fuzz_packages.py --count 25000 --seed 1`; tl-checkpoint's fuzz.py
says what a fault is.

Opening a package, listing it and reading its texts executes nothing, whatever the file says, and neither does a pickle
of tensors and numbers: an import, a compilation or a call to the system ends the process, which is a fault. What
packages may always import is imported before.
"""

from __future__ import annotations

import importlib
import io
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tl-checkpoint" / "tests"))

import fuzz
import mutation

import tl_core as tl
from tl_compiler.package import PackageExporter, PackageImporter
from tl_compiler.package.package_importer import IMPLICIT_IMPORT_ALLOWLIST

with warnings.catch_warnings(action="ignore"):  # numpy's older names
    for name in (*IMPLICIT_IMPORT_ALLOWLIST, "encodings.raw_unicode_escape"):  # the codec of an old opcode
        importlib.import_module(name)

CODE = "import math\nimport part.inner\n\nclass Model:\n    def __call__(self, x):\n        return math.sqrt(x)\n"


def looked(data: bytes) -> Any:
    """What a package shows before anything of it is imported."""
    importer = PackageImporter(io.BytesIO(data))
    names = sorted(importer.zip_reader.names())
    if "model.py" not in names:
        raise RuntimeError("model has no source")  # ImportError elsewhere, as of all loaders
    texts = {name: importer.zip_reader.read(name) for name in names if not name.endswith(".storage")}
    return [
        str(importer.file_structure()),
        importer.python_version(),
        importer.extern_modules,
        importer.get_source("model"),
        importer.load_text("notes", "a.txt"),
        *sorted(texts.items()),
    ]


def unpickled(data: bytes) -> Any:
    """What a pickle of a package holds; modules aside, it may say anything."""
    importer = PackageImporter(io.BytesIO(data))
    try:
        return importer.load_pickle("data", "state.pkl")
    except (ArithmeticError, ImportError, AttributeError, TypeError, LookupError) as error:
        raise pickle.UnpicklingError(str(error)) from error  # of what the pickle calls


def seeds() -> list[fuzz.Seed]:
    """The good packages."""
    file = io.BytesIO()
    base = tl.arange(6.0)
    state = {
        "whole": base,
        "part": base[2:4],
        "half": tl.ones(3, dtype=tl.bfloat16),
        "steps": [1, 2.5, "three"],
    }
    with PackageExporter(file) as exporter:
        exporter.save_source_string("part", "WORD = 'packaged'", is_package=True)
        exporter.save_source_string("part.inner", "from . import WORD")
        exporter.save_source_string("model", CODE)
        exporter.save_text("notes", "a.txt", "a text")
        exporter.save_pickle("data", "state.pkl", state)
    data = file.getvalue()
    return [
        fuzz.Seed(load.__name__, data, load, mutation.forged_archive, fuzz.meaning(load(data)), True)
        for load in (looked, unpickled)
    ]


if __name__ == "__main__":
    sys.exit(fuzz.main(seeds, 25_000))
