"""A program that loads without end; with a second argument its workers take their time to start, and say so."""

import sys
import time

from samples import Slow

import tl_data

if __name__ == "__mp_main__" and len(sys.argv) > 2:
    print("ready", flush=True)
    time.sleep(float(sys.argv[2]))

if __name__ == "__main__":
    context = sys.argv[1] if len(sys.argv) > 1 else None
    loader = tl_data.DataLoader(Slow(), batch_size=2, num_workers=2, multiprocessing_context=context)
    if len(sys.argv) < 3:
        print("ready", flush=True)
    while True:
        for _ in loader:
            pass
