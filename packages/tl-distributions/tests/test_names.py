"""The package's names."""

import pytest

import tl_core
import tl_distributions


def test_every_distribution_is_in_the_dictionary_of_the_module():
    """Pyro makes a class of its own of each that it finds there, so none may wait until somebody asks for it."""
    kinds = {name for name, kind in vars(tl_distributions).items() if isinstance(kind, type)}
    assert {
        "Bernoulli",
        "Distribution",
        "Independent",
        "Normal",
        "TransformedDistribution",
        "Wishart",
    } <= kinds


def test_private_helpers_that_programs_call():
    wishart = tl_distributions.Wishart(tl_core.tensor(4.0), tl_core.eye(2))
    assert wishart._bartlett_sampling(tl_core.Size((3,))).shape == (3, 2, 2)
    pareto = tl_distributions.Pareto(tl_core.tensor(1.0), tl_core.tensor(2.0))
    assert pareto._monotonize_cdf(tl_core.tensor(0.25)).item() == 0.25
    weibull = tl_distributions.Weibull(tl_core.tensor(1.0), tl_core.tensor(2.0))
    assert weibull.cdf(tl_core.tensor(0.5)).item() == pytest.approx(1 - 2.718281828**-0.25, rel=1e-5)
