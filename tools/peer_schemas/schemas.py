"""The schemas of ATen's operators in PyTorch, as JSON: `python -m tools.peer_schemas.schemas`, run where PyTorch is."""

from __future__ import annotations

import json
import re
from typing import Any

# Arguments that a call leaves out: PyTorch draws, allocates or names for them.
UNUSED = frozenset({"layout", "device", "pin_memory", "memory_format", "generator", "dtype"})
# Operators that are random, leave memory as it is, change what the process does, or belong to one device or library.
SKIPPED = re.compile(
    r"_?(rand|bernoulli|multinomial|dropout|normal|poisson|uniform|exponential|geometric|cauchy|log_normal|empty|"
    r"new_empty|rrelu|native_dropout|alpha_dropout|feature_|binomial|resize|set_|from_file|cudnn|miopen|mkldnn|"
    r"record_stream|is_pinned|pin_memory|requires_grad_|retain_grad|as_strided|quantize|fake_quantize|copy_|lift|"
    r"sparse_|to_sparse|to_mkldnn|values|indices|crow_|ccol_|row_|col_)|_"
)


def arguments_of(schema: Any) -> list[dict[str, Any]] | None:
    """The arguments of a schema that calls draw; None if no tensor is among them.

    Args:
        schema: PyTorch's.
    """
    arguments = [a for a in schema.arguments if a.name not in UNUSED]
    if not any("Tensor" in str(a.type) for a in arguments):
        return None
    return [
        {
            "name": a.name,
            "type": str(a.type),
            "by_keyword": bool(a.kwarg_only),
            "has_default": bool(a.has_default_value()),
        }
        for a in arguments
    ]


def main() -> None:
    """Prints a list of operators, overloads and arguments."""
    import torch

    registered = torch._C._dispatch_get_all_op_names()
    names = sorted({name.split("::")[1].split(".")[0] for name in registered if name.startswith("aten::")})
    schemas = []
    for name in names:
        if SKIPPED.match(name) or "backward" in name:
            continue
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads():
            if re.search("name|generator", overload):
                continue
            arguments = arguments_of(getattr(packet, overload)._schema)
            if arguments is not None:
                schemas.append({"operator": name, "overload": overload, "arguments": arguments})
    print(json.dumps(schemas))


if __name__ == "__main__":
    main()
