"""Interpreter: refuses to be imported by an interpreter in which the package could not work."""

try:
    import _interpreters as interpreters  # Python 3.13 and later
except ImportError:
    try:
        import _xxsubinterpreters as interpreters  # before
    except ImportError:
        interpreters = None  # there are none


def check() -> None:
    """Raises ImportError in a subinterpreter."""
    if interpreters is not None and interpreters.get_current() != interpreters.get_main():
        raise ImportError(
            "holdfast: the package cannot be imported in a subinterpreter, because the library calls back "
            "into the main one; import it in the main interpreter, or in a process of its own"
        )


check()
