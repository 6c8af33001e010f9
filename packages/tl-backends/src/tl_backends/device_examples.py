"""The examples of functions and classes of device modules, made from their rows.

Those that need a device stand below a question for one, as in programs that run on several machines.
"""

from __future__ import annotations

# What an example passes for an argument without a default; `{kind}` is the device's type.
_ARGUMENTS = {
    "alloc_fn_name": '"allocate"', "allocator": "allocator", "buffer_size": "64",
    "callable": "start", "callables": "model",
    "cuda_graph": "recorded", "data_ptr": "address", "debug_mode": '"warn"', "device": "0", "devices": "[0]",
    "duration": "30", "filename": '"choices.csv"', "filename_pattern": '"untuned*.csv"', "flags": "0",
    "fname": '"work.gputrace"', "fraction": "0.5", "free_fn_name": '"free"', "inputs": "gradients",
    "iterations": "100", "mem_ptr": "address", "msg": '"forward"', "new_state": "state", "new_states": "[]",
    "num_gpus": "2", "obj": "batch", "outputs": "results", "path_to_so_file": '"allocator.so"',
    "peer_device": "1", "pool": "pool", "range_id": "handle", "res": "1",
    "s": "batch.untyped_storage()", "sample_args": "(batch,)", "seed": "7", "size": "1024", "source": "program",
    "stream": "{kind}.current_stream()", "stream_ptr": "address", "tensor": "batch", "tensors": "[batch]",
    "val": "True",
}  # fmt: skip
# What is printed where there is no device.
_PRINTED = {
    "current_accelerator": "", "get_arch_list": "[]", "get_gencode_flags": "''",
    "get_results": "()", "host_memory_stats_as_nested_dict": "{}",
    "get_rng_state_all": "[]", "get_validators": "()", "is_bf16_supported": "False",
    "is_capturing_metal": "False", "is_current_stream_capturing": "False", "is_enabled": "False",
    "is_initialized": "False", "is_metal_capture_enabled": "False", "is_tf32_supported": "False",
    "manual_seed": "", "manual_seed_all": "", "max_memory_allocated": "0", "max_memory_reserved": "0",
    "memory_allocated": "0", "memory_reserved": "0", "memory_stats_as_nested_dict": "{}",
    "record_untuned_is_enabled": "False", "tuning_is_enabled": "False",
}  # fmt: skip
_OF_THE_CPU = {
    "current_device": "'cpu'", "device_count": "1", "is_available": "True", "is_initialized": "True",
    "set_device": "", "synchronize": "",
}  # fmt: skip
_OF_ACCELERATORS = {"device_count": "0", "is_available": "False"}  # all others refuse
_BLOCKS = {"device", "device_of", "graph", "metal_capture", "profile", "range", "use_mem_pool"}


def example(kind: str, shown: str, signature: str) -> str:
    """The section `Example:` of a function or class of a device module.

    Args:
        kind: the device's type, which is the module's name.
        shown: the name below that module, such as "memory_stats" or "nvtx.mark".
        signature: its definition's, with the name.
    """
    name, _, parameters = signature.partition("(")
    passed = [p.strip() for p in parameters.rpartition(")")[0].split(",") if p.strip()[:1] not in ("", "*")]
    needed = [p.partition(":")[0] for p in passed if "=" not in p and ":" in p and not p.startswith("self")]
    call = f"{kind}.{shown}({', '.join(_ARGUMENTS[a].format(kind=kind) for a in needed)})"
    lines = [f">>> from tl_backends import {kind}"]
    printed = {"cpu": _OF_THE_CPU, "accelerator": _OF_ACCELERATORS}.get(kind, _PRINTED).get(name)
    if printed is None or (needed and name not in ("manual_seed", "manual_seed_all", "set_device")):
        lines.append(f">>> if {kind}.is_available():")
        lines += [f"...     with {call}:", "...         pass"] if name in _BLOCKS else [f"...     _ = {call}"]
    else:
        lines += [f">>> {call}", *([printed] if printed else [])]
    return "\n".join(["Example:", *(f"    {line}" for line in lines)])
