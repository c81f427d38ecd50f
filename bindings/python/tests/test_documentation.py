"""Every public name says what it is and what it takes."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import holdfast


def public_names() -> dict[str, Any]:
    """All public names of the package, and the methods and properties of its classes."""
    found: dict[str, Any] = {}
    for name in holdfast.__all__:
        value = found[name] = getattr(holdfast, name)
        for member, function in members_of(value) if inspect.isclass(value) else ():
            if inspect.isfunction(function) and not member.startswith("_"):
                found[f"{name}.{member}"] = function
    return found


def members_of(value: type) -> Iterator[tuple[str, Any]]:
    """The methods and properties of a class, and those that it has of the package's others."""
    for base in reversed(value.__mro__):
        if base.__module__.partition(".")[0] == "holdfast":
            for member, method in vars(base).items():
                yield member, method.fget if isinstance(method, property) else method


@pytest.mark.parametrize("name", public_names())
def test_a_public_name_is_documented(name: str) -> None:
    holder, _, member = name.partition(".")
    value = getattr(holdfast, holder)
    assert inspect.getdoc(getattr(value, member) if member else value)


@pytest.mark.parametrize(
    "name", [name for name, value in public_names().items() if inspect.isfunction(value)]
)
def test_a_public_function_is_annotated(name: str) -> None:
    signature = inspect.signature(public_names()[name])
    parameters = [value for key, value in signature.parameters.items() if key != "self"]
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(parameter.annotation is not inspect.Parameter.empty for parameter in parameters)


# Their options are the library's own, by its names; and what a dict's `update` takes is its own affair.
OPEN_TO_ALL = {"open", "open_provider", "Store.transactional", "RepositoryMapping.update"}


@pytest.mark.parametrize(
    "name", [name for name, value in public_names().items() if inspect.isfunction(value)]
)
def test_a_public_function_shows_its_options_by_their_names(name: str) -> None:
    kinds = {it.kind for it in inspect.signature(public_names()[name]).parameters.values()}
    assert (inspect.Parameter.VAR_KEYWORD in kinds) == (name in OPEN_TO_ALL)


def test_a_name_that_is_no_option_is_refused() -> None:
    with holdfast.open("memory:") as store:
        songs = store.repository("songs")
        for call in (store.begin, songs.find, songs.iterate, songs.explain, songs.changes, songs.observe):
            with pytest.raises(TypeError):
                call(limits=1)
        for call in (store.transact, store.submit, store.operation):
            with pytest.raises(TypeError):
                call(list, name="one")
        with pytest.raises(TypeError):
            songs.first(limit=1)
        with pytest.raises(TypeError), store.transaction(limits=1):
            pass


def test_what_is_public_is_the_package_s_own() -> None:
    modules = {getattr(value, "__module__", "holdfast") for value in public_names().values()}
    assert {module.partition(".")[0] for module in modules} == {"holdfast"}
