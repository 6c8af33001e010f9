"""Calls at a size of the rows that compute with bytes."""

from __future__ import annotations

from typing import Any

import tl_core as tl


def byte(*shape: int, dtype: tl.dtype = tl.uint8) -> tl.Tensor:
    return tl.full(shape, 3, dtype=dtype)


def weight(rows: int, columns: int) -> tuple[tl.Tensor, ...]:
    """A packed weight, with a scale for each row."""
    return (*tl._pack_int8(byte(rows, columns, dtype=tl.int8)), tl.ones(rows))


def convolution(b: int) -> tuple[Any, ...]:
    packed, sums, scales = weight(5, 3 * 4)
    qparams = 1.0, 0, packed.unsqueeze(0), sums, scales, None, None
    return byte(b, 2, b + 4), *qparams, (3,), (2,), (1,), (1,), 1, 1.0, 0


def recurrence(b: int) -> tuple[Any, ...]:
    return tl.ones(3, b, 4 * b), tl.ones(b, b), tl.ones(b, b), *weight(4 * b, b), None, None, 0, False


BYTE_CALLS: dict[str, list[Any]] = {
    "_pack_int8": [lambda b: (byte(b, 3, dtype=tl.int8),), lambda b: (byte(20, b, dtype=tl.int8),)],
    "_int8_linear_dynamic": [lambda b: (tl.ones(2, b), *weight(b, b)), lambda b: (tl.ones(b), *weight(3, b))],
    "_int8_linear": [lambda b: (byte(2, b), 1.0, 0, *weight(b + 1, b), None, None, 1.0, 0)],
    "_int8_convolution": [convolution],
    "_int8_recurrent_layer": [recurrence],
    "_weight_int8pack_mm": [lambda b: (tl.ones(b, 4), byte(b + 1, 4, dtype=tl.int8), tl.ones(b + 1))],
    "_convert_weight_to_int4pack_for_cpu": [lambda b: (byte(16 * b, 2 * b, dtype=tl.int32), 1)],
    "_weight_int4pack_mm_for_cpu": [lambda b: (tl.ones(b, 32), byte(16 * b, 16), 32, tl.ones(1, 16 * b, 2))],
    "_quantized_embedding_bag": [
        lambda b: (byte(b, b + 8), 8, tl.zeros(b, dtype=tl.int64), tl.tensor([0])),
        lambda b: (
            byte(3, b + 4),
            2,
            tl.zeros(4, dtype=tl.int32),
            tl.zeros(b + 1, dtype=tl.int64),
            1,
            None,
            True,
        ),
    ],
    "_dequantize_bytes": [lambda b: (byte(b, 2), 1.0, 0)],
    "_add_bytes": [lambda b: (byte(b, 2), 1.0, 0, byte(b, 2), 1.0, 0, 1.0, 0)],
}
