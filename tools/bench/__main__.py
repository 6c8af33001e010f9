"""`python -m tools.bench --peer-python PYTHON`: measures tl against torch and says which figures are met.

`--against COMMIT` measures the overhead cases against the packages of another commit, which it builds.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from tools.bench import (
    all_operators,
    cases,
    checkpoints,
    compiled,
    distributed,
    distributions,
    elementwise,
    factorizations,
    graphs,
    indexing,
    limits,
    loading,
    pages,
    parent,
    peak,
    products,
    profiles,
    programs,
    quantized,
    reductions,
    report,
    sharded,
    sharded_models,
    sparse,
    spectra,
    together,
    torchscript,
    training,
    transforms,
)
from tools.bench.cases import Group
from tools.bench.pair import Measured, Pair, Side
from tools.bench.results import Results
from tools.packages import ROOT, packages

WIDE = {"avx2": "AVX2", "avx512f": "AVX-512", "amx_tile": "AMX"}  # flags of Linux

FAMILIES = (
    *(cases, elementwise, reductions, indexing, products, sparse, factorizations, training),
    *(distributions, loading, checkpoints, sharded, spectra, transforms, graphs, torchscript, compiled),
    *(profiles, distributed, sharded_models, quantized),
)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("--module", default="tl", help="what is measured (tl)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has it (this one)")
    parser.add_argument("--peer-module", default="torch", help="what it is held against (torch)")
    peer = parser.add_mutually_exclusive_group(required=True)
    peer.add_argument("--peer-python", help="the interpreter that has the peer")
    peer.add_argument(
        "--against", metavar="COMMIT", help="the peer is tl of this commit; only what overhead is measured by"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--clock", choices=["cpu", "wall"], help="CPU time with one thread, else wall-clock time"
    )
    parser.add_argument(
        "--only", type=re.compile, default=re.compile(""), metavar="REGEX", help="of `group: name`"
    )
    parser.add_argument(
        "--unpinned", action="store_true", help="take OPENBLAS_CORETYPE from the measured processes"
    )
    parser.add_argument(
        "--rounds", type=int, metavar="N", help="at most so many rounds a build, for a first look"
    )
    parser.add_argument(
        "--all-ops",
        action="store_true",
        help="one case for each operator, of 1 K and 1 M elements, and nothing else",
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def processor() -> str:
    """What the machine calls its processor, and the wide instructions that it has."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    found = re.search(r"model name\s*:\s*(.*)", text)
    wide = [said for flag, said in WIDE.items() if re.search(rf"\b{flag}\b", text)]
    return (found[1] if found else platform.processor()) + (f" ({', '.join(wide)})" if wide else "")


def commit() -> str:
    """The commit of the checkout, or nothing outside of one."""
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def header(options: argparse.Namespace, pair: Pair) -> dict[str, object]:
    """What was measured, and how."""
    ours, peer = (f"{w.side.module} {w.ask(about=True)['version']}" for w in pair.workers)
    pinned = None if options.unpinned else os.environ.get("OPENBLAS_CORETYPE")
    return {
        "ours": ours,
        "peer": peer,
        "threads": options.threads,
        "clock": options.clock,
        "processor": processor(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "OPENBLAS_CORETYPE": pinned or "not set",
    }


def everything() -> Iterator[cases.Case]:
    """All cases, in the order they are measured."""
    return chain.from_iterable(family.CASES for family in FAMILIES)


def groups() -> list[cases.Group]:
    """Every group that has cases."""
    return list(dict.fromkeys(case.group for case in everything()))


def chosen(only: re.Pattern[str], given: Iterable[cases.Case]) -> dict[cases.Group, list[cases.Case]]:
    """The cases asked for, by group."""
    groups: dict[cases.Group, list[cases.Case]] = {}
    for case in given:
        if only.search(f"{case.group.name}: {case.name}"):
            groups.setdefault(case.group, []).append(case)
    return groups


def in_workers(
    pair: Pair, options: argparse.Namespace, results: Results, given: Iterable[cases.Case]
) -> tuple[list[Measured], bool]:
    """Measures, prints and stores the cases that run in workers."""
    rounds, machine = options.rounds, options.limits
    everything: list[Measured] = []
    good = True
    for group, members in chosen(options.only, given).items():
        print(f"\n{group.name}", flush=True)
        pair.renew_all()
        measured = []
        for case in members:
            figures = pair.measure(replace(case, rounds=min(case.rounds, rounds or case.rounds)))
            measured.append(
                replace(figures, share=machine.share(figures.work, figures.ours) if machine else None)
            )
            print(report.row(measured[-1]), flush=True)
        if len(measured) > 1:
            line, met = report.mean_row(group, measured)
            good = good and met
            print(line, flush=True)
        everything += measured
        results.add(measured)
    if together.all_in(m.group for m in everything):
        print(f"\n{together.TOGETHER.name}")
        line, met = report.mean_row(together.TOGETHER, [m for m in everything if m.group in together.NAMES])
        good = good and met
        print(line, flush=True)
    return everything, good and all(m.met for m in everything)


def in_processes(
    options: argparse.Namespace,
    sides: tuple[Side, Side],
    results: Results,
    programs_: Iterable[cases.Program],
) -> bool:
    """Measures, prints and stores the programs in fresh processes."""
    todo = [p for p in programs_ if options.only.search(f"fresh process: {p.name}")]
    good = True
    if todo:
        print("\nfresh process", flush=True)
    for program in todo:
        measured = programs.measure(*sides, program, options.threads, options.clock, options.unpinned)
        print("\n".join(map(report.row, measured)), flush=True)
        results.add(measured)
        good = good and all(m.met for m in measured)
    return good


def near_peak(measured: list[Measured]) -> tuple[dict[str, float], bool]:
    """Prints how near large products come to the processor's peak, as measured now on one thread."""
    squares = {m.name: m for m in measured if m.group == products.MATMUL.name and m.name in products.SQUARES}
    shares: dict[str, float] = {}
    if squares:
        print("\nshare of the multiply-add peak")
    for dtype in ("float32", "float64"):
        mine = {name: m for name, m in squares.items() if products.SQUARES[name][0] == dtype and not m.error}
        if not mine or (rate := peak.multiply_adds(dtype)) is None:
            continue
        for name, m in mine.items():
            shares[name] = 2 * products.SQUARES[name][1] ** 3 / m.ours / rate
            print(report.share(name, shares[name], products.NEAR_PEAK), flush=True)
    return shares, all(share >= products.NEAR_PEAK for share in shares.values())


def in_browser(only: re.Pattern[str], ours: Side) -> tuple[dict[str, float], bool]:
    """Measures and prints how a profile's page behaves, where there is a browser."""
    if not only.search("profiler, a page of a million events"):
        return {}, True
    found = pages.measure(ours)
    print("\nprofiler, a page of a million events")
    if found is None:
        print("  no browser: a Chromium on the path, or TL_TEST_BROWSER, is needed", flush=True)
        return {}, True
    opens, answers, slowest = found
    limits = (("opens", opens, pages.OPENS), (f"the slowest action ({slowest})", answers, pages.ANSWERS))
    for name, seconds, limit in limits:
        print(report.plain(name, f"{seconds:.3f} s", f"{limit} s", seconds <= limit), flush=True)
    return {"opens": opens, "slowest action": answers}, all(s <= limit for _, s, limit in limits)


def footprint(only: re.Pattern[str], ours: Side) -> tuple[dict[str, float], bool]:
    """Measures and prints the build and the installed size."""
    found: dict[str, float] = {}
    good = True
    if only.search("footprint: installed size"):
        size = programs.installed_bytes(ours, list(packages()))
        found["installed bytes"], met = size, size <= cases.INSTALLED
        good = good and met
        print("\nfootprint")
        print(
            report.plain("installed size", f"{size / 1e6:.2f} MB", f"{cases.INSTALLED / 1e6:.0f} MB", met),
            flush=True,
        )
    if only.search("footprint: cold build"):
        with tempfile.TemporaryDirectory() as folder:
            seconds = programs.cold_build(folder)
        found["cold build CPU seconds"], met = seconds, seconds <= cases.BUILD_CPU
        good = good and met
        print(
            report.plain("cold build, CPU", f"{seconds:.0f} s", f"{cases.BUILD_CPU:.0f} s", met), flush=True
        )
    return found, good


def every_operator(options: argparse.Namespace, pair: Pair, results: Results) -> bool:
    """Measures and prints a case for each operator, and which are slower than asked for."""
    measured, good = in_workers(pair, options, results, all_operators.cases())
    pair.close()
    line, met = report.mean_row(Group("all of them", mean=all_operators.MEAN), measured)
    print(f"\n{len(measured)} cases\n{line}\n\nabove {all_operators.LARGEST}:")
    for m in all_operators.slower(measured):
        print(f"{m.group[-12:]}: {report.row(m).strip()}")
    return good and met


def against_parent(options: argparse.Namespace, pair: Pair, results: Results) -> bool:
    """Measures and prints the overhead cases, ours against those of another commit."""
    _, good = in_workers(pair, options, results, parent.overhead(everything()))
    pair.close()
    return in_processes(options, pair.sides, results, parent.programs(cases.PROGRAMS)) and good


def against_peer(options: argparse.Namespace, pair: Pair, results: Results) -> bool:
    """Measures and prints every case, and what one side alone is measured by."""
    measured, good = in_workers(pair, options, results, everything())
    pair.close()
    results.of_peak, near = near_peak(measured) if options.threads == 1 else ({}, True)
    also = in_processes(options, pair.sides, results, (*cases.PROGRAMS, *graphs.PROGRAMS))
    quick = small = True
    if options.module == "tl":
        results.pages, quick = in_browser(options.only, pair.sides[0])
        results.write()  # the build takes minutes, and may fail
        results.footprint, small = footprint(options.only, pair.sides[0])
    results.write()
    print(f"\n{len(results.cases)} cases, {sum(not r['met'] for r in results.cases)} not met")
    return good and near and also and small and quick


def main() -> int:
    """Measures; the exit status is 1 if a figure is not met."""
    options = arguments()
    options.limits = limits.measure() if options.threads == 1 and not options.against else None
    options.clock = options.clock or ("cpu" if options.threads == 1 else "wall")
    ours, peer = Side(options.module, options.python), Side(options.peer_module, options.peer_python)
    if options.against:
        peer = Side(options.module, str(parent.parent_python(options.against)))
    pair = Pair(ours, peer, options.threads, options.clock, options.unpinned)
    results = Results(options.json, header(options, pair))
    print("\n".join(f"{name}: {value}" for name, value in results.about.items()))
    print(f"\n  {'':44} {'ours':>10} {'peer':>10} {'ratio':>8} {'limit':>6}")
    measure = against_parent if options.against else every_operator if options.all_ops else against_peer
    return 0 if measure(options, pair, results) else 1


if __name__ == "__main__":
    sys.exit(main())
