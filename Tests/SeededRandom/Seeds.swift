#if canImport(Darwin)
    internal import Darwin
#else
    internal import Glibc
#endif

/// The seeds of a property's examples: half of them the same on every run, half of them others each time, from one that
/// `HOLDFAST_SEED` sets. Each is an example's argument, which a failing test names; as `HOLDFAST_SEED` it comes again.
public enum Seeds {
    public static let drawn: UInt64 =
        getenv("HOLDFAST_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 1_000_000..<1_000_000_000)

    public static func of(_ count: UInt64) -> [UInt64] {
        Array(0..<count / 2) + (0..<count - count / 2).map { drawn &+ $0 }
    }
}
