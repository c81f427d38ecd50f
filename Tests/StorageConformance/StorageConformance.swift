internal import HoldfastCore
public import HoldfastStorage

/// What every engine must do: one list of checks for all of them.
///
///     @Test(arguments: StorageConformance.checks)
///     func `the engine conforms`(check: StorageConformance.Check) throws { try check.run(at: SomePlace()) }
public enum StorageConformance {
    /// One requirement, named by a sentence.
    public struct Check: Sendable, CustomStringConvertible {
        public let description: String
        /// Whether it asks of the engine to keep the log, the catalogue and all else that is no entity beyond the process.
        public let keepsEverything: Bool
        let body: @Sendable (any StoragePlace) throws -> Void

        init(
            _ description: String, keeps keepsEverything: Bool = false,
            _ body: @escaping @Sendable (any StoragePlace) throws -> Void
        ) {
            self.description = description
            self.keepsEverything = keepsEverything
            self.body = body
        }

        /// Throws a `Failure` when the engine does not do what the check's name says. The place is new and empty.
        public func run(at place: any StoragePlace) throws { try body(place) }
    }

    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    public static let checks: [Check] =
        opening + reading + snapshots + writing + repositories + indexes + commitLog
        + idempotency

    /// Runs every check, each at a place of its own.
    public static func run(_ makePlace: () throws -> any StoragePlace) throws {
        for check in checks {
            do {
                try check.run(at: makePlace())
            } catch {
                throw Failure(description: "\(check): \(error)")
            }
        }
    }
}

/// Where storages are opened, one after the other: a directory, or a memory that outlives its storages.
public protocol StoragePlace: AnyObject {
    /// Opens the storage that lies here, and creates it the first time. The one opened before was closed, or has
    /// just been let go of without: then it ended uncleanly.
    func open() throws -> any Storage
}
