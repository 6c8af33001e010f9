"""Saving and loading. Ask for `--clock wall`, as CPU time leaves the disk out, and for `--threads`.

What is saved to a file is there whole or not at all on both sides: tl sees to that itself; torch syncs a
file, renames it, and syncs the folder.
"""

from __future__ import annotations

from tools.bench.cases import Case, Group

LARGE = Group("checkpoint of 400 MB")
SMALL = Group("checkpoint of 100 tensors", each=0.5)

_BEGIN = """\
import atexit, io, os, shutil, tempfile, time
folder = tempfile.mkdtemp()
atexit.register(shutil.rmtree, folder)
path = os.path.join(folder, "state.pt")

def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)

def replace():
    torch.save(state, path + ".part")
    sync(path + ".part")
    os.replace(path + ".part", path)
    sync(folder)
"""
_LARGE = _BEGIN + 'state = {f"w{i}": torch.randn(6_250_000) for i in range(16)}\ntorch.save(state, path)\n'
_SMALL = (
    _BEGIN
    + """\
state = {f"layers.{i}.weight": torch.randn(16, 16) for i in range(100)}
torch.save(state, path)
held = io.BytesIO()
torch.save(state, held)

def load():
    held.seek(0)
    return torch.load(held)
"""
)
_SAVE, _REPLACE = "torch.save(state, path)", "replace()"
_REST = "time.sleep(1)"  # the blocks of the file before are given back in the meantime

CASES = [
    Case(LARGE, "save over the last", _LARGE, _SAVE, bound=0.8, before=_REST, rounds=3, peer=_REPLACE),
    Case(LARGE, "load, checksums compared", _LARGE, "torch.load(path)", bound=0.6, rounds=3),
    Case(LARGE, "load, mapped", _LARGE, "torch.load(path, mmap=True)", bound=1.0),
    Case(SMALL, "save to memory", _SMALL, "torch.save(state, io.BytesIO())"),
    Case(SMALL, "load from memory", _SMALL, "load()"),
    Case(SMALL, "load from a file", _SMALL, "torch.load(path)"),
    Case(SMALL, "save to a file, synced", _SMALL, _SAVE, bound=0.5, peer=_REPLACE),
]
