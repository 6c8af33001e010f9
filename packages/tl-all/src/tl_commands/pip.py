"""`tl pip install LIBRARY …`: pip, with tl in the place of torch.

Libraries declare torch, and torch brings gigabytes of libraries for GPUs. pip has no override of a dependency. So the
command runs pip twice. In the first run, pip resolves the requirements with a wheel of the name torch and the version
of PyTorch's API that tl has. The wheel is empty and lies in a temporary folder. In the second run, pip installs the
versions of the first run without dependencies, and without that wheel. No distribution of the name torch remains.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

OVERRIDES = "torch; sys_platform == 'never'\n"
"""The file for `uv pip install --override`: no platform needs torch."""

# Options of `pip install` that add requirements, with a value. The second run states its requirements itself.
_OF_REQUIREMENTS = frozenset(
    {
        *("-r", "--requirement", "-c", "--constraint", "-e"),
        *("--editable", "--report", "--group", "--build-constraint", "--requirements-from-script"),
    }
)
_NO_PIP = """{program} needs pip, which this environment lacks. With uv:
    tl pip overrides > tl-overrides.txt
    uv pip install --override tl-overrides.txt LIBRARY"""


def get_parser(program: str) -> argparse.ArgumentParser:
    """The parser of the command."""
    parser = argparse.ArgumentParser(
        program, description="Installs libraries that ask for torch, without torch."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    install = actions.add_parser("install", add_help=False, help="install, with the arguments of pip install")
    install.add_argument("arguments", nargs=argparse.REMAINDER)
    actions.add_parser("overrides", help="print the file for uv pip install --override")
    return parser


def main(arguments: Sequence[str], program: str) -> int:
    """Runs the command. Returns the exit status: 1 without pip, otherwise that of pip."""
    if arguments[:1] == ["install"]:  # argparse would read options of pip as its own
        return install(arguments[1:], program)
    get_parser(program).parse_args(arguments)
    print(OVERRIDES, end="")
    return 0


def install(arguments: Sequence[str], program: str) -> int:
    """Installs libraries. Returns the exit status.

    Args:
        arguments: the arguments of `pip install`.
        program: the name of the command, for messages.
    """
    if find_spec("pip") is None:
        print(_NO_PIP.format(program=program), file=sys.stderr)
        return 1
    if not arguments or arguments[0] in ("-h", "--help"):
        return _pip([*arguments])
    with tempfile.TemporaryDirectory() as folder:
        status, items = _resolve(arguments, Path(folder))
    if status:
        print(f"{program}: torch has the version {_api_version()} here, that of tl's API", file=sys.stderr)
        return status
    requirements = [word for item in items for word in _requirement(item)]
    if "--dry-run" in arguments or not requirements:
        listed = " ".join(f"{item['metadata']['name']}=={item['metadata']['version']}" for item in items)
        print(f"would install {listed}" if listed else "nothing to install; tl takes the place of torch")
        return 0
    return _pip(["--no-deps", *installation_options(arguments), *requirements])


def _resolve(arguments: Sequence[str], folder: Path) -> tuple[int, list[dict[str, Any]]]:
    """The exit status of pip's resolution, and the distributions to install without torch."""
    report, constraints = folder / "report.json", folder / "constraints.txt"
    constraints.write_text(f"torch @ {_empty_torch(folder).as_uri()}\n")
    status = _pip(["--quiet", "--dry-run", f"--report={report}", f"--constraint={constraints}", *arguments])
    items = [] if status else json.loads(report.read_text())["install"]
    return status, [item for item in items if item["metadata"]["name"].lower() != "torch"]


def _empty_torch(folder: Path) -> Path:
    """Writes a wheel of the name torch without modules."""
    version = _api_version()
    path = folder / f"torch-{version}-py3-none-any.whl"
    info = f"torch-{version}.dist-info"
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: tl\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files["RECORD"] = "".join(f"{info}/{name},,\n" for name in (*files, "RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{info}/{name}", text)
    return path


def _api_version() -> str:
    from tl.torch import API_VERSION

    return API_VERSION


def _requirement(item: dict[str, Any]) -> list[str]:
    """The words that make pip install one distribution of its report."""
    name, version = item["metadata"]["name"], item["metadata"]["version"]
    if not item.get("is_direct"):
        return [f"{name}=={version}"]
    origin = item["download_info"]
    if origin.get("dir_info", {}).get("editable"):
        return ["--editable", origin["url"]]
    revision = origin.get("vcs_info")
    if revision is not None:
        return [f"{name} @ {revision['vcs']}+{origin['url']}@{revision['commit_id']}"]
    return [f"{name} @ {origin['url']}"]


def installation_options(arguments: Sequence[str]) -> list[str]:
    """The options of `pip install` among its arguments, without its requirements.

    Args:
        arguments: the arguments of `pip install`.

    Example:
        >>> installation_options(["lightning", "-r", "more.txt", "-t", "folder", "--upgrade"])
        ['-t', 'folder', '--upgrade']
    """
    return list(_options(iter(arguments), options_with_values()))


@cache
def options_with_values() -> frozenset[str]:
    """The options of the installed pip whose value is the next word, as its help lists them.

    Example:
        >>> "--target" in options_with_values(), "--upgrade" in options_with_values()
        (True, False)
    """
    command = [sys.executable, "-m", "pip", "install", "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^  ((?:-\w, )?--[\w-]+) <", text, re.MULTILINE)
    return frozenset(name for row in rows for name in row.split(", "))


def _options(words: Iterator[str], with_values: frozenset[str]) -> Iterator[str]:
    for word in words:
        name, attached, _ = word.partition("=")
        if word[:2] in with_values and len(word) > 2:  # a short option and its value, as in -rmore.txt
            name, attached = word[:2], word[2:]
        values = [next(words, "")] if name in with_values and not attached else []
        if name.startswith("-") and name not in _OF_REQUIREMENTS:
            yield from (word, *values)


def _pip(arguments: Sequence[str]) -> int:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *arguments]
    return subprocess.run(command, check=False).returncode
