"""docs/errors.md, made of the statuses in include/holdfast/status.h and of what cures.toml says to do about each.

python docs/tools/errors.py     writes it
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/errors.md"
HEADER = ROOT / "include/holdfast/status.h"
CURES = Path(__file__).with_name("cures.toml")

INTRODUCTION = """# Errors

<!-- Made by docs/tools/errors.py of include/holdfast/status.h and docs/tools/cures.toml. -->

Every call answers a status. One that failed comes with an error: a message that names the thing and the cure, a detail in
JSON, whether running again may help (`retryable`), what became of a commit (`commit_state`), and the cause, where a function
of the program's failed. In Python each status is an exception's class, in Swift a `HoldfastError` with a `status`.

```python
import holdfast

with holdfast.open("memory:") as store:
    try:
        store.repository("songs").update({"id": "s1"})
    except holdfast.NotFoundError as error:
        print(error.status, error.retryable, error.commit_state.name)  # 20 False NONE
        print(error)  # songs has no "s1": use add or save to create it
```

The commit state is `none` (nothing was stored), `done` (it was stored, and something afterwards failed), or `unknown`: the
failure came from the commit itself, and nobody can say. Then ask again under an
[idempotency key](guides/the-same-request-twice.md).
"""


def statuses(text):
    """Each status as (group, name, number, meaning)."""
    body = re.search(r"typedef enum HF_ENUM\(hf_status\) \{(.*?)\} hf_status;", text, re.DOTALL)[1]
    group = meaning = ""
    for said, name, number in re.findall(r"/\*(.*?)\*/|(HF_\w+) = (\d+)", body, re.DOTALL):
        words = " ".join(re.sub(r"^\s*\*", "", line).strip() for line in said.splitlines()).strip()
        if name:
            yield group, name, int(number), meaning
        elif said.startswith("*"):
            meaning = words
        elif words:
            group = words.split(". ")[0].rstrip(".")


def python_name(status):
    words = status.removeprefix("HF_").removesuffix("_ERROR").split("_")
    return "IOError" if words == ["IO"] else "".join(word.capitalize() for word in words) + "Error"


def swift_name(status):
    first, *others = status.removeprefix("HF_").lower().split("_")
    words = [word.upper() if word in ("json", "id", "url") else word.capitalize() for word in others]
    return "." + first + "".join(words)


def page():
    cures = tomllib.loads(CURES.read_text())
    parts, last = [INTRODUCTION], ""
    for group, name, number, meaning in statuses(HEADER.read_text()):
        if name == "HF_OK":
            continue
        if group != last:
            parts.append(f"## {group}\n")
            last = group
        parts.append(f"### {name}\n")
        parts.append(f"{number} · Python `{python_name(name)}` · Swift `{swift_name(name)}`\n")
        parts.append(f"{meaning}\n")
        parts.append(f"**What to do.** {cures.pop(name)}\n")
    assert not cures, f"no statuses: {cures}"
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
