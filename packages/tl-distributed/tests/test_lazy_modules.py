"""What is loaded when somebody asks for it."""

import subprocess
import sys


def test_algorithms_are_an_attribute():
    program = """
import sys, tl_distributed
assert "tl_distributed.algorithms" not in sys.modules
assert "algorithms" in dir(tl_distributed)
assert tl_distributed.algorithms is sys.modules["tl_distributed.algorithms"]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
