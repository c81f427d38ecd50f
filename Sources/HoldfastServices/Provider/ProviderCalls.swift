internal import CHoldfastPlatform
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// The one way to the host's functions: one at a time, never from inside one of them, never in a forked child, and with
/// what they throw told as the provider's failure.
final class ProviderCalls: Sendable {
    let abilities: HostProviderAbilities
    private let host: Lock<(any HostProvider)?>
    /// Held while the host's code runs, unlike every other lock. Who waits for it is about to call the same host, and is not
    /// inside of it: that was found out before.
    // The value says nothing. Without one the thread sanitizer takes the lock's own header for it.
    private let callLock: Lock<Bool>?
    private let epoch = processEpoch()

    init(_ host: any HostProvider, isConcurrent: Bool) {
        abilities = host.abilities
        self.host = Lock(host)
        callLock = isConcurrent ? nil : Lock(false)
    }

    /// What a thread is in the middle of: a list on its stack, from the innermost call outwards.
    private struct Frame {
        let calls: ObjectIdentifier
        let outer: UnsafeRawPointer?
    }

    private static func frames(contain isMeant: (Frame) -> Bool) -> Bool {
        var next = UnsafeRawPointer(hfplatform_thread_frame())
        while let frame = next?.load(as: Frame.self) {
            if isMeant(frame) { return true }
            next = frame.outer
        }
        return false
    }

    /// Whether this thread is inside a function of some provider.
    static var isInsideAny: Bool { hfplatform_thread_frame() != nil }

    /// Whether this thread is inside a function of this provider.
    var isInside: Bool { Self.isInsideAny && Self.frames { $0.calls == ObjectIdentifier(self) } }

    /// Lets go of the host once no call of it is running.
    func end() {
        let host = host.withLock { $0.take() }
        _ = host
    }

    /// `doing`: what failed, if it does: `save songs "s1"`.
    func run<Result>(
        _ doing: @autoclosure () -> (verb: String, repository: String, id: EntityID?),
        _ body: (any HostProvider) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        guard processEpoch() == epoch else { throw HoldfastError.forked }
        if isInside { throw HoldfastError.insideProvider }
        guard let host = host.withLock({ $0 }) else { throw HoldfastError.storeClosed }
        do throws(HoldfastError) {
            guard let callLock else { return try framed { () throws(HoldfastError) in try body(host) } }
            return try callLock.withLock { _ throws(HoldfastError) in
                try framed { () throws(HoldfastError) in try body(host) }
            }
        } catch {
            guard processEpoch() == epoch else { throw HoldfastError.forked }
            throw Self.failure(error, doing())
        }
    }

    private func framed<Result>(_ body: () throws(HoldfastError) -> Result) throws(HoldfastError) -> Result {
        let frame = Frame(calls: ObjectIdentifier(self), outer: UnsafeRawPointer(hfplatform_thread_frame()))
        var outcome: Swift.Result<Result, HoldfastError>?
        let isSame = withUnsafePointer(to: frame) { frame in
            hfplatform_thread_set_frame(frame)
            defer { hfplatform_thread_set_frame(frame.pointee.outer) }
            return isSameProcess {
                do throws(HoldfastError) { outcome = .success(try body()) } catch { outcome = .failure(error) }
            }
        }
        guard isSame else { throw HoldfastError.forked }
        return try outcome!.get()
    }

    /// The provider's own error is the cause, and its code and message are told.
    private static func failure(
        _ error: HoldfastError, _ doing: (verb: String, repository: String, id: EntityID?)
    ) -> HoldfastError {
        var what = doing.verb
        var detail = error.detail
        if !doing.repository.isEmpty {
            what += " \(doing.repository)"
            detail.append(("repository", .text(doing.repository)))
        }
        if let id = doing.id {
            what += " \"\(id.text)\""
            detail.append(("id", .text(id.text)))
        }
        return HoldfastError(
            error.status == .corrupt ? .corrupt : .hostError, "the provider could not \(what): \(error.message)",
            detail: detail, cause: error)
    }
}

// MARK: - The functions

extension ProviderCalls {
    func save(_ repository: String, _ id: EntityID, _ body: [UInt8]) throws(HoldfastError) {
        try run(("save", repository, id)) { host throws(HoldfastError) in try host.save(repository, id, body) }
    }

    func delete(_ repository: String, _ id: EntityID) throws(HoldfastError) {
        try run(("delete", repository, id)) { host throws(HoldfastError) in
            do throws(HoldfastError) { try host.delete(repository, id) } catch {
                // There is nothing to delete.
                if error.status != .notFound { throw error }
            }
        }
    }

    func fetch(_ repository: String, _ id: EntityID) throws(HoldfastError) -> [UInt8]? {
        try run(("fetch", repository, id)) { host throws(HoldfastError) in try host.fetch(repository, id) }
    }

    /// All entities, or those that may match the filter, as they come.
    func fetchAll(_ repository: String, filter: Filter) throws(HoldfastError) -> [(id: EntityID, body: [UInt8])] {
        try run(("fetch all of", repository, nil)) { host throws(HoldfastError) in
            var found: [(id: EntityID, body: [UInt8])] = []
            // Those behind the first for which there is no memory are passed over.
            var failure: HoldfastError?
            func visit(_ id: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) {
                guard failure == nil else { return }
                do throws(HoldfastError) {
                    try found.askToGrow()
                    found.append((EntityID(unchecked: Array(id)), try Array(asking: body)))
                } catch { failure = error }
            }
            if abilities.contains(.find), !filter.isAll {
                var writer = JSONWriter()
                writer.value(filter.source)
                try host.find(repository, writer.bytes, visit)
            } else {
                try host.fetchAll(repository, visit)
            }
            if let failure { throw failure }
            return found
        }
    }

    func apply(_ writes: [HostWrite]) throws(HoldfastError) {
        try run(("apply a commit", "", nil)) { host throws(HoldfastError) in try host.apply(writes) }
    }

    /// 0 of a provider that has none.
    func changeToken() throws(HoldfastError) -> UInt64 {
        guard abilities.contains(.changeToken) else { return 0 }
        return try run(("tell its change token", "", nil)) { host throws(HoldfastError) in try host.changeToken() }
    }

    func sync() throws(HoldfastError) {
        guard abilities.contains(.sync) else { return }
        try run(("sync", "", nil)) { host throws(HoldfastError) in try host.sync() }
    }
}
