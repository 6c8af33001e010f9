"""`python -m tools.cpp_clients`: holds the operators of published wheels on tl against what they return on PyTorch.

The libraries of torchao, torchcodec and xformers are loaded, torchcodec decodes pictures, and torchao quantizes.

`--record --python PYTHON` runs them on an interpreter with torch and the wheels, and writes recorded.json.
`--peer-python PYTHON` measures `nms` on both in turn.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

FOLDER = Path(__file__).parent
RECORDED = FOLDER / "recorded.json"
# Results that are sums of many products, in another order than PyTorch's; a step of training adds to the difference.
TOLERANCES = {"deform_conv2d": 1e-5, "mel": 1e-5, "lfilter_gradients": 1e-5, "forced": 1e-5, "rnnt": 1e-5}
TOLERANCES |= {"detector_0": 1e-4, "detector_1": 5e-3, "detector_2": 1e-2}
RATIO = 0.35  # of PyTorch's time, for `nms` of three boxes


def run(python: str, peer: bool) -> dict[str, Any]:
    """What the child writes.

    Args:
        python (str): The interpreter.
        peer (bool): Whether it has torch.

    Returns:
        dict[str, Any]: The facts by name, and a time.

    Raises:
        SystemExit: The child failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "out.json")
        through = [] if peer else ["-m", "tl.torch"]
        command = [python, "-W", "ignore", *through, str(FOLDER / "operators.py"), str(target)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        if not peer:
            environment.pop("TL_PRELOAD", None)
        if subprocess.run(command, env=environment).returncode != 0:
            raise SystemExit("the operators did not run")
        return json.loads(target.read_text())


def is_close(a: float, b: float, scale: float, bound: float) -> bool:
    """Whether numbers agree, beside the size of what they are part of."""
    return math.isclose(a, b, rel_tol=bound, abs_tol=bound * scale)


def judge(name: str, ours: Any, theirs: Any) -> str:
    """How a result agrees: "equal", "close", or what differs.

    Args:
        name (str): Its name.
        ours (Any): The fact on tl.
        theirs (Any): The recorded fact.

    Returns:
        str: The judgement.
    """
    if ours == theirs:
        return "equal"
    bound = next((t for beginning, t in TOLERANCES.items() if name.startswith(beginning)), 1e-6)
    if isinstance(ours, str) or isinstance(theirs, str) or ours["shape"] != theirs["shape"]:
        return f"DIFFERENT: {ours}, recorded {theirs}"
    size = max(map(abs, theirs["sample"]), default=0)
    pairs = [(a, b, size) for a, b in zip(ours["sample"], theirs["sample"], strict=True)]
    pairs += [(ours[k], theirs[k], theirs["size"]) for k in ("sum", "size")]
    return (
        "close" if all(is_close(*pair, bound) for pair in pairs) else f"DIFFERENT: {ours}, recorded {theirs}"
    )


def ratio(python: str) -> float:
    """The median of the ratios of three runs each, in turn."""
    pairs = [(run(sys.executable, False)["nms_us"], run(python, True)["nms_us"]) for _ in range(3)]
    print(", ".join(f"{a:.1f} us / {b:.1f} us" for a, b in pairs))
    return median(a / b for a, b in pairs)


def main() -> int:
    """Runs, compares, prints."""
    parser = argparse.ArgumentParser(prog="python -m tools.cpp_clients", description=__doc__)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--peer-python")
    options = parser.parse_args()
    if options.record:
        facts = run(options.python, True)["facts"]
        RECORDED.write_text(json.dumps(facts, indent=1) + "\n")
        print(f"{len(facts)} facts recorded")
        return 0
    recorded = json.loads(RECORDED.read_text())
    ours = run(sys.executable, False)["facts"]
    judgements = {name: judge(name, ours.get(name, "absent"), fact) for name, fact in recorded.items()}
    for name, judgement in judgements.items():
        print(f"{name:26} {judgement}")
    wrong = [name for name, judgement in judgements.items() if judgement not in ("equal", "close")]
    print(f"{len(judgements) - len(wrong)} of {len(judgements)} agree")
    for child in ("binaries", "libraries"):
        command = [sys.executable, "-W", "ignore", "-m", "tl.torch", str(FOLDER / f"{child}.py")]
        if subprocess.run(command, check=False).returncode != 0:
            wrong.append(child)
    slow = False
    if options.peer_python:
        measured = ratio(options.peer_python)
        slow = measured > RATIO
        print(f"nms of three boxes takes {measured:.2f} of PyTorch's time, at most {RATIO}")
    return 1 if wrong or slow or set(ours) - set(recorded) else 0


if __name__ == "__main__":
    sys.exit(main())
