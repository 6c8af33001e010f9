"""Opens many damaged and forged packages: `python fuzz_packages.py --count 25000 --seed 1`.

Opening a package, listing it and reading its texts executes nothing, whatever the file contains. A pickle of tensors
and numbers executes nothing either. An import, a compilation or a system call is a fault, as are the faults that
`tl_checkpoint.testing.fuzzing` describes. The modules that packages may always import are imported first.
"""

from __future__ import annotations

import importlib
import io
import pickle
import sys
import warnings
from typing import Any

import tl_core as tl
from tl_checkpoint.testing import fuzzing
from tl_checkpoint.testing.forgery import forge_archive
from tl_compiler.package import PackageExporter, PackageImporter
from tl_compiler.package.package_importer import IMPLICIT_IMPORT_ALLOWLIST

with warnings.catch_warnings(action="ignore"):  # numpy's older names
    for name in (*IMPLICIT_IMPORT_ALLOWLIST, "encodings.raw_unicode_escape"):  # the codec of an old opcode
        importlib.import_module(name)

CODE = "import math\nimport part.inner\n\nclass Model:\n    def __call__(self, x):\n        return math.sqrt(x)\n"


def read_texts(data: bytes) -> Any:
    """The texts of a package, without an import of its code."""
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


def unpickle(data: bytes) -> Any:
    """The content of a pickle of a package."""
    importer = PackageImporter(io.BytesIO(data))
    try:
        return importer.load_pickle("data", "state.pkl")
    except (ArithmeticError, ImportError, AttributeError, TypeError, LookupError) as error:
        raise pickle.UnpicklingError(str(error)) from error  # an error of a call in the pickle


def good_files() -> list[fuzzing.GoodFile]:
    """A valid package, read in two ways."""
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
        fuzzing.GoodFile(load.__name__, data, load, forge_archive, fuzzing.snapshot(load(data)), True)
        for load in (read_texts, unpickle)
    ]


if __name__ == "__main__":
    sys.exit(fuzzing.main(good_files(), 25_000, __doc__))
