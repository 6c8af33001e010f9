"""`python -m tools.typed_programs CHECKER ...`: type checkers on programs, with mypy, pyright or ty.

The programs in `packages/tl-all/tests/typed` have no errors. Those in `mistyped` have one in each line that ends with
`# error`, and in no other. The checkers read the installed packages. The exit status is 1 for any other report.
`--as-torch` checks the same programs with `import torch`, on the stubs that `tl.stubs` writes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.packages import ROOT

PROGRAMS = ROOT / "packages" / "tl-all" / "tests"
MARK = "# error"
NAMES_OF_TL = (
    (r"^import tl as torch$", "import torch"),
    (r"^(import|from) tl\b", r"\1 torch"),
    (r"\btl\.", "torch."),
)

Lines = set[tuple[str, int]]


def command(checker: str, folder: Path, paths: list[str]) -> list[str]:
    """The command line of a checker in its strictest settings, for programs in a folder."""
    stubs = [str(path) for path in (folder / "stubs",) if path.exists()]
    if checker == "mypy":
        cache = f"--cache-dir={folder / 'cache'}"
        python = f"--python-executable={sys.executable}"
        return ["mypy", "--strict", "--no-error-summary", "--config-file=", python, cache]
    if checker == "pyright":
        settings = folder / "pyrightconfig.json"
        settings.write_text(
            json.dumps({"typeCheckingMode": "standard", "extraPaths": stubs, "include": paths})
        )
        return ["pyright", f"--pythonpath={sys.executable}", "--warnings", f"--project={settings}"]
    extra = [f"--extra-search-path={path}" for path in stubs]
    return ["ty", "check", f"--python={sys.executable}", *extra, "--output-format=concise"]


def reports(checker: str, folder: Path) -> tuple[Lines, str]:
    """The lines that a checker reports, and its output."""
    paths = ["typed", "mistyped"]
    files = [str(path.relative_to(folder)) for part in paths for path in sorted((folder / part).glob("*.py"))]
    line = command(checker, folder, paths)
    environment = {**os.environ, "MYPYPATH": str(folder / "stubs")}
    done = subprocess.run(
        line if checker == "pyright" else [*line, *files],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    text = done.stdout + done.stderr
    found = re.findall(r"(?m)^\s*(?:\S*/)?(\w+/\w+\.py):(\d+)(?::\d+)?(?: -|:) (?:error|warning)", text)
    if done.returncode not in (0, 1) or bool(found) != (done.returncode == 1):
        raise SystemExit(f"{checker}: exit status {done.returncode}\n{text}")
    return {(path, int(number)) for path, number in found}, text


def marked(folder: Path) -> Lines:
    """The lines with a mistake."""
    return {
        (str(path.relative_to(folder)), number)
        for path in folder.glob("*typed/*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line.endswith(MARK)
    }


def copy(folder: Path, as_torch: bool) -> None:
    """Copies the programs to a folder, where no settings of the repository apply."""
    for path in PROGRAMS.glob("*typed/*.py"):
        text = path.read_text()
        for pattern, name in NAMES_OF_TL if as_torch else ():
            text = re.sub(pattern, name, text, flags=re.MULTILINE)
        target = folder / path.relative_to(PROGRAMS)
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)
    if as_torch:
        subprocess.run(
            [sys.executable, "-m", "tl.stubs", str(folder / "stubs")], check=True, stdout=subprocess.DEVNULL
        )


def check(checker: str, as_torch: bool) -> bool:
    """Whether a checker reports the mistakes alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        copy(folder, as_torch)
        found, text = reports(checker, folder)
        wanted = marked(folder)
    print(
        f"{checker}: {len(found - wanted)} false errors, {len(found & wanted)} of {len(wanted)} mistakes found"
    )
    if found != wanted:
        print(text, *(f"not reported: {path}:{number}" for path, number in sorted(wanted - found)), sep="\n")
    return found == wanted


def main(argv: list[str]) -> int:
    """Runs the checkers of the command line."""
    checkers = [argument for argument in argv if not argument.startswith("--")]
    unknown = set(checkers) - {"mypy", "pyright", "ty"}
    if unknown or not checkers:
        raise SystemExit(__doc__)
    right = [check(checker, "--as-torch" in argv) for checker in checkers]  # a failure stops no other checker
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
