"""Version: which library this is, and what it can do."""

from ._library import lib

#: The version of this package.
__version__ = "0.1.0"


def version_text() -> str:
    """The version of the native library, such as "0.1.0"."""
    return lib.hf_version_text().decode()


def feature_available(name: str) -> bool:
    """Whether the library has a feature: "sqlite", "memory", "postgresql", "provider" (engines),
    "queue_delivery", "idempotency", "savepoints", "filters", "updates", "object_trees", "aggregation",
    "text_search", and what else hf_feature_available names. An unknown name is answered with False."""
    return lib.hf_feature_available(name.encode())
