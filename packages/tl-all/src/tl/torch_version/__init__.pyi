# Written by `python -m tools.facade_stubs --write`.
from tl._release import Release as _TorchVersion_

TorchVersion = _TorchVersion_
