"""The root folder of the container image."""

import sys
from pathlib import Path

from tools.images import root_folder


def test_libraries_of_an_interpreter():
    names = [path.name for path in root_folder.libraries([Path(sys.executable)])]
    assert any(name.startswith("libc.so") for name in names)
    assert any(name.startswith("ld-linux") for name in names)
    assert list(root_folder.libraries([Path(__file__)])) == []


def test_files_of_the_image(tmp_path):
    root_folder.write_files(tmp_path)
    assert (tmp_path / "tmp").stat().st_mode & 0o7777 == 0o1777
    assert "user" in (tmp_path / "etc" / "passwd").read_text()
    assert root_folder.size(tmp_path) >= len((tmp_path / "etc" / "passwd").read_bytes())
