"""The report of a million events in a browser: how long it takes to open, and to answer."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from tools.bench.browser import Browser, program
from tools.bench.pair import Side

OPENS, ANSWERS = 3.0, 0.1  # seconds

_WRITE = """
import sys, tl, tl.profiler
from tl.autograd.profiler import profile, record_function
x = tl.ones(64)
with profile(profile_memory=True, with_stack=True, record_shapes=True) as p:
    p.with_python = False
    for step in range(1000):
        with record_function("step"):
            for _ in range(250):
                x.add(x).exp()
tl.profiler.report.write(p, sys.argv[1], "a million events")
print(len(p.kineto_results.columns()["kind"]))
"""

_READY = """new Promise(told => {
  const look = () => document.body && document.body.dataset.ready ? told(performance.now() / 1e3) : setTimeout(look, 5);
  look();
})"""

# Each with the frame that follows it.
_ACTIONS = """(async () => {
  const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  const seconds = {};
  const timed = async (name, act) => {
    await frame();
    const from = performance.now();
    act();
    await frame();
    seconds[name] = (performance.now() - from) / 1e3;
  };
  const tabs = [...document.querySelectorAll("nav button")], box = document.querySelector("input");
  for (const tab of tabs) {
    await timed("open " + tab.textContent, () => tab.click());
    const head = document.querySelector("section:not([hidden]) th:nth-child(2)");
    if (head) await timed("sort " + tab.textContent, () => head.click());
    for (const text of ["a", "aten::exp", ""])
      await timed(`search ${JSON.stringify(text)} in ${tab.textContent}`, () => { box.value = text; box.oninput(); });
  }
  tabs[0].click();
  const canvas = document.querySelector("#timeline"), at = canvas.getBoundingClientRect();
  const wheel = turn => canvas.dispatchEvent(new WheelEvent("wheel",
    {deltaY: turn, clientX: at.left + at.width / 2, clientY: at.top + 40, bubbles: true, cancelable: true}));
  for (let i = 0; i < 12; ++i) await timed("zoom in " + i, () => wheel(-300));
  for (let i = 0; i < 12; ++i) await timed("zoom out " + i, () => wheel(300));
  return seconds;
})()"""


def measure(ours: Side) -> tuple[float, float, str] | None:
    """Seconds until the page is there, those of the slowest action, and which it was; None without a browser."""
    browser = program()
    if browser is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        subprocess.run([ours.python, "-c", _WRITE, str(page)], check=True, stdout=subprocess.DEVNULL)
        opened: list[float] = []
        slowest: dict[str, float] = {}
        for _ in range(3):
            with Browser(browser) as window:
                window.open(page)
                opened.append(window.evaluate(_READY))
                for name, seconds in window.evaluate(_ACTIONS).items():
                    slowest[name] = min(seconds, slowest.get(name, seconds))
    name = max(slowest, key=lambda each: slowest[each])
    return min(opened), slowest[name], name
