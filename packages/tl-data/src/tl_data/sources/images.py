"""Pictures in folders, a folder for each class."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tl_core
from tl_core import Tensor

from ..dataset import Dataset

__all__ = ["EXTENSIONS", "ImageFolder", "decode_image"]

EXTENSIONS = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")


def decode_image(source: str | os.PathLike[str] | bytes, mode: str = "RGB") -> Tensor:
    """A picture as uint8 of shape (channels, height, width).

    Args:
        source (path or bytes): A picture in any format that Pillow reads.
        mode (str): "RGB", "L" for shades of grey, or another of Pillow's modes with eight bits a channel.

    Raises ModuleNotFoundError without Pillow, OSError (`PIL.UnidentifiedImageError`) for other data.

    Example:
        >>> decode_image("cat.png").shape  # doctest: +SKIP
    """
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "pictures need Pillow: pip install 'tl-data[images]'", name="PIL"
        ) from error
    with Image.open(io.BytesIO(source) if isinstance(source, bytes) else source) as opened:
        picture = opened.convert(mode)
    width, height = picture.size
    channels = len(picture.getbands())
    flat = tl_core.frombuffer(bytearray(picture.tobytes()), dtype=tl_core.uint8)
    return flat.view(height, width, channels).permute(2, 0, 1).contiguous()


class ImageFolder(Dataset[tuple[Any, Any]]):
    """Samples (picture, class) of `root/<class>/…/<file>`; classes are numbered in the order of their names.

    Args:
        root (path): The folder.
        transform (callable, optional): Function of a picture, a uint8 tensor of shape (3, height, width).
        target_transform (callable, optional): Function of the class's number.
        decode (callable): Function of a path that returns the picture.
        extensions (tuple of str): Extensions of pictures.

    Raises FileNotFoundError if there is no folder, or no picture in one of them.

    Example:
        >>> data = ImageFolder("pictures")  # doctest: +SKIP
        >>> picture, label = data[0]  # doctest: +SKIP
    """

    classes: list[str]
    samples: list[tuple[str, int]]

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[int], Any] | None = None,
        decode: Callable[[str], Any] = decode_image,
        extensions: tuple[str, ...] = EXTENSIONS,
    ) -> None:
        self.root = os.fspath(root)
        self.transform, self.target_transform = transform, target_transform
        self.decode, self.extensions = decode, extensions
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        if not self.classes:
            raise FileNotFoundError(f"no class folder in {self.root!r}")
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self.samples = [(path, i) for i, name in enumerate(self.classes) for path in self._files(name)]
        self.targets = [target for _, target in self.samples]

    def _files(self, name: str) -> Iterator[str]:
        below = sorted(Path(self.root, name).rglob("*"))
        pictures = [str(path) for path in below if path.suffix.lower() in self.extensions]
        if not pictures:
            raise FileNotFoundError(
                f"no file in {os.path.join(self.root, name)!r} is one of {self.extensions}"
            )
        return iter(pictures)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        picture = self.decode(path)
        return (
            picture if self.transform is None else self.transform(picture),
            target if self.target_transform is None else self.target_transform(target),
        )

    def __getitems__(self, indices: list[int]) -> list[tuple[Any, Any]]:
        return [self[i] for i in indices]

    def __len__(self) -> int:
        return len(self.samples)
