"""The lines about the Swift API, against GRDB: one Codable type, the same documents, the same durability."""

from line import ALL, BATCH, FEW, FOUND, READS, SYNCS, Baseline, Line
from programs import in_swift


def in_flight(count: int) -> Line:
    """Durable commits of so many tasks."""
    return Line(
        f"swift-commits-{count}",
        f"Swift: durable commits of one entity, {count:,} tasks",
        "commits/s",
        in_swift("holdfast", "commits", FEW, count),
        (Baseline("GRDB", in_swift("grdb", "commits", SYNCS, count), 5, 10),),
    )


SWIFT_LINES = (
    Line(
        "swift-commits",
        "Swift: durable commits of one entity, awaited one after the other",
        "commits/s",
        in_swift("holdfast", "commits", SYNCS, 1),
        (Baseline("GRDB", in_swift("grdb", "commits", SYNCS, 1), 0.8, 1.0),),
    ),
    Line(
        "swift-commits-blocking",
        "Swift: durable commits of one entity by the blocking calls",
        "commits/s",
        in_swift("holdfast-blocking", "commits", SYNCS, 1),
        (Baseline("GRDB", in_swift("grdb-blocking", "commits", SYNCS, 1), 0.8, 1.0),),
    ),
    in_flight(64),
    in_flight(1_000),
    Line(
        "swift-cached-reads",
        "Swift: entities fetched by their ids, cached, awaited",
        "reads/s",
        in_swift("holdfast", "cached-reads", READS),
        (
            Baseline("GRDB", in_swift("grdb", "cached-reads", READS), 1.5, 3.0),
            Baseline(
                "GRDB, blocking", in_swift("grdb-blocking", "cached-reads", READS)
            ),
        ),
    ),
    Line(
        "swift-bulk-load",
        "Swift: entities added in batches of 1,000",
        "entities/s",
        in_swift("holdfast", "load", ALL, BATCH),
        (Baseline("GRDB", in_swift("grdb", "load", ALL, BATCH)),),
    ),
    Line(
        "swift-index-query",
        "Swift: index queries that find 1,000 entities",
        "entities/s",
        in_swift("holdfast", "queries", FOUND),
        (Baseline("GRDB", in_swift("grdb", "queries", FOUND)),),
    ),
)
