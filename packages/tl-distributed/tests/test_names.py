"""The package's names, some of which are loaded when they are asked for."""

import subprocess
import sys


def test_every_public_name_is_an_attribute():
    program = """
import sys
import tl_distributed
assert "tl_distributed.algorithms" not in sys.modules
missing = [name for name in tl_distributed.__all__ if not hasattr(tl_distributed, name)]
assert not missing, missing
assert "algorithms" in dir(tl_distributed)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
