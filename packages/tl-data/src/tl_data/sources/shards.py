"""Samples in tar files, as WebDataset lays them out: files that differ only after the first dot are one sample."""

from __future__ import annotations

import io
import json
import os
import random
import tarfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tl_core

from .images import EXTENSIONS, decode_image
from .pieces import Paths, PieceStream, path_list

__all__ = ["DECODERS", "TarShards"]


def _array(data: bytes) -> Any:
    import numpy

    return tl_core.from_numpy(numpy.load(io.BytesIO(data), allow_pickle=False))


def _text(data: bytes) -> str:
    return data.decode()


DECODERS: dict[str, Callable[[bytes], Any]] = {
    **dict.fromkeys(("txt", "text", "transcript"), _text),
    **dict.fromkeys(("cls", "cls2", "class", "count", "index", "inx", "id"), int),
    **dict.fromkeys(("json", "jsn"), json.loads),
    **dict.fromkeys((extension[1:] for extension in EXTENSIONS), decode_image),
    "npy": _array,
}
"""Decoder of a file by extension. Pickles have none: a file is data, not a program."""


class TarShards(PieceStream):
    """Samples of tar files: dicts of decoded files, by the part of the name after the first dot.

    `a/7.jpg` and `a/7.cls` are the sample `{"__key__": "a/7", "__url__": …, "jpg": …, "cls": …}`, where the url is
    the shard's path. Workers and processes share the shards.

    Args:
        paths (path or sequence of paths): The shards.
        decoders (mapping, optional): Functions of the bytes of a file, by extension, in place of `DECODERS`; files
            without a decoder stay bytes.
        seed (int, optional): Shuffles the shards, in another order for each epoch of `set_epoch`.
        rank, world_size (int, optional): As `PieceStream` takes them.

    Raises `tarfile.ReadError` for a file of another kind. Errors of decoders get a note with the file's name.

    Example:
        >>> for sample in TarShards(["train-000.tar", "train-001.tar"]):  # doctest: +SKIP
        ...     print(sample["jpg"].shape, sample["cls"])
    """

    def __init__(
        self,
        paths: Paths,
        decoders: Mapping[str, Callable[[bytes], Any]] | None = None,
        seed: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        super().__init__(rank, world_size)
        self.paths = path_list(paths)
        self.decoders = decoders
        self.seed, self.epoch = seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, which selects the order of the shards."""
        self.epoch = epoch

    def pieces(self) -> list[str]:
        if self.seed is None:
            return self.paths
        return random.Random(f"{self.seed}/{self.epoch}").sample(self.paths, len(self.paths))

    def read(self, piece: str) -> Iterator[dict[str, Any]]:
        sample: dict[str, Any] = {}
        with tarfile.open(piece, "r|*") as archive:
            for member in archive:
                folder, name = os.path.split(member.name)
                key, dot, extension = name.partition(".")
                if not (member.isfile() and key and dot):
                    continue
                full = os.path.join(folder, key)
                if sample and sample["__key__"] != full:
                    yield sample
                    sample = {}
                file = archive.extractfile(member)
                assert file is not None  # a regular file has contents
                sample |= {"__key__": full, "__url__": piece}
                sample[extension.lower()] = self._decode(
                    f"{piece}: {member.name}", extension.lower(), file.read()
                )
        if sample:
            yield sample

    def _decode(self, name: str, extension: str, data: bytes) -> Any:
        decoders = DECODERS if self.decoders is None else self.decoders
        decode = decoders.get(extension.rpartition(".")[2])
        try:
            return data if decode is None else decode(data)
        except Exception as error:
            error.add_note(f"while {name} was decoded")
            raise
