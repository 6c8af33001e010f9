"""What the façade's tests share: interpreters of their own, as an import happens only once a process."""

import os
import subprocess
import sys

import pytest

from tl_core.testing.interrupts import hear_interrupts

hear_interrupts()


@pytest.fixture
def python(tmp_path):
    """Runs an interpreter in an empty folder, where modules given as `files` can be imported; returns its output."""

    def run(*arguments: str, files: dict[str, str] | None = None, code: int = 0, timeout: float = 60) -> str:
        for name, text in (files or {}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        paths = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
        process = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert process.returncode == code, process.stdout + process.stderr
        return process.stdout + process.stderr

    return run


@pytest.fixture
def execute(python):
    """Runs a program given as text."""

    def run(program: str, *arguments: str, **options) -> str:
        files = {"program.py": program, **options.pop("files", {})}
        return python("program.py", *arguments, files=files, **options)

    return run
