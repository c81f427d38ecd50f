public import Holdfast

/// What a transaction on a repository fails with: few kinds, for programs that only want to tell those apart. Each
/// carries the failure itself.
///
///     catch RepositoryError.duplicatedData { ... }
///     catch RepositoryError.nonExistingData(let error) { show(error.message) }
public enum RepositoryError: CausedError, Sendable {
    /// There is no entity of this id.
    case nonExistingData(HoldfastError)
    /// There is an entity of this id, or with this value in a unique index.
    case duplicatedData(HoldfastError)
    /// The entity cannot be stored: it is no JSON object, or its id is none.
    case serializationError(HoldfastError)
    /// What is stored is no entity of the repository's type.
    case entityInitializationError(HoldfastError)
    /// The query is none that can be carried out.
    case queryError(HoldfastError)
    /// Everything else that the library refuses, or fails in.
    case transactionError(HoldfastError)
    /// What is no error of the library's.
    case unknownError(any Error)

    /// An error of the kind that fits it; one that is a `RepositoryError` stays as it is.
    public init(_ error: any Error) {
        switch error {
        case let error as RepositoryError: self = error
        case let error as HoldfastError: self.init(error)
        default: self = .unknownError(error)
        }
    }

    /// An error of the library's, as the kind that fits its status.
    public init(_ error: HoldfastError) {
        switch error.status {
        case .notFound: self = .nonExistingData(error)
        case .exists, .uniqueViolation: self = .duplicatedData(error)
        case .invalidJSON, .invalidEntity, .invalidID: self = .serializationError(error)
        case .corrupt: self = .entityInitializationError(error)
        case .invalidQuery: self = .queryError(error)
        default: self = .transactionError(error)
        }
    }

    /// The error that it carries.
    public var cause: any Error {
        switch self {
        case .nonExistingData(let error), .duplicatedData(let error), .serializationError(let error),
            .entityInitializationError(let error), .queryError(let error), .transactionError(let error):
            error
        case .unknownError(let error): error
        }
    }
}

extension RepositoryError: Equatable {
    /// Whether kind and carried error are equal. Errors that are not `Equatable` are when they are of one type and look
    /// the same.
    public static func == (left: RepositoryError, right: RepositoryError) -> Bool {
        switch (left, right) {
        case (.nonExistingData(let left), .nonExistingData(let right)),
            (.duplicatedData(let left), .duplicatedData(let right)),
            (.serializationError(let left), .serializationError(let right)),
            (.entityInitializationError(let left), .entityInitializationError(let right)),
            (.queryError(let left), .queryError(let right)),
            (.transactionError(let left), .transactionError(let right)):
            left == right
        case (.unknownError(let left), .unknownError(let right)):
            // As the library compares what an error is caused by.
            HoldfastError(.hostError, "", cause: left) == HoldfastError(.hostError, "", cause: right)
        default: false
        }
    }
}

extension RepositoryError: CustomStringConvertible {
    /// The kind and the carried error.
    public var description: String {
        let kind =
            switch self {
            case .nonExistingData: "nonExistingData"
            case .duplicatedData: "duplicatedData"
            case .serializationError: "serializationError"
            case .entityInitializationError: "entityInitializationError"
            case .queryError: "queryError"
            case .transactionError: "transactionError"
            case .unknownError: "unknownError"
            }
        return "\(kind): \(cause)"
    }
}
