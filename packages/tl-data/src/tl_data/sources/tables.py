"""Tables in CSV and Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import tl_core
from tl_core import Tensor

from ..dataset import Dataset
from .pieces import Paths, PieceStream, path_list

__all__ = ["Table", "TableStream"]


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "tables need pyarrow: pip install 'tl-data[tables]'", name="pyarrow"
        ) from error
    return pyarrow


def _is_parquet(path: str) -> bool:
    if path.endswith((".parquet", ".pq")):
        return True
    if path.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
        return False
    raise ValueError(f"a table is .parquet, .pq, .csv, .tsv or one of the last with .gz, got {path!r}")


def _csv_options(path: str, columns: Sequence[str] | None) -> dict[str, Any]:
    csv = _arrow().csv
    separator = "\t" if ".tsv" in os.path.basename(path) else ","
    return {
        "parse_options": csv.ParseOptions(delimiter=separator),
        "convert_options": csv.ConvertOptions(include_columns=None if columns is None else list(columns)),
    }


class Table(Dataset[dict[str, Any]]):
    """The rows of CSV and Parquet files as dicts, all in memory as an Arrow table.

    A batch is taken from columns: int64, float64 and bool tensors, lists of texts. Workers receive the paths and read
    the files themselves.

    Args:
        paths (path or sequence of paths): The files, in order.
        columns (sequence of str, optional): Names of the columns to read; by default all.

    Raises ModuleNotFoundError without pyarrow, ValueError for another kind of file, `pyarrow.ArrowInvalid` for files
    that can't be read or don't fit together.

    Example:
        >>> rows = Table(["train.csv"], columns=["age", "height"])  # doctest: +SKIP
        >>> rows[0]  # doctest: +SKIP
    """

    def __init__(self, paths: Paths, columns: Sequence[str] | None = None) -> None:
        self.paths, self.columns = path_list(paths), columns
        self._load()

    def _load(self) -> None:
        arrow = _arrow()
        self._table = arrow.concat_tables([self._read(path) for path in self.paths]).combine_chunks()

    def _read(self, path: str) -> Any:
        arrow = _arrow()
        if _is_parquet(path):
            columns = None if self.columns is None else list(self.columns)
            return arrow.parquet.read_table(path, columns=columns, memory_map=True)
        return arrow.csv.read_csv(path, **_csv_options(path, self.columns))

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"row {index} of a table with {len(self)}")
        row: dict[str, Any] = self._table.slice(index % len(self), 1).to_pylist()[0]
        return row

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._table.take(list(indices)).to_pylist()
        return rows

    def __getbatch__(self, indices: Any) -> Any:
        rows = self._table.take(indices.numpy() if isinstance(indices, Tensor) else list(indices))
        columns = {name: _column(rows.column(name)) for name in rows.column_names}
        return NotImplemented if any(c is NotImplemented for c in columns.values()) else columns

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getstate__(self) -> dict[str, Any]:
        return {"paths": self.paths, "columns": self.columns}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._load()


def _column(column: Any) -> Any:
    """A column as `default_collate` would collate its elements; NotImplemented for other types and null values."""
    types = _arrow().types
    kind = column.type
    if column.null_count:
        return NotImplemented
    if types.is_string(kind) or types.is_large_string(kind):
        return column.to_pylist()
    if types.is_boolean(kind):
        return tl_core.tensor(column.to_pylist())
    if types.is_signed_integer(kind) or types.is_floating(kind):
        wide = column.cast("int64" if types.is_signed_integer(kind) else "float64")
        return tl_core.from_numpy(wide.to_numpy().copy())
    return NotImplemented


class TableStream(PieceStream):
    """The rows of CSV and Parquet files as dicts, a part in memory at a time.

    Workers and processes share the row groups of Parquet files, and CSV files as a whole.

    Args:
        paths (path or sequence of paths): The files, in order.
        columns (sequence of str, optional): Names of the columns to read; by default all.
        rank, world_size (int, optional): As `PieceStream` takes them.

    Raises as `Table` does.

    Example:
        >>> for row in TableStream(["train.parquet"], columns=["age", "height"]):  # doctest: +SKIP
        ...     print(row["age"])
    """

    def __init__(
        self,
        paths: Paths,
        columns: Sequence[str] | None = None,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        super().__init__(rank, world_size)
        self.paths, self.columns = path_list(paths), columns
        self._pieces = [(path, group) for path in self.paths for group in self._groups(path)]

    def _groups(self, path: str) -> list[int | None]:
        if not _is_parquet(path):
            return [None]
        return list(range(_arrow().parquet.read_metadata(path).num_row_groups))

    def pieces(self) -> list[tuple[str, int | None]]:
        return self._pieces

    def read(self, piece: tuple[str, int | None]) -> Iterator[dict[str, Any]]:
        for batch in self._batches(*piece):
            yield from batch.to_pylist()

    def _batches(self, path: str, group: int | None) -> Iterator[Any]:
        arrow = _arrow()
        if group is None:
            with arrow.csv.open_csv(path, **_csv_options(path, self.columns)) as reader:
                yield from reader
            return
        columns = None if self.columns is None else list(self.columns)
        with arrow.parquet.ParquetFile(path, memory_map=True) as file:
            yield from file.iter_batches(row_groups=[group], columns=columns)
