public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// The host's functions and user data behind one participant.
private final class HostParticipant: UserData, ParticipantHost, @unchecked Sendable {
    // Sendable: immutable; the header says on which threads the host is called.
    private let callbacks: hf_participant_callbacks

    init(_ callbacks: hf_participant_callbacks, _ pointer: UnsafeMutableRawPointer?, _ destructor: Destructor?) {
        self.callbacks = callbacks
        super.init(pointer, destructor)
    }

    func began(_ descriptor: TransactionDescriptor) {
        call(callbacks.on_begin, descriptor)
    }

    func committed(_ descriptor: TransactionDescriptor) {
        call(callbacks.on_commit, descriptor)
    }

    func rolledBack(_ descriptor: TransactionDescriptor) {
        call(callbacks.on_rollback, descriptor)
    }

    func validate(in transaction: Transaction?) throws(HoldfastError) {
        guard let validate = callbacks.on_validate else { return }
        var error: OpaquePointer?
        guard let transaction else {
            let answer = status(of: validate) { validate(nil, pointer, &error) }
            return try accept(answer, error, "a validator answered", unknown: .refused)
        }
        let answer = try lend(transaction) { handle throws(HoldfastError) in
            status(of: validate) { validate(handle, pointer, &error) }
        }
        try accept(answer, error, "a validator answered", unknown: .refused)
    }

    var hasSavepoints: Bool { callbacks.on_savepoint != nil }

    func savepoint(_ number: UInt64) { call(callbacks.on_savepoint, number) }
    func rollBack(to number: UInt64) { call(callbacks.on_rollback_to, number) }

    private func call(_ function: hf_participant_fn?, _ descriptor: TransactionDescriptor) {
        guard let function else { return }
        descriptor.withBytes { bytes in run(function) { function(bytes, pointer) } }
    }

    private func call(_ function: hf_participant_savepoint_fn?, _ number: UInt64) {
        if let function { run(function) { function(number, pointer) } }
    }
}

/// NULL stands for any.
private func descriptor(_ bytes: UnsafePointer<UInt8>?) -> TransactionDescriptor {
    bytes.map { TransactionDescriptor(UnsafeRawPointer($0)) } ?? .any
}

/// Those of this version, which is the first: no other size is known.
private func copy(
    _ callbacks: UnsafePointer<hf_participant_callbacks>?
) throws(HoldfastError) -> hf_participant_callbacks {
    guard let callbacks else { return hf_participant_callbacks() }
    guard callbacks.pointee.size == MemoryLayout<hf_participant_callbacks>.size else {
        throw HoldfastError(
            .invalidArgument,
            "the size of callbacks is \(callbacks.pointee.size): begin with HF_PARTICIPANT_CALLBACKS_INIT")
    }
    guard (callbacks.pointee.on_savepoint == nil) == (callbacks.pointee.on_rollback_to == nil) else {
        throw HoldfastError(
            .invalidArgument, "one of on_savepoint and on_rollback_to is NULL: pass both, or neither")
    }
    return callbacks.pointee
}

// MARK: Trees

@_cdecl("hf_participant_create") @implementation
public func hf_participant_create(
    _ parent: OpaquePointer?, _ callbacks: UnsafePointer<hf_participant_callbacks>?,
    _ user_data: UnsafeMutableRawPointer?, _ free_user_data: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?,
    _ out_participant: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    var host: HostParticipant?
    let status = answer(out_error) { () throws(HoldfastError) in
        let result = try required(out_participant, "out_participant")
        let made = HostParticipant(try copy(callbacks), user_data, free_user_data)
        host = made
        let participant = Participant(made)
        let handle = try HandleTable.insert(participant)
        HandleMap.note(handle, of: participant)
        result.pointee = handle
        guard let parent else { return }
        do throws(HoldfastError) {
            try HandleTable.use(parent) { (parent: Participant) throws(HoldfastError) in
                try participant.attach(to: parent)
            }
        } catch {
            result.pointee = nil
            hf_participant_free(handle)
            throw error
        }
    }
    if status != hf_status.HF_OK {
        // Whoever has the user data by now.
        if let host { host.end() } else { free_user_data?(user_data) }
    }
    return status
}

@_cdecl("hf_participant_attach") @implementation
public func hf_participant_attach(
    _ participant: OpaquePointer?, _ parent: OpaquePointer?, _ out_error: OutError?
) -> hf_status {
    answer(participant, out_error) { (participant: Participant) throws(HoldfastError) in
        try HandleTable.use(parent) { (parent: Participant) throws(HoldfastError) in try participant.attach(to: parent)
        }
    }
}

@_cdecl("hf_participant_detach") @implementation
public func hf_participant_detach(_ participant: OpaquePointer?, _ out_error: OutError?) -> hf_status {
    answer(participant, out_error) { (participant: Participant) throws(HoldfastError) in try participant.detach() }
}

@_cdecl("hf_participant_user_data") @implementation
public func hf_participant_user_data(_ participant: OpaquePointer?) -> UnsafeMutableRawPointer? {
    let data = try? HandleTable.use(participant) { (participant: Participant) throws(HoldfastError) in
        participant.currentHost
    }
    return (data as? HostParticipant)?.pointer
}

@_cdecl("hf_participant_free") @implementation
public func hf_participant_free(_ participant: OpaquePointer?) {
    guard let participant = HandleTable.remove(participant, as: Participant.self) else { return }
    HandleMap.forget(participant)
    participant.free()
}

// MARK: Transactions of a tree alone

@_cdecl("hf_participant_active") @implementation
public func hf_participant_active(
    _ participant: OpaquePointer?, _ out_active: UnsafeMutablePointer<Bool>?,
    _ out_descriptor: UnsafeMutablePointer<UInt8>?, _ out_error: OutError?
) -> hf_status {
    answer(participant, out_active, "out_active", out_error) { (participant: Participant) throws(HoldfastError) in
        let active = participant.activeDescriptor
        if let out_descriptor { (active ?? .any).store(to: UnsafeMutableRawPointer(out_descriptor)) }
        return active != nil
    }
}

@_cdecl("hf_participant_begin") @implementation
public func hf_participant_begin(
    _ participant: OpaquePointer?, _ out_descriptor: UnsafeMutablePointer<UInt8>?, _ out_error: OutError?
) -> hf_status {
    answer(participant, out_error) { (participant: Participant) throws(HoldfastError) in
        let transaction = try participant.begin()
        if let out_descriptor { transaction.descriptor.store(to: UnsafeMutableRawPointer(out_descriptor)) }
    }
}

@_cdecl("hf_participant_commit") @implementation
public func hf_participant_commit(
    _ participant: OpaquePointer?, _ descriptor: UnsafePointer<UInt8>?, _ out_error: OutError?
) -> hf_status {
    answer(participant, out_error) { (participant: Participant) throws(HoldfastError) in
        try participant.commit(HoldfastABI.descriptor(descriptor))
    }
}

@_cdecl("hf_participant_rollback") @implementation
public func hf_participant_rollback(
    _ participant: OpaquePointer?, _ descriptor: UnsafePointer<UInt8>?, _ out_error: OutError?
) -> hf_status {
    answer(participant, out_error) { (participant: Participant) throws(HoldfastError) in
        try participant.rollback(HoldfastABI.descriptor(descriptor))
    }
}

@_cdecl("hf_participant_savepoint") @implementation
public func hf_participant_savepoint(
    _ participant: OpaquePointer?, _ descriptor: UnsafePointer<UInt8>?, _ out_savepoint: UnsafeMutablePointer<UInt64>?,
    _ out_error: OutError?
) -> hf_status {
    answer(participant, out_savepoint, "out_savepoint", out_error) { (participant: Participant) throws(HoldfastError) in
        try participant.savepoint(HoldfastABI.descriptor(descriptor))
    }
}

@_cdecl("hf_participant_rollback_to") @implementation
public func hf_participant_rollback_to(
    _ participant: OpaquePointer?, _ descriptor: UnsafePointer<UInt8>?, _ savepoint: UInt64, _ out_error: OutError?
) -> hf_status {
    answer(participant, out_error) { (participant: Participant) throws(HoldfastError) in
        try participant.rollBack(to: savepoint, HoldfastABI.descriptor(descriptor))
    }
}

@_cdecl("hf_participant_begin_scope") @implementation
public func hf_participant_begin_scope(
    _ participant: OpaquePointer?, _ out_scope: UnsafeMutablePointer<UInt64>?, _ out_error: OutError?
) -> hf_status {
    answer(participant, out_scope, "out_scope", out_error) { (participant: Participant) throws(HoldfastError) in
        try participant.beginScope()
    }
}

@_cdecl("hf_participant_end_scope") @implementation
public func hf_participant_end_scope(
    _ participant: OpaquePointer?, _ scope: UInt64, _ succeeded: Bool, _ out_error: OutError?
) -> hf_status {
    answer(participant, out_error) { (participant: Participant) throws(HoldfastError) in
        try participant.endScope(scope, succeeded: succeeded)
    }
}

@_cdecl("hf_participant_transact") @implementation
public func hf_participant_transact(
    _ participant: OpaquePointer?, _ body: hf_participant_body_fn?, _ user_data: UnsafeMutableRawPointer?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        guard let body, let handle = participant else {
            throw HoldfastError(.invalidArgument, "participant or body is NULL: pass both")
        }
        try HandleTable.use(participant) { (participant: Participant) throws(HoldfastError) in
            try participant.transact { () throws(HoldfastError) in
                var error: OpaquePointer?
                let answer = status(of: body) { body(handle, user_data, &error) }
                try accept(answer, error, "the transaction's body answered")
            }
        }
    }
}

// MARK: Together with a store

@_cdecl("hf_transaction_enlist") @implementation
public func hf_transaction_enlist(
    _ transaction: OpaquePointer?, _ participant: OpaquePointer?, _ out_error: OutError?
) -> hf_status {
    answer(transaction, out_error) { (transaction: Transaction) throws(HoldfastError) in
        try HandleTable.use(participant) { (participant: Participant) throws(HoldfastError) in
            try transaction.enlist(participant)
        }
    }
}

@_cdecl("hf_transaction_validate") @implementation
public func hf_transaction_validate(_ transaction: OpaquePointer?, _ out_error: OutError?) -> hf_status {
    answer(transaction, out_error) { (transaction: Transaction) throws(HoldfastError) in try transaction.validate() }
}

@_cdecl("hf_error_participant") @implementation
public func hf_error_participant(_ error: OpaquePointer?) -> OpaquePointer? {
    let participant = try? HandleTable.use(error) { (object: ErrorObject) throws(HoldfastError) in
        object.error.participant
    }
    return participant.flatMap(\.self).flatMap(HandleMap.handle)
}
