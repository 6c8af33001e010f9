"""The benchmarks page's table: groups with a common bound in short, other cases one by one."""

from tools.bench.together import NAMES, TOGETHER
from tools.charts import rows
from tools.figures import table

ABOUT = {
    "processor": "P",
    "threads": 1,
    "peer": "torch 2",
    "OPENBLAS_CORETYPE": "not set",
    "commit": "0123456789abcdef",
    "date": "2026-11-28",
    "load": 0.5,
}


def row(group, name, ratio, limit=None, error="", share=None):
    return {"group": group, "name": name, "ratio": ratio, "limit": limit, "error": error, "share": share}


def made(*rows, peak=None):
    result = {"about": ABOUT, "cases": rows, "of peak": peak or {}, "footprint": {"installed bytes": 8e6}}
    return table(result).splitlines()


def test_a_group_with_a_common_bound_is_told_by_its_mean_and_its_slowest():
    lines = made(row("pooling", "a", 0.1, 1.05), row("pooling", "b", 0.4, 1.05))
    assert "| pooling: geometric mean of 2 cases | ≤ 0.25 | 0.200 |  |" in lines
    assert "| pooling: the slowest (b) | ≤ 1.05 | 0.400 |  |" in lines


def test_shares_of_the_limit_stand_beside_the_ratios():
    lines = made(row("pooling", "a", 0.1, 1.05, share=0.5), row("pooling", "b", 0.4, 1.05, share=0.08))
    assert "| pooling: geometric mean of 2 cases | ≤ 0.25 | 0.200 | 0.20 |" in lines
    assert "| pooling: the slowest (b) | ≤ 1.05 | 0.400 | 0.08 |" in lines
    assert "| autograd: a | ≤ 0.2 | 0.100 | 0.90 |" in made(row("autograd", "a", 0.1, 0.2, share=0.9))
    assert rows("\n".join(lines))["pooling: geometric mean of 2 cases"] == 0.2


def test_groups_with_one_figure_are_told_together_when_all_are_there():
    cases = [row(name, "a", 0.1 if name == "indexing" else 0.4, 1.05) for name in sorted(NAMES)]
    mean = (0.1 * 0.4 ** (len(cases) - 1)) ** (1 / len(cases))
    told = f"| {TOGETHER.name}: geometric mean of {len(cases)} cases | ≤ 0.45 | {mean:.3f} |  |"
    assert told in made(*cases)
    assert not any(TOGETHER.name in line for line in made(*cases[1:]))


def test_what_failed_is_told():
    lines = made(row("pooling", "a", 0.1), row("pooling", "b", 0.4, error="TypeError"))
    assert "| pooling: geometric mean of 2 cases | ≤ 0.25 | 0.100, 1 failed |  |" in lines
    assert "| item | ≤ 1.0 | failed |  |" in made(row("item", "item", 0.2, 1.0, error="TypeError"))


def test_other_groups_are_told_case_by_case():
    lines = made(row("autograd", "a", 0.1, 0.2), row("autograd", "b", 0.3))
    assert "| autograd: a | ≤ 0.2 | 0.100 |  |" in lines
    assert "| autograd: b |  | 0.300 |  |" in lines


def test_the_least_share_of_the_peak_and_the_size_are_told():
    lines = made(peak={"float32, n = 256": 0.9, "float32, n = 512": 0.8})
    assert "| products of float32, share of the multiply-add peak, least | ≥ 0.75 | 0.80 |  |" in lines
    assert any(line.startswith("| installed size | ≤ 15 MB | 8.0 MB") for line in lines)


def test_the_last_line_names_processor_commit_and_date():
    how = (
        "P, 1 thread, torch 2, OPENBLAS_CORETYPE not set; tl at commit 0123456789ab on 2026-11-28, load 0.5."
    )
    assert made()[-1] == how
