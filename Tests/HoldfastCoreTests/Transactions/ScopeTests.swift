import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery

/// A member that takes part in savepoints, or does not.
private final class Member: ParticipantHost {
    let hasSavepoints: Bool

    init(hasSavepoints: Bool) { self.hasSavepoints = hasSavepoints }

    func began(_ descriptor: TransactionDescriptor) {}
    func validate(in transaction: Transaction?) throws(HoldfastError) {}
    func committed(_ descriptor: TransactionDescriptor) {}
    func rolledBack(_ descriptor: TransactionDescriptor) {}
    func savepoint(_ number: UInt64) {}
    func rollBack(to number: UInt64) {}
}

/// Where another thread's member comes between the mark and the call of the members.
@Suite("What the members of object trees refuse")
struct ScopeTests {
    private let store: Store
    private let transaction: Transaction

    init() throws {
        store = try Store(url: "memory:", storage: HookedStorage(), options: StoreOptions())
        transaction = try store.begin(TransactionOptions())
        try transaction.enlist(Participant(Member(hasSavepoints: true)))
    }

    @Test func `leaves no scope that keeps the transaction from its commit`() throws {
        let (scope, trees) = try transaction.markScope()
        try transaction.enlist(Participant(Member(hasSavepoints: false)))
        #expect(throws: HoldfastError.self) { try transaction.callMembers(of: trees, atScope: scope) }
        _ = try transaction.commit()
        #expect(try store.close(timeoutMilliseconds: nil))
    }

    @Test func `leaves no savepoint`() throws {
        let (savepoint, trees) = try transaction.markSavepoint()
        try transaction.enlist(Participant(Member(hasSavepoints: false)))
        #expect(throws: HoldfastError.self) { try transaction.callMembers(of: trees, atSavepoint: savepoint) }
        #expect(throws: HoldfastError.self) { try transaction.release(savepoint) }
        _ = try transaction.commit()
        #expect(try store.close(timeoutMilliseconds: nil))
    }
}
