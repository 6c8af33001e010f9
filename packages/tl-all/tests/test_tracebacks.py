"""Tracebacks of wrong programs: no frames but the program's, names as the program writes them."""

import re

import pytest

TORCH = ("-m", "tl.torch")


def lines_of(text):
    """The lines of the frames in a traceback, and its last line."""
    return [
        int(line) for line in re.findall(r'^  File ".*", line (\d+)', text, re.M)
    ], text.strip().splitlines()[-1]


MISSPELT = [
    ("torch.nn.Liner", "module 'torch.nn' has no attribute 'Liner'. Did you mean: 'Linear'?"),
    ("torch.zeross", "module 'torch' has no attribute 'zeross'. Did you mean: 'zeros'?"),
    ("torch.utils.dat", "module 'torch.utils' has no attribute 'dat'. Did you mean: 'data'?"),
    ("torch.linalg.invv", "module 'torch.linalg' has no attribute 'invv'. Did you mean: 'inv'?"),
    ("torch.ones(2).fooo", "'Tensor' object has no attribute 'fooo'. Did you mean: 'floor'?"),
]


@pytest.mark.parametrize("name, message", MISSPELT)
def test_a_misspelt_name_shows_the_line_of_the_program_only(python, name, message):
    program = f"import torch\n\n\ndef f():\n    {name}\n\n\nf()\n"
    text = python(*TORCH, "program.py", files={"program.py": program}, code=1)
    assert lines_of(text) == ([8, 5], f"AttributeError: {message}")


@pytest.mark.parametrize("name, message", MISSPELT[:4])
def test_a_module_of_tl_has_the_name_that_the_program_writes(execute, name, message):
    text = execute(f"import tl\n{name.replace('torch', 'tl')}\n", code=1)
    assert lines_of(text) == ([2], f"AttributeError: {message.replace('torch', 'tl')}")


CHAINED = "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('no') from error\n"


@pytest.mark.parametrize(
    "program, lines, last",
    [
        ("import torch\nimport nowhere\n", [2], "ModuleNotFoundError: No module named 'nowhere'"),
        ("import torch\nx = (\n", [2], "SyntaxError: '(' was never closed"),
        (CHAINED, [2, 4], "ValueError: no"),
        (
            "import sys\nsys.excepthook = lambda *e: print(e[1], file=sys.stderr)\n1 / 0\n",
            [],
            "division by zero",
        ),
    ],
)
def test_other_errors_show_the_program_only(python, program, lines, last):
    assert lines_of(python(*TORCH, "program.py", files={"program.py": program}, code=1)) == (lines, last)
