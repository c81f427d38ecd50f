"""The lines about streams: what following commits costs those who commit, and how soon the news is there."""

from line import DELAYS, UPDATES, Baseline, Line
from programs import stream


def followed(queries: int) -> tuple[Line, ...]:
    """What live queries cost commits that touch none of them."""
    among = "live query" if queries == 1 else "live queries"
    return tuple(
        Line(
            f"{workload}-beside-{queries}-queries",
            f"{title}, relaxed, beside {queries:,} {among}",
            "commits/s",
            stream(workload, UPDATES, queries),
            (Baseline("none", stream(workload, UPDATES), 0.8, 0.95),),
        )
        for workload, title in (
            ("commits", "commits of one document"),
            ("submitted", "submitted commits of one document"),
        )
    )


def news(workload: str, title: str) -> Line:
    """How soon an observer hears of a commit."""
    return Line(
        f"news-{workload}",
        f"from a commit's beginning to an observer, {title}",
        "ms",
        stream(workload, DELAYS),
    )


STREAM_LINES = (
    *(line for queries in (1, 100, 1_000) for line in followed(queries)),
    Line(
        "stream-events",
        "submitted commits, relaxed, until an observer has heard of each",
        "commits/s",
        stream("events", UPDATES),
        (Baseline("unobserved", stream("submitted", UPDATES)),),
    ),
    news("median", "median"),
    news("slowest-hundredth", "the slowest hundredth"),
    news("distant-median", "in another process, median"),
    news("distant-slowest-hundredth", "in another process, the slowest hundredth"),
)
