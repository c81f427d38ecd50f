"""Pages of the site that are made of something else: the references of C and Python, and what lies in the root."""

import enum
import inspect
import json
import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "docs/generated"
CONTRACT = ROOT / "bindings/abi/holdfast-abi.json"
#: What lies in the root, and is a page here.
COPIES = {
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
    "CHANGELOG.md": "changelog",
    "Sources/HoldfastPostgreSQL/LAYOUT.md": "postgresql-tables",
    # Packages for other languages; Python's is told on these pages.
    **{
        str(path.relative_to(ROOT)): f"host-{path.parent.name}"
        for path in sorted((ROOT / "bindings").glob("*/README.md"))
        if path.parent.name != "python"
    },
}
LINK = re.compile(r"\]\((?!https?:|#|<)([^)#\s]+)")


def write(name, text):
    path = GENERATED / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Sphinx reads again what is newer than what it has made.
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def copies():
    for file, name in COPIES.items():
        folder = Path(file).parent
        text = LINK.sub(lambda link, folder=folder: f"]({elsewhere(folder, link[1])}", (ROOT / file).read_text())
        write(name, text)


def elsewhere(folder, target):
    """A link of a file in the sources, as one of a page in docs/generated."""
    target = os.path.normpath(folder / target)
    if target in COPIES:
        return f"{COPIES[target]}.md"
    return f"../{target.removeprefix('docs/')}" if target.startswith("docs/") else f"../../{target}"


# --- C: the headers' comments, and the contract as data for what a table tells better --------------------


def escaped(text):
    """Words of a comment as Markdown: what looks like code is code."""
    text = re.sub(r"([\\*_<>\[\]$|`])", r"\\\1", text)
    text = re.sub(r"`?\b((?:hf|HF)(?:\\_\w+)+)\b`?", lambda it: f"`{it[1].replace(chr(92), '')}`", text)
    return text.replace("\\`", "`") if text.count("\\`") % 2 == 0 else text


def paragraphs(comment):
    """A comment of a header: what is indented keeps its lines."""
    lines = [re.sub(r"^ ?\* ?", "", line.rstrip()) for line in comment.strip().splitlines()]
    out, kept, words = [], [], []

    def end():
        if words:
            out.append(escaped(" ".join(words)))
        if kept:
            out.append("```text\n" + inspect.cleandoc("\n".join(kept)) + "\n```")
        words.clear()
        kept.clear()

    for line in lines:
        if not line:
            end()
        elif line.startswith("  ") or line.startswith("\t"):
            if words:
                end()
            kept.append(line)
        else:
            if kept:
                end()
            words.append(line.strip())
    end()
    return "\n\n".join(out)


def cell(text):
    return escaped(" ".join(text.split()))


def comment_before(header, declaration):
    """The comment that stands before a declaration, found by a pattern."""
    found = re.search(declaration, header)
    if not found:
        return ""
    before = header[: found.start()].rstrip()
    return before[before.rindex("/*") :].strip("/* \n") if before.endswith("*/") else ""


def parameters(rows):
    if not rows:
        return ""
    out = ["| parameter | type | NULL | whose | |", "|---|---|---|---|---|"]
    for it in rows:
        null = {True: "allowed", False: "refused"}.get(it.get("nullable"), "")
        whose = it.get("ownership", "")
        if it.get("free"):
            whose += f", `{it['free']}`"
        out.append(f"| `{it['name']}` | `{it['type']}` | {null} | {whose} | {cell(it.get('description', ''))} |")
    return "\n".join(out)


def called(type_, name):
    return f"{type_}{name}" if type_.endswith("*") else f"{type_} {name}"


def declared(it):
    given = ", ".join(called(p["type"], p["name"]) for p in it["parameters"]) or "void"
    given = re.sub(r"void \(\*\)\(void \*\) ?(\w+)", r"void (*\1)(void *)", given)
    text = f"{called(it['result']['type'], it['name'])}({given});"
    if len(text) > 90:
        text = text.replace("(", "(\n    ", 1).replace(", ", ",\n    ")
    return f"```C\n{text}\n```"


def functions(header, rows, pattern):
    for it in rows:
        comment = comment_before(header, pattern.format(re.escape(it["name"])))
        yield f"### {it['name']}\n"
        yield declared(it) + "\n"
        yield paragraphs(comment) + "\n"
        yield parameters(it["parameters"]) + "\n"


def values(rows, headings, value):
    yield "| " + " | ".join(headings) + " |\n|" + "---|" * len(headings)
    for it in rows:
        yield f"| `{it['name']}` | `{value(it)}` | {cell(it['description'])} |"
    yield ""


def header_page(name, contract):
    header = (ROOT / "include/holdfast" / name).read_text()
    own = {kind: [it for it in rows if it.get("header") == name] for kind, rows in contract.items() if isinstance(rows, list)}
    first = re.match(r"/\*(.*?)\*/", header, re.DOTALL)
    yield f"# {name}\n"
    yield paragraphs(first[1]) + "\n"
    if own["handles"]:
        yield "## Handles\n"
        yield from values(own["handles"], ("handle", "freed with", ""), lambda it: it["free"])
    if own["constants"]:
        yield "## Constants\n"
        yield from values(own["constants"], ("constant", "value", ""), lambda it: it["value"])
    for it in own["enums"]:
        yield f"## {it['name']}\n\n{escaped(it['description'])}\n"
        yield from values(it["values"], ("value", "number", ""), lambda one: one["value"])
    for it in own["structs"]:
        yield f"## {it['name']}\n"
        # Its own comment, with its lines.
        yield "\n\n".join(escaped(part) for part in it["description"].split("\n\n")) + "\n"
        yield from values(it["fields"], ("member", "type", ""), lambda one: one["type"])
    if own["callbacks"]:
        yield "## Functions of the host's\n"
        yield from functions(header, own["callbacks"], r"typedef [^;]*\(\*{}\)")
    if own["functions"]:
        yield "## Functions\n"
        yield from functions(header, own["functions"], r"HF_EXPORT[^;]*\b{}\(")


def c_reference():
    contract = json.loads(CONTRACT.read_text())
    names = [path.name for path in sorted((ROOT / "include/holdfast").glob("*.h"))]
    overview = re.match(r"/\*(.*?)\*/", (ROOT / "include/holdfast.h").read_text(), re.DOTALL)
    for name in names:
        write(f"c/{name.removesuffix('.h')}", "\n".join(header_page(name, contract)))
    listed = "\n".join(f"c/{name.removesuffix('.h')}" for name in names)
    said = "Made of the headers, and of the contract as data that is derived from them, `bindings/abi/holdfast-abi.json`."
    write(
        "c-headers",
        f"# C\n\n{said}\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n\n## holdfast.h\n\n{paragraphs(overview[1])}\n",
    )


# --- Python: the docstrings ------------------------------------------------------------------------------

#: In the order in which somebody reads; the others follow.
CHAPTERS = [
    "store",
    "repository",
    "transaction",
    "expressions",
    "cursor",
    "aggregation",
    "operation",
    "events",
]
TITLES = {
    "_forms": "Types",
    "_verbs": "Results",
    "events": "Futures",
    "stream": "Streams",
    "tree": "Object trees",
}


def python_reference():
    import holdfast
    import holdfast.aio
    import holdfast.testing

    pages = {"index": [], "aio": [], "testing": []}
    chapters = {}
    for name in holdfast.__all__:
        value = getattr(holdfast, name)
        module = getattr(value, "__module__", "holdfast.operation").removeprefix("holdfast.")
        if module != "errors":
            chapters.setdefault(module, []).append((name, value))
    order = [*CHAPTERS, *sorted(set(chapters) - set(CHAPTERS))]
    text = ["# holdfast\n", "```{eval-rst}\n.. automodule:: holdfast\n```\n"]
    for module in order:
        title = TITLES.get(module, module.strip("_").capitalize())
        text.append(f"## {title}\n")
        text += [documented("holdfast", name, value) for name, value in chapters[module]]
    text.append("## Errors\n\nThe classes of errors are told, each with what to do, in [errors](../../errors.md).\n")
    text.append(documented("holdfast", "Error", holdfast.Error))
    pages["index"] = text
    pages["aio"] = ["# holdfast.aio\n", "```{eval-rst}\n.. automodule:: holdfast.aio\n```\n"]
    pages["aio"] += [
        documented("holdfast.aio", name, getattr(holdfast.aio, name))
        for name in holdfast.aio.__all__
        if getattr(holdfast.aio, name) is not getattr(holdfast, name, None)
    ]
    pages["testing"] = [
        "# holdfast.testing\n",
        "```{eval-rst}\n.. automodule:: holdfast.testing\n   :members:\n```\n",
    ]
    for name, parts in pages.items():
        write(f"python/{name}", "\n".join(parts))


def documented(package, name, value):
    if inspect.isclass(value):
        kind, members = "autoclass", "   :members:\n"
        if not issubclass(value, (enum.Enum, BaseException)):
            members += "   :inherited-members: dict, Generic, tuple, Mapping, MutableMapping, Future\n"
    elif inspect.isfunction(value):
        kind, members = "autofunction", ""
    else:
        kind, members = "autodata", "   :no-value:\n"
    return f"```{{eval-rst}}\n.. {kind}:: {package}.{name}\n{members}```\n"


def all_pages():
    copies()
    c_reference()
    python_reference()
