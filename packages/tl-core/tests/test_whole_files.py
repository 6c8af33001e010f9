"""Files that are whole or not there; streams are written to as they stand."""

import os
import stat
import threading

import pytest

from tl_core.memory.whole_files import replacing, write_whole


def write(path):
    with open(path, "w") as file:
        file.write("new")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as name:
        write(name)
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == ["a"] and path.read_text() == "old"


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_pipe_stays_a_pipe(tmp_path, suffix):
    path = tmp_path / f"pipe{suffix}"
    os.mkfifo(path)
    result = []
    reader = threading.Thread(target=lambda: result.append(path.read_text()))
    reader.start()
    write_whole(path, write)
    reader.join()
    assert result == ["new"] and stat.S_ISFIFO(os.stat(path).st_mode) and len(os.listdir(tmp_path)) == 1


def test_a_device_stays_a_device():
    write_whole("/dev/null", write)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to("target")
    write_whole(link, write)
    assert link.is_symlink() and target.read_text() == "new"
