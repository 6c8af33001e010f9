"""The HTML pages: what stands in them, and that a browser shows it where there is one."""

import base64
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from html.parser import HTMLParser

import pytest

import tl_core
import tl_profiler
from tl_core.memory import history as memory_history
from tl_profiler import memory_page, profile, record_function, report


class Page(HTMLParser):
    """Collects scripts by id, and all references to somewhere else."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.references, self._open = {}, [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.references += [v for k, v in attrs.items() if k in ("src", "href", "action")]
        self._open = attrs.get("id", "script") if tag == "script" else None

    def handle_data(self, data):
        if self._open:
            self.scripts[self._open] = self.scripts.get(self._open, "") + data


@pytest.fixture(scope="module")
def profiled():
    with profile(profile_memory=True, with_stack=True, record_shapes=True) as prof:
        for step in range(3):
            with record_function(f"step </script> {step}"):
                x = tl_core.ones(16, 16, requires_grad=True)
                (x @ x).sum().backward()
    return prof


def sign(number):
    return -(number + 1) // 2 if number % 2 else number // 2


def columns_of(page):
    head = json.loads(page.scripts["head"])
    packed = base64.b64decode(page.scripts["data"])
    packed = zlib.decompress(packed) if head["compressed"] else packed
    count, columns, at = head["count"], {}, 0
    for name, width, coding in head["columns"]:
        planes = [packed[at + k * count : at + (k + 1) * count] for k in range(width)]
        at += width * count
        numbers = [
            sum(byte << 8 * k for k, byte in enumerate(number)) for number in zip(*planes, strict=True)
        ]
        if coding == "differences":
            numbers = list(itertools.accumulate(map(sign, numbers)))
        elif coding == "distances":
            numbers = [i - sign(n) for i, n in enumerate(numbers)]
        elif coding == "zigzag":
            numbers = [sign(n) for n in numbers]
        columns[name] = numbers
    assert at == len(packed)
    return head, columns


def test_the_page_holds_every_event_and_refers_to_nothing(profiled, tmp_path):
    path = tmp_path / "report.html"
    report.write(profiled, str(path), title="a <title>")
    text = path.read_text()
    page = Page(text)
    assert page.references == [] and "http:" not in text and "https:" not in text
    assert "<title>a &lt;title&gt;</title>" in text
    head, columns = columns_of(page)
    names = [head["names"][n] for n in columns["name"]]
    assert names.count("aten::mm") == 9 and any(n == "step </script> 2" for n in names)
    recorded = profiled.profiler.kineto_results.recorded
    events = [e for e in recorded if "runpy" not in e.name and e.name != "<built-in function exec>"]
    assert len(columns["kind"]) == head["count"] == len(events)
    assert columns["kind"] == [int(e.kind) for e in events]
    assert sum(b for b in columns["bytes"] if b > 0) >= 3 * 16 * 16 * 4
    assert all(s >= 0 for s in columns["start"]) and head["duration_us"] > max(columns["start"]) / 1e3
    assert any("test_report.py" in line for line in head["lines"].values())


def test_a_page_that_cannot_be_written_is_not_there(profiled, tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        report.write(profiled, str(tmp_path / "nowhere" / "page.html"))
    with pytest.raises(RuntimeError, match="has not ended"):
        report.write(tl_profiler.profile(), str(tmp_path / "page.html"))
    assert list(tmp_path.iterdir()) == []


def test_a_profile_of_nothing_is_a_page(tmp_path):
    with profile() as prof:
        pass
    report.write(prof, str(tmp_path / "page.html"))
    head, columns = columns_of(Page((tmp_path / "page.html").read_text()))
    assert head["count"] == 0 and columns["kind"] == []


def test_pages_of_memory(tmp_path):
    memory_history.record_memory_history()
    try:
        x = tl_core.zeros(1000)
        y = tl_core.zeros(500)
        del y
        memory_page.write(str(tmp_path / "now.html"))
        memory_history.dump_snapshot(tmp_path / "s.pickle")
    finally:
        memory_history.record_memory_history(None)
    memory_page.write(str(tmp_path / "later.html"), tmp_path / "s.pickle")
    for name in ("now.html", "later.html"):
        page = Page((tmp_path / name).read_text())
        data = json.loads(page.scripts["data"])
        blocks = {size: (end, data["lines"][line]) for size, _, end, line, _, _ in data["blocks"]}
        assert page.references == [] and blocks[4000][0] is None and blocks[2000][0] is not None
        assert "test_report.py" in blocks[4000][1]
    assert x.numel() == 1000
    (tmp_path / "broken.pickle").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(ValueError, match="holds no snapshot"):
        memory_page.write(str(tmp_path / "broken.html"), tmp_path / "broken.pickle")
    with pytest.raises(ValueError, match="'segments'"):
        memory_page.render({})
    assert not (tmp_path / "broken.html").exists()


def run(*arguments, cwd):
    command = [sys.executable, "-m", "tl_profiler", "run", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def test_programs_run_as_they_are(tmp_path):
    (tmp_path / "work.py").write_text("def double(x):\n    return x * 2\n")
    (tmp_path / "train.py").write_text(
        "import sys, tl_core\nfrom work import double\nprint(sys.argv[1:], __name__)\n"
        "double(tl_core.ones(3))\nsys.exit(3)\n"
    )
    ran = run("--html", "r.html", "--trace", "t.json.gz", "train.py", "--html", "x", cwd=tmp_path)
    assert ran.returncode == 3 and ran.stdout == "['--html', 'x'] __main__\n", ran.stderr
    head, columns = columns_of(Page((tmp_path / "r.html").read_text()))
    assert "aten::mul" in {head["names"][n] for n in columns["name"]} and (tmp_path / "t.json.gz").exists()
    assert "work.py:2 in double" in head["lines"].values()
    names = [head["names"][n] for n in columns["name"]]
    outermost = [
        n for n, p, k in zip(names, columns["parent"], columns["kind"], strict=True) if p < 0 and k == 5
    ]
    assert "train.py(1): <module>" in outermost and not any(
        "runpy" in name or "importlib" in name for name in names
    )
    assert all("runpy" not in frame for stack in head["stacks"].values() for frame in stack)
    message = run("-m", "work", cwd=tmp_path)
    assert message.returncode == 0, message.stderr
    assert run("missing.py", cwd=tmp_path).returncode == 2
    refused = run("--html", "nowhere/r.html", "train.py", cwd=tmp_path)
    assert refused.returncode != 0 and "cannot be written" in refused.stderr and "argv" not in refused.stdout


def test_the_table_has_an_order_and_a_length(tmp_path):
    lines = [
        "import tl_core",
        *["x = tl_core.ones(2).exp()"] * 7,
        *["x.log()"] * 3,
        "raise SystemExit('the end')",
    ]
    (tmp_path / "count.py").write_text("\n".join(lines))
    options = ("--sort", "count", "--rows", "2", "--no-python", "--no-memory", "--table", "--stacks", "s.txt")
    ended = run(*options, "count.py", cwd=tmp_path)
    assert (tmp_path / "s.txt").stat().st_size > 0
    assert ended.returncode == 1 and ended.stderr.splitlines()[0] == "the end" and "s.txt" in ended.stderr
    names = re.findall(r"^ *(aten::\w+) ", ended.stdout, re.MULTILINE)
    assert len(names) == 2 and "aten::exp" in names and "aten::log" not in names
    longer = run("--sort", "count", "--no-python", "count.py", cwd=tmp_path)
    assert len(re.findall(r"^ *aten::log ", longer.stdout, re.MULTILINE)) == 1
    refused = run("--last", "-1", "count.py", cwd=tmp_path)
    assert refused.returncode == 2 and "got -1" in refused.stderr


BROWSER = os.environ.get("TL_TEST_BROWSER") or next(
    filter(
        None, map(shutil.which, ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome"))
    ),
    None,
)

PROBE = """
<script>
const wait = setInterval(() => {
  if (!document.body.dataset.ready) return;
  clearInterval(wait);
  const told = {};
  for (const button of document.querySelectorAll("nav button")) {
    button.click();
    const section = document.querySelector("section:not([hidden])");
    told[button.textContent] = section.querySelectorAll("tbody tr").length;
  }
  const operators = document.querySelector("#operators");
  const first = () => operators.querySelector("tbody td").textContent;
  operators.querySelectorAll("th")[3].click();
  told.mostCalled = first();
  const box = document.querySelector("input");
  box.value = "aten::mm";
  box.oninput();
  told.found = operators.querySelectorAll("tbody tr").length;
  told.first = document.querySelector("nav button").textContent;
  told.corners = stepPoints({times: [0, 1, 9, 10], sizes: [5, 3, 8, 8]}, t => t * 0.4);
  const lane = Object.assign(Object.create(TimeLine.prototype), {d: {start: [0, 1, 2, 50], duration: [1, 1, 40, 2]}});
  told.next = [lane.beyond([0, 1, 2, 3], 0, 10), lane.beyond([0, 1, 3], 0, 10)];
  document.querySelector("nav button").click();
  for (const button of document.querySelectorAll("#time-line button")) button.click();
  const told_ = document.createElement("pre");
  told_.id = "told";
  told_.textContent = JSON.stringify(told);
  document.body.appendChild(told_);
}, 10);
</script>
"""


def shown(path, profile_dir):
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile_dir}",
               "--virtual-time-budget=20000", "--dump-dom", f"file://{path}"]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    result = re.search(r'<pre id="told">(.*?)</pre>', dom)
    assert result, dom[-2000:]
    return json.loads(result[1])


@pytest.mark.skipif(BROWSER is None, reason="needs a headless Chromium on the path, or in TL_TEST_BROWSER")
def test_a_browser_shows_sorts_and_searches(profiled, tmp_path):
    text = report.render(profiled)
    path = tmp_path / "page.html"
    path.write_text(text.replace("</body>", PROBE + "</body>"))
    message = shown(path, tmp_path / "browser")
    assert (
        message["Operators"] > 5
        and message["Lines"] >= 2
        and message["Memory"] >= 1
        and message["Allocations"] >= 3
    )
    assert message["mostCalled"].startswith("aten::") and message["found"] == 1
    assert message["first"] == "Operators" and message["next"] == [2, 2]
    corners = message["corners"]
    assert corners == [[0, 0], [0, 5], [0, 0], [0, 3], [3.6, 3], [3.6, 8], [3.6, 3], [3.6, 8]]
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in itertools.pairwise(corners))
