"""Lets atheris (libFuzzer) look for inputs that reach new lines: `python guided_fuzz.py SECONDS`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent))

with atheris.instrument_imports(include=["tl_checkpoint"]):
    import fuzz

KINDS = {file.name: file for file in fuzz.good_files()}
LOADS = [fuzz.load_archive, fuzz.safetensors.load, fuzz.load_arrays]


def one_input(data: bytes) -> None:
    """Loads bytes in each format; only what the package announces may be raised."""
    for load in LOADS:
        try:
            load(data)
        except fuzz.fuzzing.ANNOUNCED as error:  # the answer to a damaged file
            if isinstance(error, fuzz.tl.OutOfMemoryError):
                raise


def main() -> None:
    """Runs libFuzzer from the valid files on; it ends the process."""
    seconds = sys.argv[1] if len(sys.argv) > 1 else "60"
    corpus = tempfile.mkdtemp()
    for name, file in KINDS.items():
        Path(corpus, name).write_bytes(file.data)
    limits = [f"-max_total_time={seconds}", "-timeout=5", "-rss_limit_mb=1024", "-max_len=20000"]
    atheris.Setup([sys.argv[0], corpus, *limits], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
