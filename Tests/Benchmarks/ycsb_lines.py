"""The lines of YCSB: its six workloads, relaxed, by 1, 8 and 64 threads, beside SQLite, LMDB and RocksDB."""

from line import Baseline, Line
from programs import ycsb

# Workload, what it is, operations of a run: each takes a second or so.
WORKLOADS = (
    ("a", "half reads, half updates", 30_000),
    ("b", "95 % reads, 5 % updates", 100_000),
    ("c", "reads", 400_000),
    ("d", "reads of the latest, 5 % inserts", 100_000),
    ("e", "scans of up to 100, 5 % inserts", 5_000),
    ("f", "half reads, half read-modify-writes", 30_000),
)


def line(workload: str, title: str, count: int, threads: int) -> Line:
    own, *others = (
        (name, ycsb(engine, workload, count, threads))
        for name, engine in (
            ("", "holdfast"),
            ("SQLite", "sqlite"),
            ("LMDB", "lmdb"),
            ("RocksDB", "rocksdb"),
        )
    )
    return Line(
        f"ycsb-{workload}-{threads}",
        f"YCSB {workload.upper()}, {title}, relaxed, threads: {threads}",
        "operations/s",
        own[1],
        tuple(Baseline(name, run) for name, run in others),
    )


YCSB_LINES = tuple(
    line(*workload, threads) for workload in WORKLOADS for threads in (1, 8, 64)
)
