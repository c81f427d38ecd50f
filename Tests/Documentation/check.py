"""Rules for the documentation that DocC has no warnings for: every public symbol has a comment, every page stands under a
topic that somebody wrote, and every code block of the catalogue is one that the tests run.
"""

import json
import sys
from pathlib import Path

# What they print stands in their comments.
FENCES = {"```swift", "```"}


def without_comment(graphs):
    for graph in graphs.glob("*.symbols.json"):
        for symbol in json.loads(graph.read_text())["symbols"]:
            if "docComment" not in symbol:
                yield f"{'.'.join(symbol['pathComponents'])} has no comment"


def without_topic(catalogue, archive):
    """Of pages with topics of their own: the module, and types that have a page in the catalogue."""
    written = {page.stem.lower() for page in catalogue.rglob("*.md")}
    module = archive / "data/documentation" / catalogue.stem.lower()
    for page in [module.with_suffix(".json"), *module.glob("*.json")]:
        if page.stem not in written:
            continue
        for topic in json.loads(page.read_text()).get("topicSections", []):
            names = [it.rsplit("/", 1)[-1] for it in topic["identifiers"]]
            # What protocols implement has pages that DocC makes.
            names = [it for it in names if not it.endswith("-Implementations")]
            if names and topic.get("generated"):
                yield f"{page.stem}: no topic has {', '.join(names)}"


def not_run(catalogue):
    for page in catalogue.rglob("*.md"):
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if "```" in line and line not in FENCES:
                yield f"{page.name}:{number}: {line.strip()}: only blocks of Swift at the line's beginning are run"


if __name__ == "__main__":
    catalogue, graphs, archive = map(Path, sys.argv[1:])
    failures = [
        *without_comment(graphs),
        *without_topic(catalogue, archive),
        *not_run(catalogue),
    ]
    sys.exit("\n".join(failures) or 0)
