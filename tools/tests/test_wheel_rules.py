"""Rules for wheels and archives, on wheels of a few files with planted faults."""

import base64
import hashlib
import sys
import tarfile
import zipfile

import pytest

from tools.packages import ROOT, Package, packages
from tools.release import archives, metadata_wheels, steps, wheel_rules

METADATA = """Metadata-Version: 2.4
Name: tl-core
Version: 0.1.0
Requires-Python: >=3.11
License-Expression: BSD-3-Clause
Description-Content-Type: text/markdown
Project-URL: Source, https://host.example

"""
INFO = "tl_core-0.1.0.dist-info"


@pytest.fixture
def core(repository):
    """A pure package with the settings that the rules compare."""
    file = repository.root / "packages" / "tl-core" / "pyproject.toml"
    more = 'license = "BSD-3-Clause"\nrequires-python = ">=3.11"\n'
    urls = '[project.urls]\nSource = "https://host.example"\n'
    text = file.read_text().replace("dependencies =", f"{more}dependencies =", 1)
    file.write_text(text.replace("[project.optional", f"{urls}[project.optional"))
    return Package(file.parent)


@pytest.fixture
def files():
    """The contents of a wheel without faults."""
    return {
        "tl_core/__init__.py": b"",
        f"{INFO}/METADATA": METADATA.encode(),
        f"{INFO}/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
        f"{INFO}/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }


def write(folder, files, record=None):
    """Writes a wheel; `record` replaces the lines of RECORD."""
    path = folder / "tl_core-0.1.0-py3-none-any.whl"
    lines = [f"{INFO}/RECORD,,"]
    for name, data in files.items():
        checksum = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={checksum},{len(data)}")
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr(f"{INFO}/RECORD", "\n".join(lines if record is None else record))
    return path


def test_a_wheel_without_faults(core, files, tmp_path):
    assert wheel_rules.faults(write(tmp_path, files), core) == []


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("tl_core/_C.so", b"\x7fELF", "a pure wheel contains a compiled module"),
        ("other/a.py", b"", "other is in the wheel, but not in the settings"),
        ("tl_core/a.py", f"x = {str(ROOT)!r}".encode(), "contains"),
        ("tl_core/a.py", f"x = {sys.prefix!r}".encode(), "contains"),
        (f"{INFO}/licenses/LICENSE", b"other", "LICENSE differs"),
        (f"{INFO}/METADATA", METADATA.replace("BSD-3-Clause", "MIT").encode(), "License-Expression is MIT"),
        (f"{INFO}/METADATA", METADATA.replace("0.1.0", "0.2.0").encode(), "Version is 0.2.0, expected 0.1.0"),
        (f"{INFO}/METADATA", METADATA.replace("Project-URL", "X").encode(), "Project-URL lacks"),
        (f"{INFO}/WHEEL", b"Tag: cp311-cp311-linux_x86_64\n", "fit no pure package"),
    ],
)
def test_planted_faults(core, files, tmp_path, name, data, message):
    found = wheel_rules.faults(write(tmp_path, {**files, name: data}), core)
    assert any(message in fault for fault in found), found


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "is only in the archive"),
        (["gone.py,,"], "gone.py is only in RECORD"),
        (["../x.py,,"], "leaves the folder"),
        (["/x.py,,"], "leaves the folder"),
        (["tl_core/__init__.py,sha256=abc,0"], "has another checksum"),
    ],
)
def test_planted_faults_of_the_record(core, files, tmp_path, record, message):
    found = wheel_rules.faults(write(tmp_path, files, record), core)
    assert any(message in fault for fault in found), found


def test_differences_of_archives(files, tmp_path):
    one, two, three = (tmp_path / name for name in "abc")
    for folder in (one, two, three):
        folder.mkdir()
    first = write(one, files)
    assert archives.differences(first, write(two, files)) == []
    second = write(two, {**files, "tl_core/__init__.py": b"x = 1"})
    assert archives.differences(first, second) == [f"{INFO}/RECORD", "tl_core/__init__.py"]
    assert archives.differences(first, write(three, dict(reversed(files.items())), [""])) == [
        f"{INFO}/RECORD"
    ]


def test_a_source_distribution_is_unpacked(tmp_path):
    (tmp_path / "x.txt").write_text("text")
    sdist = tmp_path / "tl_core-0.1.0.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(tmp_path / "x.txt", "tl_core-0.1.0/x.txt")
    assert list(archives.contents(sdist)) == ["tl_core-0.1.0/x.txt"]
    assert (archives.unpack(sdist, tmp_path / "out") / "x.txt").read_text() == "text"


def test_a_wheel_with_another_version(files, tmp_path):
    path = metadata_wheels.with_version(write(tmp_path, files), "0.2.0", tmp_path)
    wheel = wheel_rules.Wheel(path)
    assert path.name == "tl_core-0.2.0-py3-none-any.whl"
    assert (wheel.metadata["Version"], wheel.metadata["Name"], wheel.tags) == (
        "0.2.0",
        "tl-core",
        ["py3-none-any"],
    )


@pytest.mark.parametrize(
    ("version", "patch", "bound"), [("0.1.0", "0.1.1", "0.2.0"), ("1.2.3", "1.2.4", "2.0.0")]
)
def test_next_versions(version, patch, bound):
    assert (metadata_wheels.next_patch(version), metadata_wheels.next_bound(version)) == (patch, bound)


def test_each_package_has_a_smoke_test():
    text = (ROOT / "tools" / "release" / "smoke.py").read_text()
    assert [dist for dist in packages() if f'@smoke("{dist}")' not in text] == []


def test_a_step_that_raises_is_a_fault(capsys):
    every = steps.Steps()
    every.run("good", list)
    every.run("bad", lambda: ["one", "two"])
    every.run("worse", lambda: [1 // 0])
    assert (every.count, every.close()) == (3, 1)
    assert "ZeroDivisionError" in capsys.readouterr().out
