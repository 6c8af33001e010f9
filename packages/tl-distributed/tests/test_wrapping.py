"""Settings of sharded training, and which modules its policies wrap."""

import functools

import pytest

nn = pytest.importorskip("tl_nn")

from tl_distributed import fsdp  # noqa: E402
from tl_distributed.fsdp import wrap as policies  # noqa: E402


def model():
    return nn.Sequential(
        nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.ModuleList([nn.Linear(2, 2)])
    )


class Wrapper(nn.Module):
    def __init__(self, module, **options):
        super().__init__()
        self.module, self.options = module, options


def wrapped(policy, **options):
    result, count = policies._recursive_wrap(model(), policy, Wrapper, set(), set(), **options)
    return [type(m.module).__name__ for m in result.modules() if isinstance(m, Wrapper)], count


def test_policies():
    assert wrapped(fsdp.wrap.ModuleWrapPolicy({nn.Linear})) == (["Linear"] * 3, 46)
    assert wrapped(policies.always_wrap_policy)[1] == 46
    by_size = functools.partial(policies.size_based_auto_wrap_policy, min_num_params=20)
    assert wrapped(by_size) == (["Linear", "Linear"], 40)
    by_class = functools.partial(policies.transformer_auto_wrap_policy, transformer_layer_cls={nn.ReLU})
    assert wrapped(by_class) == (["ReLU"], 0)
    named = functools.partial(
        policies.lambda_auto_wrap_policy, lambda_fn=lambda m: isinstance(m, nn.ModuleList)
    )
    either = functools.partial(policies._or_policy, policies=[by_class, named])
    assert wrapped(either)[0] == ["ReLU", "ModuleList"]


def test_a_policy_with_options():
    policy = policies.CustomPolicy(
        lambda m: {"rank": 1} if isinstance(m, nn.ReLU) else isinstance(m, nn.Linear)
    )
    settings = policy._run_policy(model(), set(), {"rank": 0})
    assert sorted((type(m).__name__, o["rank"]) for m, o in settings.items()) == [("Linear", 0)] * 3 + [
        ("ReLU", 1)
    ]
    with pytest.raises(ValueError, match="False/True or a kwarg dict"):
        policies.CustomPolicy(lambda m: "yes")._run_policy(model(), set(), {})


def test_a_region_that_wraps():
    layer = nn.Linear(1, 1)
    assert policies.wrap(layer) is layer
    with policies.enable_wrap(wrapper_cls=Wrapper, a=1, b=2):
        inside = policies.wrap(layer, b=3)
    assert inside.module is layer and inside.options == {"a": 1, "b": 3}
    assert policies.wrap(layer) is layer


def test_settings():
    assert fsdp.MixedPrecision()._module_classes_to_ignore == (nn.modules.batchnorm._BatchNorm,)
    assert fsdp.FullOptimStateDictConfig() == fsdp.FullOptimStateDictConfig(
        offload_to_cpu=True, rank0_only=False
    )
    assert fsdp.LocalOptimStateDictConfig().offload_to_cpu is False
    assert not isinstance(nn.Linear(1, 1), fsdp.FullyShardedDataParallel | fsdp.FSDPModule)
    assert fsdp.FullyShardedDataParallel.fsdp_modules(model()) == []
