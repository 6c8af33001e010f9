"""Numbers, events, timers and the health check of agents."""

from __future__ import annotations

import logging
import multiprocessing
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from tl_distributed.elastic import events, metrics, timer
from tl_distributed.elastic.agent.server.health_check_server import create_healthcheck_server


class Kept(metrics.MetricHandler):
    def __init__(self):
        self.rows = []

    def emit(self, metric_data):
        self.rows.append((metric_data.group_name, metric_data.name.split(".")[-1], metric_data.value))


def test_metrics_go_to_the_handler_of_their_group():
    handler = Kept()
    metrics.configure(handler, "ours")

    @metrics.prof(group="ours")
    def save(fails):
        if fails:
            raise OSError

    save(False)
    with pytest.raises(OSError):
        save(True)
    metrics.put_metric("restarts", 3, "ours")
    metrics.put_metric("restarts", 3, "others")
    assert [row for row in handler.rows if row[1] != "ms"] == [
        ("ours", "success", 1),
        ("ours", "failure", 1),
        ("ours", "restarts", 3),
    ]


def test_events_are_told_and_read_back():
    event = events.Event("restart", events.EventSource.AGENT, 3, {"count": 1})
    assert events.Event.deserialize(event.serialize()) == event
    heard = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())
    logger = logging.getLogger("tl_distributed.events.null")
    logger.addHandler(handler)
    try:
        events.record(event)
        events.construct_and_record_rdzv_event("job", "came", events.NodeState.RUNNING, rank=1)
    finally:
        logger.removeHandler(handler)
    assert events.Event.deserialize(heard[0]) == event
    rdzv_event = events.RdzvEvent.deserialize(heard[1])
    assert (rdzv_event.name, rdzv_event.run_id, rdzv_event.rank) == (
        "test_events_are_told_and_read_back",
        "job",
        1,
    )
    with pytest.raises(ValueError, match="no event handler 'pigeon'; known: console, null"):
        events.get_logging_handler("pigeon")


def test_late_worker_is_ended():
    queue = multiprocessing.get_context("spawn").Queue()
    late = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    server = timer.LocalTimerServer(queue, max_interval=0.01)
    server.start()
    try:
        queue.put(timer.TimerRequest(late.pid, "step", time.time() + 0.05))
        assert late.wait(20) == -9
        with timer.expires(after=0.5, client=timer.LocalTimerClient(queue)):
            pass  # in time: this process goes on
        time.sleep(0.6)
    finally:
        server.stop()
    queue.close()


def test_expires_needs_a_client():
    with pytest.raises(RuntimeError, match="no timer client"), timer.expires(after=1):
        pass


def test_health_check_answers():
    now = [time.time()]
    server = create_healthcheck_server(lambda: now[0], 0, 5)
    server.start()
    try:
        url = f"http://localhost:{server.port}/"
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert answer.status == 200 and answer.read() == b"alive\n"
        now[0] -= 60
        with pytest.raises(urllib.error.HTTPError, match="503") as caught:
            urllib.request.urlopen(url, timeout=10)
        caught.value.close()
    finally:
        server.stop()


def test_port_that_is_taken_is_a_sentence():
    server = create_healthcheck_server(lambda: 0, 0, 5)
    server.start()
    try:
        command = [sys.executable, "-m", "tl_distributed.run", "--master-port", str(server.port), "x.py"]
        process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    finally:
        server.stop()
    assert process.returncode == 1 and "Traceback" not in process.stderr
    assert f"cannot listen on port {server.port}" in process.stderr
