"""A program that loads without end."""

import sys

from samples import Slow

import tl_data

if __name__ == "__main__":
    context = sys.argv[1] if len(sys.argv) > 1 else None
    loader = tl_data.DataLoader(Slow(), batch_size=2, num_workers=2, multiprocessing_context=context)
    print("ready", flush=True)
    while True:
        for _ in loader:
            pass
