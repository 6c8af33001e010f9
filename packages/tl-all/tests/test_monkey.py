"""Bad input answers or raises: nonsense calls in processes of their own, none of which may die."""

import os
import signal
import subprocess
import sys
from pathlib import Path

CALLS = int(os.environ.get("TL_MONKEY", "1500"))
SEED = int(os.environ.get("TL_MONKEY_SEED", "0"))
CHUNK = 500


def run(first: int, count: int, log: Path) -> tuple[int, str]:
    """A process's status, and the last call that it wrote."""
    process = subprocess.run(
        [sys.executable, "-m", "monkey", f"--seed={SEED}", f"--first={first}", f"--count={count}", f"--log={log}"],
        cwd=log.parent,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    lines = log.read_text().splitlines() if log.exists() else []
    return process.returncode, lines[-1] if lines else process.stderr[-2000:]


def cause(status: int) -> str:
    """A status in words."""
    return signal.Signals(-status).name if status < 0 else f"status {status}"


def test_nonsense_answers_or_raises(tmp_path):
    crashes, first = [], 0
    while first < CALLS:
        end = min(first - first % CHUNK + CHUNK, CALLS)
        log = tmp_path / f"{first}.txt"
        status, last = run(first, end - first, log)
        if status == 0:
            first = end
            continue
        number, _, text = last.partition("\t")
        assert number.isdigit(), f"{cause(status)} before the first call: {last}"
        crashes.append(f"{cause(status)}: call {number} of seed {SEED}: {text}")
        first = int(number) + 1
    assert not crashes, "\n".join(crashes)
