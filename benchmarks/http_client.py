"""The client of the HTTP workload: ``python -m benchmarks.http_client PORT PATH FOLDER``, orders on
stdin.

An order is the JSON of a run input. Each is posted by a thread of its own, and its answer stored in
the folder, under the run's id. Then a line says the id, when the first bytes came, and when the
first content, by ``perf_counter``, which is the same clock in all processes.
"""

import json
import os
import sys
from http.client import HTTPConnection
from pathlib import Path
from threading import Lock, Thread
from time import perf_counter
from traceback import print_exc

from benchmarks.recording import content_time_of_reads

HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream"}


def main(port: int, route: str, folder: Path) -> None:
    """Carry out each order at once."""
    lock = Lock()

    def carry_out(order: str) -> None:
        path = folder / json.loads(order)["runId"]
        reads, times = post(port, route, order.encode())
        path.write_bytes(b"".join(reads))
        content = content_time_of_reads(reads, times)
        with lock:
            print(path.name, times[0], content, flush=True)

    def carry_out_or_end(order: str) -> None:
        try:
            carry_out(order)
        except BaseException:
            print_exc()
            os._exit(1)  # whoever waits for this run must not wait for ever

    for order in sys.stdin:
        Thread(target=carry_out_or_end, args=(order,)).start()


def post(port: int, route: str, body: bytes) -> tuple[list[bytes], list[float]]:
    """What each read of the answer gave, and when."""
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("POST", route, body, HEADERS)
    response = connection.getresponse()
    reads, times = [], []
    while piece := response.read1():
        reads.append(piece)
        times.append(perf_counter())
    connection.close()
    return reads, times


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
