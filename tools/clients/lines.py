"""`python -m tools.clients.lines [LIBRARY ...]`: the lines of the libraries page resolve without torch.

Each library of the table is resolved by `tl pip install --dry-run` against the package index. Nothing is installed. The
interpreter has tl-all and pip.
"""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.error
import urllib.request

from tools.clients.table import CLIENTS

INDEX = "https://pypi.org/simple/pip/"
UNWANTED = re.compile(r"(torch|triton|nvidia-\S+|cuda-\S+)==")


def libraries() -> list[str]:
    """The distributions of the page, in its order."""
    firsts = ((client.alone or client.others)[:1] for client in CLIENTS.values())
    return list(dict.fromkeys(name for first in firsts for name in first))


def is_reachable() -> bool:
    """Whether the package index answers."""
    try:
        with urllib.request.urlopen(INDEX, timeout=10):
            return True
    except (urllib.error.URLError, OSError):
        return False


def failure(library: str) -> str:
    """The reason why a line fails; empty if it resolves without torch."""
    command = [sys.executable, "-m", "tl", "pip", "install", "--dry-run", "--ignore-installed", library]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        return result.stderr.strip().splitlines()[-1]
    unwanted = [word for word in result.stdout.split() if UNWANTED.match(word)]
    return f"brings {' '.join(unwanted)}" if unwanted else ""


def main() -> int:
    """Prints the result of each library. The exit status is 1 if a line fails."""
    if not is_reachable():
        print(f"skipped: {INDEX} is out of reach")
        return 0
    chosen, failed = sys.argv[1:] or libraries(), 0
    for library in chosen:
        reason = failure(library)
        failed += bool(reason)
        print(f"tl pip install {library}: {reason or 'without torch'}", flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} lines resolve without torch")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
