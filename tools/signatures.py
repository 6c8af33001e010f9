"""How many signatures of PyTorch's functions agree: `python -m tools.signatures --peer-python PYTHON`.

PYTHON has torch. The tool compares public functions of `torch`, of `torch.nn.functional` or of what `--modules` names.
It reads the names of the arguments from the signature, and for a function of C++ from the calls in its docstring. A
signature agrees if the function of tl takes each of these names, those that may stand without a name in the same order,
and requires no other argument.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

MODULES = ("", "nn.functional")
NESTED = r"([^()]*(?:\([^()]*\)[^()]*)*)"  # what stands between parentheses, itself with some
Signature = list[tuple[str, str, bool]]  # of each argument its name, its kind, whether it has a default


def functions(root: str, module: str) -> Iterator[tuple[str, Any]]:
    """The public functions of a module of PyTorch's API, in the program `root`."""
    namespace = importlib.import_module(f"{root}.{module}".rstrip("."))
    for name in dir(namespace):
        value = getattr(namespace, name)
        if not name.startswith("_") and callable(value) and not isinstance(value, type):
            yield name, value


def signatures_of(name: str, function: Any) -> list[Signature]:
    """The signature of a function, or those that its docstring begins with; empty if neither tells."""
    try:
        every = [parameters_of(inspect.signature(function))]
    except (TypeError, ValueError):
        text = inspect.cleandoc(function.__doc__ or "")
        calls = re.findall(rf"^ *(?:torch\.)?{re.escape(name)}\({NESTED}\) *(?:->.*)?$", text, re.MULTILINE)
        every = [signature for call in calls if (signature := parse_signature(call)) is not None]
    return [each for each in every if any(not kind.startswith("VAR") for _, kind, _ in each) or not each]


def parse_signature(arguments: str) -> Signature | None:
    """The signature with these arguments; None for what is no Python."""
    try:
        tree = ast.parse(f"def f({arguments}): pass")
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):  # defaults and annotations name what isn't there
            node.defaults = [ast.Constant(None) for _ in node.defaults]
            node.kw_defaults = [each and ast.Constant(None) for each in node.kw_defaults]
        elif isinstance(node, ast.arg):
            node.annotation = None
    scope: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(tree), "docstring", "exec"), scope)
    return parameters_of(inspect.signature(scope["f"]))


def parameters_of(signature: inspect.Signature) -> Signature:
    parameters = signature.parameters.values()
    return [(p.name, p.kind.name, p.default is not p.empty) for p in parameters]


def difference(theirs: Signature, ours: Signature) -> str | None:
    """Why a call that fits PyTorch's signature may not fit ours; None if it does."""
    known = {name: default for name, _, default in ours}
    for name, kind, default in theirs:
        if kind == "POSITIONAL_ONLY":
            continue
        if name not in known:
            return f"takes no {name}"
        if default and not known[name] and not kind.startswith("VAR"):
            return f"{name} has no default"
    ordered = [name for name, kind, _ in theirs if kind == "POSITIONAL_OR_KEYWORD"]
    if [name for name, kind, _ in ours if kind == "POSITIONAL_OR_KEYWORD"][: len(ordered)] != ordered:
        return f"another order than {', '.join(ordered)}"
    more = {name for name, kind, default in ours if not default and not kind.startswith("VAR")}
    missing = more - {name for name, _, _ in theirs}
    return f"asks for {', '.join(sorted(missing))}" if missing else None


def verdict(theirs: list[Signature], name: str, ours: Any) -> str | None:
    if ours is None:
        return "is not there"
    own = signatures_of(name, ours)
    if not own:
        return "has no signature"
    for each in theirs:
        reasons = [difference(each, mine) for mine in own]
        if all(reasons):
            return reasons[0]
    return None


def report(peer: dict[str, dict[str, list[Signature]]], show: bool) -> None:
    for module, every in peer.items():
        ours = importlib.import_module(f"tl.{module}".rstrip("."))
        verdicts = {
            name: verdict(theirs, name, getattr(ours, name, None)) for name, theirs in every.items() if theirs
        }
        wrong = {name: why for name, why in verdicts.items() if why}
        silent = sum(not theirs for theirs in every.values())
        share = f"{len(verdicts) - len(wrong)} of {len(verdicts)} agree, {1 - len(wrong) / len(verdicts):.1%}"
        print(f"{f'torch.{module}'.rstrip('.')}: {share}; {silent} of PyTorch's tell no signature")
        for name, why in sorted(wrong.items()) if show else ():
            print(f"  {name} {why}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer-python", help="a Python that has torch")
    parser.add_argument(
        "--modules", nargs="*", default=MODULES, help="such as nn.functional; '' is torch itself"
    )
    parser.add_argument("--show", action="store_true", help="lists those that differ, and why")
    parser.add_argument("--dump", action="store_true", help=argparse.SUPPRESS)  # the part of the other Python
    options = parser.parse_args()
    if options.dump:
        signatures = {m: {n: signatures_of(n, f) for n, f in functions("torch", m)} for m in options.modules}
        print(json.dumps(signatures))
        return
    command = [
        options.peer_python or sys.executable,
        "-m",
        "tools.signatures",
        "--dump",
        "--modules",
        *options.modules,
    ]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    report(json.loads(output.splitlines()[-1]), options.show)


if __name__ == "__main__":
    main()
