"""What a checker of types takes the package for."""

import textwrap
from pathlib import Path

import mypy.api
import pytest

import holdfast
import holdfast.aio

PROGRAM = """
    import holdfast
    import holdfast.aio

    async def main() -> None:
        reveal_type(holdfast.open("memory:"))
        reveal_type(holdfast.aio.open("memory:"))
        async with holdfast.aio.open("memory:") as store:
            reveal_type(store)
            reveal_type(await store.repository("songs").count())
            await store.repository("songs").first(limit=1)  # type: ignore[call-arg]
            store.begin(timeout="long")  # type: ignore[arg-type]
"""


def test_the_names_of_the_package_and_of_aio_are_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    names = [f"{package.__name__}.{name}" for package in (holdfast, holdfast.aio) for name in package.__all__]
    program.write_text("\n".join([textwrap.dedent(PROGRAM), *names, ""]))
    monkeypatch.setenv("MYPYPATH", str(Path(holdfast.__file__).parents[1]))
    arguments = [
        "--no-implicit-reexport",
        "--warn-unused-ignores",
        "--follow-imports=silent",
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    told, _, _ = mypy.api.run([*arguments, str(program)])
    revealed = [line.split('"')[1] for line in told.splitlines() if "Revealed type" in line]
    assert revealed[:4] == [
        "holdfast.store.Store",
        "holdfast.aio.store.Opening",
        "holdfast.aio.store.Store",
        "int" if revealed[3:4] == ["int"] else "builtins.int",
    ], told
    assert "error:" not in told


def test_aio_has_the_names_of_the_package() -> None:
    assert set(holdfast.__all__) - set(holdfast.aio.__all__) == {"RepositoryMapping"}
    assert all(hasattr(holdfast.aio, name) for name in holdfast.aio.__all__)
