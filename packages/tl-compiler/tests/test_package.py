"""Packages: code, pickles and other data in one file, and what keeps them apart."""

import importlib.resources
import io
import pickle
import random
import sys
import textwrap
import zipfile

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import fx
from tl_compiler.package import (
    EmptyMatchError,
    GlobGroup,
    PackageExporter,
    PackageImporter,
    PackagingError,
    is_from_package,
    sys_importer,
)
from tl_compiler.package._digraph import DiGraph
from tl_compiler.package.analyze import find_first_use_of_broken_modules, trace_dependencies
from tl_compiler.package.find_file_dependencies import find_files_source_depends_on

MODEL = """
import math

import part.scale


class Model:
    def __init__(self, weight):
        self.weight = weight

    def __call__(self, x):
        return part.scale.scaled(x @ self.weight, math.sqrt(4))
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A module with a class that another module helps, importable during the test."""
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "__init__.py").write_text("WORD = 'original'\n")
    (tmp_path / "part" / "scale.py").write_text("def scaled(x, by):\n    return x * by\n")
    (tmp_path / "model_code.py").write_text(MODEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    import model_code

    yield model_code.Model(tl.ones(2, 2))
    for name in ("model_code", "part", "part.scale"):
        sys.modules.pop(name, None)


def written(fill, **options):
    file = io.BytesIO()
    with PackageExporter(file, **options) as exporter:
        fill(exporter)
    file.seek(0)
    return file


def packaged(model):
    def fill(exporter):
        exporter.intern(["model_code", "part.**"])
        exporter.save_pickle("data", "model.pkl", model)

    return written(fill)


def test_an_object_comes_back_with_its_code(model):
    importer = PackageImporter(packaged(model))
    loaded = importer.load_pickle("data", "model.pkl")
    assert loaded(tl.ones(2)).tolist() == [4.0, 4.0]
    assert type(loaded) is not type(model)
    assert type(loaded).__module__ == f"{importer.id()}.model_code"
    assert is_from_package(loaded)
    assert not is_from_package(model)
    assert "scaled" in importer.get_source("part.scale")


def test_tensors_keep_what_they_share():
    base = tl.arange(6.0)
    state = {"whole": base, "part": base[2:4], "weight": nn.Parameter(tl.ones(2)), "dtype": tl.bfloat16}

    def fill(exporter):
        exporter.save_pickle("data", "state.pkl", state)
        exporter.save_pickle("data", "again.pkl", base)

    importer = PackageImporter(written(fill))
    loaded = importer.load_pickle("data", "state.pkl")
    assert loaded["part"].tolist() == [2.0, 3.0]
    loaded["whole"][2] = 9.0
    assert loaded["part"][0] == 9.0
    assert importer.load_pickle("data", "again.pkl")[2] == 9.0
    assert isinstance(loaded["weight"], nn.Parameter)
    assert loaded["dtype"] is tl.bfloat16
    assert importer.load_pickle("data", "again.pkl", map_location="meta").is_meta is False  # read before


def test_modules_of_the_library_need_no_pattern():
    layers = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()).eval()
    importer = PackageImporter(written(lambda e: e.save_pickle("data", "layers.pkl", layers)))
    x = tl.randn(2, 3)
    assert importer.load_pickle("data", "layers.pkl")(x).equal(layers(x))


def test_a_graph_module_is_packaged_as_code():
    result = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    importer = PackageImporter(written(lambda e: e.save_pickle("data", "graph.pkl", result)))
    loaded = importer.load_pickle("data", "graph.pkl")
    x = tl.randn(3, 2)
    assert loaded(x).equal(result(x))
    assert "def forward" in importer.load_text("fx-generated", "_0.py")


def test_an_object_is_packaged_again(model):
    importer = PackageImporter(packaged(model))
    loaded = importer.load_pickle("data", "model.pkl")

    def fill(exporter):
        exporter.intern("**")
        exporter.save_pickle("data", "model.pkl", loaded)

    with pytest.raises(pickle.PicklingError, match="importer"):
        written(fill)
    again = PackageImporter(written(fill, importer=(importer, sys_importer)))
    assert again.load_pickle("data", "model.pkl")(tl.ones(2)).tolist() == [4.0, 4.0]


def test_patterns_decide_in_order(model):
    def mocked(exporter):
        exporter.mock("part.scale")
        exporter.intern("**")
        exporter.save_source_string("use", "import part.scale\nfrom part.scale import scaled")

    use = PackageImporter(written(mocked)).import_module("use")
    with pytest.raises(NotImplementedError, match="mocked out"):
        use.scaled(1, 2)
    with pytest.raises(PackagingError, match="did not match against any action") as error:
        written(lambda e: e.save_source_string("use", "import part.scale"))
    assert find_first_use_of_broken_modules(error.value) == {"part.scale": ["use", "part.scale"]}

    def denied(exporter):
        exporter.deny("part.**")
        exporter.save_source_string("use", "import part.scale")

    with pytest.raises(PackagingError, match="denied"):
        written(denied)

    def empty(exporter):
        exporter.extern("nothing", allow_empty=False)

    with pytest.raises(EmptyMatchError, match="nothing"):
        written(empty)


def test_external_modules_can_be_forbidden():
    file = written(lambda e: e.save_source_string("use", "import json"))
    assert PackageImporter(file).extern_modules == ["json"]
    file.seek(0)
    with pytest.raises(ImportError, match="json"):
        PackageImporter(file, module_allowed=lambda name: name != "json")


def test_code_sees_the_package_and_nothing_else(model):
    def fill(exporter):
        exporter.save_source_string("part", "WORD = 'packaged'", is_package=True)
        exporter.save_source_string("part.inner", "from . import WORD")
        exporter.save_source_string(
            "use", "import part.inner\nWORD = part.WORD\nHERE = '__torch_package__' in dir()"
        )
        exporter.save_source_string("lost", "import sqlite3", dependencies=False)

    importer = PackageImporter(written(fill))
    use = importer.import_module("use")
    assert (use.WORD, use.HERE) == ("packaged", True)
    assert use.part.inner.WORD == "packaged"
    with pytest.raises(ModuleNotFoundError, match="sqlite3"):
        importer.import_module("lost")
    assert importer.import_module("use") is use
    with pytest.raises(ModuleNotFoundError):
        importer.import_module("use.more")


def test_resources():
    source = """
        import importlib.resources
        import torch_package_importer
        import notes
        TEXT = importlib.resources.files(notes).joinpath("a.txt").read_text()
        BYTES = torch_package_importer.load_binary("notes", "b.bin")
    """

    def fill(exporter):
        exporter.save_text("notes", "a.txt", "a text")
        exporter.save_binary("notes", "b.bin", b"\x00\x01")
        exporter.save_source_string("use", textwrap.dedent(source))

    importer = PackageImporter(written(fill))
    use = importer.import_module("use")
    assert (use.TEXT, use.BYTES) == ("a text", b"\x00\x01")
    assert importer.file_structure().has_file("notes/a.txt")
    assert (
        str(importer.file_structure(include="notes/*"))
        == "─── <binary>\n    └── notes\n        ├── a.txt\n        └── b.bin\n"
    )
    assert importer.python_version() == sys.version.split()[0]
    assert importlib.resources  # the module that the package uses is the interpreter's


class Counted:
    def __reduce_package__(self, exporter):
        name = f"counted._{exporter.get_unique_id()}"
        exporter.save_text(name, "state.txt", "kept")
        return loaded_counted, (name,)


def loaded_counted(importer, name):
    result = Counted()
    result.text = importer.load_text(name, "state.txt")
    return result


def test_reduce_package():
    thing = Counted()

    def fill(exporter):
        exporter.extern(__name__)
        exporter.save_pickle("data", "things.pkl", [thing, thing])

    # The function is found where the test's module is importable.
    sys.modules.setdefault(__name__, sys.modules[Counted.__module__])
    first, second = PackageImporter(written(fill)).load_pickle("data", "things.pkl")
    assert first is second
    assert first.text == "kept"


def test_hooks_and_questions(model):
    records = []

    def fill(exporter):
        exporter.register_intern_hook(lambda e, name: records.append(("intern", name)))
        handle = exporter.register_extern_hook(lambda e, name: records.append(("extern", name)))
        handle.remove()
        exporter.intern("**")
        exporter.save_module("model_code")
        assert exporter.get_rdeps("part.scale") == ["model_code"]
        assert '"model_code" -> "part.scale"' in exporter.all_paths("model_code", "part.scale")
        assert '"model_code" -> "math"' in exporter.dependency_graph_string()
        assert exporter.externed_modules() == ["math"]
        assert exporter.interned_modules() == ["model_code", "part.scale"]
        assert exporter.mocked_modules() == exporter.denied_modules() == []

    written(fill)
    assert records == [("intern", "model_code"), ("intern", "part.scale")]


def test_a_folder_serves_as_the_file_did(model, tmp_path):
    path = tmp_path / "package.pt"
    path.write_bytes(packaged(model).getvalue())
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "out")
    loaded = PackageImporter(tmp_path / "out" / "archive").load_pickle("data", "model.pkl")
    assert loaded(tl.ones(2)).tolist() == [4.0, 4.0]


def test_a_failed_package_leaves_the_file_alone(tmp_path):
    path = tmp_path / "package.pt"
    path.write_bytes(b"before")
    with pytest.raises(PackagingError), PackageExporter(path) as exporter:
        exporter.save_source_string("use", "from ..... import nothing")
    assert path.read_bytes() == b"before"


def test_patterns_and_imports():
    group = GlobGroup(["a.**", "b*.c"], exclude="a.x")
    assert [n for n in ("a", "a.b.c", "a.x", "bb.c", "b.c.d") if group.matches(n)] == ["a", "a.b.c", "bb.c"]
    with pytest.raises(ValueError, match="segment"):
        GlobGroup("a.**b")
    source = "import a.b as c\nfrom .d import e, f\n__import__('g')\n__import__('h', fromlist=['i'])"
    assert find_files_source_depends_on(source, "p") == [
        ("a.b", None),
        ("p.d", "e"),
        ("p.d", "f"),
        ("g", None),
        ("h", "i"),
    ]
    graph = DiGraph()
    graph.add_edge("a", "b")
    graph.add_edge("b", "a")
    assert graph.first_path("b") == ["a", "b"]
    assert "test_package" in " ".join(trace_dependencies(lambda x: helper(x), [(1,)]))


def helper(x):
    return x


# ---- damaged and forged files

REFUSALS = (
    RuntimeError,
    pickle.UnpicklingError,
    ValueError,
    ImportError,
    AttributeError,
    TypeError,
    KeyError,
    OSError,
)


def test_damaged_files_are_refused_or_read(model):
    good = packaged(model).getvalue()
    draw = random.Random(20)
    refused = 0
    for _ in range(400):
        data = bytearray(good)
        for _ in range(draw.choice((1, 1, 2, 8))):
            data[draw.randrange(len(data))] = draw.randrange(256)
        if draw.random() < 0.2:
            data = data[: draw.randrange(len(data))]
        try:
            importer = PackageImporter(io.BytesIO(bytes(data)))
            assert importer.load_pickle("data", "model.pkl")(tl.ones(2)).tolist() == [4.0, 4.0]
        except REFUSALS:
            refused += 1
    assert refused > 150


def forged(records):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in records.items():
            archive.writestr(name, data)
    file.seek(0)
    return file


STORAGE = (
    b"\x80\x02(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu%btQ."
)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.", "damaged"),  # bytes of which there are none
        (b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f.", "damaged"),
        (b"\x80\x02X\x05\x00\x00\x00thingQ.", "refers to something"),
        (b"\x80\x02)Q.", "refers to something"),
        (STORAGE % b"J\xff\xff\xff\x7f", "should have"),
        (STORAGE % b"J\xff\xff\xff\xff", "elements"),
        (b"\x80\x02}q\x00.extra", None),
        (b"", "damaged"),
        (b"\x80\x02cnowhere\nthing\n.", "nowhere"),
        (b"(" * 50_000, "damaged"),
    ],
)
def test_forged_pickles(data, error):
    records = {"p/.data/extern_modules": "", "p/data/a.pkl": data, "p/.data/0.storage": b"\x00" * 8}
    importer = PackageImporter(forged(records))
    if error is None:
        assert importer.load_pickle("data", "a.pkl") == {}
        return
    with pytest.raises(REFUSALS, match=error):
        importer.load_pickle("data", "a.pkl")


def test_forged_archives():
    with pytest.raises(RuntimeError, match="one folder"):
        PackageImporter(forged({"a/x": "", "b/y": ""}))
    with pytest.raises(RuntimeError, match="external modules"):
        PackageImporter(forged({"a/x": ""}))
    with pytest.raises(RuntimeError, match="damaged"):
        PackageImporter(forged({"a/.data/extern_modules": b"\xff\xfe"}))
    importer = PackageImporter(forged({"a/.data/extern_modules": "", "a/../../evil.py": "1 / 0"}))
    with pytest.raises(ValueError, match="file name"):
        importer.load_text("x", "../../evil.py")
    with pytest.raises(ValueError, match="path or an object"):
        PackageImporter(7)


def test_a_folder_is_not_left(tmp_path):
    (tmp_path / "p" / ".data").mkdir(parents=True)
    (tmp_path / "p" / ".data" / "extern_modules").write_text("")
    (tmp_path / "secret.txt").write_text("secret")
    with pytest.raises(RuntimeError, match="no record"):
        PackageImporter(tmp_path / "p").zip_reader.read("../secret.txt")
