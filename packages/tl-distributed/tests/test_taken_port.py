"""The port of a job belongs to somebody else: another program, or the store of another job."""

import re
import socket
import subprocess
import sys
import threading

import pytest

LIMIT = 4
RANK = f"""
import sys, time
from datetime import timedelta
import tl_distributed as dist
rank, port = int(sys.argv[1]), sys.argv[2]
start = time.monotonic()
try:
    dist.init_process_group(
        "gloo", init_method="tcp://127.0.0.1:" + port, rank=rank, world_size=2, timeout=timedelta(seconds={LIMIT})
    )
    print("joined", flush=True)
    sys.stdin.readline()
except dist.DistError as error:
    print(f"{{time.monotonic() - start:.2f}} {{type(error).__name__}}: {{error}}")
"""


@pytest.fixture
def start():
    """Starts both ranks of a job at a port."""
    processes = []

    def start(port):
        command = [sys.executable, "-c", RANK]
        job = [
            subprocess.Popen(
                [*command, str(rank), str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for rank in range(2)
        ]
        processes.extend(job)
        return job

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def check_refused(job, port, said, limit=LIMIT):
    """Both ranks raise a named error in time: the first can't listen, the second reads `said`."""
    outputs = [process.communicate(timeout=limit + 60)[0] for process in job]
    for output, words in zip(outputs, (f"cannot listen on port {port}", said), strict=True):
        match = re.match(rf"([\d.]+) Dist(Network|Store)Error: .*{words}", output)
        assert match, output
        assert float(match[1]) < limit + 5, output  # the machine may be busy


@pytest.fixture
def program():
    """`program(answer)` listens at a port, sends the answer to each caller, and returns the port."""
    sockets = []

    def serve(server, answer):
        while True:
            try:
                sockets.append(server.accept()[0])
                sockets[-1].sendall(answer)
            except OSError:
                return

    def begin(answer):
        server = socket.create_server(("127.0.0.1", 0))
        sockets.append(server)
        threading.Thread(target=serve, args=(server, answer), daemon=True).start()
        return server.getsockname()[1]

    yield begin
    for one in sockets:
        one.close()


def test_another_program(program, start, times):
    """A client waits half a minute for a silent program, however short its timeout: a busy server is silent, too."""
    mail, silent = (b"220 mail\r\n", "is no store", LIMIT), (b"", "no answer within 30 s", 30)
    for answer, text, limit in times((mail, silent), (mail,)):
        port = program(answer)
        check_refused(start(port), port, text, limit)


def test_the_store_of_another_job(start):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    other = start(port)
    assert [process.stdout.readline() for process in other] == ["joined\n"] * 2
    check_refused(start(port), port, r"rank 1 waited 4 s for ranks \[0\] to join")
    assert [process.poll() for process in other] == [None, None]  # the other job goes on
