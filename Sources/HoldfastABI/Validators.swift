public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// The host's function that checks the entities of a repository.
private final class HostValidator: UserData, EntityValidator, @unchecked Sendable {
    // Sendable: immutable; the header says on which threads the host is called.
    private let function: hf_validator_fn

    init(
        _ function: @escaping hf_validator_fn, _ pointer: UnsafeMutableRawPointer?, _ destructor: Destructor?
    ) {
        self.function = function
        super.init(pointer, destructor)
    }

    func validate(_ id: EntityID, _ body: [UInt8]?, in transaction: Transaction) throws(HoldfastError) {
        var error: OpaquePointer?
        let status = try lend(transaction) { transaction throws(HoldfastError) in
            id.bytes.withUnsafeBytes { id in
                (body ?? []).withUnsafeBytes { bytes in
                    HoldfastABI.status(of: function) {
                        function(
                            transaction, id.baseAddress!.assumingMemoryBound(to: CChar.self), id.count,
                            body == nil ? nil : bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count,
                            pointer, &error)
                    }
                }
            }
        }
        try accept(status, error, "a validator answered", unknown: .refused)
    }
}

@_cdecl("hf_repository_set_validator") @implementation
public func hf_repository_set_validator(
    _ repository: OpaquePointer?, _ validator: hf_validator_fn?, _ user_data: UnsafeMutableRawPointer?,
    _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, _ out_error: OutError?
) -> hf_status {
    // Lets go of the user data by itself when nobody keeps it.
    let host = validator.map { HostValidator($0, user_data, free_user_data) }
    if host == nil { free_user_data?(user_data) }
    return answer(repository, out_error) { (repository: Repository) throws(HoldfastError) in
        try repository.setValidator(host)
    }
}
