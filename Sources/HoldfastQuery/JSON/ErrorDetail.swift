public import HoldfastEnvironment

extension HoldfastError {
    /// The error for programs: a JSON object of its detail members, then its cause, if there is one,
    /// as `"cause": {"status": …, "message": …}`.
    public var detailJSON: [UInt8] {
        JSONWriter.object { writer in
            writer.details(detail)
            if let cause = cause?.error {
                writer.member("cause") { writer in
                    writer.member("status", cause.status.name.description)
                    writer.member("message", cause.message)
                }
            }
        }
    }
}

extension HoldfastError {
    /// Details as an object.
    package static func json(of details: [(name: String, value: DetailValue)]) -> [UInt8] {
        JSONWriter.object { writer in
            writer.details(details)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func details(_ details: [(name: String, value: HoldfastError.DetailValue)]) {
        for (name, value) in details {
            member(name)
            switch value {
            case .text(let text): string(text)
            case .number(let number): unsigned(number)
            case .texts(let texts):
                beginArray()
                for text in texts { string(text) }
                endArray()
            case .json(let json): raw(json)
            }
        }
    }
}

extension Status {
    /// The name in the C header, such as "HF_NOT_FOUND": constant text that ends with a NUL.
    public var name: StaticString {
        switch self {
        case .ok: "HF_OK"
        case .invalidArgument: "HF_INVALID_ARGUMENT"
        case .invalidHandle: "HF_INVALID_HANDLE"
        case .invalidJSON: "HF_INVALID_JSON"
        case .invalidEntity: "HF_INVALID_ENTITY"
        case .invalidID: "HF_INVALID_ID"
        case .invalidName: "HF_INVALID_NAME"
        case .invalidOption: "HF_INVALID_OPTION"
        case .invalidQuery: "HF_INVALID_QUERY"
        case .invalidURL: "HF_INVALID_URL"
        case .invalidState: "HF_INVALID_STATE"
        case .unsupported: "HF_UNSUPPORTED"
        case .versionUnsupported: "HF_VERSION_UNSUPPORTED"
        case .notFound: "HF_NOT_FOUND"
        case .exists: "HF_EXISTS"
        case .versionMismatch: "HF_VERSION_MISMATCH"
        case .keyReused: "HF_KEY_REUSED"
        case .corrupt: "HF_CORRUPT"
        case .uniqueViolation: "HF_UNIQUE_VIOLATION"
        case .conflict: "HF_CONFLICT"
        case .busy: "HF_BUSY"
        case .timeout: "HF_TIMEOUT"
        case .cancelled: "HF_CANCELLED"
        case .wouldDeadlock: "HF_WOULD_DEADLOCK"
        case .closed: "HF_CLOSED"
        case .forked: "HF_FORKED"
        case .historyLost: "HF_HISTORY_LOST"
        case .cannotOpen: "HF_CANNOT_OPEN"
        case .notAStore: "HF_NOT_A_STORE"
        case .formatTooNew: "HF_FORMAT_TOO_NEW"
        case .readOnly: "HF_READ_ONLY"
        case .full: "HF_FULL"
        case .io: "HF_IO"
        case .noMemory: "HF_NO_MEMORY"
        case .unsafeLocation: "HF_UNSAFE_LOCATION"
        case .schemaTooNew: "HF_SCHEMA_TOO_NEW"
        case .cursorLost: "HF_CURSOR_LOST"
        case .transactionActive: "HF_TRANSACTION_ACTIVE"
        case .transactionNotActive: "HF_TRANSACTION_NOT_ACTIVE"
        case .wrongDescriptor: "HF_WRONG_DESCRIPTOR"
        case .cycle: "HF_CYCLE"
        case .reentrant: "HF_REENTRANT"
        case .refused: "HF_REFUSED"
        case .hostError: "HF_HOST_ERROR"
        case .internal: "HF_INTERNAL"
        }
    }
}
