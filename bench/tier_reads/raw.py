"""A plain parallel reader of an S3 server, in a process of its own: what the server gives without a broker.

`python -m bench.tier_reads.raw ENDPOINT URL PREFIX --threads 10 --block-bytes 4194304` reads every segment object below
PREFIX in ranges, so many at a time, and drops them; prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Iterator

import obstore
from obstore.store import S3Store

Range = tuple[str, int, int]


def ranges(objects: list[tuple[str, int]], block_bytes: int) -> list[Range]:
    """Every range of every object, the objects of different partitions in turn."""
    by_partition: dict[str, list[Range]] = {}
    for name, size in objects:
        into = by_partition.setdefault(name.partition("/segments/")[0], [])
        into += [(name, at, min(block_bytes, size - at)) for at in range(0, size, block_bytes)]
    longest = max(map(len, by_partition.values()), default=0)
    return [jobs[at] for at in range(longest) for jobs in by_partition.values() if at < len(jobs)]


def read_all(store: S3Store, jobs: list[Range], threads: int) -> int:
    """Bytes that came."""
    lock = threading.Lock()
    left: Iterator[Range] = iter(jobs)
    got = [0] * threads

    def work(number: int) -> None:
        while True:
            with lock:
                job = next(left, None)
            if job is None:
                return
            got[number] += len(obstore.get_range(store, job[0], start=job[1], length=job[2]))

    running = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return sum(got)


def main() -> None:
    """Read once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("endpoint")
    parser.add_argument("url")
    parser.add_argument("prefix")
    parser.add_argument("--threads", type=int, default=10)
    parser.add_argument("--block-bytes", type=int, default=4 << 20)
    asked = parser.parse_args()
    store = S3Store.from_url(
        asked.url, config={"endpoint": asked.endpoint}, client_options={"allow_http": True, "timeout": "60s"}
    )
    found = [one for page in obstore.list(store, prefix=asked.prefix) for one in page]
    objects = [(str(one["path"]), int(one["size"])) for one in found if "/segments/" in str(one["path"])]
    jobs = ranges(sorted(objects), asked.block_bytes)
    begun, cpu = time.monotonic(), time.process_time()
    size = read_all(store, jobs, asked.threads)
    taken = {"seconds": time.monotonic() - begun, "cpu_s": time.process_time() - cpu, "bytes": size}
    print(json.dumps({**taken, "requests": len(jobs)}))


if __name__ == "__main__":
    main()
