"""Any operator with any arguments: it answers or raises, whatever comes; elementwise ones answer alike in every layout.

Under sanitizers (`nox -s sanitize`) this is what looks for reads and writes out of bounds.
"""

import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import tl_core as tl

sys.path.insert(0, str(Path(__file__).parent))
import drawn
from opgen import collect

ROWS = collect.rows()
ORDINARY = (RuntimeError, TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, MemoryError)
READABLE = 10_000
# With 800 rows a few examples each find what is badly broken; the rest is for when trouble is looked for.
PROFILE = settings().max_examples
EACH = settings(max_examples=PROFILE if PROFILE >= 200 else 8)


def call(name, positional, keywords):
    """The results; None if it was refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tl._C._call_operator((name,), *positional, **keywords)
    except ORDINARY as error:
        assert "internal" not in str(error).lower(), error
        return None


def tensors_in(result):
    if isinstance(result, tl.Tensor):
        return [result]
    return [t for part in result for t in tensors_in(part)] if isinstance(result, (list, tuple)) else []


def read(t):
    """Every element, through its strides; what is expanded without end is not read."""
    if t.is_meta or any(n > READABLE for n in t.shape) or t.numel() > READABLE:
        return None
    if t.is_sparse:
        return read(t._values())
    return repr(t.tolist())


def dense(value):
    if isinstance(value, tl.Tensor):
        return value.contiguous().clone()
    return [dense(v) for v in value] if isinstance(value, list) else value


def answers_or_raises(row, data):
    variant, schema = data.draw(st.sampled_from(row.forms()))
    positional, keywords = data.draw(drawn.calls(schema, row.name))
    tensors = tensors_in([*positional, *keywords.values()])
    note(f"{schema.name}: {[(t.dtype, t.shape, t.stride()) for t in tensors]}")
    rest = [dense(p) for p in positional], {k: dense(v) for k, v in keywords.items()}
    result = call(schema.name, positional, keywords)
    output = [read(t) for t in tensors_in(result)]
    if row.elementwise and variant == "functional" and result is not None:
        assert output == [read(t) for t in tensors_in(call(schema.name, *rest))]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_call_answers_or_raises(row):
    # A test of Hypothesis for each row: of one with parameters its plug-in nests the settings once for each, and
    # with a thousand of them Python's stack ends.
    @EACH
    @given(data=st.data())
    def drawn_calls(data):
        answers_or_raises(row, data)

    drawn_calls()
