internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The indexes that commits keep, as the catalogue has them. Understood anew only when the catalogue has changed.
///
/// One that cannot be understood cannot be kept either, so no commit may change its repository until it is dropped; the
/// other repositories go on.
struct KnownIndexes {
    private var records: [IndexRecord] = []
    private var kept: [RepositoryID: [Index]] = [:]
    private var refusals: [RepositoryID: HoldfastError] = [:]

    var isEmpty: Bool { kept.isEmpty && refusals.isEmpty }

    /// Those of a repository; nil where it has none.
    subscript(repository: RepositoryID) -> [Index]? { kept[repository] }

    var all: some Sequence<Index> { kept.values.joined() }

    mutating func update(to newest: [IndexRecord]) throws(HoldfastError) {
        if newest == records { return }
        var updated = KnownIndexes()
        updated.records = newest
        for record in newest where record.state != .dropping {
            do throws(HoldfastError) {
                updated.kept[record.repository, default: []].append(try Index(record))
            } catch {
                // That will pass, so it is not remembered.
                if error.status == .noMemory { throw error }
                updated.refusals[record.repository] = error
            }
        }
        self = updated
    }

    /// Refuses a change of a repository whose indexes are not all known.
    func check(_ repository: RepositoryID, _ name: @autoclosure () -> String) throws(HoldfastError) {
        if refusals.isEmpty { return }
        guard var refusal = refusals[repository] else { return }
        refusal.detail.append(("repository", .text(name())))
        throw refusal
    }
}
