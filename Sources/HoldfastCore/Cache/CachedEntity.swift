internal import CHoldfastPlatform
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import Synchronization

/// An entity that is cached: this head and, behind it in the same block of memory, the bytes of its id and of its body, so
/// that reading it touches one place. But for `used` and `place` it never changes: a newer version is another block.
struct CachedEntity: ~Copyable {
    typealias Pointer = UnsafeMutablePointer<CachedEntity>

    /// The moment when it was used last. Also written by those who read, who have no lock: of two at once either counts.
    let used: Atomic<UInt64>
    let version: CommitSequence
    /// The time when it was set.
    let setAt: UInt64
    let hash: UInt64
    let idCount: Int
    let bodyCount: Int
    /// Where its repository stands in `CacheState`.
    let repository: Int32
    /// Where it stands in its list's order; guarded by the cache's lock.
    var place: Int32 = 0

    private init(
        _ version: CommitSequence, _ setAt: UInt64, _ hash: UInt64, _ idCount: Int, _ bodyCount: Int,
        _ repository: Int32,
        used: UInt64
    ) {
        self.used = Atomic(used)
        self.version = version
        self.setAt = setAt
        self.hash = hash
        self.idCount = idCount
        self.bodyCount = bodyCount
        self.repository = repository
    }

    /// Nil where there is no memory for it.
    static func make(
        _ id: UnsafeRawBufferPointer, _ hash: UInt64, _ body: UnsafeRawBufferPointer, version: CommitSequence,
        setAt: UInt64, repository: Int, used: UInt64
    ) -> Pointer? {
        let bytes = MemoryLayout<CachedEntity>.size + id.count + body.count
        guard Memory.isThere(for: bytes), let block = malloc(bytes) else { return nil }
        let entity = block.bindMemory(to: CachedEntity.self, capacity: 1)
        entity.initialize(
            to: CachedEntity(version, setAt, hash, id.count, body.count, Int32(repository), used: used))
        let behind = block + MemoryLayout<CachedEntity>.size
        if let start = id.baseAddress { memcpy(behind, start, id.count) }
        if let start = body.baseAddress { memcpy(behind + id.count, start, body.count) }
        return entity
    }

    static func release(_ entity: Pointer) {
        entity.deinitialize(count: 1)
        free(entity)
    }
}

extension CachedEntity.Pointer {
    private var behind: UnsafeRawPointer { UnsafeRawPointer(self) + MemoryLayout<CachedEntity>.size }

    var id: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: behind, count: pointee.idCount) }

    var body: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: behind + pointee.idCount, count: pointee.bodyCount)
    }

    @inline(__always)
    func isOf(_ id: UnsafeRawBufferPointer, _ hash: UInt64) -> Bool {
        pointee.hash == hash && pointee.idCount == id.count && memcmp(behind, id.baseAddress!, id.count) == 0
    }

    /// About what it takes, its share of the table included.
    var size: Int { EntityCache.size(idBytes: pointee.idCount, bodyBytes: pointee.bodyCount) }
}

/// Now, as `CachedEntity.used` has it.
@inline(__always) func moment() -> UInt64 { hfplatform_moment() }
