internal import HoldfastCore
internal import HoldfastEnvironment

extension Store {
    /// Opens a store and brings its schema to the program's version: see `migrate`. When that fails the store is closed.
    public static func open(
        _ url: String, _ options: StoreOptions = .init(), migrations: MigrationPlan, backup: Bool = true
    ) async throws -> Store {
        let store = try await open(url, options)
        do {
            try await store.migrate(migrations, backup: backup)
        } catch {
            try? await store.close()
            throw error
        }
        return store
    }

    /// Brings the store's schema to the plan's version, one migration after the other, each in a transaction that records its
    /// new version too. One that fails, or whose process dies, is done again as a whole at the next call, and those before it
    /// are not. A store without repositories is new, and gets the version as it is; one with repositories that has no
    /// recorded version, and every one over a provider, has version 0. A provider of one type has no place for a version:
    /// the first migration fails. Several processes may do it at once: each step is done by one of them.
    ///
    /// Throws `.schemaTooNew` (the store's version is greater than the program's), `.invalidArgument` (the plan has gaps, or
    /// begins after the store's version), what a migration throws, unchanged, and what `backup` and transactions throw.
    /// - Parameters:
    ///   - plan: The migrations, in their order.
    ///   - backup: Whether a store with a file is backed up first, if there is something to do, to a file beside it.
    ///   - progress: Of the backup, in bytes.
    @discardableResult
    public func migrate(
        _ plan: MigrationPlan, backup: Bool = true, progress: WorkProgress? = nil
    ) async throws -> MigrationReport {
        guard TransactionScope.scope(of: self) == nil else {
            throw HoldfastError(.invalidState, "a migration is transactions of its own: call it outside of others")
        }
        let migrations = plan.migrations
        guard zip(migrations, migrations.dropFirst()).allSatisfy({ $0.from + 1 == $1.from }),
            (migrations.first?.from ?? 0) >= 0, plan.version <= 1 << 31
        else {
            throw HoldfastError(
                .invalidArgument,
                "the migrations from \(migrations.map(\.from)) are no chain: each must begin where another ends")
        }
        return try await working(progress) { [self] work throws(CoreError) in
            var options = UpgradeOptions()
            options.backsUp = backup
            return try core.upgrade(to: Int64(plan.version), options) { transaction, from, _ throws(CoreError) in
                guard let migration = migrations.first(where: { $0.from == from }) else {
                    throw CoreError(
                        .invalidArgument,
                        "the store has schema version \(from), and the plan begins at \(migrations[0].from): add migrations"
                    )
                }
                guard work.goesOn else { throw CoreError(.cancelled, "the task was cancelled between two migrations") }
                try run(migration, in: transaction)
            } progress: {
                work.tell($0, $1)
            }
        }
    }

    private func run(_ migration: Migration, in transaction: HoldfastCore.Transaction) throws(CoreError) {
        do {
            try CallingThread.run { [self] in
                let scope = TransactionScope(transaction, trees: nil)
                try await TransactionScope.$current.withValue(scope) { try await migration.body(self) }
            }
        } catch {
            throw CoreError(throwing: error, "the migration from version \(migration.from) failed")
        }
    }

    /// The recorded version of the program's schema; nil where none is.
    public var schemaVersion: Int? {
        get async throws {
            try await waiting { [core] () throws(CoreError) in try core.schemaVersion().map { Int($0) } }
        }
    }
}
