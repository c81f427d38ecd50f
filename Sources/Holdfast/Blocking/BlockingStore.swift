public import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment

/// A store's calls for whoever owns a thread: each waits on the thread that makes it, where those of ``Store`` let their
/// task wait. They are the same calls otherwise, with the same errors, and both may be made of one store.
///
///     let store = try BlockingStore.open("music.db")
///     let songs = store.repository(of: Song.self)
///     try store.transaction {
///         guard var song = try songs.fetch(id: "s1") else { return }
///         song.plays += 1
///         try songs.save(song)
///     }
///
/// In a task they are impolite, because the others of its pool wait, too; over a store with a provider they are refused
/// there as `.wouldDeadlock`.
public struct BlockingStore: Sendable {
    /// The same store, to be awaited: what is not here is there. A thread without tasks has one do it:
    /// `try Operation { try await store.backup(to: path) }.perform()`.
    public let store: Store

    /// As the asynchronous ``Store/open(_:_:)``.
    public static func open(_ url: String, _ options: StoreOptions = .init()) throws -> BlockingStore {
        try Store.openNow(url, options).blocking
    }

    /// As ``Store/close(timeout:)``.
    public func close(timeout: Duration? = nil) throws { try store.closeNow(timeout: timeout) }

    /// A repository of the store: ``Store/repository(of:named:key:cachePolicy:encoder:decoder:)`` and then
    /// ``Repository/blocking``.
    /// - Parameters:
    ///   - type: The entities' type.
    ///   - name: The repository's name; without one, the type's in lower case.
    ///   - key: The member of the encoded entity that holds its id.
    ///   - cachePolicy: How its entities are kept in memory.
    ///   - encoder: How entities become JSON.
    ///   - decoder: How they come back.
    public func repository<Entity>(
        of type: Entity.Type, named name: String? = nil, key: String = "id", cachePolicy: CachePolicy? = nil,
        encoder: JSONEncoder? = nil, decoder: JSONDecoder? = nil
    ) -> BlockingRepository<Entity> {
        store.repository(
            of: type, named: name, key: key, cachePolicy: cachePolicy, encoder: encoder, decoder: decoder
        ).blocking
    }

    /// Makes everything committed before this call durable.
    public func sync() throws { try now { () throws(CoreError) in try store.core.sync() } }

    /// Runs `body` as one transaction, as ``Store/transaction(_:_:)`` does: blocking calls in it join it, whatever it throws
    /// rolls it back, and after a conflict it **runs again**. Inside another transaction of the store it is a part of that one.
    /// - Returns: What `body` returned in the run that was committed.
    @discardableResult
    public func transaction<Value>(
        _ options: TransactionOptions = .init(), _ body: () throws -> Value
    ) throws -> Value {
        if let scope = TransactionScope.scope(of: store) { return try scope.partNow(of: store, body) }
        return try run(options.checked(), body).value!
    }

    /// As `transaction`, and answers the receipt too. Only for the outermost transaction: else `.invalidState`.
    @discardableResult
    public func transactionWithReceipt<Value>(
        _ options: TransactionOptions = .init(), _ body: () throws -> Value
    ) throws -> (value: Value, receipt: Receipt) {
        try store.requireOutermost()
        let (value, receipt) = try run(options.checked(), body)
        return (value!, receipt)
    }

    /// As `transaction`, at most once for each key: ``Store/transaction(idempotencyKey:_:_:)``.
    /// - Parameters:
    ///   - idempotencyKey: 1 to 255 bytes.
    ///   - options: As of `transaction`.
    ///   - body: As of `transaction`; does not run where the key was used before.
    @discardableResult
    public func transaction(
        idempotencyKey: String, _ options: TransactionOptions = .init(), _ body: () throws -> Void
    ) throws -> Receipt {
        try store.requireOutermost()
        return try run(options.checked(idempotencyKey: idempotencyKey), body).receipt
    }

    /// Runs `body` as one transaction over object trees and the store, as ``Store/transaction(_:_:options:_:)`` does. The trees'
    /// members are called on this thread; inside another transaction the trees join that, if it runs here too.
    /// - Parameters:
    ///   - tree: A member of a tree.
    ///   - others: Members of others.
    ///   - options: As of the other `transaction`.
    ///   - body: As of the other `transaction`.
    /// - Returns: What `body` returned in the run that was committed.
    @discardableResult
    public func transaction<Value>(
        _ tree: any Transactable, _ others: any Transactable..., options: TransactionOptions = .init(),
        _ body: () throws -> Value
    ) throws -> Value {
        let trees = [tree] + others
        if let scope = TransactionScope.scope(of: store) {
            return try scope.partNow(of: store, joinedBy: trees, body)
        }
        return try run(options.checked(), trees: trees, body).value!
    }

    /// Runs `body` so that its own part can be undone: ``Store/savepoint(_:)``. Only inside a transaction, and one with object
    /// trees only where they were enlisted on this thread by a blocking call (else `.invalidState`).
    @discardableResult
    public func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
        try store.requireBlocking()
        let trees = try TransactionScope.trees(forSavepointOf: store)
        let savepoint = try trees.savepointNow()
        let value: Value
        do {
            value = try body()
            try trees.releaseNow(savepoint)
        } catch {
            // Should this fail, the transaction has ended, and with it what was written.
            try? trees.rollBackNow(to: savepoint)
            throw error
        }
        return value
    }

    /// The value is nil where the key was used before.
    private func run<Value>(
        _ options: HoldfastCore.TransactionOptions, trees: [any Transactable] = [], _ body: () throws -> Value
    ) throws -> (value: Value?, receipt: Receipt) {
        var value: Value?
        let receipt = try now { () throws(CoreError) in
            try store.core.transact(options) { transaction throws(CoreError) in
                let joining = TransactionTrees(transaction, place: .thread, holdsEnd: false)
                do {
                    value = try TransactionScope.$current.withValue(TransactionScope(transaction, trees: joining)) {
                        try joining.enlistNow(trees)
                        return try body()
                    }
                } catch {
                    throw CoreError(thrown: error)
                }
            }
        }
        return (value, Receipt(receipt, attempts: receipt.attempts))
    }

    func now<Value>(_ body: () throws(CoreError) -> Value) throws -> Value {
        try store.requireBlocking()
        return try translatingErrors(body)
    }
}

extension Store {
    /// The store's calls for whoever owns a thread.
    public var blocking: BlockingStore { BlockingStore(store: self) }
}

extension CoreError {
    /// What stands for an error of the host's, which comes out again behind it. A conflict remains one, so that the
    /// transaction runs again.
    fileprivate init(thrown error: any Error) {
        guard let conflict = Holdfast.HoldfastError(behind: error), conflict.status == .conflict else {
            self.init(.refused, "the body of the transaction has thrown")
            thrown = error
            return
        }
        self.init(.conflict, conflict.message)
    }
}
