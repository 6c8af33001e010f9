"""What PyTorch's device modules are and answer without a device, as `test_device_answers.py` has it recorded.

`python record_device_answers.py FILE` with a PyTorch for the CPU writes the file anew.
"""

import importlib
import inspect
import json
import pkgutil
import sys

KINDS = ("cpu", "cuda", "mps", "mtia", "xpu")
# What PyTorch raises where its own CPU build lacks a function of C++ or a driver's library.
ACCIDENTS = (AttributeError, KeyError, ModuleNotFoundError)
MACHINE = "get_cpu_capability"  # answers by the processor


def modules(root):
    """The device modules of a package and their public submodules, by their names below the package."""
    for kind in KINDS:
        top = importlib.import_module(f"{root}.{kind}")
        yield kind, top
        for submodule in pkgutil.iter_modules(top.__path__, f"{top.__name__}."):
            name = submodule.name.removeprefix(f"{root}.")
            if not name.rpartition(".")[2].startswith("_"):
                yield name, importlib.import_module(submodule.name)


def parameters(value):
    """The names of a function's parameters; None where there is no signature."""
    try:
        return list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return None


def answer(function):
    """What a call without arguments returns or raises."""
    try:
        result = function()
    except ACCIDENTS:
        return "refuses"
    except Exception as error:
        return f"raises {type(error).__name__}"
    shown = f" {result!r}" if isinstance(result, bool | int | str | tuple | list | dict | None) else ""
    return f"returns {type(result).__name__}{shown}"


def entry(name, value):
    """A public name: its kind, its parameters and its answer, or the value of what isn't called."""
    if not callable(value):
        return ["value", repr(value)]
    kind = "class" if inspect.isclass(value) else "function"
    return [kind, parameters(value), None if name == MACHINE else answer(value)]


def entries(module):
    """The public names of a module that are its own, not other modules."""
    names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    values = {name: getattr(module, name) for name in names if hasattr(module, name)}
    return {name: entry(name, value) for name, value in values.items() if not inspect.ismodule(value)}


def record(root):
    """All answers of a package, by module and name."""
    return {name: entries(module) for name, module in modules(root)}


if __name__ == "__main__":
    root = sys.argv[2] if len(sys.argv) > 2 else "torch"
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        lines = [
            f"{json.dumps(module)}: {{\n"
            + ",\n".join(f" {json.dumps(name)}: {json.dumps(names[name])}" for name in sorted(names))
            + "\n}"
            for module, names in sorted(record(root).items())
        ]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
