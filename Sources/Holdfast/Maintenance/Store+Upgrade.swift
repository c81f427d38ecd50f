internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastServices

extension Store {
    /// Opens a store and brings its schema to the program's version: see `upgrade`. When that fails the store is closed.
    public static func open(
        _ url: String, _ options: StoreOptions = .init(), upgrades: UpgradePlan, backup: Bool = true
    ) async throws -> Store {
        let store = try await open(url, options)
        do {
            try await store.upgrade(upgrades, backup: backup)
        } catch {
            try? await store.close()
            throw error
        }
        return store
    }

    /// Brings the store's schema to the plan's version, one upgrade after the other, each in a transaction that records its
    /// new version too. One that fails, or whose process dies, is done again as a whole at the next call, and those before it
    /// are not. A store without repositories is new, and gets the version as it is; one with repositories that has no
    /// recorded version, and every one over a provider, has version 0. A provider of one type has no place for a version:
    /// the first upgrade fails. Several processes may do it at once: each step is done by one of them. Other processes that
    /// have the store open are told nothing, and go on writing old shapes: end them first.
    ///
    /// Throws `.schemaTooNew` (the store's version is greater than the program's), `.invalidArgument` (the plan has gaps, or
    /// begins after the store's version), what an upgrade throws, unchanged, and what `backup` and transactions throw.
    /// - Parameters:
    ///   - plan: The upgrades, in their order.
    ///   - backup: Whether a store with a file is backed up first, if there is something to do, to a file beside it.
    ///   - progress: Of the backup, in bytes.
    @discardableResult
    public func upgrade(
        _ plan: UpgradePlan, backup: Bool = true, progress: WorkProgress? = nil
    ) async throws -> UpgradeReport {
        guard TransactionScope.scope(of: self) == nil else {
            throw HoldfastError(.invalidState, "an upgrade is transactions of its own: call it outside of others")
        }
        let upgrades = plan.upgrades
        guard zip(upgrades, upgrades.dropFirst()).allSatisfy({ $0.from + 1 == $1.from }),
            (upgrades.first?.from ?? 0) >= 0, plan.version <= 1 << 31
        else {
            throw HoldfastError(
                .invalidArgument,
                "the upgrades from \(upgrades.map(\.from)) are no chain: each must begin where another ends")
        }
        return try await working(progress) { [self] work throws(CoreError) in
            var options = UpgradeOptions()
            options.backsUp = backup
            return try core.upgrade(to: Int64(plan.version), options) { transaction, from, _ throws(CoreError) in
                guard let upgrade = upgrades.first(where: { $0.from == from }) else {
                    throw CoreError(
                        .invalidArgument,
                        "the store has schema version \(from), and the plan begins at \(upgrades[0].from): add upgrades"
                    )
                }
                guard work.goesOn else { throw CoreError(.cancelled, "the task was cancelled between two upgrades") }
                try run(upgrade, in: transaction)
            } progress: {
                work.tell($0, $1)
            }
        }
    }

    private func run(_ upgrade: Upgrade, in transaction: HoldfastCore.Transaction) throws(CoreError) {
        do {
            try CallingThread.run { [self] in
                let scope = TransactionScope(transaction, trees: nil)
                try await TransactionScope.$current.withValue(scope) { try await upgrade.body(self) }
            }
        } catch {
            throw CoreError(throwing: error, "the upgrade from version \(upgrade.from) failed")
        }
    }

    /// The recorded version of the program's schema; nil where none is.
    public func schemaVersion() async throws -> Int? {
        try await waiting { [core] () throws(CoreError) in try core.schemaVersion().map { Int($0) } }
    }
}
