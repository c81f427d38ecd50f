"""Lines about stores that hold all documents already, against SQLite, and how they grow with the store."""

from typing import Optional

from line import ALL, FOUND, READS, SCANNED, Baseline, Line
from programs import in_c


def on_store(
    name: str,
    workload: str,
    count: int,
    title: str,
    unit: str,
    baseline: str = "SQLite",
    documents: int = ALL,
    must: Optional[float] = None,
    stretch: Optional[float] = None,
) -> Line:
    """A line about stores that hold all documents already, against SQLite."""
    own, other = (
        in_c(engine, workload, count, store=engine, documents=documents)
        for engine in ("holdfast", "sqlite")
    )
    return Line(name, title, unit, own, (Baseline(baseline, other, must, stretch),))


#: What a line must reach, and what it strives for.
Bounds = tuple[Optional[float], Optional[float]]


def growth(
    documents: int,
    reads: Bounds = (None, None),
    scan: Bounds = (None, None),
    query: Bounds = (None, None),
) -> tuple[Line, ...]:
    """How reading grows with the store."""
    among = f"among {documents:,} documents: "
    return (
        on_store(
            f"point-reads-{documents}",
            "reads",
            READS,
            among + "point reads, not cached",
            "reads/s",
            "SQLite",
            documents,
            *reads,
        ),
        on_store(
            f"scan-{documents}",
            "scans",
            SCANNED,
            among + "scan with a filter, no index",
            "documents/s",
            "SQLite, json_extract",
            documents,
            *scan,
        ),
        on_store(
            f"index-query-{documents}",
            "index-queries",
            FOUND,
            among + "index queries that find 1,000",
            "documents/s",
            "SQLite, expression index",
            documents,
            *query,
        ),
    )


def room(name: str, workload: str, title: str) -> Line:
    """What a document takes, against SQLite and LMDB."""
    own, *others = (
        in_c(engine, workload, ALL, store=engine)
        for engine in ("holdfast", "sqlite", "lmdb")
    )
    return Line(
        name,
        title,
        "bytes",
        own,
        tuple(Baseline(name, run) for name, run in zip(("SQLite", "LMDB"), others)),
    )


ROOM_LINES = (
    room(
        "cached-document",
        "memory",
        "memory of the process a document once all were read",
    ),
    room("stored-document", "files", "what a document takes on the disk"),
)
