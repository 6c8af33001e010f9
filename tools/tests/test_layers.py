"""Planted violations of the layers are found, and allowed code is not reported."""

import pytest

from tools import import_reader, layers, python_imports
from tools.cycles import cycles

CORE = "tl-core/src/tl_core/"
AUTOGRAD = "tl-autograd/src/tl_autograd/"


def messages(repository):
    return [v.message for v in layers.violations(repository.root)]


def test_an_empty_repository_is_clean(repository):
    assert messages(repository) == []


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        (CORE + "a.py", "import tl_autograd\n", "tl_core may not import tl_autograd"),
        (CORE + "a.py", "def f():\n    from tl_autograd import grad\n", "tl_core may not import tl_autograd"),
        (CORE + "a.py", "import requests\n", "imports requests, which tl-core does not declare"),
        (CORE + "a.py", "import numpy as np\n", "imports numpy at import time"),
        (AUTOGRAD + "a.py", "from tl_core._C import x\n", "imports tl_core._C.x, a private name"),
        (AUTOGRAD + "a.py", "import tl_core\ntl_core._hidden()\n", "uses tl_core._hidden, a private name"),
        (AUTOGRAD + "a.py", "import tl_core as c\nc._hidden()\n", "uses tl_core._hidden, a private name"),
        ("tl-autograd/tests/test_a.py", "from tl_core import _x\n", "imports tl_core._x, a private name"),
        ("tl-all/src/tl/a.py", "from tl_autograd._engine import run\n", "imports tl_autograd._engine.run"),
        (CORE + "a.py", "from tl_core import a\n", "imports go round in a circle: tl_core.a"),
    ],
)
def test_a_planted_import_is_found(repository, path, text, message):
    repository.write(path, text)
    (found,) = layers.violations(repository.root)
    assert message in found.message
    assert str(found.path) == f"packages/{path}"
    assert found.line >= 1


def test_a_circle_of_imports_is_found_in_functions_too(repository):
    repository.write(CORE + "a.py", "from . import b\n")
    repository.write(CORE + "b.py", "def f():\n    from .a import x\n")
    (message,) = messages(repository)
    assert message.startswith("imports go round in a circle")
    assert "tl_core.a" in message
    assert "tl_core.b" in message


@pytest.mark.parametrize(
    "text",
    [
        'from importlib import import_module\ndef f():\n    import_module("tl_core.a")\n',
        'import importlib\nimportlib.import_module(f"{__package__}.a")\n',
        'from importlib import import_module as load\nHOMES = {"x": "a"}\nload(f"tl_core.{HOMES[name]}")\n',
        'from importlib import import_module\nHOMES = {"x": "tl_core.a"}\nimport_module(HOMES["x"])\n',
        'from importlib import import_module\nfor name in ("tl_core.a",):\n    import_module(name)\n',
        '__import__("tl_core.a")\n',
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import A\n",
    ],
)
def test_a_circle_through_text_or_type_hints_is_found(repository, text):
    repository.write(CORE + "a.py", "from . import b\n")
    repository.write(CORE + "b.py", text)
    (message,) = messages(repository)
    assert message.startswith("imports go round in a circle") and "tl_core.b" in message


LAZY = """
from typing import TYPE_CHECKING
from tl_core.base.lazy_attributes import attach
if TYPE_CHECKING:
    from tl_core.room.a import A
__getattr__, __dir__, __all__ = attach(__name__, {"a": ["A"]}, ["b"])
"""


def test_a_lazy_table_of_modules_below_the_package_is_no_circle(repository):
    repository.write(CORE + "base/lazy_attributes.py", "def attach(*_): ...\n")
    repository.write(CORE + "room/__init__.py", LAZY)
    repository.write(CORE + "room/b.py", "")
    repository.write(CORE + "room/a.py", "from tl_core import room\nfrom tl_core.room import b\n")
    assert messages(repository) == []


@pytest.mark.parametrize(
    "text", ["from tl_core.room import A\n", "from tl_core import room\ndef f():\n    room.A()\n"]
)
def test_a_name_of_a_lazy_table_counts_as_its_module(repository, text):
    repository.write(CORE + "base/lazy_attributes.py", "def attach(*_): ...\n")
    repository.write(CORE + "room/__init__.py", LAZY)
    repository.write(CORE + "room/a.py", "from tl_core.room import b\n")
    repository.write(CORE + "room/b.py", text)
    (message,) = messages(repository)
    assert message.startswith("imports go round in a circle") and "tl_core.room.b" in message


def test_a_package_imports_no_package_above_by_text(repository):
    repository.write(CORE + "a.py", '__import__("tl_autograd.engine")\n')
    assert messages(repository) == ["tl_core may not import tl_autograd"]


def test_only_the_folder_compat_imports_from_it(repository):
    repository.write(CORE + "compat/old.py", "from tl_core.a import x\nfrom . import new\n")
    repository.write(CORE + "compat/new.py", "")
    repository.write("tl-core/tests/test_a.py", "from tl_core.compat import old\n")
    assert messages(repository) == []
    repository.write(CORE + "__init__.py", 'def __getattr__(n):\n    __import__("tl_core.compat.new")\n')
    assert messages(repository) == []
    repository.write(CORE + "a.py", "def f():\n    from tl_core.compat.old import y\n")
    assert "imports tl_core.compat.old, but only compat and tests may import from compat" in messages(
        repository
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (CORE + "a.py", "import os\nfrom . import version\nfrom tl_core._C import x\n"),
        (CORE + "a.py", "def f():\n    import numpy\n"),
        (CORE + "a.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy\n"),
        (AUTOGRAD + "a.py", "import tl_core\ntl_core.__version__\ntl_core.add\ntl_core._foreach_add_\n"),
        (AUTOGRAD + "a.py", "from ._engine import run\n"),
        ("tl-core/tests/test_a.py", "from tl_core._C import x\n"),
    ],
)
def test_what_is_allowed_is_not_reported(repository, path, text):
    repository.write(AUTOGRAD + "_engine.py", "")
    repository.write(path, text)
    assert messages(repository) == []


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("tl-core/csrc/base/a.h", '#include "tensor/t.h"\n', "tensor/ lies to its right"),
        ("tl-core/csrc/kernels/cpu/simd/a.cpp", '#include "ops/gemm/g.h"\n', "ops/ lies to its right"),
        ("tl-core/csrc/kernels/cpu/simd/a.h", '#include "kernels/cpu/gemm/g.h"\n', "gemm/ lies to its right"),
        ("tl-core/csrc/kernels/cpu/a.h", "", "lies in none of the rooms"),
        ("tl-core/csrc/kernels/cpu/attic/a.h", "", "lies in none of the rooms"),
        ("tl-core/csrc/ops/sort/a.cpp", '#include "ops/gemm/g.h"\n', "gemm/ lies to its right"),
        ("tl-core/csrc/ops/a.h", "", "lies in none of the rooms"),
        ("tl-core/csrc/attic/a.cpp", '#include "tensor/t.h"\n', "csrc/attic/ is not one of the rooms"),
        ("tl-distributed/csrc/base/a.h", '#include "group/g.h"\n', "group/ lies to its right"),
        ("tl-core/include/tl/a.h", '#include "../../csrc/tensor/t.h"\n', "is not public"),
        (
            "tl-autograd/csrc/a.cpp",
            '#include "../../tl-core/csrc/tensor/t.h"\n',
            "belongs to another package",
        ),
        ("tl-core/csrc/tensor/a.h", '#include "a.h"\n', "includes go round in a circle"),
    ],
)
def test_a_planted_include_is_found(repository, path, text, message):
    repository.write("tl-core/csrc/tensor/t.h", "")
    repository.write("tl-core/csrc/ops/gemm/g.h", "")
    repository.write("tl-core/csrc/kernels/cpu/gemm/g.h", "")
    repository.package("tl-distributed", "tl_distributed", ["tl-core>=0.1,<1"])
    repository.write("tl-distributed/csrc/group/g.h", "")
    repository.write(path, text)
    (found,) = messages(repository)
    assert message in found


def test_a_circle_of_includes_is_found(repository):
    repository.write("tl-core/csrc/base/a.h", '#include "base/b.h"\n')
    repository.write("tl-core/csrc/base/b.h", '#include "base/a.h"\n')
    (message,) = messages(repository)
    assert message.startswith("includes go round in a circle")


def test_includes_to_the_left_and_generated_ones_are_allowed(repository):
    repository.write("tl-core/include/tl/c_api.h", "")
    repository.write("tl-core/csrc/base/b.h", '#include "tl/c_api.h"\n')
    repository.write("tl-core/csrc/ops/sort/a.cpp", '#include "base/b.h"\n#include "made_by_opgen.h"\n')
    repository.write("tl-autograd/csrc/a.cpp", '#include "tl/c_api.h"\n#include <vector>\n')
    assert messages(repository) == []


def test_cycles_of_a_graph():
    graph = {1: [2], 2: [3], 3: [1, 4], 4: [5], 5: [], 6: [6]}
    assert sorted(sorted(c) for c in cycles(graph)) == [[1, 2, 3], [6]]
    assert cycles({n: [n + 1] for n in range(5000)}) == []


def test_a_room_imports_only_rooms_before_it(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("from ..groups import world\nfrom ..base.errors import DistError\nfrom . import b\n")
    reader = import_reader.read(file, "tl_distributed.stores.a")
    upward = python_imports._upward(reader, ("base", "stores", "groups"))
    assert list(upward) == [(1, "the room stores may not import the room groups")]


@pytest.mark.parametrize(
    "path",
    [
        'Path(__file__).parents[2] / "tl-core" / "tests"',
        'Path(__file__).parents[2] / "tl-core/tests"',
        'open("../../tl-core/tests/data.txt")',
    ],
)
def test_a_path_of_another_package_in_a_test_is_found(repository, path):
    repository.write("tl-autograd/tests/test_a.py", f"from pathlib import Path\n{path}\n")
    (message,) = messages(repository)
    assert message == "reads the folder of tl-core, which the tests of tl-autograd do without"


def test_names_of_packages_and_paths_of_the_own_package_are_allowed(repository):
    text = 'import pathlib\nassert "tl-core" in "needs tl-core"\nopen("tl-autograd/tests/a.txt")\n'
    repository.write("tl-autograd/tests/test_a.py", text)
    assert messages(repository) == []


def test_an_exception_for_a_test_that_reads_no_folder_is_found(repository):
    repository.write("tl-autograd/tests/test_row_gradients.py", "")
    (message,) = messages(repository)
    assert message.startswith("reads no folder of tl-core")
    repository.write("tl-autograd/tests/test_row_gradients.py", 'CORE = path / "tl-core"\n')
    assert messages(repository) == []
