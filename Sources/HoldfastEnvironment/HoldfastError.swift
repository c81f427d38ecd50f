/// What became of a commit whose call failed.
public enum CommitState: Int32, Sendable {
    case none = 0
    case unknown = 1
    case done = 2
}

/// Every failure inside and at the borders of the library: a status, one impersonal sentence that
/// names the thing and the cure, and details for programs.
public struct HoldfastError: Error, Sendable {
    public var status: Status
    public var message: String
    public var commitState: CommitState
    /// Members of the error's JSON detail, in order.
    public var detail: [(name: String, value: DetailValue)]
    /// The failure behind this one, if any.
    public var cause: Cause?
    /// What of a higher layer the failure came from: the participant that refused, or where a transaction collided.
    public var origin: (any Sendable)?
    /// What the host's own function threw, for a face that passes it on unchanged.
    public var thrown: (any Error)?

    public enum DetailValue: Sendable {
        case text(String)
        case number(UInt64)
        case texts([String])
        /// A JSON text that is used as it is.
        case json([UInt8])
    }

    /// A box, because an error may be the cause of another.
    public final class Cause: Sendable {
        public let error: HoldfastError
        public init(_ error: HoldfastError) { self.error = error }
    }

    public init(
        _ status: Status, _ message: String, commitState: CommitState = .none,
        detail: [(name: String, value: DetailValue)] = [], cause: HoldfastError? = nil
    ) {
        self.status = status
        self.message = Self.line(message)
        self.commitState = commitState
        self.detail = detail
        self.cause = cause.map(Cause.init)
    }

    /// The text on one line: what a caller passed and a message names may hold line breaks and other control characters,
    /// which become the escapes of JSON.
    private static func line(_ text: String) -> String {
        func isControl(_ code: UInt32) -> Bool { code < 0x20 || code == 0x7F }
        guard text.utf8.contains(where: { isControl(UInt32($0)) }) else { return text }
        var line = ""
        for scalar in text.unicodeScalars {
            if isControl(scalar.value) {
                line += scalar.value < 0x10 ? "\\u000" : "\\u00"
                line += String(scalar.value, radix: 16)
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    /// Another program has kept the store's file locked for writing: nothing was stored.
    public static func lockedOut(of file: String) -> HoldfastError {
        HoldfastError(
            .busy, "another program has \(file) locked for writing, and does not let go: end it, or run this again",
            detail: [("file", .text(file))])
    }

    package static let forked = HoldfastError(
        .forked, "the store belongs to the process that forked this one: open it anew here")

    /// And nothing of what was to be stored is.
    package var tellsOfForeignLock: Bool {
        status == .busy && commitState == .none && detail.contains { $0.name == "file" }
    }

    /// Whether running the same work again may succeed.
    public var isRetryable: Bool { status.isRetryable && commitState == .none }
}
