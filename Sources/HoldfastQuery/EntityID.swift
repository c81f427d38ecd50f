public import HoldfastEnvironment

/// A commit's position in the total order of its store's commits, and the version of the entities that
/// it wrote. Zero stands for "never" and for what is not committed yet.
public typealias CommitSequence = UInt64

/// Identifies a repository inside its store; assigned when the repository is created, never reused.
public typealias RepositoryID = Int64

/// The text that names an entity within its repository: UTF-8 bytes, compared and ordered bytewise,
/// so that no two engines and no two Unicode libraries disagree. (Swift's `String` compares by
/// canonical equivalence and would not do.)
public struct EntityID: Hashable, Comparable, Sendable {
    public let bytes: [UInt8]

    /// For bytes already checked by the payload parser or read from the storage.
    @inlinable
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// That of the entities with this value for an id; nil where none can have it.
    package init?(of value: JSONValue) {
        switch value {
        case .string(let text): self.init(unchecked: text)
        case .integer(let number): self.init(unchecked: Array(String(number).utf8))
        case .real(let number):
            guard let integer = Int64(exactly: number) else { return nil }
            self.init(unchecked: Array(String(integer).utf8))
        default: return nil
        }
    }

    /// Whether the text is that of an integer, as which an entity may have it.
    package var mayBeNumber: Bool {
        let digits = bytes.first == UInt8(ascii: "-") ? bytes.dropFirst() : bytes[...]
        return !digits.isEmpty && digits.count < 20
            && digits.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    }

    // Both in one go; what the compiler would make goes byte by byte.
    @inlinable
    public static func == (left: EntityID, right: EntityID) -> Bool {
        left.bytes.count == right.bytes.count && left.compare(right) == 0
    }

    @inlinable
    public func hash(into hasher: inout Hasher) { bytes.withBytes { hasher.combine(bytes: $0) } }

    @inlinable
    public static func < (left: EntityID, right: EntityID) -> Bool { left.compare(right) < 0 }

    /// Negative, 0 or positive, as memcmp answers.
    @inlinable
    package func compare(_ other: EntityID) -> Int {
        bytes.withBytes { a in other.bytes.withBytes { b in compareBytes(a, b) } }
    }

    /// For messages. Stored ids are valid UTF-8, so nothing is repaired here.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}
