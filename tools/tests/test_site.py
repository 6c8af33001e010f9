"""The site: the tables that its pages are made from, and how built pages look in a browser.

The browser's tests need a built site (`nox -s docs`) and a chromium; where one is missing they are skipped. The
screenshots are left beside the site, in `docs/_build/screenshots`, to be looked at.
"""

import os
import re
import shutil
import struct
import subprocess
import time
import urllib.parse
import zlib
from pathlib import Path

import pytest

from tools import charts, figures
from tools.bench.browser import Browser

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("TL_SITE", ROOT / "docs" / "_build" / "html"))
SHOTS = SITE.parent / "screenshots"
REFERENCE = "reference/generated"
PAGES = {
    "landing": "index.html",
    "guide": "guide/tour.html",
    "guides": "guide/index.html",
    "error": "errors/matmul-shapes.html",
    "errors": "errors/index.html",
    "tutorial": "tutorials/digits.html",
    "table": f"{REFERENCE}/tl.nn.html",
    "class": f"{REFERENCE}/tl.nn.Linear.html",
    "methods": f"{REFERENCE}/tl.nn.Module.html",
    "function": f"{REFERENCE}/tl.nn.functional.scaled_dot_product_attention.html",
}
# Queries of a user, and the page that must be the first result.
SEARCHES = {
    "Linear": f"{REFERENCE}/tl.nn.Linear",
    "state_dict": f"{REFERENCE}/tl.nn.Module",
    "load_state_dict": f"{REFERENCE}/tl.nn.Module",
    "cross entropy": f"{REFERENCE}/tl.nn.functional.cross_entropy",
    "Adam": f"{REFERENCE}/tl.optim.Adam",
    "StepLR": f"{REFERENCE}/tl.optim.lr_scheduler.StepLR",
    "Conv2d": f"{REFERENCE}/tl.nn.Conv2d",
    "einsum": f"{REFERENCE}/tl.einsum",
    "backward": f"{REFERENCE}/tl.Tensor.backward",
    "manual_seed": f"{REFERENCE}/tl.manual_seed",
    "torch.nn.functional.relu": f"{REFERENCE}/tl.nn.functional.relu",
    "DistributedDataParallel": f"{REFERENCE}/tl.nn.parallel.DistributedDataParallel",
    "scaled_dot_product_attention": f"{REFERENCE}/tl.nn.functional.scaled_dot_product_attention",
    "DataLoader": f"{REFERENCE}/tl.utils.data.DataLoader",
    "DataLoader workers": "guide/data",
    "save checkpoint": "guide/checkpoints",
    "sparse tensors": "guide/sparse",
    "profiling": "guide/profiling",
    "several processes": "guide/several_processes",
    "tensorboard": "guide/tensorboard",
    "coming from pytorch": "guide/migration",
    "install": "install",
    "mat1 and mat2 shapes cannot be multiplied": "errors/matmul-shapes",
    "backward through the graph a second time": "errors/backward-twice",
    "does not require grad": "errors/no-grad",
}
WIDTHS = {"desktop": (1280, 1600), "phone": (390, 1600)}
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--allow-file-access-from-files",
]

# The page in a frame of a telephone's width: a window of the browser itself can't be made that narrow everywhere. The
# frame's answer stands in the wrapper's title.
WRAPPER = """<!doctype html><title>unmeasured</title>
<iframe src="{page}" style="width:{width}px;height:1600px;border:0" onload="
  const root = this.contentDocument.documentElement;
  const bars = [...root.querySelectorAll('.figure-charts rect')].filter(b => b.getBoundingClientRect().width > 0);
  document.title = `inner ${{root.clientWidth}} content ${{root.scrollWidth}} bars ${{bars.length}}`;
"></iframe>
"""


def chromium() -> str:
    """The browser, or the test is skipped."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no chromium is installed")
    if not (SITE / "index.html").exists():
        pytest.skip(f"no site is built in {SITE}: nox -s docs")
    return found


def browse(profile: Path, *arguments: str) -> str:
    """What the browser prints."""
    command = [chromium(), *FLAGS, f"--user-data-dir={profile}", "--virtual-time-budget=5000", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def measured(tmp_path: Path, page: Path, width: int) -> dict[str, int]:
    """The width of a page's window and of its content, and how many bars its charts show."""
    wrapper = tmp_path / "wrapper.html"
    wrapper.write_text(WRAPPER.format(page=page.as_uri(), width=width))
    dom = browse(tmp_path / "profile", "--window-size=1400,1700", "--dump-dom", wrapper.as_uri())
    found = re.search(r"<title>inner (\d+) content (\d+) bars (\d+)", dom)
    assert found, dom[:300]
    return dict(zip(("inner", "content", "bars"), map(int, found.groups()), strict=True))


def is_drawn(png: bytes) -> bool:
    """Whether a picture has more than one colour: one of a single colour packs to almost nothing."""
    data, at = b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += 12 + length
    return len(set(zlib.decompress(data))) > 16


def settled(browser: Browser, expression: str) -> object:
    """The value of an expression as soon as it is one; a page may still be loading."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            value = browser.evaluate(expression)
        except RuntimeError:
            value = None  # its scripts are still loading
        if value not in (None, False):
            return value
        time.sleep(0.1)
    raise AssertionError(f"{expression} never had a value")


FIRST_RESULT = "document.querySelector('ul.search li a')?.getAttribute('href')"


@pytest.fixture(scope="module")
def browser():
    with Browser(chromium()) as opened:
        yield opened


def first_result(browser: Browser, query: str) -> str:
    """The page of the first result of a search."""
    encoded = f"?q={urllib.parse.quote(query)}"
    browser.open(SITE / "search.html", encoded)
    settled(browser, f"location.search === {encoded!r}")
    return str(settled(browser, FIRST_RESULT)).partition(".html")[0]


def test_searches_find_their_page_first(browser):
    results = {query: first_result(browser, query) for query in SEARCHES}
    assert results == SEARCHES


def test_formulas_are_typeset_from_the_site_alone(browser):
    page = next(page for page in (SITE / REFERENCE).glob("tl.nn.*.html") if 'class="math' in page.read_text())
    browser.open(page)
    assert settled(browser, "document.querySelectorAll('mjx-container').length > 0")
    resources = browser.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
    assert all(name.startswith("file:") for name in resources)


def test_no_page_loads_files_of_other_sites():
    chromium()
    loaded = re.compile(
        r"""<(?:script|img|iframe)[^>]* src="https?:|<link[^>]* rel="(?:stylesheet|preload)"[^>]*href="https?:"""
    )
    for name in [*PAGES.values(), "search.html", "genindex.html"]:
        assert not loaded.search((SITE / name).read_text()), name


def test_code_can_be_copied_without_prompts(browser):
    browser.open(SITE / "guide/tour.html")
    assert settled(browser, "document.querySelectorAll('button.copybtn').length > 0")
    script = (SITE / "_static" / "copybutton.js").read_text()
    (prompt,) = re.findall(r"formatCopyText\(text, '(.*?)', true", script)
    assert all(
        re.match(prompt.replace("\\\\", "\\"), line) for line in (">>> x = 1", "... y = 2", "$ nox -l")
    )


def test_code_blocks_end_with_their_last_line():
    chromium()
    for name in ("guide/tour.html", "quickstart.html", "errors/matmul-shapes.html"):
        assert not re.search(r"\n\n</pre>", (SITE / name).read_text()), name


def test_titles_have_the_version():
    chromium()
    version = re.search(r"<title>.* - tl ([\d.]+)</title>", (SITE / "install.html").read_text())
    assert version, "the title has no version"


def test_the_sidebar_has_the_groups_of_the_guide():
    listed = re.findall(r"^:caption: (.*)$", (ROOT / "docs" / "index.md").read_text(), re.MULTILINE)
    guides = re.findall(r"^## (.*)$", (ROOT / "docs" / "guide" / "index.md").read_text(), re.MULTILINE)
    assert listed[: len(guides)] == guides
    trees = re.findall(
        r"```{toctree}\n:caption: (.*)\n:hidden:\n\n((?:.+\n)*)```", (ROOT / "docs" / "index.md").read_text()
    )
    for title, pages in trees[: len(guides)]:
        section = (
            (ROOT / "docs" / "guide" / "index.md")
            .read_text()
            .partition(f"## {title}\n")[2]
            .partition("\n## ")[0]
        )
        linked = re.findall(r"\]\((\w+)\.md\)", section)
        assert (
            linked
            == [page.removeprefix("guide/") for page in pages.split() if page.startswith("guide/")][
                -len(linked) :
            ]
        )


def test_every_error_has_cause_and_fix():
    pages = [page for page in sorted((ROOT / "docs" / "errors").glob("*.md")) if page.stem != "index"]
    assert len(pages) >= 40
    for page in pages:
        text = page.read_text()
        assert (
            text.index("Traceback (most recent call last):") < text.index("## Cause") < text.index("## Fix")
        ), page


@pytest.mark.parametrize("size", WIDTHS)
@pytest.mark.parametrize("page", PAGES)
def test_pages_are_drawn(page, size, tmp_path):
    SHOTS.mkdir(exist_ok=True) if SITE.exists() else None
    width, height = WIDTHS[size]
    wrapper, shot = tmp_path / "wrapper.html", SHOTS / f"{page}-{size}.png"
    wrapper.write_text(WRAPPER.format(page=(SITE / PAGES[page]).as_uri(), width=width) + "<style>*{margin:0}")
    browse(tmp_path / "profile", f"--window-size={width},{height}", f"--screenshot={shot}", wrapper.as_uri())
    assert is_drawn(shot.read_bytes())


@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_wider_than_a_telephone(page, tmp_path):
    found = measured(tmp_path, SITE / PAGES[page], 390)
    assert found["inner"] == 390
    assert found["content"] <= 390


def test_a_page_that_is_too_wide_is_found(tmp_path):
    page = tmp_path / "wide.html"
    page.write_text("<!doctype html><div style='width:900px'>wide</div>")
    assert measured(tmp_path, page, 390)["content"] >= 900


def test_the_landing_page_shows_the_charts(tmp_path):
    expected = sum(len(charts.bars(charts.rows(figures.source()), p)) for p in charts.CHARTS.values())
    assert measured(tmp_path, SITE / PAGES["landing"], 390)["bars"] == expected


def test_every_chart_has_bars():
    text = figures.source()
    assert charts.page(text).count("<svg") == len(charts.CHARTS)
    assert all(len(charts.bars(charts.rows(text), pattern)) >= 3 for pattern in charts.CHARTS.values())


def test_the_picture_of_the_readme_shows_the_benchmarks_page():
    text = figures.PAGE.read_text()
    shown = charts.bars(charts.rows(text), charts.PICTURE)
    assert len(shown) >= 10
    assert figures.PICTURE.read_text() == charts.picture(text)


def test_a_bar_is_as_long_as_its_ratio():
    drawn = charts.chart("Title", {"half": 0.5, "equal & more": 1.0, "double": 2.0})
    widths = [float(w) for w in re.findall(r'<rect class="\w+" x="0" y="\d+" width="([\d.]+)"', drawn)]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert widths[2] == pytest.approx(4 * widths[0], abs=0.2)
    assert drawn.count('class="slower"') == 1
    assert "equal &amp; more" in drawn


def test_a_failed_case_has_no_bar():
    text = "| training: LeNet | ≤ 0.7 | failed |\n| training: GPT | ≤ 0.7 | 0.898 |\n"
    assert charts.bars(charts.rows(text), charts.CHARTS["Training and inference"]) == {"GPT": 0.898}
