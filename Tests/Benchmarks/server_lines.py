"""The lines about a PostgreSQL server, which syncs: against what a careful program in C does there with libpq."""

from line import ALL, Baseline, FEW, Line, READS, Run
from programs import in_c, on_server

ACROSS_A_NETWORK = ("{python}", "{sources}/delayed.py", "1", "{place}")
IN_PROCESSES = ("{python}", "{sources}/processes.py", "4")
INCREMENTS = 2_000
HOT = 2_000


def against_libpq(
    name: str,
    title: str,
    unit: str,
    own: Run,
    baseline: str,
    other: Run,
    must: float,
    stretch: float,
) -> Line:
    return Line(
        f"pg-{name}", title, unit, own, (Baseline(baseline, other, must, stretch),)
    )


def upserts(threads: int) -> Run:
    return on_server("postgresql", "commits", FEW, threads)


def increments(engine: str) -> Run:
    return on_server(engine, "increments", INCREMENTS, around=ACROSS_A_NETWORK)


SERVER_LINES = (
    against_libpq(
        "async-commits",
        "on a server: durable commits of one document, 1,000 in flight",
        "commits/s",
        on_server("holdfast", "submissions", FEW),
        "libpq, 64 connections",
        upserts(64),
        4,
        8,
    ),
    against_libpq(
        "commits-64-threads",
        "on a server: durable commits of one document, 64 blocking threads",
        "commits/s",
        on_server("holdfast", "commits", FEW, 64),
        "libpq, 64 connections",
        upserts(64),
        2,
        4,
    ),
    against_libpq(
        "commits-1-thread",
        "on a server: durable commits of one document, one blocking thread",
        "commits/s",
        on_server("holdfast", "commits", INCREMENTS),
        "libpq, one connection",
        on_server("postgresql", "commits", INCREMENTS),
        0.8,
        0.95,
    ),
    against_libpq(
        "read-modify-write",
        "on a server, 1 ms away each way: read-modify-write of 1,000 cached documents",
        "commits/s",
        increments("holdfast"),
        "libpq, SELECT FOR UPDATE",
        increments("postgresql"),
        2,
        3.5,
    ),
    against_libpq(
        "point-reads",
        "on a server: point reads of what is committed now",
        "reads/s",
        on_server("holdfast", "reads", FEW, store="holdfast"),
        "libpq, prepared SELECT",
        on_server("postgresql", "reads", FEW, store="postgresql"),
        0.9,
        1.0,
    ),
    Line(
        "pg-cached-point-reads",
        "on a server: point reads, cached, of what was committed 100 ms ago or later",
        "reads/s",
        on_server("holdfast", "stale-reads", READS, store="holdfast", documents=HOT),
        (
            Baseline(
                "Holdfast on SQLite",
                in_c(
                    "holdfast", "cached-reads", READS, store="holdfast", documents=HOT
                ),
                0.9,
                1.0,
            ),
        ),
    ),
    against_libpq(
        "bulk-load",
        "on a server: load in batches of 1,000, JSON checked",
        "documents/s",
        on_server("holdfast", "submitted-load", ALL),
        "libpq, one COPY of all",
        on_server("postgresql", "submitted-load", ALL),
        0.3,
        0.5,
    ),
    against_libpq(
        "processes",
        "on a server: durable commits of 4 processes, each with 64 in flight",
        "commits/s",
        on_server("asynchronous", "commits", FEW, 64, around=IN_PROCESSES),
        "one process, 256 in flight",
        on_server("asynchronous", "commits", FEW, 256),
        0.5,
        0.8,
    ),
)
