"""The client of the HTTP workload: ``python -m benchmarks.http_client PORT PATH``, orders on stdin."""

import json
import sys
from http.client import HTTPConnection
from pathlib import Path


def main(port: int, route: str) -> None:
    """Post the body of each order to ``route`` and store the answer where the order says."""
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    for line in sys.stdin:
        order = json.loads(line)
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("POST", route, order["body"].encode(), headers)
        response = connection.getresponse()
        pieces = [response.read1()]
        print("first", flush=True)
        while piece := response.read1():
            pieces.append(piece)
        connection.close()
        Path(order["path"]).write_bytes(b"".join(pieces))
        print("done", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
