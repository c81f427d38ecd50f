internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// What the cache has of one repository, for a query that walks along an index on one snapshot.
struct CachedWalk: CachedEntities {
    private let cache: EntityCache
    private let table: CacheTable
    private let sequence: CommitSequence

    init(_ cache: EntityCache, _ repository: RepositoryID, at sequence: CommitSequence) {
        self.cache = cache
        table = cache.table(of: repository)
        self.sequence = sequence
    }

    func lend(
        _ id: UnsafeRawBufferPointer, _ body: (EntityView) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) -> Bool? {
        var answer: Bool?
        _ = try cache.lendAtOnce(table, id, at: sequence) { version, text throws(HoldfastError) in
            answer = try body(EntityView(cached: id, version: version, body: text))
        }
        return answer
    }

    /// Answers whether more may be taken in.
    func fill(from snapshot: any StorageSnapshot, _ view: EntityView) -> Bool {
        cache.fillWhileRoom(table, from: snapshot, view)
    }
}
