"""Sharded checkpoints of 400 MB: saving, loading, and how long a save in the background holds up the program."""

from __future__ import annotations

from tools.bench.cases import Case, Group

CHECKPOINTS = Group("sharded checkpoints, 400 MB")

SETUP = """\
import atexit, importlib, logging, os, shutil, tempfile, warnings
dcp = importlib.import_module(f"{torch.__name__}.distributed.checkpoint")
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
if hasattr(torch.distributed, "init_process_group") and not torch.distributed.is_initialized():
    store = tempfile.mkdtemp()
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}/store", rank=0, world_size=1)
root = tempfile.mkdtemp()
atexit.register(shutil.rmtree, root, ignore_errors=True)
folder = os.path.join(root, "checkpoint")
state = {"model": {f"layer{i}": torch.randn(1_000_000) for i in range(100)}}
"""
SAVED = """\
dcp.save(state, checkpoint_id=folder)
target = {"model": {name: torch.zeros(1_000_000) for name in state["model"]}}
"""
PENDING = "pending = []\n"
CLEAR = "shutil.rmtree(folder, ignore_errors=True)"

CASES = [
    Case(
        CHECKPOINTS, "save", SETUP, "dcp.save(state, checkpoint_id=folder)", bound=1.0, before=CLEAR, rounds=2
    ),
    Case(
        CHECKPOINTS, "load", SETUP + SAVED, "dcp.load(target, checkpoint_id=folder)", bound=1.0, before="pass"
    ),
    Case(
        CHECKPOINTS,
        "async_save blocks",
        SETUP + PENDING,
        "pending.append(dcp.async_save(state, checkpoint_id=folder))",
        bound=0.3,
        before=f"while pending:\n    pending.pop().result()\n{CLEAR}",
        clock="wall",
    ),
]
