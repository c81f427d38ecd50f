"""The site, made by Sphinx of these pages: `make site`. Nothing is fetched, neither when it is made nor when it is read."""

import os
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS / "tools"), str(DOCS.parent / "bindings/python")]

import pages  # noqa: E402

project = "Holdfast"
release = re.search(r"^VERSION := (.*)$", (DOCS.parent / "Makefile").read_text(), re.MULTILINE)[1]
author = copyright = "the authors of Holdfast, under the MIT licence"

extensions = ["myst_parser", "sphinx_design", "sphinx.ext.autodoc"]
exclude_patterns = ["tools"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
nitpicky = False
# The changelog and the prompts have what no lexer knows.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"Holdfast {release}"
html_static_path = ["static"]
html_css_files = ["holdfast.css"]
html_show_sphinx = False
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"show-inheritance": False}
maximum_signature_line_length = 90
python_use_unqualified_type_names = True
# Single backquotes of docstrings are code.
default_role = "code"

LANGUAGES = {
    "c": "C",
    "python": "Python",
    "swift": "Swift",
    "cpp": "C++",
    "rust": "Rust",
    "go": "Go",
    "javascript": "Node",
}
BLOCK = r"```({})\n.*?^```$\n?".format("|".join(LANGUAGES))
SEVERAL = re.compile(rf"(?:^{BLOCK}\n?){{2,}}", re.DOTALL | re.MULTILINE)
ROOT_PAGE = re.compile(r"\]\((?:\.\./)+({})\)".format("|".join(map(re.escape, pages.COPIES))))


def tabs(found):
    """Programs of several languages that stand one behind the other are one, in tabs."""
    blocks = list(re.finditer(rf"^{BLOCK}", found[0], re.DOTALL | re.MULTILINE))
    languages = [it[1] for it in blocks]
    if len(set(languages)) < len(languages):
        return found[0]
    items = [f"`````{{tab-item}} {LANGUAGES[it[1]]}\n:sync: {it[1]}\n\n{it[0]}\n`````\n" for it in blocks]
    return "``````{tab-set}\n:sync-group: language\n\n" + "\n".join(items) + "``````\n\n"


def prepare(app, name, source):
    """What stands in a comment is run by the tests, and not shown."""
    shown = re.sub(r"<!--.*?-->\n?", "", source[0], flags=re.DOTALL)
    up = "../" * name.count("/")
    shown = ROOT_PAGE.sub(lambda link: f"]({up}generated/{pages.COPIES[link[1]]}.md)", shown)
    source[0] = SEVERAL.sub(tabs, shown)


def literal(app, kind, name, value, options, lines):
    """What is indented in a docstring is code."""
    shown = []
    for number, line in enumerate(lines):
        begins = line.startswith("    ") and number > 0 and not lines[number - 1]
        # Behind a blank line within code comes more of it.
        if begins and not next((it for it in reversed(shown) if it), "").startswith("    "):
            shown += ["::", ""]
        shown.append(line)
    lines[:] = shown


def setup(app):
    os.environ.setdefault("HOLDFAST_LIBRARY", str(DOCS.parent / ".build/holdfast/libholdfast.so"))
    pages.all_pages()
    app.connect("source-read", prepare)
    app.connect("autodoc-process-docstring", literal)
