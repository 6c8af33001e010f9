"""`finfo` and `iinfo` against the formats' definitions."""

import struct

import pytest

import tl_core as tl


@pytest.mark.parametrize(
    ("dtype", "code", "largest", "tiny", "one_and_eps"),
    [
        (tl.float16, "e", 0x7BFF, 0x0400, 0x3C01),
        (tl.float32, "f", 0x7F7FFFFF, 0x00800000, 0x3F800001),
        (tl.float64, "d", 0x7FEFFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000001),
    ],
)
def test_floats_are_those_bits(dtype, code, largest, tiny, one_and_eps):
    def number(bits):
        return struct.unpack(code, bits.to_bytes(struct.calcsize(code), "little"))[0]

    info = tl.finfo(dtype)
    assert info.max == number(largest) == -info.min
    assert info.tiny == info.smallest_normal == number(tiny)
    assert info.eps == number(one_and_eps) - 1
    assert info.bits == 8 * struct.calcsize(code)
    assert f"torch.{info.dtype}" == str(dtype)


def test_bfloat16_is_the_upper_half_of_a_float32():
    info = tl.finfo(tl.bfloat16)
    assert info.max == struct.unpack("f", (0x7F7F0000).to_bytes(4, "little"))[0]
    assert info.eps == 2.0**-7
    assert info.tiny == tl.finfo(tl.float32).tiny


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers(name):
    info = tl.iinfo(getattr(tl, name))
    bits = int(name.lstrip("uint"))
    assert info.bits == bits
    assert info.max == (2**bits - 1 if name[0] == "u" else 2 ** (bits - 1) - 1)
    assert info.min == (0 if name[0] == "u" else -(2 ** (bits - 1)))
    assert info.dtype == name


def test_texts():
    assert repr(tl.finfo(tl.float32)) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=float32)"
    )
    assert repr(tl.iinfo(tl.int8)) == "iinfo(min=-128, max=127, dtype=int8)"


def test_defaults_equality_and_refusals():
    assert tl.finfo() == tl.finfo(tl.float32) == tl.finfo(tl.complex64)
    assert tl.finfo(tl.float32) != tl.finfo(tl.float64)
    with pytest.raises(TypeError, match="requires a floating point input type"):
        tl.finfo(tl.int32)
    with pytest.raises(TypeError, match="requires an integer input type"):
        tl.iinfo(tl.float32)
