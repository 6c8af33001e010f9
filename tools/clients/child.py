"""A process that runs one program: `python child.py PROGRAM.py [torch]`, and prints what came of it as a line of JSON.

Seconds are those of the processor since the process was started, so that other work of the machine doesn't count.

The program is a module whose `main()` returns numbers by name; it says `import torch`, which is tl unless the second
argument names torch. Only the standard library is used, as the environment belongs to the library.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

SHOWN = 8  # values of a tensor that are compared one by one


def numbers(value: Any) -> Any:
    """A result as JSON: tensors and arrays by their shape, their first values, their mean and mean magnitude."""
    if isinstance(value, dict):
        return {str(key): numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [numbers(item) for item in value]
    if hasattr(value, "detach"):
        value = value.detach().to("cpu").resolve_conj()
        value = (value.float() if str(value.dtype).endswith("bfloat16") else value).numpy()
    if hasattr(value, "reshape"):
        return _array(value)
    return value if isinstance(value, str | bool | int | None) else float(value)


def _array(array: Any) -> Any:
    if array.dtype.kind == "c":
        return {"real": _array(array.real), "imag": _array(array.imag)}
    flat = array.reshape(-1).astype("float64")
    if not array.shape:
        return float(flat[0])
    mean, magnitude = (float(flat.mean()), float(abs(flat).mean())) if flat.size else (0.0, 0.0)
    return {"shape": list(array.shape), "first": flat[:SHOWN].tolist(), "mean": mean, "magnitude": magnitude}


def run(path: Path) -> dict[str, Any]:
    """Imports the program and runs it.

    Args:
        path: the program.

    Returns:
        Its numbers; seconds from the start of the process until the program is imported and a first operator has run,
        and those of its job; and the peak of resident memory in bytes.
    """
    name = f"program_{path.stem}"  # not that of the library
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    sys.modules["torch"].ones(2).sum().item()
    first = time.process_time()
    result = numbers(module.main())
    seconds = {"first": first, "main": time.process_time() - first}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"result": result, "seconds": seconds, "peak": peak}


def main() -> None:
    """Runs the program that the command line names."""
    path, *peer = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the program prints must not look like an answer
    if not peer:
        import tl.torch

        tl.torch.install()
    answers.write(json.dumps(run(Path(path).resolve())) + "\n")


if __name__ == "__main__":
    main()
