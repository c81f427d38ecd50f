"""The chart and the table of how fast Holdfast is, from ratios that were measured: docs/speed.svg, and the table of
docs/performance.md. (Of a run of one's own `make bench` draws charts in more detail, see Tests/Benchmarks/charts.py.)

python docs/tools/charts.py     writes both
"""

import json
import math
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
PAGE, CHART = DOCS / "performance.md", DOCS / "speed.svg"
BEGIN, END = "<!-- The table is made by docs/tools/charts.py. -->\n\n", "\n\n<!-- End of the table. -->"

# Colours that are read on white and on black; a picture in a page asks the system for its scheme.
STYLE = """
text { font: 14px system-ui, sans-serif; fill: #24292f; }
.more { fill: #0a7f5a; } .less { fill: #b3541e; } .range { opacity: .35; } .faint { fill: #57606a; font-size: 12px; }
line { stroke: #8c959f; stroke-width: 1; stroke-opacity: .5; } .one { stroke: #57606a; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .faint { fill: #9da7b3; } .more { fill: #3fb98c; } .less { fill: #e08a55; } .one { stroke: #9da7b3; }
}
"""
LEFT, WIDTH, ROW, TOP, ROOM = 330, 860, 44, 46, 96
LEAST, MOST = 0.4, 32


def at(ratio):
    """Where on the line, which doubles at each step."""
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + share * (WIDTH - LEFT - ROOM)


def shown(ratio):
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def range_of(line):
    low, high = min(line["ratios"]), max(line["ratios"])
    return shown(low) if low == high else f"{shown(low)} to {shown(high)}"


def chart(lines):
    height = TOP + ROW * len(lines) + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>How many times as fast as others Holdfast is</title>",
        f"<style>{STYLE}</style>",
    ]
    for mark in (0.5, 1, 2, 4, 8, 16, 32):
        kind = ' class="one"' if mark == 1 else ""
        out.append(f'<line{kind} x1="{at(mark):.1f}" y1="{TOP - 14}" x2="{at(mark):.1f}" y2="{height - 4}"/>')
        label = "as fast" if mark == 1 else f"{mark} &#215;"
        out.append(f'<text class="faint" text-anchor="middle" x="{at(mark):.1f}" y="{TOP - 20}">{label}</text>')
    for number, line in enumerate(lines):
        low, high = min(line["ratios"]), max(line["ratios"])
        y = TOP + number * ROW
        end = f'text-anchor="end" x="{LEFT - 26}"'
        out.append(f'<text {end} y="{y + 14}">{escape(line["name"])}</text>')
        out.append(f'<text class="faint" {end} y="{y + 30}">to {escape(line["baseline"])}</text>')
        for ratio, kind in ((high, " range"), (low, "")):
            begin, end = sorted((at(1), at(ratio)))
            colour = "more" if ratio >= 1 else "less"
            out.append(
                f'<rect class="{colour}{kind}" x="{begin:.1f}" y="{y + 8}" width="{max(end - begin, 2):.1f}" height="18" rx="2"/>'
            )
        x = max(at(high), at(1)) + 6
        out.append(f'<text x="{x:.1f}" y="{y + 22}">{range_of(line)}</text>')
    return "\n".join([*out, "</svg>", ""])


def table(measured):
    rows = [f"| {line['name']} | {line['baseline']} | {range_of(line)} |" for line in measured["lines"]]
    said = f"Measured on {measured['machine']}: {'; '.join(measured['runs'])}. Of two runs both ratios are told.\n"
    return "\n".join([said, "| what | to | times as fast |", "|---|---|---|", *rows])


def page(text, measured):
    before, rest = text.split(BEGIN)
    return before + BEGIN + table(measured) + END + rest.split(END)[1]


def main():
    measured = json.loads((DOCS / "performance.json").read_text())
    CHART.write_text(chart(measured["lines"]))
    PAGE.write_text(page(PAGE.read_text(), measured))


if __name__ == "__main__":
    main()
