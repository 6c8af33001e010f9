"""The package's names, which are loaded when they are asked for."""

import importlib
import pkgutil
import subprocess
import sys

import tl_distributions as package

# What other modules of the package import.
HELPERS = {
    "closed_forms",
    "constraints",
    "joined_transforms",
    "kl_registry",
    "parameterization",
    "transform",
    "utils",
}


def test_every_name_of_a_module_is_one_of_the_package():
    modules = [found.name for found in pkgutil.iter_modules(package.__path__)]
    for name in modules:
        module = importlib.import_module(f"{package.__name__}.{name}")
        for public in getattr(module, "__all__", ()) if name not in HELPERS else ():
            assert getattr(package, public) is getattr(module, public), f"{name}.{public}"
            assert public in package.__all__, f"{name}.{public}"


def test_a_constraint_loads_no_distribution():
    program = """
import sys
from tl_distributions import constraints
assert "tl_distributions.distribution" not in sys.modules
import tl_distributions
tl_distributions.Normal
assert "tl_distributions.closed_forms" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_divergence_of_ones_own_stands_beside_those_of_the_package():
    program = """
from tl_distributions.kl import register_kl
from tl_distributions import Normal, kl_divergence
assert kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0)) == 0.5
@register_kl(Normal, Normal)
def mine(p, q):
    return 3
assert kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0)) == 3
"""
    subprocess.run([sys.executable, "-c", program], check=True)
