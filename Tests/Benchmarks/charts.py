"""The ratios as charts, one for each group of lines: SVG of its own, which stands in documents as it is."""

from html import escape
from pathlib import Path
from typing import Any

Result = dict[str, Any]

#: Title, and how the names of its lines begin: the first group that has a line keeps it.
GROUPS = (
    ("python", "Python, beside sqlite3 and lmdb", ("python-",)),
    ("swift", "Swift, beside GRDB", ("swift-",)),
    ("server", "On a server, beside a program in C with libpq", ("pg-",)),
    ("beside", "Commits beside other work", ("commits-beside-", "submitted-beside-")),
    ("ycsb", "YCSB, relaxed", ("ycsb-",)),
    ("open-load", "Durable commits at a fixed rate", ("open-load-",)),
    ("room", "What a document takes", ("cached-document", "stored-document")),
    (
        "commits",
        "Commits",
        ("async-", "commits-", "operations-", "read-modify-write-", "bulk-load"),
    ),
    ("reads", "Reads of one document", ("point-reads", "cached-point-reads")),
    ("queries", "Queries", ("scan", "index-", "group", "text-", "long-text-")),
)

WIDTH, LABELS, ROW, TOP = 960, 470, 26, 64
COLOURS = {"no": "#c0392b", "must": "#2874a6", "stretch": "#1e8449", None: "#7f8c8d"}


def group_of(name: str) -> str | None:
    for group, _, beginnings in GROUPS:
        if name.startswith(beginnings):
            return group
    return None


def write(results: list[Result], directory: Path) -> list[Path]:
    """Writes the charts of all groups that have ratios, and answers where."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for group, title, _ in GROUPS:
        rows = [r for r in results if r["ratio"] and group_of(r["name"]) == group]
        if rows:
            path = directory / f"{group}.svg"
            path.write_text(chart(title, rows))
            written.append(path)
    return written


def chart(title: str, rows: list[Result]) -> str:
    """Bars of ratios: how far the rounds lie apart is a thin line, what must be reached a full mark, what is striven for a
    dashed one, and 1, where both are as fast, a grey one."""
    greatest = max(
        1.0,
        *(max(r["ratio"], r["must"] or 0, r["stretch"] or 0) for r in rows),
    )
    scale = (WIDTH - LABELS - 70) / greatest
    height = TOP + ROW * len(rows) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="16" y="26" font-size="17" font-weight="bold">{escape(title)}</text>',
        '<text x="16" y="46" fill="#555">how many times as fast, or as small, as the other; more is better. '
        "Full mark: what must be reached. Dashed: what is striven for.</text>",
        mark(LABELS + scale, TOP - 6, height - 10, "#bbb"),
    ]
    for number, row in enumerate(rows):
        parts += bar(row, TOP + ROW * number, scale)
    return "\n".join([*parts, "</svg>\n"])


def bar(row: Result, y: int, scale: float) -> list[str]:
    label = f"{row['title']}, to {row['baseline_name']}"
    if len(label) > 76:
        label = label[:75] + "…"
    low, high = row["ratio_spread"]
    length = row["ratio"] * scale
    middle = y + ROW // 2 - 2
    parts = [
        f'<text x="{LABELS - 8}" y="{middle + 4}" text-anchor="end">{escape(label)}</text>',
        f'<rect x="{LABELS}" y="{y + 3}" width="{length:.1f}" height="{ROW - 10}" fill="{COLOURS[row["reached"]]}"/>',
        f'<line x1="{LABELS + low * scale:.1f}" x2="{LABELS + min(high * scale, WIDTH - LABELS):.1f}" '
        f'y1="{middle}" y2="{middle}" stroke="black" stroke-width="1"/>',
        f'<text x="{LABELS + max(length, min(high * scale, WIDTH - LABELS - 60)) + 6:.1f}" y="{middle + 4}">'
        f"{row['ratio']:.3g}</text>",
    ]
    if row["must"]:
        parts.append(mark(LABELS + row["must"] * scale, y, y + ROW - 4, "black"))
    if row["stretch"]:
        parts.append(
            mark(LABELS + row["stretch"] * scale, y, y + ROW - 4, "black", "3 2")
        )
    return parts


def mark(x: float, top: int, bottom: int, colour: str, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" stroke="{colour}" stroke-width="2"{dashed}/>'
