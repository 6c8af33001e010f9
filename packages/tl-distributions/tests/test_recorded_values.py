"""Distributions, transforms, constraints and divergences in batches, with the values that PyTorch 2.13 computed.

The values are float64. Each table has an expression and the recorded properties of its object. Properties in which tl
is more exact than PyTorch are left out.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import tl_autograd  # noqa: F401 - gradients of cumulative distribution functions
import tl_core as tl
import tl_distributions as D

np = pytest.importorskip("numpy")
RECORDED = json.loads((Path(__file__).parent / "data" / "recorded_values.json").read_text())


def tensor(values):
    return tl.tensor(values, dtype=tl.float64)


NAMES = {name: getattr(D, name) for name in dir(D) if name[0].isupper()} | {
    "C": D.constraints, "T": D.transforms, "t": tensor, "inf": math.inf,
}  # fmt: skip


def construct(expression):
    return eval(expression, dict(NAMES))


def agrees(function, recorded, label=""):
    """Asserts that a call returns the recorded value or raises the recorded error."""
    if isinstance(recorded, str) and recorded.endswith("Error"):
        with pytest.raises(Exception) as caught:  # noqa: PT011, RUF100 - the type is compared below
            function()
        assert type(caught.value).__name__ == recorded, label
        return
    value = function()
    if isinstance(value, tl.Tensor):
        shape, numbers = recorded
        assert list(value.shape) == shape, label
        np.testing.assert_allclose(
            [float(x) for x in value.reshape(-1).tolist()], numbers, rtol=1e-7, atol=1e-9, err_msg=label
        )
    elif isinstance(value, (tuple, list)):
        assert list(value) == recorded, label
    else:
        assert value == recorded, label


def agrees_at(function, values, recorded, label):
    recorded = [recorded] * len(values) if isinstance(recorded, str) else recorded
    for value, expected in zip(values, recorded, strict=True):
        agrees(lambda value=value: function(tensor(value)), expected, f"{label} at {value}")


@pytest.mark.parametrize("expression", RECORDED["distributions"])
def test_distributions(expression):
    own, recorded = construct(expression), RECORDED["distributions"][expression]
    values = recorded["values"]
    for name in ("batch_shape", "event_shape", "mean", "mode", "variance", "stddev", "has_rsample"):
        if name in recorded:
            agrees(lambda name=name: getattr(own, name), recorded[name], name)
    assert own.has_enumerate_support is recorded["has_enumerate_support"]
    agrees(own.entropy, recorded["entropy"], "entropy")
    agrees(own.perplexity, recorded["perplexity"], "perplexity")
    assert (own.support.event_dim, bool(own.support.is_discrete)) == (
        recorded["event_dim"],
        recorded["is_discrete"],
    )
    agrees_at(own.log_prob, values, recorded["log_prob"], "log_prob")
    agrees_at(own.support.check, values, recorded["support"], "support")
    if "cdf" in recorded:
        agrees_at(own.cdf, values, recorded["cdf"], "cdf")
    if "icdf" in recorded:
        quantiles = tensor([[[0.001]], [[0.3]], [[0.5]], [[0.95]]])
        agrees(lambda: own.icdf(quantiles), recorded["icdf"], "icdf")
    if own.has_enumerate_support:
        agrees(own.enumerate_support, recorded["enumerate_support"])
        agrees(lambda: own.enumerate_support(expand=False), recorded["enumerate_unexpanded"])


@pytest.mark.parametrize("expression", RECORDED["distributions"])
def test_expanded_distributions(expression):
    own, recorded = construct(expression), RECORDED["distributions"][expression]
    if isinstance(recorded["expanded"], str):
        agrees(lambda: own.expand((4, *own.batch_shape)), recorded["expanded"])
        return
    batch, event, log_prob, mean = recorded["expanded"]
    expanded = own.expand((4, *own.batch_shape))
    assert type(expanded) is type(own)
    assert [list(expanded.batch_shape), list(expanded.event_shape)] == [batch, event]
    agrees(lambda: expanded.log_prob(tensor(recorded["values"][0])), log_prob, "log_prob")
    agrees(lambda: expanded.mean, mean, "mean")


@pytest.mark.parametrize("expression", [e for e in RECORDED["distributions"] if "validate_args=False" in e])
def test_values_outside_the_support_are_rejected(expression):
    recorded = RECORDED["distributions"][expression]
    own = construct(expression.replace("validate_args=False", "validate_args=True"))
    for value, inside in zip(map(tensor, recorded["values"]), recorded["support"], strict=True):
        if isinstance(inside, list) and all(inside[1]):
            assert own.log_prob(value).shape is not None
        else:
            with pytest.raises(ValueError, match=r"support|shape|dimension"):
                own.log_prob(value)


@pytest.mark.parametrize("expression", [e for e in RECORDED["distributions"] if "validate_args=False" in e])
def test_only_a_distribution_that_validates_rejects_nan(expression):
    value = tensor(RECORDED["distributions"][expression]["values"][0]) * math.nan
    with pytest.raises(ValueError, match="support"):
        construct(expression.replace("validate_args=False", "validate_args=True")).log_prob(value)
    own = construct(expression)
    has_parts = isinstance(own, (D.MixtureSameFamily, D.TransformedDistribution))  # which validate
    if not has_parts and not isinstance(own, (D.Categorical, D.OneHotCategorical)):  # nan is no index
        assert own.log_prob(value).shape[-1:] == own.batch_shape[-1:] or own.batch_shape == ()


@pytest.mark.parametrize(
    "expression",
    [
        e
        for e, r in RECORDED["distributions"].items()
        if "validate_args=False" in e and not isinstance(r.get("cdf", ""), str)
    ]
    + ["GeneralizedPareto(t(0.5), t(2.0), t(0.3), validate_args=False)"],
)
def test_distribution_functions_reject_nan_if_they_validate(expression):
    nan = tensor(math.nan)
    with pytest.raises(ValueError, match="support"):
        construct(expression.replace("validate_args=False", "validate_args=True")).cdf(nan)
    own = construct(expression)
    if not isinstance(own, (D.MixtureSameFamily, D.TransformedDistribution)):  # their parts validate
        assert bool(own.cdf(nan).isnan().all())


def test_a_transformed_distribution_validates_apart_from_its_base():
    def cdf(base, whole):
        normal = D.Normal(t0, t0 + 1, validate_args=base)
        return D.TransformedDistribution(normal, D.ExpTransform(), validate_args=whole).cdf(tensor(math.nan))

    t0 = tensor(0.0)
    assert math.isnan(cdf(base=False, whole=False))
    for base, whole in ((False, True), (True, False)):
        with pytest.raises(ValueError, match="support"):
            cdf(base=base, whole=whole)


@pytest.mark.parametrize("expression", RECORDED["transforms"])
def test_transforms(expression):
    own, recorded = construct(expression), RECORDED["transforms"][expression]
    values = recorded["values"]
    for name in ("bijective", "sign", "event_dim"):
        if name in recorded:
            agrees(lambda name=name: getattr(own, name), recorded[name], name)
    for name in ("domain", "codomain"):
        constraint = getattr(own, name)
        agrees(lambda c=constraint: c.event_dim, recorded[f"{name}_event_dim"], name)
        agrees(lambda c=constraint: bool(c.is_discrete), recorded[f"{name}_discrete"], name)
    agrees_at(own, values, recorded["call"], "call")
    agrees_at(lambda x: own.inv(own(x)), values, recorded["inverse"], "inverse")
    agrees_at(
        lambda x: own.log_abs_det_jacobian(x, own(x)), values, recorded["log_abs_det_jacobian"], "log_abs_det"
    )
    inverse = recorded["inverse_log_abs_det_jacobian"]
    agrees_at(lambda x: own.inv.log_abs_det_jacobian(own(x), x), values, inverse, "inverse log_abs_det")
    agrees_at(lambda x: own.forward_shape(tuple(x.shape)), values, recorded["forward_shape"], "forward_shape")
    agrees_at(
        lambda x: own.inverse_shape(tuple(own(x).shape)), values, recorded["inverse_shape"], "inverse_shape"
    )
    agrees_at(own.domain.check, values, recorded["in_domain"], "domain")
    agrees_at(lambda x: own.codomain.check(own(x)), values, recorded["in_codomain"], "codomain")
    agrees(lambda: own.with_cache(1)._cache_size, recorded["with_cache"], "with_cache")


@pytest.mark.parametrize("expression", RECORDED["constraints"])
def test_constraints(expression):
    own, recorded = construct(expression), RECORDED["constraints"][expression]
    assert (bool(own.is_discrete), own.event_dim) == (recorded["is_discrete"], recorded["event_dim"])
    assert repr(own) == recorded["text"]
    agrees_at(own.check, recorded["values"], recorded["check"], "check")
    for name, registry in (("biject_to", D.biject_to), ("transform_to", D.transform_to)):
        results = recorded.get(name)
        if isinstance(results, str):
            agrees(
                lambda transform=registry, x=recorded[f"{name}_values"][0]: transform(own)(tensor(x)),
                results,
                name,
            )
        elif results:
            agrees_at(registry(own), recorded[f"{name}_values"], results, name)


@pytest.mark.parametrize("expression", RECORDED["divergences"])
def test_divergences(expression):
    first, _, second = expression.partition(" | ")
    own = construct(first), construct(second)
    agrees(lambda: D.kl_divergence(*own), RECORDED["divergences"][expression])
