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
from .pieces import Paths, PieceStream, listed

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
"""What is made of a file, by the last part of its name. Pickles are not among them: a file is data, not a program."""


class TarShards(PieceStream):
    """Samples of tar files: dicts of what their files hold, by what comes after the first dot in the name.

    `a/7.jpg` and `a/7.cls` are the sample `{"__key__": "a/7", "__url__": …, "jpg": …, "cls": …}`, where the url is
    the shard's path. Workers and processes share the shards.

    Args:
        paths (path or sequence of paths): The shards.
        decoders (mapping, optional): What is made of the bytes of a file, by the last part of its name, in place
            of `DECODERS`; files without a line stay bytes.
        seed (int, optional): Shuffles the shards, otherwise in each epoch that `set_epoch` says.
        rank, world_size (int, optional): As `PieceStream` takes them.

    Raises `tarfile.ReadError` for what is no tar file; what decoders raise is noted with the file's name.

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
        self.paths = listed(paths)
        self.decoders = decoders
        self.seed, self.epoch = seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch begins, so that each has its own order of shards."""
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
