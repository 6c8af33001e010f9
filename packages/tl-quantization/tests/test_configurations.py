"""The observers of each configuration, against the settings that PyTorch 2.13 had.

PyTorch observes with `Identity` where a result or a weight stays as it is; tl has `PlaceholderObserver` there.
"""

import json
from pathlib import Path

import pytest

import tl_quantization as tq
from tl_quantization import qconfig

RECORDED = json.loads((Path(__file__).parent / "data" / "configurations.json").read_text())


def settings(factory, names):
    """The settings of the observer that a factory returns; those of its inner observer where it has none itself."""
    observer = factory()
    inner = getattr(observer, "activation_post_process", observer)
    result = {"type": type(observer).__name__, "observer": type(inner).__name__}
    for name in names - {*result}:
        value = getattr(observer, name, getattr(inner, name, None))
        value = value.item() if hasattr(value, "item") else value
        result[name] = value if isinstance(value, (bool, int, float)) else str(value)
    return {name: result[name] for name in names}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RECORDED)
def test_configurations_have_the_recorded_observers(name):
    function, _, backend = name.partition(" ")
    config = getattr(tq, function)(backend) if backend else getattr(qconfig, function)
    for factory, recorded in zip((config.activation, config.weight), RECORDED[name], strict=True):
        assert settings(factory, {*recorded}) == recorded


FACTORIES = json.loads((Path(__file__).parent / "data" / "factories.json").read_text())


def own_settings(module, recorded):
    names = [name for name in recorded if name not in ("type", "observer")]
    values = {name: getattr(module, name) for name in names}
    plain = {name: v if isinstance(v, (bool, int, float)) else str(v) for name, v in values.items()}
    return {"type": type(module).__name__, **plain}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_have_the_recorded_settings(name):
    module, recorded = getattr(tq, name)(), FACTORIES[name]
    own = own_settings(module, recorded)
    if "observer" in recorded:
        own["observer"] = own_settings(module.activation_post_process, recorded["observer"])
    assert own == recorded
