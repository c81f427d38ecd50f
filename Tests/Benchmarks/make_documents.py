"""Writes Debian's package index as JSON, one document a line: the documents of every benchmark.

    make_documents.py OUTPUT

The index is what `apt-cache dumpavail` prints. Each package becomes one object whose first member is its id: the
name, with architecture and version where the name is taken.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# The members of a document, and the fields that they come from.
TEXTS = {
    "version": "Version",
    "section": "Section",
    "priority": "Priority",
    "maintainer": "Maintainer",
    "description": "Description",
}
NUMBERS = {"installed_size": "Installed-Size", "size": "Size"}
LISTS = {"depends": "Depends"}

# As many as the longest run stores that does not store all.
AT_LEAST = 20_000


def packages(index: str) -> Iterator[dict[str, str]]:
    """The paragraphs of a package index, each as its fields; continuation lines are joined by spaces."""
    for paragraph in index.split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in paragraph.splitlines():
            if line.startswith(" "):
                fields[name] += " " + line.strip()
            else:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        if "Package" in fields:
            yield fields


def document(id: str, fields: dict[str, str]) -> dict[str, object]:
    """One package as a document. Texts and lists that a package lacks are left out, its numbers are 0."""
    result: dict[str, object] = {"id": id}
    result.update(
        {member: fields[field] for member, field in TEXTS.items() if field in fields}
    )
    result.update(
        {member: int(fields.get(field, "0")) for member, field in NUMBERS.items()}
    )
    result.update(
        {
            member: fields[field].split(", ")
            for member, field in LISTS.items()
            if field in fields
        }
    )
    return result


def documents(index: str) -> Iterator[str]:
    """The documents as JSON texts, no two of one id."""
    taken: set[str] = set()
    for fields in packages(index):
        id = fields["Package"]
        if id in taken:
            id = "_".join(
                fields.get(field, "")
                for field in ("Package", "Architecture", "Version")
            )
        if id not in taken:
            taken.add(id)
            yield json.dumps(
                document(id, fields), ensure_ascii=False, separators=(",", ":")
            )


def package_index() -> str:
    """What apt knows of; empty where its lists were never fetched."""
    return subprocess.run(
        ["apt-cache", "dumpavail"], check=True, capture_output=True, text=True
    ).stdout


def main(output: Path) -> None:
    texts = list(documents(package_index()))
    if len(texts) < AT_LEAST:
        print("Fetching the package lists, because apt knows of too few packages.")
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        texts = list(documents(package_index()))
    if len(texts) < AT_LEAST:
        sys.exit(
            f"apt knows of {len(texts)} packages after `apt-get update`; {AT_LEAST} are needed."
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("".join(text + "\n" for text in texts))
    size = output.stat().st_size / len(texts) - 1
    print(f"{len(texts)} documents of {size:.0f} bytes on average in {output}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
