"""The pages of memory over time and of snapshots."""

from tl_profiler import memory_viz, report


def test_a_template_is_filled_by_name(monkeypatch):
    monkeypatch.setattr(report, "file_text", lambda name: "<{{A}}>{{B}}{{A}}" if name == "x.html" else "")
    assert report.fill("x.html", A="1", B="{{A}}") == "<1>{{A}}1"


def test_the_files_of_the_pages():
    text = report.file_text("page.html")
    assert "{{DATA}}" in text and "{{SCRIPT}}" in text
    page = report.timeline_page("a <title>", [0, 10, 20], [("INPUT", "#123456", [5, 7, 0])], 300)
    assert "a &lt;title&gt;" in page and "#123456" in page and "INPUT" in page and "{{" not in page


def test_plots_of_a_snapshot_have_its_blocks():
    block = {"state": "active_allocated", "address": 2, "size": 4321}
    trace = [{"action": "alloc", "addr": 1, "size": 1234, "time_us": 5}]
    snapshot = {"device_traces": [trace], "segments": [{"blocks": [block], "total_size": 9}]}
    for plot in (memory_viz.trace_plot, memory_viz.segment_plot):
        page = plot(snapshot)
        assert "4321" in page and "1234" in page and page.lstrip().lower().startswith("<!doctype html>")
