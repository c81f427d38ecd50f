internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// A failure of the library: what kind, one sentence that names the thing and the cure, and details for programs.
///
///     catch let error as HoldfastError where error.status == .conflict
///
/// Other errors come through unchanged: what the body of a transaction throws, and `CancellationError` where the
/// awaiting task was cancelled and nothing was done.
public struct HoldfastError: Error, Sendable {
    /// What became of a commit whose call failed.
    public enum CommitState: Sendable {
        /// Nothing of it was stored.
        case none
        /// It may or may not have been stored: the failure came from the commit itself.
        case unknown
        /// It was stored, although something afterwards failed.
        case done
    }

    /// The kind of failure.
    public var status: Status
    /// One impersonal sentence.
    public var message: String
    /// Whether something may have been stored.
    public var commitState: CommitState
    /// What it is about, such as the entities of a conflict: `error.detail.ids`.
    public var detail: Detail
    /// The failure behind this one: another `HoldfastError`, or what an encoder or decoder threw.
    public var cause: (any Error)?

    /// Makes an error, for hosts that answer in the library's terms, and for tests.
    public init(
        _ status: Status, _ message: String, commitState: CommitState = .none, detail: Detail = .init(),
        cause: (any Error)? = nil
    ) {
        self.status = status
        self.message = message
        self.commitState = commitState
        self.detail = detail
        self.cause = cause
    }

    /// An error of the library's, or one that was caused by it (``CausedError``), as it is; another as the cause of a `.hostError`.
    public init(wrapping error: any Error) {
        self = HoldfastError(behind: error) ?? HoldfastError(.hostError, "\(error)", cause: error)
    }

    /// Whether running the same work again may succeed.
    public var isRetryable: Bool { status.isRetryable && commitState == .none }
}

extension HoldfastError: Equatable {
    /// Whether everything is equal, the causes too.
    public static func == (left: HoldfastError, right: HoldfastError) -> Bool {
        guard left.status == right.status, left.message == right.message, left.commitState == right.commitState,
            left.detail == right.detail
        else { return false }
        return switch (left.cause, right.cause) {
        case (nil, nil): true
        case (let left?, let right?): areEqual(left, right)
        default: false
        }
    }
}

extension HoldfastError: CustomStringConvertible {
    /// The status and the message.
    public var description: String { "\(status): \(message)" }
}

/// As `HoldfastError` compares its causes. Those that are not `Equatable` are equal when they are of one type and look the same.
private func areEqual(_ left: any Error, _ right: any Error) -> Bool {
    func isEqual<Value: Equatable>(_ left: Value) -> Bool { left == right as? Value }
    // By way of `Any`, because of an error itself the compiler says that this always succeeds.
    if let left = left as Any as? any Equatable { return isEqual(left) }
    return type(of: left) == type(of: right) && String(reflecting: left) == String(reflecting: right)
}

/// An error of a program's own that carries the one which caused it. Where a function throws it inside the library, the library
/// looks behind it: a transaction whose body throws one that was caused by a `.conflict` runs again.
public protocol CausedError: Error {
    /// The error that it carries.
    var cause: any Error { get }
}

// MARK: From the core

typealias CoreError = HoldfastEnvironment.HoldfastError

extension HoldfastError {
    /// The library's error that this one is, or that caused it (``CausedError``); nil of any other.
    init?(behind error: any Error) {
        switch error {
        case let error as HoldfastError: self = error
        case let error as any CausedError: self.init(behind: error.cause)
        default: return nil
        }
    }

    init(_ core: CoreError) {
        let state: CommitState =
            switch core.commitState {
            case .none: .none
            case .unknown: .unknown
            case .done: .done
            }
        self.init(
            Status(core.status), core.message, commitState: state,
            detail: Detail(json: String(decoding: core.detailJSON, as: UTF8.self)),
            // What the host's own function threw is told as it is.
            cause: core.cause.map { $0.error.thrown ?? HoldfastError($0.error) })
    }
}

/// The funnel through which every error of the core leaves.
func translatingErrors<Value>(_ body: () throws(CoreError) -> Value) throws -> Value {
    do throws(CoreError) {
        return try body()
    } catch {
        // Commits are withdrawn here only when their task is cancelled.
        if error.status == .cancelled { throw CancellationError() }
        if let thrown = error.thrown { throw thrown }
        throw HoldfastError(error)
    }
}
