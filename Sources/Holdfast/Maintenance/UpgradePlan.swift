/// How entities come from one version of the program's schema to the next.
///
///     Upgrade(from: 1) { store in
///         try await store.repository(of: Song.self).modifyAll(.all, ["$rename": ["name": "title"]])
///     }
///
/// What it does with the store is one transaction, which records the new version too, so that it is done as a whole or not
/// at all, and done again after a conflict: let it change nothing else that may not be changed twice.
public struct Upgrade: Sendable {
    /// The version that it begins with; it leads to the next.
    public var from: Int
    /// What is to be done, with the store.
    public var body: @Sendable (Store) async throws -> Void

    /// From a version to the next.
    public init(from: Int, _ body: @escaping @Sendable (Store) async throws -> Void) {
        self.from = from
        self.body = body
    }
}

/// The upgrades that a program knows, in their order, without a gap: a store of any of their versions is brought to the
/// newest, one upgrade after the other.
///
///     let plan = UpgradePlan(
///         Upgrade(from: 0) { store in … },
///         Upgrade(from: 1) { store in … })
///     let store = try await Store.open("music.db", upgrades: plan)
public struct UpgradePlan: Sendable {
    /// In their order.
    public var upgrades: [Upgrade]

    /// These upgrades.
    public init(_ upgrades: Upgrade...) { self.upgrades = upgrades }

    /// These upgrades.
    public init(_ upgrades: [Upgrade]) { self.upgrades = upgrades }

    /// The version that it leads to: the program's; 0 without upgrades.
    public var version: Int { upgrades.last.map { $0.from + 1 } ?? 0 }
}

/// What an upgrade has done.
public struct UpgradeReport: Sendable, Hashable, Decodable {
    /// The version that the store had,
    public var from: Int
    /// and has.
    public var to: Int
    /// Where the backup is that was made first, if one was made.
    public var backup: String?
}
