"""Examples of packages in the dialect of programs."""

import textwrap

import pytest

pytest.importorskip("tl", reason="the façade has the names of programs")

import tl_core
import tl_nn
from tools import program_dialect


def shown(text, names=None):
    return program_dialect.convert(textwrap.dedent(text), names or {})


@pytest.mark.parametrize(
    ("package", "program"),
    [
        (">>> import tl_core\n>>> tl_core.zeros(2)", ">>> import tl as torch\n>>> torch.zeros(2)"),
        (">>> import tl_core as tl\n>>> tl.zeros(2)", ">>> import tl as torch\n>>> torch.zeros(2)"),
        (">>> import tl\n>>> tl.nn.Linear(2, 3)", ">>> import tl as torch\n>>> torch.nn.Linear(2, 3)"),
        (
            ">>> import tl_core, tl_nn\n>>> tl_nn.Linear(2, 3)(tl_core.ones(2))",
            ">>> import tl as torch\n>>> torch.nn.Linear(2, 3)(torch.ones(2))",
        ),
        (
            ">>> import math, tl_autograd\n>>> tl_autograd.grad(math.pi)",
            ">>> import tl as torch\n>>> import math\n>>> torch.autograd.grad(math.pi)",
        ),
        (">>> from tl_nn import Linear\n>>> Linear(2, 3)", ">>> from tl.nn import Linear\n>>> Linear(2, 3)"),
        (
            ">>> import tl_nn.functional as F\n>>> F.relu(1)",
            ">>> import tl.nn.functional as F\n>>> F.relu(1)",
        ),
        (
            ">>> import tl_core\n>>> for i in range(2):\n...     tl_core.ones(i)",
            ">>> import tl as torch\n>>> for i in range(2):\n...     torch.ones(i)",
        ),
    ],
)
def test_imports_become_one(package, program):
    assert shown(package) == program
    assert shown(program) == program


def test_output_and_text_stay():
    text = "See `tl_nn.Linear`.\n\n>>> import tl_nn\n>>> tl_nn.Linear\n<class 'tl_nn.Linear'>\n\nThe end.\n"
    lines = shown(text).split("\n")
    assert lines[2:4] == [">>> import tl as torch", ">>> torch.nn.Linear"]
    assert [*lines[:2], *lines[4:]] == [*text.split("\n")[:2], *text.split("\n")[4:]]


def test_names_of_the_module_are_imported():
    names = program_dialect.names_around(tl_nn)
    assert shown(">>> Linear(2, 3)\n>>> tl_nn.ReLU()", names) == (
        ">>> import tl as torch\n>>> torch.nn.Linear(2, 3)\n>>> torch.nn.ReLU()"
    )


def test_variables_are_no_names_of_the_module():
    names = program_dialect.names_around(tl_core)
    assert shown(">>> ones = 3\n>>> ones + 1", names) == ">>> ones = 3\n>>> ones + 1"
    assert shown(">>> f = lambda ones: ones", names) == ">>> f = lambda ones: ones"


def test_a_parameter_is_of_nn():
    names = program_dialect.names_around(tl_core)
    assert shown(">>> Parameter(ones(1))", names).endswith(">>> torch.nn.Parameter(torch.ones(1))")


def test_a_name_outside_of_the_facade_is_imported_from_its_module():
    names = {"convert": program_dialect.convert, "__name__": "tools.program_dialect"}
    text = shown(">>> convert('', {})", names)
    assert text == ">>> from tools.program_dialect import convert\n>>> convert('', {})"
