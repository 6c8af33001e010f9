"""`python -m tools.array_api PATH [ARGUMENT ...]`: the official tests of the Array API standard, on two namespaces.

PATH is a checkout of data-apis/array-api-tests with its submodule. Further arguments go to pytest. `tl_core.array_api`
implements the standard, and `tl` follows PyTorch's manual: each has its list of tests that are left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
VERSION = "2024.12"
# The namespace, the list of tests that are left out, and options of pytest.
NAMESPACES = (
    ("tl_core.array_api", "skips.txt"),
    # `tl` has no __array_namespace_info__, and the file of its tests can't be collected.
    ("tl", "skips_tl.txt", "--ignore=array_api_tests/test_inspection_functions.py"),
)


def run_tests(suite: Path, namespace: str, skips: str, *arguments: str) -> int:
    """The exit status of the official tests on a namespace.

    Args:
        suite: the checkout.
        namespace: the module.
        skips: the file with the tests that are left out.
        arguments: options of pytest.
    """
    command = [sys.executable, "-m", "pytest", "-q", "array_api_tests", f"--skips-file={HERE / skips}"]
    command += ["--max-examples=100", "--disable-deadline", *arguments]
    environment = {"ARRAY_API_TESTS_MODULE": namespace, "ARRAY_API_TESTS_VERSION": VERSION}
    return subprocess.run(command, cwd=suite, env=os.environ | environment).returncode


def main() -> int:
    """Runs the tests on each namespace."""
    suite, *arguments = sys.argv[1:]
    statuses = [run_tests(Path(suite), *namespace, *arguments) for namespace in NAMESPACES]
    return max(statuses)


if __name__ == "__main__":
    sys.exit(main())
