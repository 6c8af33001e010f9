"""The site: the tables that its pages are made from, and how built pages look in a browser.

The browser's tests need a built site (`nox -s docs`) and a chromium; where one is missing they are skipped. The
screenshots are left beside the site, in `docs/_build/screenshots`, to be looked at.
"""

import os
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from tools import charts, figures

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("TL_SITE", ROOT / "docs" / "_build" / "html"))
SHOTS = SITE.parent / "screenshots"
PAGES = {
    "landing": "index.html",
    "guide": "guide/tour.html",
    "reference": "reference/generated/tl.nn.html",
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
