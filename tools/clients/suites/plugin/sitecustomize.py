"""Makes torch another name of tl in every Python program that a suite starts, pytest the first of them."""

import os

if os.environ.get("TL_SUITE_TORCH") == "0":
    import tl.torch

    tl.torch.install()
