public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastServices

/// The host's functions and user data behind one provider.
private final class HostFunctions: UserData, HostProvider, @unchecked Sendable {
    // Sendable: immutable; the header says on which threads the host is called.
    private let provider: hf_provider
    let abilities: HostProviderAbilities

    init(_ provider: hf_provider) {
        self.provider = provider
        var abilities: HostProviderAbilities = []
        if provider.on_apply != nil { abilities.insert(.apply) }
        if provider.on_find != nil { abilities.insert(.find) }
        if provider.on_change_token != nil { abilities.insert(.changeToken) }
        if provider.on_sync != nil { abilities.insert(.sync) }
        self.abilities = abilities
        super.init(provider.user_data, provider.free_user_data)
    }

    func save(_ repository: String, _ id: EntityID, _ body: [UInt8]) throws(HoldfastError) {
        try call(provider.on_save!) { function, error in
            withText(id.bytes) { id, idLength in
                withText(body) { body, length in
                    function(repository, id, idLength, body, length, pointer, error)
                }
            }
        }
    }

    func fetch(_ repository: String, _ id: EntityID) throws(HoldfastError) -> [UInt8]? {
        var buffer = hf_buffer()
        defer { hf_buffer_free(&buffer) }
        do throws(HoldfastError) {
            try call(provider.on_fetch!) { function, error in
                withText(id.bytes) { id, idLength in
                    function(repository, id, idLength, &buffer, pointer, error)
                }
            }
        } catch {
            if error.status == .notFound { return nil }
            throw error
        }
        return try Array(asking: UnsafeRawBufferPointer(start: buffer.data, count: buffer.length))
    }

    func fetchAll(
        _ repository: String, _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) throws(HoldfastError) {
        try withVisitor(visit) { visitor throws(HoldfastError) in
            try call(provider.on_fetch_all!) { function, error in
                function(repository, Self.visit, visitor, pointer, error)
            }
        }
    }

    func delete(_ repository: String, _ id: EntityID) throws(HoldfastError) {
        try call(provider.on_delete!) { function, error in
            withText(id.bytes) { id, idLength in function(repository, id, idLength, pointer, error) }
        }
    }

    func apply(_ writes: [HostWrite]) throws(HoldfastError) {
        // All texts in one block that stays where it is.
        var block: [CChar] = []
        var offsets: [(repository: Int, id: Int, idLength: Int, body: Int?, length: Int)] = []
        func append(_ bytes: some Collection<UInt8>) -> Int {
            defer {
                block += bytes.lazy.map(CChar.init(bitPattern:))
                block.append(0)
            }
            return block.count
        }
        for write in writes {
            offsets.append(
                (
                    append(write.repository.utf8), append(write.id.bytes), write.id.bytes.count,
                    write.body.map(append), write.body?.count ?? 0
                ))
        }
        try call(provider.on_apply!) { function, error in
            block.withUnsafeBufferPointer { block in
                let start = block.baseAddress!
                let views = offsets.map { offset in
                    hf_provider_write(
                        repository: start + offset.repository, id: start + offset.id, id_length: offset.idLength,
                        entity: offset.body.map { start + $0 }, length: offset.length)
                }
                return function(views, views.count, pointer, error)
            }
        }
    }

    func find(
        _ repository: String, _ filter: [UInt8], _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) throws(HoldfastError) {
        try withVisitor(visit) { visitor throws(HoldfastError) in
            try call(provider.on_find!) { function, error in
                withText(filter) { filter, length in
                    function(repository, filter, length, Self.visit, visitor, pointer, error)
                }
            }
        }
    }

    func changeToken() throws(HoldfastError) -> UInt64 {
        var token: UInt64 = 0
        try call(provider.on_change_token!) { function, error in function(&token, pointer, error) }
        return token
    }

    func sync() throws(HoldfastError) { try call(provider.on_sync!) { function, error in function(pointer, error) } }

    // MARK: Calling

    /// Turns the host's answer into what is thrown; takes its error over.
    private func call<Function>(
        _ function: Function, _ body: (Function, OutError) -> hf_status
    ) throws(HoldfastError) {
        var error: OpaquePointer?
        let status = HoldfastABI.status(of: function) { body(function, &error) }
        try accept(status, error, "it answered")
    }

    /// Lends the bytes with a NUL behind them.
    private func withText<Result>(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>, Int) -> Result) -> Result {
        (bytes + [0]).withUnsafeBytes { body($0.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count) }
    }

    private typealias Visit = (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void

    /// What `visit` is called with: the closure, while it lives.
    private struct Visitor {
        let visit: Visit
        var failure: HoldfastError?
    }

    private func withVisitor(
        _ visit: Visit, _ body: (UnsafeMutableRawPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        let failure = try withoutActuallyEscaping(visit) { visit throws(HoldfastError) in
            var visitor = Visitor(visit: visit)
            try withUnsafeMutablePointer(to: &visitor) { visitor throws(HoldfastError) in
                try body(UnsafeMutableRawPointer(visitor))
            }
            return visitor.failure
        }
        if let failure { throw failure }
    }

    private static let visit: hf_provider_visit_fn = { id, idLength, entity, length, visitor in
        guard let visitor = visitor?.assumingMemoryBound(to: Visitor.self) else { return false }
        do throws(HoldfastError) {
            try visitor.pointee.visit(bytes(id, idLength, "id"), bytes(entity, length, "entity"))
            return true
        } catch {
            visitor.pointee.failure = error
            return false
        }
    }
}

/// Those of this version, which is the first: no other size is known.
private func copy(_ provider: UnsafePointer<hf_provider>?) throws(HoldfastError) -> hf_provider {
    guard let provider else { throw HoldfastError(.invalidArgument, "provider is NULL: pass its functions") }
    guard provider.pointee.size == MemoryLayout<hf_provider>.size else {
        throw HoldfastError(
            .invalidArgument, "the size of provider is \(provider.pointee.size): begin with HF_PROVIDER_INIT")
    }
    return provider.pointee
}

@_cdecl("hf_store_open_provider") @implementation
public func hf_store_open_provider(
    _ provider: UnsafePointer<hf_provider>?, _ options: UnsafePointer<CChar>?,
    _ out_store: UnsafeMutablePointer<OpaquePointer?>?, _ out_error: OutError?
) -> hf_status {
    answer(out_error) { () throws(HoldfastError) in
        let functions = try copy(provider)
        // Lets go of the user data by itself when nobody keeps it.
        let host = HostFunctions(functions)
        let result = try required(out_store, "out_store")
        guard functions.on_save != nil, functions.on_fetch != nil, functions.on_fetch_all != nil,
            functions.on_delete != nil
        else {
            throw HoldfastError(
                .invalidArgument, "one of on_save, on_fetch, on_fetch_all and on_delete is NULL: pass all four")
        }
        let options = try StoreOptions(json: HoldfastABI.options(options))
        try hand(Store.open(provider: host, options: options), to: result)
    }
}
