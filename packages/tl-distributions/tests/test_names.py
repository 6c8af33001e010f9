"""The package's names."""

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
