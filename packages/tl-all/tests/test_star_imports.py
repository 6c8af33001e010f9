"""`from MODULE import *` gives what it gives in PyTorch, for every public module."""

from pathlib import Path

import pytest

import tl

LINES = Path(__file__).with_name("star_names.txt").read_text().splitlines()[1:]
NAMES = {module: names.partition(" | ") for module, _, names in (line.partition(": ") for line in LINES)}


def star(module):
    matches = {}
    exec(f"from {module} import *", matches)
    return matches


def module_of(name):
    return "tl" if name == "-" else f"tl.{name}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_all_names_are_there(name):
    listed, _, _ = NAMES[name]
    result = star(module_of(name))
    assert [each for each in listed.split() if each not in result] == []


def test_names_of_other_packages_are_the_same_objects():
    result = star("tl.func")
    assert result["functional_call"] is tl.func.functional_call
    assert star("tl.functional")["einsum"] is tl.einsum
    assert star("tl.nn.parallel")["DistributedDataParallel"] is tl.nn.parallel.DistributedDataParallel
    assert star("tl.nn.init")["xavier_normal"] is tl.nn.init.xavier_normal


def test_names_that_programs_import():
    from tl.distributed import DeviceMesh, init_device_mesh
    from tl.nn import factory_kwargs
    from tl.nn.functional import BroadcastingList2
    from tl.serialization import default_restore_location
    from tl.utils.hooks import warn_if_has_hooks

    assert DeviceMesh is tl.distributed.device_mesh.DeviceMesh
    assert init_device_mesh is tl.distributed.device_mesh.init_device_mesh
    assert factory_kwargs({"dtype": tl.float64, "factory_kwargs": {"device": "cpu"}}) == {
        "device": "cpu",
        "dtype": tl.float64,
    }
    for wrong in ({"bias": True}, {"dtype": tl.float32, "factory_kwargs": {"dtype": tl.float32}}):
        with pytest.raises(TypeError, match=r"unexpected kwargs bias|dtype specified twice"):
            factory_kwargs(wrong)
    assert BroadcastingList2[int] is None
    storage = tl.ones(2).untyped_storage()
    assert default_restore_location(storage, "cpu") is storage
    warn_if_has_hooks(tl.ones(1))
    before = tl.is_anomaly_enabled(), tl.is_anomaly_check_nan_enabled()
    with tl.autograd.set_detect_anomaly(True, check_nan=False):
        assert tl.is_anomaly_enabled() and not tl.is_anomaly_check_nan_enabled()
    assert (tl.is_anomaly_enabled(), tl.is_anomaly_check_nan_enabled()) == before
