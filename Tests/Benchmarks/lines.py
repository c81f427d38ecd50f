"""The lines of the benchmark: what is measured, against whom, and what must be reached."""

from typing import Optional

from line import (
    ALL,
    BATCH,
    Baseline,
    FEW,
    FOUND,
    GROUPS,
    Line,
    MANY_DOCUMENTS,
    MOST_DOCUMENTS,
    READS,
    Run,
    SCANNED,
    SOME,
    STARTS,
    SYNCS,
    UPDATES,
)
from programs import (
    asynchronous,
    awaited,
    maintenance,
    first_read,
    floor,
    in_c,
    in_python,
    tree,
)
from open_load_lines import OPEN_LOAD_LINES
from server_lines import SERVER_LINES
from store_lines import ROOM_LINES, growth, on_store
from stream_lines import STREAM_LINES
from swift_lines import SWIFT_LINES
from text_lines import TEXT_LINES
from ycsb_lines import YCSB_LINES


def cached_reads(
    threads: int, must: Optional[float] = None, stretch: Optional[float] = None
) -> Line:
    return Line(
        f"cached-point-reads-{threads}",
        f"point reads, cached, {threads} threads",
        "reads/s",
        in_c("holdfast", "cached-reads", READS, threads, store="holdfast"),
        (
            Baseline(
                "LMDB",
                in_c("lmdb", "cached-reads", READS, threads, store="lmdb"),
                must,
                stretch,
            ),
            Baseline(
                "one thread", in_c("holdfast", "cached-reads", READS, store="holdfast")
            ),
        ),
    )


def cared(
    work: str, must: Optional[float] = None, stretch: Optional[float] = None
) -> tuple[Line, ...]:
    """Maintenance of a store that is in use, and what it costs those who use it."""
    return (
        Line(
            work,
            f"{work} while another thread commits",
            "documents/s",
            maintenance(work, FOUND),
        ),
        Line(
            f"commits-beside-{work}",
            f"commits of one document, relaxed, beside {work}",
            "commits/s",
            maintenance(f"commits-beside-{work}", UPDATES),
            (
                Baseline(
                    "alone",
                    maintenance("commits-beside-nothing", UPDATES),
                    must,
                    stretch,
                ),
            ),
        ),
    )


def policy_reads(policy: str, workload: str, baseline: str, other: str) -> Line:
    """Reads under a cache policy, against those without one."""
    return Line(
        workload,
        f"point reads, {policy}",
        "reads/s",
        in_c("holdfast", workload, READS, store="holdfast"),
        (Baseline(baseline, in_c("holdfast", other, READS, store="holdfast")),),
    )


def operations(in_flight: int) -> tuple[Line, ...]:
    """Commits that are described and submitted, with so many in flight."""
    count = FEW if in_flight == 1 else ALL
    among = f"operations that store one document, {in_flight:,} in flight"
    times = f"from submission to callback, {in_flight:,} in flight: "
    return (
        Line(
            f"operations-{in_flight}",
            among,
            "commits/s",
            asynchronous("commits", count, in_flight),
            (
                Baseline(
                    "SQLite, one thread",
                    in_c("sqlite", "commits", FEW, in_flight=1),
                ),
            ),
        ),
        Line(
            f"completion-median-{in_flight}",
            times + "the median",
            "ms",
            asynchronous("median", count, in_flight),
        ),
        Line(
            f"completion-slowest-{in_flight}",
            times + "99 of 100 are faster",
            "ms",
            asynchronous("slowest-hundredth", count, in_flight),
        ),
    )


def awaited_commits(in_flight: int) -> tuple[Line, ...]:
    """Commits that asyncio awaits, with so many in flight."""
    among = f"asyncio: {in_flight:,} commits of one document awaited at once"
    return (
        Line(
            f"python-awaited-{in_flight}",
            among,
            "commits/s",
            awaited("holdfast", "commits", in_flight),
            (
                Baseline(
                    "sqlite3 in a thread pool",
                    awaited("sqlite", "commits", in_flight),
                ),
            ),
        ),
        Line(
            f"python-awaited-median-{in_flight}",
            among + ": one takes, in the median",
            "ms",
            awaited("holdfast", "median", in_flight),
        ),
        Line(
            f"python-awaited-slowest-{in_flight}",
            among + ": 99 of 100 take less",
            "ms",
            awaited("holdfast", "slowest-hundredth", in_flight),
        ),
    )


def increments(threads: int, must: float, stretch: float) -> Line:
    return Line(
        f"read-modify-write-{threads}",
        f"read-modify-write of 1,000 hot documents, relaxed, threads: {threads}",
        "commits/s",
        in_c("holdfast", "increments", UPDATES, threads),
        (
            Baseline(
                "SQLite, one UPDATE",
                in_c("sqlite", "increments", UPDATES, threads),
                must,
                stretch,
            ),
        ),
    )


LINES = (
    Line(
        "async-commits",
        "durable commits of one document, 1,000 in flight, a callback each",
        "commits/s",
        in_c("holdfast", "submissions", ALL, in_flight=1_000),
        (
            Baseline(
                "SQLite, one thread",
                in_c("sqlite", "commits", SOME, in_flight=1),
                20,
                36,
            ),
        ),
    ),
    Line(
        "commits-64-threads",
        "durable commits of one document, 64 blocking threads",
        "commits/s",
        in_c("holdfast", "commits", ALL, 64, in_flight=64),
        (
            Baseline(
                "RocksDB", in_c("rocksdb", "commits", ALL, 64, in_flight=64), 1.2, 2.0
            ),
            Baseline("LMDB", in_c("lmdb", "commits", FEW, 64, in_flight=64)),
            Baseline("SQLite", in_c("sqlite", "commits", FEW, 64, in_flight=64)),
        ),
    ),
    Line(
        "commits-1-thread",
        "durable commits of one document, one blocking thread",
        "commits/s",
        in_c("holdfast", "commits", SOME, in_flight=1),
        (Baseline("SQLite", in_c("sqlite", "commits", SOME, in_flight=1), 0.95, 1.0),),
    ),
    *(line for in_flight in (1, 100, 1_000, 10_000) for line in operations(in_flight)),
    Line(
        "callback-events",
        "events of commits that store nothing, by the callback thread",
        "events/s",
        asynchronous("callbacks", READS),
        (Baseline("taken from the queue", asynchronous("queue", READS)),),
    ),
    Line(
        "object-trees",
        "members of an object tree of 1,000,000, begun, validated and committed",
        "members/s",
        tree(1_000_000),
        (Baseline("one of 1,000", tree(1_000), 0.5, 0.8),),
    ),
    *cared("backup", 0.7, 0.9),
    *cared("export"),
    *cared("import"),
    *STREAM_LINES,
    *SERVER_LINES,
    Line(
        "futures",
        "futures created, completed, waited for and freed",
        "futures/s",
        asynchronous("futures", READS),
    ),
    Line(
        "sequences",
        "transactions of 10 updates, relaxed, in one call",
        "commits/s",
        asynchronous("sequences", SOME),
        (Baseline("in a call a step", asynchronous("steps", SOME)),),
    ),
    increments(1, 0.7, 1.0),
    increments(8, 1.0, 2.0),
    Line(
        "point-reads",
        "point reads, not cached, bytes copied out",
        "reads/s",
        in_c("holdfast", "reads", READS, store="holdfast"),
        (
            Baseline(
                "SQLite", in_c("sqlite", "reads", READS, store="sqlite"), 1.8, 2.5
            ),
            Baseline("LMDB", in_c("lmdb", "reads", READS, store="lmdb")),
        ),
    ),
    Line(
        "cached-point-reads",
        "point reads, cached, bytes copied out",
        "reads/s",
        in_c("holdfast", "cached-reads", READS, store="holdfast"),
        (
            Baseline(
                "LMDB", in_c("lmdb", "cached-reads", READS, store="lmdb"), 1.5, 2.0
            ),
            Baseline("SQLite", in_c("sqlite", "cached-reads", READS, store="sqlite")),
        ),
    ),
    cached_reads(2),
    cached_reads(4),
    cached_reads(8, 0.9, 1.5),
    policy_reads(
        "cached by an LRU policy with a time to live",
        "lru-reads",
        "general list",
        "cached-reads",
    ),
    policy_reads(
        "cached by a FIFO policy with a time to live",
        "fifo-reads",
        "general list",
        "cached-reads",
    ),
    policy_reads(
        "missed by a full cache that then takes them in",
        "missed-reads",
        "without a cache",
        "reads",
    ),
    Line(
        "bulk-load",
        "load in batches of 1,000, JSON checked, batches handed over",
        "documents/s",
        in_c("holdfast", "submitted-load", ALL, in_flight=1_000 * BATCH),
        (
            Baseline(
                "SQLite, not checked",
                in_c("sqlite", "load", ALL, in_flight=BATCH),
                1.4,
                2.0,
            ),
        ),
    ),
    Line(
        "bulk-load-blocking",
        "load in batches of 1,000, JSON checked, one batch after the other",
        "documents/s",
        in_c("holdfast", "load", ALL, in_flight=BATCH),
        (
            Baseline(
                "SQLite, not checked", in_c("sqlite", "load", ALL, in_flight=BATCH)
            ),
        ),
    ),
    on_store(
        "scan",
        "scans",
        SCANNED,
        "scan with a filter, no index",
        "documents/s",
        "SQLite, json_extract",
        must=1.2,
        stretch=2.0,
    ),
    *(on_store(*sums, "documents/s", baseline, must=0.5) for *sums, baseline in GROUPS),
    on_store(
        "index-query",
        "index-queries",
        FOUND,
        "index queries that find 1,000, lent in batches by a cursor",
        "documents/s",
        "SQLite, expression index",
        must=1.0,
        stretch=1.5,
    ),
    on_store(
        "index-build",
        "index-build",
        ALL,
        "an index built while others may commit",
        "documents/s",
        "SQLite, CREATE INDEX",
        documents=MANY_DOCUMENTS,
        must=0.8,
        stretch=1.0,
    ),
    *TEXT_LINES,
    Line(
        "index-build-wait",
        "the longest that a commit took while an index was built",
        "ms",
        in_c(
            "holdfast",
            "index-build-wait",
            ALL,
            threads=2,
            store="holdfast",
            documents=MANY_DOCUMENTS,
        ),
        must=50,
        stretch=10,
    ),
    *growth(10_000),
    *growth(MANY_DOCUMENTS),
    *growth(MOST_DOCUMENTS, reads=(1.4, 2.0), scan=(1.0, 1.5), query=(0.9, 1.5)),
    Line(
        "cursor-memory",
        f"memory added by a cursor over {MOST_DOCUMENTS:,} documents",
        "MB",
        in_c("holdfast", "stream", ALL, store="holdfast", documents=MOST_DOCUMENTS),
        must=32,
        stretch=16,
    ),
    *ROOM_LINES,
    *OPEN_LOAD_LINES,
    *YCSB_LINES,
    Line(
        "python-point-reads",
        "Python: point reads, cached, as bytes",
        "reads/s",
        in_python("holdfast", "cached-reads", READS, store="holdfast"),
        (
            Baseline(
                "sqlite3",
                in_python("sqlite", "cached-reads", READS, store="sqlite"),
                3.5,
                5.0,
            ),
            Baseline("lmdb", in_python("lmdb", "cached-reads", READS, store="lmdb")),
        ),
    ),
    Line(
        "python-bulk-add",
        "Python: dicts added in batches of 1,000",
        "documents/s",
        in_python("holdfast", "load", ALL, in_flight=BATCH),
        (
            Baseline(
                "sqlite3, json.dumps",
                in_python("sqlite", "load", ALL, in_flight=BATCH),
                1.1,
                1.5,
            ),
        ),
    ),
    *(
        line
        for in_flight in (1, 100, 1_000, 10_000)
        for line in awaited_commits(in_flight)
    ),
    Line(
        "python-loop-late",
        "asyncio: by how much the loop's timers are late with 10,000 in flight, 99 of 100 by less",
        "ms",
        awaited("holdfast", "late", 10_000),
        must=5,
        stretch=3,
    ),
    *SWIFT_LINES,
    Line("library-size", "size of the library", "MB", None, must=9, stretch=8),
    Line(
        "library-load",
        "dlopen of the library",
        "ms",
        Run(("{build}/load_library", "{library}"), times=STARTS),
        must=10,
        stretch=3,
    ),
    Line(
        "first-read",
        "start of the process to its first read",
        "ms",
        first_read("holdfast"),
        (Baseline("SQLite", first_read("sqlite")),),
        must=5,
        stretch=3,
    ),
    Line(
        "floor-parse",
        "floor: jansson parses a document",
        "documents/s",
        floor("parse", READS),
    ),
    Line(
        "floor-sync",
        "floor: fdatasync of an appended page",
        "syncs/s",
        floor("sync", SYNCS),
    ),
    Line(
        "floor-copy",
        "floor: the bytes of a document copied",
        "documents/s",
        floor("copy", READS),
    ),
)
