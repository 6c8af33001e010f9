"""A plug-in of pytest for the tests of quantization: the module under test, PyTorch's helpers from its wheel.

`TL_PEER_MODULE` is `tl` or `torch`. `TL_PEER_WHEEL` names the folder `torch/testing/_internal` of PyTorch's wheel.
`TL_PEER_RESULTS` and `TL_PEER_DONE` are those of `tools.peer_tests.plugin`.
"""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any

from tools.peer_tests import plugin

pytest_collection_modifyitems = plugin.pytest_collection_modifyitems
pytest_runtest_logreport = plugin.pytest_runtest_logreport
pytest_runtest_logstart = plugin.pytest_runtest_logstart
pytest_runtest_setup = plugin.pytest_runtest_setup
pytest_runtest_teardown = plugin.pytest_runtest_teardown


def pytest_configure(config: Any) -> None:
    """Makes the modules that a test file imports."""
    warnings.simplefilter("ignore")
    if os.environ["TL_PEER_MODULE"] == "tl":
        from tools.peer_quantization import helpers

        helpers.install(os.environ["TL_PEER_WHEEL"])
    elif "TL_PEER_SUCCESSOR" in os.environ:
        from tools.peer_quantization import successor

        successor.install()
    importlib.import_module("torch.testing._internal.common_utils")  # selects a profile of its own
    import hypothesis

    health = list(hypothesis.HealthCheck)
    hypothesis.settings.register_profile(
        "peer",
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=10,
        suppress_health_check=health,
    )
    hypothesis.settings.load_profile("peer")
