package import HoldfastEnvironment

/// How much memory a pipeline takes for what its stages keep, and how much it may.
package final class MemoryAccount {
    package static let option = "max_memory_bytes"

    package let limit: Int
    package private(set) var used = 0
    /// The most that was used at once.
    package private(set) var peak = 0

    /// Those who keep what they can do without.
    private var lenders: [() -> Void] = []

    package init(limit: Int) { self.limit = limit }

    /// `giveUp` gives back what was kept only to be fast; it is called when what is needed would be too much.
    package func lend(giveUp: @escaping () -> Void) { lenders.append(giveUp) }

    /// Before so many bytes more are kept. Throws where they are more than is allowed, or than there is.
    @inline(__always)
    package func take(_ bytes: Int, for place: StagePlace) throws(HoldfastError) {
        used += bytes
        if used > limit { for giveUp in lenders where used > limit { giveUp() } }
        if used > peak { peak = used }
        if used > limit { throw isTooMuch(place) }
        try Memory.ask(for: bytes)
    }

    /// What is kept takes so many bytes more, or fewer where something smaller takes its place.
    package func change(by bytes: Int, for place: StagePlace) throws(HoldfastError) {
        if bytes > 0 { try take(bytes, for: place) } else { giveBack(-bytes) }
    }

    /// So many are kept no more.
    package func giveBack(_ bytes: Int) { used -= bytes }

    private func isTooMuch(_ place: StagePlace) -> HoldfastError {
        place.refusal(
            "needs more than \(limit) bytes of memory: let fewer documents come to it, by \"$match\", \"$limit\", or "
                + "\"$project\" before it, or raise the option \"\(Self.option)\"", .noMemory, option: Self.option,
            limit: limit)
    }
}
