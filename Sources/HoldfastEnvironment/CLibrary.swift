// The C library, for this module and for all that import it: its name differs between systems in this place alone.
#if canImport(Darwin)
    @_exported public import Darwin
#else
    @_exported public import Glibc
#endif
