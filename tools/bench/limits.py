"""The machine's own limits, and how near a measured case comes to them.

A case takes at least the time of its multiply-adds at the processor's peak, and at least that of reading its operands
and writing its results at the memory's bandwidth: the roofline model of Williams, Waterman and Patterson, 2009. The
bandwidths are those of one thread, for as many bytes as the case touches, so a small case is held against a cache.
"""

from __future__ import annotations

import bisect
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.bench import peak

LEAST_BYTES = 1 << 15  # what touches less is measured by its call, not by the machine

# The fastest of some passes over each size, in CPU time: a sum of what is read, and a fill.
SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
typedef double V __attribute__((vector_size(BYTES)));
enum { LANES = BYTES / 8, SUMS = 8 };
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static double total;
static void read_all(const V* p, size_t n) {
  V sums[SUMS];
  memset(sums, 0, sizeof sums);
  for (size_t i = 0; i + SUMS <= n; i += SUMS)
    for (int k = 0; k < SUMS; ++k) sums[k] += p[i + k];
  for (int k = 0; k < SUMS; ++k) total += sums[k][0];
}
static void fill_all(V* p, size_t n, double x) {
  V value;
  for (int l = 0; l < LANES; ++l) value[l] = x;
  for (size_t i = 0; i < n; ++i) p[i] = value;
  __asm__ volatile("" : : "r"(p) : "memory");
}
int main(void) {
  for (size_t bytes = 1 << 15; bytes <= (size_t)1 << 28; bytes *= 2) {
    V* p = aligned_alloc(64, bytes);
    const size_t n = bytes / sizeof(V), passes = bytes < 1 << 24 ? (1 << 24) / bytes : 1;
    double rates[2] = {0, 0};
    if (!p) return 1;
    fill_all(p, n, 0);
    for (int run = 0; run < 20; ++run) {
      for (int kind = 0; kind < 2; ++kind) {
        const double start = now();
        for (size_t k = 0; k < passes; ++k) kind ? fill_all(p, n, (double)k) : read_all(p, n);
        const double rate = (double)(bytes * passes) / (now() - start);
        if (rate > rates[kind]) rates[kind] = rate;
      }
    }
    printf("%zu %g %g\\n", bytes, rates[0], rates[1]);
    free(p);
  }
  return total == 0.5;
}
"""


@dataclass(frozen=True)
class Work:
    """What a case does: bytes of its operands and of its results, and floating-point operations of a type."""

    read: int = 0
    written: int = 0
    flops: int = 0
    dtype: str = ""


@dataclass(frozen=True)
class Limits:
    """Operations a second by type, and bytes a second, read and written, from each size on."""

    peaks: dict[str, float]
    sizes: list[int]
    reads: list[float]
    fills: list[float]

    def seconds(self, work: Work) -> float:
        """The least time of some work; 0 where it is too little to be held against the machine."""
        touched = work.read + work.written
        if touched < LEAST_BYTES:
            return 0.0
        at = min(bisect.bisect_left(self.sizes, touched), len(self.sizes) - 1)
        memory = work.read / self.reads[at] + work.written / self.fills[at]
        return max(memory, work.flops / self.peaks[work.dtype] if work.dtype in self.peaks else 0.0)

    def share(self, work: Work, seconds: float) -> float | None:
        """The share of the machine's limit that a measured time reaches; None where there is none."""
        least = self.seconds(work)
        return least / seconds if least and seconds > 0 else None


def measure() -> Limits | None:
    """The limits of one thread of this machine; None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    width = peak.vector_bytes()
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "bandwidth.c"), Path(folder, "bandwidth")
        source.write_text(SOURCE)
        flags = ["-O3", "-march=native", f"-DBYTES={width}"]
        subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True)
        done = subprocess.run([str(program)], check=True, stdout=subprocess.PIPE, text=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    rates = {dtype: rate for dtype in peak.TYPES if (rate := peak.multiply_adds(dtype)) is not None}
    return Limits(rates, [int(r[0]) for r in rows], [float(r[1]) for r in rows], [float(r[2]) for r in rows])
