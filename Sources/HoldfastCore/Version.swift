/// The library's own version, as the Makefile and the Python package name it.
public let libraryVersion: StaticString = "0.1.0"
