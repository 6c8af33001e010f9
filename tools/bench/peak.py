"""The processor's peak of fused multiply-adds on one thread, measured by a small C program."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

# Independent chains, more than the units times their latency; the fastest of some runs, in CPU time.
SOURCE = """
#include <stdio.h>
#include <time.h>
#define CHAINS 24
typedef TYPE V __attribute__((vector_size(BYTES)));
enum { LANES = BYTES / sizeof(TYPE), TURNS = 200000 };
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
int main(void) {
  V sums[CHAINS], factor, term;
  double best = 0, total = 0;
  for (int l = 0; l < LANES; ++l) factor[l] = (TYPE)0.999, term[l] = (TYPE)0.001;
  for (int c = 0; c < CHAINS; ++c) sums[c] = term;
  for (int run = 0; run < 30; ++run) {
    const double start = now();
    for (int i = 0; i < TURNS; ++i) {
#pragma GCC unroll 24
      for (int c = 0; c < CHAINS; ++c) sums[c] = sums[c] * factor + term;
    }
    const double rate = 2.0 * TURNS * CHAINS * LANES / (now() - start);
    if (rate > best) best = rate;
  }
  for (int c = 0; c < CHAINS; ++c) total += (double)sums[c][0];
  printf("%g %g\\n", best, total);
  return 0;
}
"""
TYPES = {"float32": "float", "float64": "double"}


def vector_bytes() -> int:
    """The bytes of the widest vectors that the processor has."""
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return 64 if "avx512f" in flags else 32 if "avx2" in flags else 16


def multiply_adds(dtype: str) -> float | None:
    """Floating-point operations a second; None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    width = vector_bytes()
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "peak.c"), Path(folder, "peak")
        source.write_text(SOURCE)
        flags = ["-O3", "-march=native", "-ffp-contract=fast", f"-DTYPE={TYPES[dtype]}", f"-DBYTES={width}"]
        flags += ["-mprefer-vector-width=512"] if width == 64 else []
        subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True)
        done = subprocess.run([str(program)], check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout.split()[0])
