"""The switch of recording, where generators keep it on and off by turns."""

from __future__ import annotations

import pytest

import tl_core as tl


@pytest.mark.parametrize(
    ("decorator", "inside"),
    [(tl.no_grad(), False), (tl.no_grad, False), (tl.inference_mode(), False), (tl.enable_grad(), True)],
)
def test_steps_of_a_generator(decorator, inside):
    """Each step has the decorator's setting; the caller's own holds between them."""

    @decorator
    def steps():
        records = [tl.is_grad_enabled(), (yield tl.is_grad_enabled())]
        try:
            yield records
        except KeyError:
            yield tl.is_grad_enabled()
        return "end"

    with tl.set_grad_enabled(not inside):
        running = steps()
        assert next(running) is inside
        assert tl.is_grad_enabled() is not inside
        assert running.send("given") == [inside, "given"]
        assert running.throw(KeyError()) is inside
        assert tl.is_grad_enabled() is not inside
        with pytest.raises(StopIteration) as end:
            next(running)
        assert end.value.value == "end"
        assert tl.is_grad_enabled() is not inside


def test_a_generator_that_is_closed():
    records = []

    @tl.no_grad()
    def steps():
        try:
            yield
        finally:
            records.append(tl.is_grad_enabled())

    running = steps()
    next(running)
    running.close()
    assert records == [False] and tl.is_grad_enabled()


def test_a_generator_that_raises():
    @tl.no_grad()
    def steps():
        yield 1
        raise KeyError("inside")

    running = steps()
    next(running)
    with pytest.raises(KeyError, match="inside"):
        next(running)
    assert tl.is_grad_enabled()


def test_inference_tensors_count_no_versions():
    with tl.inference_mode():
        x = tl.ones(2)
    with pytest.raises(RuntimeError, match="do not track version counter"):
        x._version  # noqa: B018


def test_set_grad_enabled_shows_its_mode():
    switch = tl.set_grad_enabled(True)
    assert repr(switch).endswith("grad_mode.set_grad_enabled(mode=True)")


def test_decorated_classes():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @tl.no_grad()
        class Made:
            def __init__(self):
                self.inside = tl.is_grad_enabled()

    result = Made()
    assert not result.inside and tl.is_grad_enabled()
