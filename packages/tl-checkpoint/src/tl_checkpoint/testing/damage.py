"""Damage of files: random changes of bytes, as disks and networks cause them.

A value that a checksum covers must never change unnoticed.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

__all__ = ["DAMAGE", "boundary", "flip", "pack_boundary"]

NUMBERS = (
    *(0, 1, 2, 3, 7, 8, 63, 64, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62),
    *(2**63 - 1, 2**63, 2**64 - 1, -1, -2, -(2**31), -(2**63)),
)
SIGNATURES = (
    *(b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"),  # of ZIP archives
    *(b"data_offsets", b"shape", b"dtype"),  # of safetensors
)


def boundary(rng: random.Random) -> int:
    """A number near a limit of an integer type.

    Args:
        rng: the random generator.

    Example:
        >>> import random
        >>> min(abs(boundary(random.Random(1)) - number) for number in NUMBERS) <= 1
        True
    """
    return rng.choice(NUMBERS) + rng.choice([0, 0, 0, 1, -1])


def pack_boundary(rng: random.Random) -> bytes:
    """A number near a limit of an integer type, as the 1, 2, 4 or 8 bytes of a header.

    Args:
        rng: the random generator.
    """
    form = rng.choice(["B", "<H", "<I", "<Q", ">I", ">Q"])
    size = struct.calcsize(form)
    return (boundary(rng) % (1 << (8 * size))).to_bytes(size, "big" if form[0] == ">" else "little")


def flip(data: bytes, rng: random.Random) -> bytes:
    """Changes 1 to 20 bits.

    Args:
        data: the bytes of the file, at least one.
        rng: the random generator.

    Example:
        >>> import random
        >>> flip(bytes(1000), random.Random(0)) == bytes(1000)
        False
    """
    result = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 5, 20])):
        result[rng.randrange(len(result))] ^= 1 << rng.randrange(8)
    return bytes(result)


def _overwrite(data: bytes, rng: random.Random) -> bytes:
    """Writes a number somewhere."""
    at, new = rng.randrange(len(data)), pack_boundary(rng)
    return data[:at] + new + data[at + len(new) :]


def _blank(data: bytes, rng: random.Random) -> bytes:
    """Replaces a sector by zeros or noise."""
    at, size = rng.randrange(len(data)), rng.choice([1, 16, 64, 512, 4096])
    new = rng.choice([bytes(size), rng.randbytes(size)])
    return data[:at] + new[: len(data) - at] + data[at + size :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    """Removes the end, the beginning or a piece."""
    at, size = rng.randrange(len(data)), rng.randrange(1, 600)
    return rng.choice([data[:at], data[at:], data[:at] + data[at + size :]])


def _insert(data: bytes, rng: random.Random) -> bytes:
    """Inserts bytes in the middle, at the beginning or at the end."""
    at = rng.choice([0, len(data), rng.randrange(len(data))])
    return data[:at] + rng.choice([pack_boundary(rng), bytes(64), data[:100], data[-100:]]) + data[at:]


def _move(data: bytes, rng: random.Random) -> bytes:
    """Writes a piece over another piece."""
    size = rng.randrange(1, max(min(len(data), 700), 2))
    source, target = rng.randrange(max(len(data) - size, 1)), rng.randrange(max(len(data) - size, 1))
    return data[:target] + data[source : source + size] + data[target + size :]


def _overwrite_field(data: bytes, rng: random.Random) -> bytes:
    """Writes a number into a header, near a signature of the format."""
    positions = [position for signature in SIGNATURES for position in _find_all(data, signature)]
    if not positions:
        return _overwrite(data, rng)
    at, new = rng.choice(positions) + rng.randrange(0, 50), pack_boundary(rng)
    return data[:at] + new + data[at + len(new) :]


def _find_all(data: bytes, signature: bytes) -> list[int]:
    positions, at = [], data.find(signature)
    while at >= 0:
        positions.append(at)
        at = data.find(signature, at + 1)
    return positions


DAMAGE: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(flip, _overwrite, _blank, _cut, _insert, _move, _overwrite_field),
)
