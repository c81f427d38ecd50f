internal import HoldfastCore

/// Transactions over object trees and the store.
extension Store {
    /// Runs `body` as one transaction over object trees and the store: their objects change and everything is stored, or
    /// neither.
    ///
    ///     try await store.transaction(chart) {
    ///         chart.slice("a").percentage = 60
    ///         try await songs.save(song)
    ///     }
    ///
    /// The members of the trees are begun, then `body` runs, then they are validated, which may read and write by the
    /// blocking calls of repositories; what one refuses with is thrown unchanged. Then the store commits, and the members
    /// are told. All of this happens in the isolation of the caller, and while the store commits the trees refuse changes
    /// with `.busy`. When the body throws, a member refuses, or the store cannot commit, the members are rolled back; after
    /// a conflict they are, and begun again when `body` runs again. The trees of a commit whose outcome is not known are
    /// rolled back too.
    ///
    /// Inside another transaction of this store the trees join it, in the same isolation only, which without an actor is the
    /// same task (else `.invalidState`), and stay in it to its end. The body is a part of it, as of the other `transaction`:
    /// members that are ``SavepointTransactable`` go back when it throws.
    @discardableResult
    public nonisolated(nonsending) func transaction<Value>(
        _ tree: any Transactable, _ others: any Transactable..., options: TransactionOptions = .init(),
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        let trees = [tree] + others
        if let scope = TransactionScope.scope(of: self) {
            return try await scope.part(of: self, joinedBy: trees, body)
        }
        return try await run(options.checked(), trees: trees, body).value
    }

    /// As `transaction`, and answers the receipt too. Only for the outermost transaction: `.invalidState`.
    @discardableResult
    public nonisolated(nonsending) func transactionWithReceipt<Value>(
        _ tree: any Transactable, _ others: any Transactable..., options: TransactionOptions = .init(),
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> (value: Value, receipt: Receipt) {
        try requireOutermost()
        return try await run(options.checked(), trees: [tree] + others, body)
    }
}
