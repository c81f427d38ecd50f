"""Which names of a package are public."""

import types
from collections.abc import Mapping
from typing import Any


def names_of(module: Mapping[str, Any]) -> list[str]:
    """Those that a module's `__all__` is to have: all that begin with no underscore, but other modules."""
    return sorted(
        name
        for name, value in module.items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    )
