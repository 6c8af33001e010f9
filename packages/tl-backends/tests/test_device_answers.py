"""Device modules answer without a device as they have been recorded to answer.

`python test_device_answers.py FILE` writes what each public name is and answers; `device_answers.json` was made once.
"""

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parent / "device_answers.json"
EXPECTED = json.loads(FILE.read_text(encoding="utf-8"))
KINDS = ("cpu", "cuda", "mps", "mtia", "xpu")

# PyTorch's underscore names that programs call.
UNDERSCORED = {
    "tl_backends.cuda.jiterator": ["_create_jit_fn", "_create_multi_output_jit_fn"],
}


def modules():
    """The device modules and their submodules."""
    for kind in KINDS:
        top = importlib.import_module(f"tl_backends.{kind}")
        yield top
        for found in pkgutil.walk_packages(top.__path__, f"{top.__name__}."):
            if found.name == "tl_backends.cpu.memory":  # counts what the process holds
                continue
            yield importlib.import_module(found.name)


def called(function):
    """The result of a call without arguments, or the type and the text of its error."""
    if getattr(function, "__name__", "") == "get_cpu_capability":
        return "returns what the machine has"
    try:
        result = function()
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"
    if inspect.isgenerator(result) or " at 0x" in repr(result):
        return f"returns {type(result).__module__}.{type(result).__qualname__}"
    return f"returns {type(result).__name__} {result!r}"


def signature(value):
    """The signature as text; None where there is none."""
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return None


def members(cls):
    """The signatures and docstrings of a class's public methods, and the names of its properties."""
    found = {}
    for name in sorted(dir(cls)):
        member = inspect.getattr_static(cls, name)
        if name.startswith("_") or getattr(object, name, None) is member:
            continue
        found[name] = {
            "signature": "property" if isinstance(member, property) else signature(getattr(cls, name)),
            "doc": inspect.getdoc(member),
        }
    return found


def described(value):
    """A public name: its kind, signature, docstring and answer."""
    if inspect.ismodule(value):
        return {"module": value.__name__, "doc": inspect.getdoc(value)}
    if not callable(value):
        return {"value": type(value).__name__ if " at 0x" in repr(value) else repr(value)}
    entry = {"path": f"{value.__module__}.{value.__qualname__}" if hasattr(value, "__qualname__") else None}
    entry |= {"signature": signature(value), "call": called(value), "doc": inspect.getdoc(value)}
    if inspect.isclass(value):
        entry |= {"bases": [base.__name__ for base in value.__mro__], "members": members(value)}
    return entry


def names(module):
    """The names that a module offers, in order."""
    public = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    return sorted([*public, *UNDERSCORED.get(module.__name__, [])])


def recorded():
    """All answers, by module and name."""
    return {
        module.__name__: {name: described(getattr(module, name)) for name in names(module)}
        for module in modules()
    }


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Today's answers, of a fresh interpreter: other tests select streams and devices."""
    file = tmp_path_factory.mktemp("answers") / "answers.json"
    command = [sys.executable, __file__, str(file)]
    subprocess.run(command, check=True, cwd=file.parent)  # calls may write files
    return json.loads(file.read_text(encoding="utf-8"))


def test_the_device_modules_are_those_recorded(answers):
    assert set(answers) == set(EXPECTED)


@pytest.mark.parametrize("module", EXPECTED)
def test_each_name_answers_as_recorded(answers, module):
    assert answers[module] == EXPECTED[module]


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(recorded(), file, indent=1, sort_keys=True, ensure_ascii=False)
        file.write("\n")
