"""A child process: loads binaries of further wheels, and decodes pictures with torchcodec's.

`python -m tl.torch binaries.py` prints a line for each library and picture. The status is 1 if one fails. Pillow's
pixels are the reference.
"""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

# Patterns of libraries that need no library of the system, by package.
LIBRARIES = {"torchao": "_C*.so", "xformers": "_C.so", "torchcodec": "libtorchcodec_image.so"}
PICTURES: dict[str, dict[str, Any]] = {
    "PNG": {},
    "WEBP": {"lossless": True},
    "JPEG": {"quality": 90},
    "GIF": {},
}


def libraries() -> Iterator[Path]:
    """The libraries of the packages.

    Yields:
        Path: A library.

    Raises:
        ModuleNotFoundError: A package is not installed.
        FileNotFoundError: A package has no such library.
    """
    for package, pattern in LIBRARIES.items():
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"the wheel of {package} is not installed")
        files = sorted(Path(spec.origin).parent.glob(pattern))
        if not files:
            raise FileNotFoundError(f"{package} has no library {pattern}")
        yield from files


def trouble_of(file: Path) -> str:
    """Why a library does not load.

    Args:
        file (Path): The library.

    Returns:
        str: The message of the error, or "".
    """
    try:
        torch.ops.load_library(str(file))
    except (ImportError, NotImplementedError, OSError, RuntimeError) as e:
        return f"{type(e).__name__}: {e}"
    return ""


def difference(kind: str) -> int:
    """The largest difference of a decoded picture from Pillow's pixels.

    Args:
        kind (str): The format.

    Returns:
        int: The difference.
    """
    from torchcodec.decoders import decode_image

    pixels = np.random.default_rng(0).integers(0, 256, (37, 53, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **PICTURES[kind])
    decoded = np.array(decode_image(torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)).tolist())
    reference = np.asarray(Image.open(file).convert("RGB")).transpose(2, 0, 1).astype("int64")
    return int(np.abs(decoded - reference).max())


def main() -> int:
    """Loads and decodes."""
    wrong = 0
    for file in libraries():
        trouble = trouble_of(file)
        wrong += bool(trouble)
        print(f"{file.parent.name}/{file.name:40} {trouble or 'loaded'}")
    for kind in PICTURES:
        most = difference(kind)
        wrong += most != 0
        print(f"torchcodec, {kind:34} {'equal' if not most else f'DIFFERENT by {most}'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
