"""Memory by category: parameters, gradients, activations, state of optimizers."""

import gzip
import json

import pytest

import tl_core
import tl_nn
from tl_profiler import profile
from tl_profiler._memory_profiler import Action, Category


@pytest.fixture(scope="module")
def trained():
    model = tl_nn.Sequential(tl_nn.Linear(64, 32), tl_nn.Tanh(), tl_nn.Linear(32, 4))
    optimizer = tl_nn.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = tl_core.ones(16, 64)
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        for _ in range(2):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
    return prof, model, optimizer, x


def sizes(profiled, category, action):
    return [n for _, what, (key, _), n in profiled.timeline
            if what is action and profiled.category_of(key) is category]  # fmt: skip


def test_what_tensors_are_follows_from_what_was_done_with_them(trained):
    prof, model, optimizer, x = trained
    profiled = prof._memory_profile()
    parameters = sorted(p.numel() * 4 for p in model.parameters())
    assert sorted(sizes(profiled, Category.PARAMETER, Action.PREEXISTING)) == parameters
    assert x.numel() * 4 in sizes(profiled, Category.INPUT, Action.PREEXISTING)
    assert sorted(sizes(profiled, Category.OPTIMIZER_STATE, Action.CREATE)) == parameters
    gradients = sizes(profiled, Category.GRADIENT, Action.CREATE)
    assert all(gradients.count(n) >= 2 for n in parameters), "made in each of the two steps"
    assert 16 * 32 * 4 in sizes(profiled, Category.ACTIVATION, Action.CREATE)
    assert optimizer.state


def test_time_lines_as_files(trained, tmp_path):
    prof = trained[0]
    prof.export_memory_timeline(str(tmp_path / "m.json.gz"))
    with gzip.open(tmp_path / "m.json.gz") as file:
        times, rows = json.load(file)
    assert len(times) == len(rows) and times == sorted(times) and {len(r) for r in rows} == {8}
    assert all(n >= 0 for r in rows for n in r)
    prof.export_memory_timeline(str(tmp_path / "m.raw.json.gz"), device="cpu")
    with gzip.open(tmp_path / "m.raw.json.gz") as file:
        raw = json.load(file)
    assert {action for _, action, _, _ in raw} >= {1, 2, 4} and raw[0][0] == -1
    prof.export_memory_timeline(str(tmp_path / "m.html"))
    text = (tmp_path / "m.html").read_text()
    assert "OPTIMIZER_STATE" in text and "http:" not in text and "https:" not in text
    with pytest.raises(OSError, match="nowhere"):
        prof.export_memory_timeline(str(tmp_path / "nowhere" / "m.json"))


def test_what_must_have_been_recorded():
    with profile(record_shapes=True) as prof:
        pass
    with pytest.raises(
        ValueError, match=r"^profile_memory=True, with_stack=True required for memory profiling\.$"
    ):
        prof.export_memory_timeline("unused.json")
