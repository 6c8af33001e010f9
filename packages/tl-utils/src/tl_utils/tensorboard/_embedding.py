"""The files that TensorBoard's projector reads."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy
from google.protobuf import text_format
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo, ProjectorConfig

from tl_utils.tensorboard._convert_np import make_np
from tl_utils.tensorboard._utils import make_grid

__all__ = ["write"]

_MOST_PIXELS = 8192  # a side of the sprite


def write(
    folder: Path, mat: Any, metadata: Any, images: Any, step: int, tag: str, header: list[str] | None
) -> None:
    """Writes points for the projector: their files, and their entry in the configuration of a run.

    Args:
        folder: the folder of the run.
        mat: the points: (N, D).
        metadata: a label for each point, or a list of labels; None: no labels.
        images: an image for each point: (N, C, H, W); None: no images.
        step: the step.
        tag: the name of the points.
        header: the names of the labels, if each point has several.

    Raises:
        ValueError: the number of labels or images is not that of the points, or images are too large.
    """
    matrix = make_np(mat)
    if matrix.ndim != 2:
        raise ValueError(f"add_embedding: mat has the shape (N, D), got {matrix.shape}")
    for values, name in ((metadata, "metadata"), (images, "label_img")):
        if values is not None and len(values) != len(matrix):
            raise ValueError(f"add_embedding: there must be {len(matrix)} of {name}, got {len(values)}")
    subdir = f"{str(step).zfill(5)}/{quote(tag, safe='')}"
    target = folder / subdir
    target.mkdir(parents=True, exist_ok=True)
    if metadata is not None:
        _write_metadata(metadata, target, header)
    if images is not None:
        _write_sprite(images, target)
    _write_matrix(matrix, target)
    _add_to_projector(folder, _info(f"{tag}:{str(step).zfill(5)}", subdir, metadata is not None, images))


def _add_to_projector(folder: Path, info: EmbeddingInfo) -> None:
    """Adds an embedding to the projector's configuration, in the place of an earlier one of the name."""
    path = folder / "projector_config.pbtxt"
    config = ProjectorConfig()
    if path.exists():
        text_format.Parse(path.read_text(), config)
    embeddings = [old for old in config.embeddings if old.tensor_name != info.tensor_name]
    merged = ProjectorConfig(embeddings=[*embeddings, info])
    path.write_text(text_format.MessageToString(merged))


def _write_metadata(rows: Any, folder: Path, header: list[str] | None) -> None:
    """`metadata.tsv`: a label a line, or several in columns with a header."""
    lines = [str(row) for row in rows]
    if header:
        table = [header, *([str(cell) for cell in row] for row in rows)]
        if any(len(row) != len(header) for row in table):
            raise ValueError(
                f"add_embedding: each metadata must have the {len(header)} values of metadata_header"
            )
        lines = ["\t".join(_flat(cell) for cell in row) for row in table]
    else:
        lines = [_flat(line) for line in lines]
    (folder / "metadata.tsv").write_text("".join(f"{line}\n" for line in lines))


def _flat(text: str) -> str:
    return text.replace("\t", " ").replace("\n", " ")


def _write_sprite(images: Any, folder: Path) -> None:
    """`sprite.png`: all images in a square."""
    from PIL import Image

    pixels = make_np(images)
    columns = math.ceil(math.sqrt(len(pixels)))
    if max(pixels.shape[2:]) * columns > _MOST_PIXELS:
        raise ValueError(
            f"add_embedding: the images together have {max(pixels.shape[2:]) * columns} pixels a side, TensorBoard "
            f"shows {_MOST_PIXELS}; pass smaller ones"
        )
    if pixels.shape[2] != pixels.shape[3]:
        pixels = _pad_to_squares(pixels)
    scale = 1 if pixels.dtype == numpy.uint8 else 255
    missing = numpy.zeros((columns**2 - len(pixels), *pixels.shape[1:]), pixels.dtype)
    grid = make_grid(numpy.concatenate([pixels, missing]), columns)
    bytes_ = (grid.astype(numpy.float32) * scale).clip(0, 255).astype(numpy.uint8)
    Image.fromarray(numpy.moveaxis(bytes_, 0, 2)).save(folder / "sprite.png")


def _pad_to_squares(pixels: Any) -> Any:
    """Images with black added right or below: the projector takes square ones only."""
    side = max(pixels.shape[2:])
    square = numpy.zeros((*pixels.shape[:2], side, side), pixels.dtype)
    square[:, :, : pixels.shape[2], : pixels.shape[3]] = pixels
    return square


def _write_matrix(matrix: Any, folder: Path) -> None:
    """`tensors.tsv`: a point a line."""
    with (folder / "tensors.tsv").open("w") as file:
        for row in matrix.tolist():
            file.write("\t".join(str(x) for x in row) + "\n")


def _info(tag: str, subdir: str, metadata: bool, images: Any) -> EmbeddingInfo:
    """The projector's configuration of an embedding."""
    info = EmbeddingInfo(tensor_name=tag, tensor_path=f"{subdir}/tensors.tsv")
    if metadata:
        info.metadata_path = f"{subdir}/metadata.tsv"
    if images is not None:
        side = max(make_np(images).shape[2:])
        info.sprite.image_path = f"{subdir}/sprite.png"
        info.sprite.single_image_dim.extend([side, side])
    return info
