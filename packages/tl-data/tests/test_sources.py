"""Datasets on files."""

import io
import json
import pickle
import tarfile

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
from PIL import Image
from samples import as_list, plain

import tl_core
import tl_data
from tl_data.sources import ImageFolder, Table, TableStream, TarShards, TokenFile, decode_image


def picture(seed, mode="RGB", size=(5, 3)):
    shape = (size[1], size[0], 3) if mode == "RGB" else (size[1], size[0])
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def encode(array, format="PNG"):
    file = io.BytesIO()
    Image.fromarray(array).save(file, format)
    return file.getvalue()


@pytest.mark.parametrize("format", ["PNG", "BMP", "TIFF", "PPM"])
def test_pictures(format):
    array = picture(1)
    result = decode_image(encode(array, format))
    assert result.dtype == tl_core.uint8
    np.testing.assert_array_equal(result.numpy(), array.transpose(2, 0, 1))
    assert decode_image(encode(picture(2, "L")), mode="L").shape == (1, 3, 5)
    with pytest.raises(OSError, match="cannot identify image file"):
        decode_image(b"no picture")


@pytest.fixture
def folder(tmp_path):
    for i, name in enumerate(["dog/1.png", "cat/2.PNG", "cat/deep/1.png", "cat/notes.txt"]):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode(picture(i)))
    return tmp_path


def test_image_folder(folder):
    dataset = ImageFolder(folder)
    assert dataset.classes == ["cat", "dog"] and dataset.targets == [0, 0, 1] and len(dataset) == 3
    np.testing.assert_array_equal(dataset[2][0].numpy(), picture(0).transpose(2, 0, 1))
    changed = ImageFolder(folder, transform=lambda p: p.shape, target_transform=str)
    assert changed[0] == ((3, 3, 5), "0")
    expected = plain(list(tl_data.DataLoader(dataset, batch_size=2)))
    assert plain(list(tl_data.DataLoader(dataset, batch_size=2, num_workers=2))) == expected


def test_image_folder_errors(folder, tmp_path_factory):
    (folder / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no file in .*empty"):
        ImageFolder(folder)
    with pytest.raises(FileNotFoundError, match="no class folder in"):
        ImageFolder(tmp_path_factory.mktemp("nothing"))


ROWS = [{"n": i, "x": i / 4, "name": f"row {i}", "even": i % 2 == 0} for i in range(23)]


@pytest.fixture(params=["parquet", "csv", "tsv"])
def tables(request, tmp_path):
    """Two files of the rows."""
    paths = []
    for i, part in enumerate([ROWS[:10], ROWS[10:]]):
        table, path = pyarrow.Table.from_pylist(part), tmp_path / f"{i}.{request.param}"
        if request.param == "parquet":
            pyarrow.parquet.write_table(table, path, row_group_size=4)
        else:
            options = pyarrow.csv.WriteOptions(delimiter="\t" if request.param == "tsv" else ",")
            pyarrow.csv.write_csv(table, path, options)
        paths.append(path)
    return paths


def test_tables(tables):
    dataset = Table(tables)
    assert len(dataset) == 23 and dataset[3] == ROWS[3] and dataset[-1] == ROWS[-1]
    assert dataset.__getitems__([20, 1]) == [ROWS[20], ROWS[1]]
    (batch,) = tl_data.DataLoader(dataset, batch_size=23)
    expected = tl_data.default_collate(ROWS)
    assert plain(batch) == plain(expected)
    assert [batch[k].dtype for k in ("n", "x", "even")] == [expected[k].dtype for k in ("n", "x", "even")]
    assert Table(tables[0], columns=["x"])[1] == {"x": 0.25}
    assert pickle.loads(pickle.dumps(dataset))[5] == ROWS[5]
    with pytest.raises(IndexError, match="row 23 of a table with 23"):
        dataset[23]


def test_tables_with_gaps_and_other_types(tmp_path):
    rows = [{"a": [1, 2], "b": 1}, {"a": [3, 4], "b": 2}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "t.parquet")
    (batch,) = tl_data.DataLoader(Table(tmp_path / "t.parquet"), batch_size=2)
    assert plain(batch) == {"a": [[1, 3], [2, 4]], "b": [1, 2]}
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{"b": None}, {"b": 2}]), tmp_path / "u.parquet")
    (batch,) = tl_data.DataLoader(Table(tmp_path / "u.parquet"), batch_size=2, collate_fn=as_list)
    assert batch == [{"b": None}, {"b": 2}]
    with pytest.raises(ValueError, match=r"a table is .parquet, .* got 'x.xls'"):
        Table("x.xls")


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_streams_of_tables(tables, workers):
    stream = TableStream(tables)
    loader = tl_data.DataLoader(stream, batch_size=None, num_workers=workers)
    assert sorted(row["n"] for row in loader) == list(range(23))
    assert next(iter(TableStream(tables[1], columns=["name"]))) == {"name": "row 10"}


def test_processes_share_a_stream(tables):
    parts = [[row["n"] for row in TableStream(tables, rank=r, world_size=3)] for r in range(3)]
    assert sorted(n for part in parts for n in part) == list(range(23))


def test_streams_of_tables_go_on(tables):
    loader = tl_data.DataLoader(TableStream(tables), batch_size=3)
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    resumed = tl_data.DataLoader(TableStream(tables), batch_size=3)
    resumed.load_state_dict(loader.state_dict())
    assert plain(list(resumed)) == plain(list(iterator))


TOKENS = np.arange(1000, 1101, dtype=np.uint16)


@pytest.fixture(params=["raw", "npy"])
def token_path(request, tmp_path):
    path = tmp_path / f"tokens.{'npy' if request.param == 'npy' else 'bin'}"
    if request.param == "npy":
        np.save(path, TOKENS)
    else:
        TOKENS.tofile(path)
    return path


def test_tokens(token_path):
    dataset = TokenFile(token_path, 10)
    assert len(dataset) == 10
    tokens, following = dataset[9]
    assert tokens.dtype == tl_core.int64
    assert tokens.tolist() == list(range(1090, 1100)) and following.tolist() == list(range(1091, 1101))
    assert plain(dataset.__getitems__([1, 0]))[0][0] == list(range(1010, 1020))
    overlapping = TokenFile(token_path, 10, stride=1)
    assert (
        len(overlapping) == 91
        and overlapping[90][1][-1].item() == 1100
        and overlapping[-1][0][0].item() == 1090
    )
    first = next(iter(tl_data.DataLoader(dataset, batch_size=4, num_workers=1)))
    assert plain(first) == plain(tl_data.default_collate([dataset[i] for i in range(4)]))
    assert plain(next(iter(tl_data.DataLoader(dataset, batch_size=4)))) == plain(first)


def test_token_errors(token_path):
    with pytest.raises(ValueError, match=r"has shape \(101,\); a sample needs 102 tokens in a row"):
        TokenFile(token_path, 101)
    with pytest.raises(ValueError, match="length and stride must be positive, got 0"):
        TokenFile(token_path, 0)
    with pytest.raises(IndexError, match="samples 10 of a file with 10"):
        TokenFile(token_path, 10)[10]


@pytest.fixture
def shards(tmp_path):
    """Three tar files with four samples each."""
    paths = []
    for shard in range(3):
        path = tmp_path / f"{shard}.tar{'.gz' if shard == 2 else ''}"
        with tarfile.open(path, "w:gz" if shard == 2 else "w") as archive:
            for n in range(4 * shard, 4 * shard + 4):
                array = io.BytesIO()
                np.save(array, np.full(3, n))
                files = {
                    "png": encode(picture(n)),
                    "cls": str(n).encode(),
                    "meta.json": json.dumps({"n": n}).encode(),
                    "txt": f"number {n}".encode(),
                    "npy": array.getvalue(),
                    "raw": bytes([n]),
                }
                for extension, data in files.items():
                    member = tarfile.TarInfo(f"train/{n:03}.{extension}")
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
        paths.append(path)
    return paths


def test_tar_shards(shards):
    samples = list(TarShards(shards))
    assert [s["cls"] for s in samples] == list(range(12))
    last = samples[-1]
    assert (last["__key__"], last["__url__"]) == ("train/011", str(shards[2]))
    assert (last["meta.json"], last["txt"], last["raw"]) == ({"n": 11}, "number 11", b"\x0b")
    assert last["npy"].tolist() == [11, 11, 11]
    np.testing.assert_array_equal(last["png"].numpy(), picture(11).transpose(2, 0, 1))


@pytest.mark.parametrize("workers", [0, 2])
def test_shards_are_shared_and_go_on(shards, workers):
    def fresh():
        return tl_data.DataLoader(TarShards(shards), batch_size=None, num_workers=workers)

    loader = fresh()
    assert sorted(s["cls"] for s in loader) == list(range(12))
    iterator = iter(loader)
    for _ in range(5):
        next(iterator)
    resumed = fresh()
    resumed.load_state_dict(pickle.loads(pickle.dumps(loader.state_dict())))
    assert [s["cls"] for s in resumed] == [s["cls"] for s in iterator]


def test_shuffled_shards(shards):
    stream = TarShards(shards, seed=1)
    orders = set()
    for epoch in range(20):
        stream.set_epoch(epoch)
        orders.add(tuple(s["cls"] // 4 for s in stream)[::4])
    assert len(orders) > 3 and all(sorted(order) == [0, 1, 2] for order in orders)


def test_what_cannot_be_decoded_is_named(shards):
    with pytest.raises(ValueError) as caught:
        list(TarShards(shards, decoders={"txt": int}))
    assert caught.value.__notes__ == [f"while {shards[0]}: train/000.txt was decoded"]
    assert next(iter(TarShards(shards, decoders={})))["cls"] == b"0"


def test_a_missing_library_is_named(monkeypatch, shards, token_path):
    import sys

    for name, extra, make in (
        ("PIL", "images", lambda: decode_image(b"")),
        ("pyarrow", "tables", lambda: Table("t.csv")),
        ("numpy", "numpy", lambda: TokenFile(token_path, 3)),
    ):
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, name, None)
            with pytest.raises(ModuleNotFoundError, match=rf"pip install 'tl-data\[{extra}\]'"):
                make()
