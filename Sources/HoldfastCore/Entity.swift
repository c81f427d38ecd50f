internal import HoldfastEnvironment
public import HoldfastQuery

/// An entity as the library gives it back.
public struct Entity: Sendable {
    public var id: EntityID
    public var body: [UInt8]
    /// 0 while its transaction is open.
    public var version: CommitSequence

    package init(id: EntityID, body: [UInt8], version: CommitSequence) {
        self.id = id
        self.body = body
        self.version = version
    }
}
