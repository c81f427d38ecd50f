internal import HoldfastCore
public import HoldfastEnvironment
public import HoldfastQuery
public import HoldfastServices

/// A provider that keeps everything in a dictionary, counts its calls, and fails when it is told to.
public final class DictionaryProvider: HostProvider {
    public struct Contents: Sendable {
        public var bodies: [String: [EntityID: [UInt8]]] = [:]
        /// How many calls there were, by function.
        public var calls: [String: Int] = [:]
        public var callCount: Int { calls.values.reduce(0, +) }
        var token: UInt64 = 0
        /// Called before each call with its name; what it throws is the call's failure.
        var before: (@Sendable (String, Int) throws(HoldfastError) -> Void)?
        /// A write that fails has been carried out all the same.
        public var failsAfterwards = false
    }

    public let contents = Lock(Contents())
    public let abilities: HostProviderAbilities

    public init(_ abilities: HostProviderAbilities = []) { self.abilities = abilities }

    public subscript(repository: String, id: String) -> String? {
        get {
            contents.withLock { contents in
                contents.bodies[repository]?[EntityID(unchecked: Array(id.utf8))].map {
                    String(decoding: $0, as: UTF8.self)
                }
            }
        }
        set {
            contents.withLock { contents in
                contents.token += 1
                contents.bodies[repository, default: [:]][EntityID(unchecked: Array(id.utf8))] = newValue.map {
                    Array($0.utf8)
                }
            }
        }
    }

    /// Fails the calls that are told by their name and number, counted from 1.
    public func fail(_ isMeant: @escaping @Sendable (String, Int) -> Bool) {
        contents.withLock { contents in
            contents.calls = [:]
            contents.before = { name, number throws(HoldfastError) in
                if isMeant(name, number) { throw HoldfastError(.hostError, "\(name) \(number) fails") }
            }
        }
    }

    public func failNoMore() { contents.withLock { $0.before = nil } }

    private func call<Result>(
        _ name: String, _ body: (inout Contents) -> Result
    ) throws(HoldfastError) -> Result {
        let (before, number) = contents.withLock { contents in
            contents.calls[name, default: 0] += 1
            return (contents.before, contents.callCount)
        }
        do throws(HoldfastError) { try before?(name, number) } catch {
            if contents.withLock({ $0.failsAfterwards }) { _ = contents.withLock(body) }
            throw error
        }
        return contents.withLock(body)
    }

    public func save(_ repository: String, _ id: EntityID, _ body: [UInt8]) throws(HoldfastError) {
        try call("save") { contents in
            contents.bodies[repository, default: [:]][id] = body
            contents.token += 1
        }
    }

    public func fetch(_ repository: String, _ id: EntityID) throws(HoldfastError) -> [UInt8]? {
        try call("fetch") { $0.bodies[repository]?[id] }
    }

    public func fetchAll(
        _ repository: String, _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) throws(HoldfastError) {
        for (id, body) in try call("fetchAll", { $0.bodies[repository] ?? [:] }) {
            id.bytes.withBytes { id in body.withBytes { body in visit(id, body) } }
        }
    }

    public func delete(_ repository: String, _ id: EntityID) throws(HoldfastError) {
        try call("delete") { contents in
            contents.bodies[repository]?[id] = nil
            contents.token += 1
        }
    }

    public func apply(_ writes: [HostWrite]) throws(HoldfastError) {
        try call("apply") { contents in
            for write in writes { contents.bodies[write.repository, default: [:]][write.id] = write.body }
            contents.token += 1
        }
    }

    public func find(
        _ repository: String, _ filter: [UInt8], _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) throws(HoldfastError) {
        // One that understands only which filter is asked for.
        let bodies = try call("find " + String(decoding: filter, as: UTF8.self)) { $0.bodies[repository] ?? [:] }
        for (id, body) in bodies { id.bytes.withBytes { id in body.withBytes { body in visit(id, body) } } }
    }

    public func changeToken() throws(HoldfastError) -> UInt64 { try call("changeToken") { $0.token } }

    public func sync() throws(HoldfastError) { try call("sync") { _ in } }
}
