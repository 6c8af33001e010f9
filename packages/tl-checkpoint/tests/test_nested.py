"""Nested tensors in files."""

import io
import pickle

import pytest

import tl_checkpoint
import tl_core as tl
from tl_core import nested


def both():
    parts = [tl.arange(6.0).view(2, 3), tl.arange(3.0).view(1, 3)]
    offsets, lengths = tl.tensor([0, 2, 4]), tl.tensor([1, 2])
    strided = nested.nested_tensor(parts)
    return {
        "jagged": nested.nested_tensor(parts, layout=tl.jagged),
        "gaps": nested.nested_tensor_from_jagged(tl.arange(10.0).view(5, 2), offsets, lengths),
        "another dimension": nested.nested_tensor([p.t() for p in parts], layout=tl.jagged),
        "strided": strided,
        "transposed": strided.transpose(1, 2),
    }


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", both())
def test_round_trip(name, weights_only):
    x = both()[name]
    file = io.BytesIO()
    tl_checkpoint.save({"x": x, "twice": [x]}, file)
    file.seek(0)
    result = tl_checkpoint.load(file, weights_only=weights_only)
    y = result["x"]
    assert result["twice"][0] is y and y.layout is x.layout
    assert [c.tolist() for c in y.unbind()] == [c.tolist() for c in x.unbind()]
    assert y.is_contiguous() == x.is_contiguous()


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.update(offsets=tl.tensor([0, 99])),
        lambda s: s.update(offsets=tl.tensor([-1, 2])),
        lambda s: s.update(_ragged_idx=7),
        lambda s: s.update(values=3),
        lambda s: s.pop("offsets"),
    ],
)
def test_damaged_parts_are_refused(change):
    from tl_checkpoint import nested as files

    _, (state,) = files.parts(both()["jagged"])
    change(state)
    with pytest.raises(pickle.UnpicklingError):
        files.jagged(state)
    buffer, *geometry = files.parts(both()["strided"])[1]
    with pytest.raises(pickle.UnpicklingError):
        files.strided(buffer[:3], *geometry)
    with pytest.raises(pickle.UnpicklingError):
        files.strided(buffer, 1, 2, 3)
