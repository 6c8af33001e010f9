"""Archives record by record."""

import io
import zipfile

import pytest

import tl_checkpoint
import tl_core as tl
from tl_checkpoint.archive_files import PyTorchFileReader, PyTorchFileWriter


def test_the_records_of_what_save_wrote(tmp_path):
    path = tmp_path / "x.pt"
    tl_checkpoint.save({"a": tl.arange(3.0), "b": tl.zeros(0)}, path)
    reader = PyTorchFileReader(str(path))
    assert {"data.pkl", "version", "data/0"} <= set(reader.get_all_records())
    assert reader.has_record("data/0") and not reader.has_record("data/9")
    assert reader.version() == 3
    assert reader.get_storage_from_record("data/0", 3, tl.float32).tolist() == [0.0, 1.0, 2.0]
    raw = reader.get_storage_from_record("data/0", 12, tl.UntypedStorage)
    assert bytes(raw.tolist()) == reader.get_record("data/0")
    offset = reader.get_record_offset("data/0")
    assert path.read_bytes()[offset : offset + 12] == reader.get_record("data/0")
    with pytest.raises(RuntimeError, match="holds 12 bytes, not the 16"):
        reader.get_storage_from_record("data/0", 4, tl.float32)
    with pytest.raises(RuntimeError, match="no record 'data/9'"):
        reader.get_record("data/9")


def test_what_is_written_is_an_archive(tmp_path):
    path = tmp_path / "new.pt"
    with PyTorchFileWriter(str(path)) as writer:
        writer.write_record("first", b"abcdef", 3)
        writer.write_record("folder/second", tl.ones(2).untyped_storage(), 8)
        assert not path.exists() and writer.archive_name() == "new"
        assert writer.get_all_written_records() == ["first", "folder/second"]
        with pytest.raises(RuntimeError, match="there is a record of this name"):
            writer.write_record("first", b"", 0)
        with pytest.raises(RuntimeError, match="size is 9, the data have 1 bytes"):
            writer.write_record("short", b"a", 9)
    assert zipfile.ZipFile(path).read("new/first") == b"abc"
    reader = PyTorchFileReader(str(path))
    assert reader.get_storage_from_record("folder/second", 2, tl.float32).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="has been ended"):
        writer.write_record("late", b"", 0)


def test_nothing_stays_of_what_failed(tmp_path):
    with pytest.raises(ZeroDivisionError), PyTorchFileWriter(str(tmp_path / "x.pt")) as writer:
        writer.write_record("first", b"abc", 3)
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_archive():
    with pytest.raises(RuntimeError):
        PyTorchFileReader(io.BytesIO(b"nothing of the kind"))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/x", b"1")
        archive.writestr("b/x", b"2")
    file.seek(0)
    with pytest.raises(RuntimeError, match="2 folders instead of one"):
        PyTorchFileReader(file)
