"""Names of variables and functions that are bare participles."""

import tomllib

from tools.names import LIMITS, counts, rates
from tools.packages import packages

SOURCE = """
found = 1
for given in ():
    result = given
def _placed(): pass
def place(): pass
class Tensor:
    @property
    def detached(self): pass
"""


def test_counts_of_a_file():
    result = counts(SOURCE)
    assert (result["variables"], result["participles of variables"]) == (3, 2)
    assert (result["functions"], result["participles of functions"]) == (2, 1)
    assert rates(result)["functions"] == 500


def test_every_package_has_limits():
    assert set(tomllib.loads(LIMITS.read_text())) == set(packages())
