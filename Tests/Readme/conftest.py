"""How the README's programs are run."""

import pytest


@pytest.fixture
def execute():
    """Runs a program here. What it has named goes afterwards: the package keeps the classes that it has read,
    they keep their functions, and those keep the names."""
    scopes = []

    def execute(program, names):
        scopes.append(names)
        exec(program, names)

    yield execute
    for names in scopes:
        names.clear()
