"""Compiled modules in packages: one copy of each module and tensor, shared code, packages of PyTorch, damaged ones."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import jit
from tl_compiler.package import PackageExporter, PackageImporter
from tl_compiler.package.script_records import unpackage_script_module

DATA = Path(__file__).parent / "data" / "scripted_package.pt"


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tl.ones(3))
        self.offset = tl.arange(3.0)

    def forward(self, x):
        return x * self.weight + self.offset


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    def forward(self, x):
        return self.scale(x) + 1


def packaged(**objects: Any) -> io.BytesIO:
    file = io.BytesIO()
    with PackageExporter(file) as exporter:
        for name, value in objects.items():
            exporter.save_pickle("data", f"{name}.pkl", value)
    file.seek(0)
    return file


def names(file: io.BytesIO) -> list[str]:
    file.seek(0)
    return [name.partition("/")[2] for name in zipfile.ZipFile(file).namelist()]


def test_a_module_comes_back():
    model = jit.script(Model())
    loaded = PackageImporter(packaged(model=model)).load_pickle("data", "model.pkl")
    x = tl.rand(3)
    tl.testing.assert_close(loaded(x), x + tl.arange(3.0) + 1)
    assert [name for name, _ in loaded.named_parameters()] == ["scale.weight"]


def test_one_module_in_two_pickles_is_stored_once():
    model = jit.script(Model())
    stored = names(packaged(first={"a": model, "b": model}, second=[model]))
    assert ".data/ts_code/0/data.pkl" in stored and ".data/ts_code/1/data.pkl" not in stored
    assert any(name.startswith(".data/ts_code/code/") for name in stored)


def test_one_module_in_one_pickle_is_one_object():
    model = jit.script(Model())
    loaded = PackageImporter(packaged(both={"a": model, "b": model})).load_pickle("data", "both.pkl")
    assert loaded["a"] is loaded["b"]


def test_tensors_are_shared_with_other_objects():
    model = jit.script(Model())
    file = packaged(all={"model": model, "weight": model.scale.weight})
    assert sum(name.endswith(".storage") for name in names(file)) == 2
    file.seek(0)
    loaded = PackageImporter(file).load_pickle("data", "all.pkl")
    loaded["weight"].data.fill_(5)
    assert loaded["model"](tl.ones(3)).tolist() == [6.0, 7.0, 8.0]


class Plus(nn.Module):
    def __init__(self, offset):
        super().__init__()
        self.offset = offset

    def forward(self, x):
        return x + self.offset


def test_classes_of_one_name():
    importer = PackageImporter(packaged(one=jit.script(Plus(1)), two=jit.script(Plus(tl.ones(2)))))
    assert importer.load_pickle("data", "one.pkl")(tl.zeros(1)).tolist() == [1.0]
    assert importer.load_pickle("data", "two.pkl")(tl.zeros(1)).tolist() == [1.0, 1.0]


def test_traced_constants():
    traced = jit.trace(Model(), tl.ones(3))
    importer = PackageImporter(packaged(first=jit.script(Model()), traced=traced))
    tl.testing.assert_close(
        importer.load_pickle("data", "traced.pkl")(tl.ones(3)), tl.tensor([2.0, 3.0, 4.0])
    )


def test_packages_of_packages():
    first = PackageImporter(packaged(model=jit.script(Model()))).load_pickle("data", "model.pkl")
    second = PackageImporter(packaged(again=first, model=jit.script(Scale())))
    assert second.load_pickle("data", "again.pkl")(tl.zeros(3)).tolist() == [1.0, 2.0, 3.0]
    assert second.load_pickle("data", "model.pkl")(tl.zeros(3)).tolist() == [0.0, 1.0, 2.0]


def test_devices():
    file = packaged(model=jit.script(Model()))
    loaded = PackageImporter(file).load_pickle("data", "model.pkl", map_location="meta")
    assert loaded.scale.weight.device.type == "meta"


def test_a_package_of_pytorch():
    """PyTorch 2.13 wrote it: a scripted and a traced module with a constant, and the parameter beside them."""
    loaded = PackageImporter(DATA).load_pickle("res", "b.pkl")
    x = tl.ones(3)
    assert loaded["m"](x).tolist() == loaded["t"](x).tolist() == [3.0, 5.0, 7.0]
    loaded["w"].data.fill_(5)
    assert loaded["m"](x).tolist() == [7.0, 9.0, 11.0]
    assert "ts_code" in str(PackageImporter(DATA).file_structure())


def test_the_layout_is_that_of_pytorch():
    file = packaged(model=jit.script(Model()))
    own = set(names(file))
    theirs = {name.partition("/")[2] for name in zipfile.ZipFile(DATA).namelist()}
    shared = {
        ".data/ts_code/0/data.pkl",
        ".data/ts_code/0/constants.pkl",
        ".data/version",
        ".data/extern_modules",
    }
    assert shared <= own & theirs
    file.seek(0)
    archive = zipfile.ZipFile(file)
    data = archive.read(next(n for n in archive.namelist() if n.endswith("data/model.pkl")))
    assert b"torch.jit._script\nunpackage_script_module" in data


def test_modules_that_are_not_there():
    importer = PackageImporter(packaged(model=jit.script(Model())))
    with pytest.raises(RuntimeError, match="no compiled module '7'"):
        unpackage_script_module(importer, "7")
    with pytest.raises(RuntimeError, match="must be a PackageImporter"):
        unpackage_script_module(object(), "0")


def test_damaged_code_raises():
    file = packaged(model=jit.script(Model()))
    source = zipfile.ZipFile(file)
    damaged = io.BytesIO()
    with zipfile.ZipFile(damaged, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith(".py"):
                data = b"import os\nos.system('true')\n"
            if "manifest" not in name:
                target.writestr(name, data)
    damaged.seek(0)
    with pytest.raises(RuntimeError):
        PackageImporter(damaged).load_pickle("data", "model.pkl")
