"""Programs with sanitizers in sessions of nox: their environment, and the verdict on their reports."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nox
from nox.command import CommandFailed

__all__ = ["ADDRESS", "SANITIZED", "judge", "sanitizers", "succeeds"]

SANITIZED = ["setarch", "--addr-no-randomize", "python"]
ADDRESS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def sanitizers(session: nox.Session, kind: str, options: dict[str, str]) -> tuple[dict[str, str], Path]:
    """The environment of a program with sanitizers, and the folder of their reports."""
    # Python itself has no C++ runtime; the sanitizer looks for one when it starts.
    libraries = [f"lib{kind[0]}san.so", "libstdc++.so"]
    found = [session.run("gcc", f"-print-file-name={name}", external=True, silent=True) for name in libraries]
    preload = " ".join(str(path).strip() for path in found)
    # Not in create_tmp(): programs would have it as TMPDIR, whose path is too long for their sockets.
    reports = Path(session.virtualenv.location).resolve() / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir()
    options = {name: f"{text}:log_path={reports / name}" for name, text in options.items()}
    return {"LD_PRELOAD": preload, "PYTHONMALLOC": "malloc", **options}, reports


def judge(session: nox.Session, reports: Path, failed: list[str]) -> None:
    """Shows the sanitizers' reports; one of them fails the session as what failed otherwise does.

    A refused allocation is a warning: the program goes on with the error that it asked for.
    """
    refused = re.compile(r"(==\d+==WARNING: AddressSanitizer failed to allocate 0x[0-9a-f]+ bytes\s*)+")
    written = [file for file in sorted(reports.iterdir()) if not refused.fullmatch(file.read_text())]
    for report in written:
        session.log(report.read_text()[:4000])
    if written or failed:
        session.error(f"{len(written)} reports; failed: {', '.join(failed) or 'nothing else'}")
    session.log("0 reports")


def succeeds(session: nox.Session, command: list[str], env: dict[str, str] | None = None) -> bool:
    """Runs a command; the steps after a failed one still have their say."""
    try:
        session.run(*command, env=env, external=command[0] == "setarch")
    except CommandFailed:
        return False
    return True
