"""The stubs of the façade, and the programs on which type checkers read them."""

import re

from tools import facade_stubs, typed_programs
from tools.packages import ROOT
from tools.stub_sources import GENERATED, Home, export, resolve, source


def test_a_name_is_exported_by_a_module_that_lists_it():
    assert export("tl_core.linalg", "LinAlgError") == Home("tl_core.linalg", "LinAlgError")
    assert resolve("tl_core.linalg", "LinAlgError") == Home("tl_core.base.errors", "LinAlgError")
    assert export("tl_nn", "Linear") == Home("tl_nn.modules.linear", "Linear")
    assert resolve("tl_nn", "functional") == Home("tl_nn.functional")
    assert export("tl_core", "no_grad") == Home("tl_core.dispatch.grad_mode", "no_grad")
    assert export("tl_core", "zeros_like") == Home(GENERATED, "zeros_like")
    assert resolve("tl_core", "pi") == Home("math", "pi")
    assert resolve("tl_core", "nonsense") is None


def test_lists_of_public_names_are_read_as_checkers_read_them():
    functional = source("tl_nn.functional")
    assert functional is not None and not functional.is_readable()
    assert {"relu", "cross_entropy"} <= set(functional.public())
    written = source("tl_core.linalg")
    assert written is not None and written.is_readable()


def test_each_module_of_the_table_has_a_stub():
    modules = set(facade_stubs.modules())
    assert {
        "",
        "nn",
        "nn.functional",
        "utils.data",
        "fft",
        "distributed.fsdp",
        "quantization",
        "_C",
    } <= modules
    assert not {"examples", "torch", "version"} & modules
    assert {path.name for path in facade_stubs.FACADE.rglob("*.pyi")} == {"__init__.pyi"}


def test_imports_between_stubs_are_relative():
    for path in facade_stubs.FACADE.rglob("*.pyi"):
        absolute = set(re.findall(r"^from (tl(?:\.\S+)?) import", path.read_text(), re.MULTILINE))
        sources = {name for name in absolute if name.startswith("tl._")}  # private modules have no stubs
        assert absolute - sources <= {"tl", "tl.version"}, path
    alias = (facade_stubs.FACADE / "quantization" / "__init__.pyi").read_text()
    assert "from ..ao.quantization import *" in alias


def test_there_are_programs_and_twelve_mistakes(tmp_path):
    assert len(list((ROOT / "packages/tl-all/tests/typed").glob("*.py"))) == 25
    typed_programs.copy(tmp_path, as_torch=False)
    mistakes = typed_programs.marked(tmp_path)
    assert len(mistakes) == 12
    assert {path.partition("/")[0] for path, _ in mistakes} == {"mistyped"}
