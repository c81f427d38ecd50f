public import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastQuery
public import HoldfastStorage

/// The version of a store's schema: what a program means by its entities. It stands in a repository of the library's own,
/// so that an upgrade and its new version are one commit.
extension Store {
    /// Carries out one upgrade in a transaction. It may be called again for the same one after a conflict.
    public typealias Upgrade = (Transaction, _ from: Int64, _ to: Int64) throws(HoldfastError) -> Void

    public static let schemaVersions: ClosedRange<Int64> = 0...(1 << 31)

    /// The recorded version; nil where none is.
    public func schemaVersion() throws(HoldfastError) -> Int64? {
        try requireOpen()
        // What is stored there is not known to be, until it is asked for.
        if !storage.keepsCatalogue && !storage.isReadOnly { _ = try openSystemRepository() }
        return try knownSchemaVersion()
    }

    /// Records this version where none is recorded yet, and answers which is. Another program may be about to do the same.
    @discardableResult
    func schemaVersion(initially version: Int64) throws(HoldfastError) -> Int64 {
        try systemRecord("schema", initially: version, Self.patiently)
    }

    /// What others change meanwhile is soon done.
    private static var patiently: TransactionOptions {
        var options = TransactionOptions()
        options.isDurable = true
        options.timeoutMilliseconds = 86_400_000
        return options
    }

    /// Brings the store's schema to `version`, one step after the other, each in a transaction of its own together
    /// with its new version. What is interrupted goes on with the next step when it is called again. A store without
    /// repositories is new: it gets the version and runs no step; where repositories are not known before they are opened, it
    /// has version 0. Answers {"from","to","backup"}.
    public func upgrade(
        to version: Int64, _ options: UpgradeOptions = .init(), _ upgrade: Upgrade, progress: Progress
    ) throws(HoldfastError) -> [UInt8] {
        try requireOpen()
        try refreshCatalogue()
        let isNew = storage.keepsCatalogue && catalogue.all.isEmpty
        var recorded = try schemaVersion()
        if recorded == nil, isNew || version == 0 {
            try requireWritable()
            recorded = try schemaVersion(initially: version)
        }
        let from = recorded ?? 0
        var reached = from
        var backup: String?
        if from < version {
            try requireWritable()
            if options.backsUp { backup = try backUpBeforeUpgrade(from: from, progress) }
            for step in from..<version { reached = try run(upgrade, from: step) }
        }
        // Another program may have gone on beyond what this one knows.
        if reached > version {
            throw HoldfastError(
                .schemaTooNew,
                "\(storage.location) has schema version \(reached), and this program knows up to \(version): use a newer program",
                detail: [("version", .number(UInt64(reached)))])
        }
        return JSONWriter.object { writer in
            writer.member("from", from)
            writer.member("to", version)
            writer.member("backup")
            if let backup { writer.string(backup) } else { writer.null() }
        }
    }

    /// Answers which version is recorded by then.
    private func run(_ upgrade: Upgrade, from step: Int64) throws(HoldfastError) -> Int64 {
        let system = try openSystemRepository()
        var reached = step + 1
        do throws(HoldfastError) {
            _ = try transact(Self.patiently) { transaction throws(HoldfastError) in
                var recorded: Int64 = 0
                _ = try transaction.fetch(system.key(Self.schema)) { _, body throws(HoldfastError) in
                    recorded = try Self.systemValue(in: body)
                }
                // Another process may have been faster.
                reached = max(recorded, step + 1)
                if recorded > step { return }
                try upgrade(transaction, step, step + 1)
                try requireSameProcess()
                _ = try Self.systemEntity("schema", step + 1).withBytes { entity throws(HoldfastError) in
                    try system.perform(WriteCall(.save, nil, entity), in: transaction)
                }
            }
        } catch  where error.status == .conflict {
            // Nobody who upgrades can raise the number of attempts, or read less than what is to be changed.
            throw HoldfastError(
                .conflict,
                "the upgrade to version \(step + 1) met a conflict in each of its attempts: end the programs that write to "
                    + "\(storage.location), then upgrade again",
                detail: error.detail, cause: error)
        }
        diagnostics.info("schema upgraded", [("from", .number(UInt64(step))), ("to", .number(UInt64(step + 1)))])
        return reached
    }

    /// Beside the store, under a name that tells the version, and which no other process that upgrades it is just writing;
    /// nil for an engine without files.
    private func backUpBeforeUpgrade(from version: Int64, _ progress: Progress) throws(HoldfastError) -> String? {
        guard try storage.size() != nil else { return nil }
        var path = "\(storage.location)-v\(version).backup"
        var number = 1
        while true {
            do throws(HoldfastError) {
                _ = try backUp(to: path, progress)
                return path
            } catch  where [.exists, .busy].contains(error.status) && number < 1000 {
                number += 1
                path = "\(storage.location)-v\(version).backup\(number)"
            }
        }
    }
}
