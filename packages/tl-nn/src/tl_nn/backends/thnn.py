"""Names in pickles of modules from before PyTorch 1.2."""


def _get_thnn_function_backend() -> None:
    """The library of functions that each module used to carry: None."""
