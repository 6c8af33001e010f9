# Written by `python -m tools.facade_stubs --write`.

