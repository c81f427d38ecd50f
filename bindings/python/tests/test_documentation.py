"""Every public name says what it is and what it takes."""

import inspect
from typing import Any

import pytest

import holdfast


def public_names() -> dict[str, Any]:
    """All public names of the package, and the methods and properties of its classes."""
    found: dict[str, Any] = {}
    for name in holdfast.__all__:
        value = found[name] = getattr(holdfast, name)
        for member, method in vars(value).items() if inspect.isclass(value) else ():
            function = method.fget if isinstance(method, property) else method
            if inspect.isfunction(function) and not member.startswith("_"):
                found[f"{name}.{member}"] = function
    return found


@pytest.mark.parametrize("name", public_names())
def test_a_public_name_is_documented(name: str) -> None:
    assert inspect.getdoc(public_names()[name])


@pytest.mark.parametrize(
    "name", [name for name, value in public_names().items() if inspect.isfunction(value)]
)
def test_a_public_function_is_annotated(name: str) -> None:
    signature = inspect.signature(public_names()[name])
    parameters = [value for key, value in signature.parameters.items() if key != "self"]
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(parameter.annotation is not inspect.Parameter.empty for parameter in parameters)


def test_what_is_public_is_the_package_s_own() -> None:
    modules = {getattr(value, "__module__", "holdfast") for value in public_names().values()}
    assert {module.partition(".")[0] for module in modules} == {"holdfast"}
