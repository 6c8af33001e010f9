"""The rules of extras."""

from types import SimpleNamespace

import pytest

from tools import extras


def package(dist, **extra):
    return SimpleNamespace(dist=dist, extras=extra)


FACADE = package("tl-all", numpy=["tl-core[numpy]>=0.1"], all=["tl-all[numpy]"])


@pytest.mark.parametrize(
    ("packages", "message"),
    [
        ([package("tl-core", numpy=["numpy>=1.26,<3"])], ""),
        ([package("tl-core", numpy=["numpy>=1.26"], test=["numpy>=1.26,<3"])], "numpy has several ranges"),
        ([package("tl-core", numpy=["numpy"])], "numpy has no lower bound"),
        (
            [package("tl-core", numpy=["numpy>=1"]), package("tl-data", arrays=["numpy>=1"])],
            "numpy is behind extras of several names: arrays, numpy",
        ),
        ([package("tl-data", images=["pillow>=10"])], "tl-all lacks the extra images of tl-data"),
    ],
)
def test_rules(monkeypatch, packages, message):
    every = {str(index): each for index, each in enumerate([FACADE, *packages])}
    monkeypatch.setattr(extras, "packages", lambda root: every)
    messages = extras.violations()
    assert any(message in each for each in messages) if message else not messages


def test_this_repository():
    assert extras.violations() == []
