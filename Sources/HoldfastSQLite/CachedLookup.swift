import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Lends the entities to which the entries of a walk lead. Where the cache has one, its row need not be looked up; where it has
/// not, a statement of its own for the row takes longer than a walk that joins the rows. So the cache is asked as long as it
/// has most of them.
struct CachedLookup {
    private let cached: any CachedEntities
    private let isOfWhatIsThere: Bool
    private var (found, missing) = (0, 0)
    /// The entry behind which a walk goes on that joins the rows; nil where none has to.
    private(set) var behind: IndexScan.Position?

    /// `ofWhatIsThere`: whether entries that lead to no row are passed over, as a join does. Otherwise they are damage.
    init(_ cached: any CachedEntities, ofWhatIsThere: Bool) {
        self.cached = cached
        isOfWhatIsThere = ofWhatIsThere
    }

    /// Answers whether the walk goes on.
    mutating func lend(
        _ key: UnsafeRawBufferPointer, _ entry: EntityView, on connection: Connection,
        to body: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> Bool {
        if let answer = try cached.lend(entry.id, body) {
            found += 1
            return answer
        }
        let statement = try connection.statement(.fetchRow)
        defer { statement.reset() }
        try statement.bind(1, entry.number)
        if try statement.step() {
            guard try body(statement.entity(entry.id, version: 0, text: 1)) else { return false }
        } else if !isOfWhatIsThere {
            throw connection.corrupt("a record")
        }
        missing += 1
        if missing <= found + 2 { return true }
        behind = IndexScan.Position(key: Array(key), id: EntityID(unchecked: Array(entry.id)))
        return false
    }
}
