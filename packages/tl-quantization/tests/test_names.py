"""The package's names, which are loaded when they are asked for."""

import importlib
import pkgutil
import subprocess
import sys

import tl_quantization as package

HELPERS = {
    "operators",
    "arithmetic",
    "bilinear_interpolation",
    "engine",
    "granularity",
    "quantize_fx",
    "quantize_pt2e",
    "utils",
}


def test_every_name_of_a_module_is_one_of_the_package():
    modules = [entry.name for entry in pkgutil.iter_modules(package.__path__) if not entry.ispkg]
    for name in modules:
        module = importlib.import_module(f"{package.__name__}.{name}")
        for public in getattr(module, "__all__", ()) if name not in HELPERS else ():
            assert getattr(package, public) is getattr(module, public), f"{name}.{public}"
            assert public in package.__all__, f"{name}.{public}"


def test_the_stubs_load_no_layers():
    program = """
import sys
from tl_quantization import DeQuantStub, QuantStub
assert "tl_quantization.quantization_mappings" not in sys.modules
import tl_quantization.quantize, tl_quantization.fuse_modules
assert callable(tl_quantization.quantize) and callable(tl_quantization.fuse_modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
