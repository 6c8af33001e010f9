"""Drawn calls of ATen's operators, run by PyTorch and by tl, whose outcomes are compared.

    python -m tools.peer_schemas --peer-python PYTHON [--calls N] [--seed N] [--only REGEX]
        [--of {results,gradients,second gradients,tangents,batches,nodes,writes}] [--json FILE]

The arguments come from the operators' schemas alone: tensors of many shapes, types and layouts, numbers and lists
that may fit or not. A call that ends tl's process fails the run. Other differences are listed by kind: another result,
a call that only one of the two refuses, another type of exception.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tools.packages import ROOT
from tools.peer_schemas.comparison import difference
from tools.peer_schemas.drawing import Argument, draw_call
from tools.peer_schemas.process import Worker
from tools.peer_schemas.transforms import TRANSFORMS

SHOWN = 2  # differences of one kind that are shown of an operator


def compare(
    operators: list[dict[str, Any]], peer: Worker, own: Worker, calls: int, seed: int, of: str
) -> list[dict[str, Any]]:
    """Runs the calls; returns the differences.

    Args:
        operators: the schemas.
        peer: PyTorch's process.
        own: tl's.
        calls: how many calls each overload gets.
        seed: decides the draws.
        of: "results", or the transform that is compared in their place.
    """
    differences = []
    for entry in operators:
        arguments = [Argument(**a) for a in entry["arguments"]]
        name = f"{entry['operator']}.{entry['overload']}"
        shown: Counter[str] = Counter()
        for number in range(calls):
            request = {**entry, "seed": f"{seed} {name} {number}", "of": of}
            expected = peer.ask(request)
            if expected[0] == "dies":  # nothing to compare with
                continue
            call = draw_call(entry["operator"], arguments, request["seed"], of == "results")
            outcome = own.ask(request)
            verdict = ("dies", "") if outcome[0] == "dies" else difference(call, expected, outcome)
            if verdict is None:
                continue
            shown[verdict[0]] += 1
            if shown[verdict[0]] <= SHOWN:
                print(f"{name}: {verdict[0]}: {verdict[1]}\n    {str(call)[:300]}", flush=True)
            differences.append(
                {"operator": name, "kind": verdict[0], "text": verdict[1], "seed": request["seed"]}
            )
    return differences


def main() -> int:
    """Compares, and returns 1 if a call ended tl's process."""
    parser = argparse.ArgumentParser(prog="python -m tools.peer_schemas", description=__doc__.splitlines()[0])
    parser.add_argument("--peer-python", required=True, help="the interpreter that has PyTorch")
    parser.add_argument("--calls", type=int, default=30, help="calls of each overload (30)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32, help="decides the draws")
    parser.add_argument("--only", default=".", metavar="REGEX", help="of `operator.overload`")
    parser.add_argument("--of", choices=("results", *TRANSFORMS), default="results", help="what is compared")
    parser.add_argument("--json", type=Path, help="where the differences are stored")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    command = [options.peer_python, "-m", "tools.peer_schemas.schemas"]
    schemas = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    only = re.compile(options.only)
    operators = [s for s in json.loads(schemas) if only.search(f"{s['operator']}.{s['overload']}")]
    program = "tools.peer_schemas.worker"
    peer, own = Worker(options.peer_python, "torch", program), Worker(sys.executable, "tl", program)
    try:
        differences = compare(operators, peer, own, options.calls, options.seed, options.of)
    finally:
        peer.close()
        own.close()
    if options.json:
        options.json.write_text(json.dumps(differences, indent=1))
    kinds = Counter(d["kind"] for d in differences)
    print(f"{len(operators)} overloads, {len(operators) * options.calls} calls: {dict(kinds)}")
    return 1 if kinds["dies"] else 0


if __name__ == "__main__":
    sys.exit(main())
