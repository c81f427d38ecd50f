internal import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastServices

/// Indexes: what lets queries find entities by other members than their id. Which one a query uses is the library's
/// choice; `explain` tells it. None of these calls joins a transaction.
extension Repository {
    /// Creates an index, and returns when queries use it; reading and writing go on meanwhile.
    ///
    ///     try await songs.createIndex(.ascending(\.album.year), .descending(\.plays))
    ///     try await songs.createIndex(.ascending(\.code), unique: true)
    ///     try await sessions.createIndex(.ascending(\.seen), expireAfter: .seconds(3600))
    ///
    /// Where a member is an array, there is an entry for each element. An equal index of this name is left as it is; one
    /// that was begun, by a process that ended, is gone on with.
    ///
    /// Throws `.uniqueViolation` (two entities have the same values), `.exists` (an index of this name over something
    /// else), `.invalidOption`, `.invalidEntity` (one would have more than 10,000 entries), `.readOnly`; `CancellationError`
    /// when the task was cancelled: then, as after the first two, the index is not created.
    /// - Parameters:
    ///   - fields: The members in the order of the key, 1 to 16.
    ///   - unique: Whether no two entities may have the same values there; what is missing counts as null. A commit that
    ///     would have it so throws `.uniqueViolation`.
    ///   - expireAfter: Entities are deleted when so much time has passed since the one that stands under the one member, in
    ///     milliseconds since 1970, of an array since the smallest. One without a number there stays. It is gone a second or so
    ///     later, while a process has the store open that knows the index: by a commit like any other.
    ///   - name: 1 to 128 bytes; by default the paths, descending ones with a hyphen before them, joined by underscores.
    ///   - progress: Is told now and then, on a thread of the library, how many entities were looked at. What it throws
    ///     ends the call, and the index is not created.
    public func createIndex(
        _ fields: Order<Entity>..., unique: Bool = false, expireAfter: Duration? = nil, name: String? = nil,
        progress: (@Sendable (Int) throws -> Void)? = nil
    ) async throws {
        var options = "{\"fields\":\(try fields.json(coding)),\"unique\":\(unique)"
        if let expireAfter { options += ",\"expire_after_ms\":\(expireAfter.milliseconds)" }
        if let name { options += ",\"name\":\(try coding.text(name, what: "name"))" }
        try await createIndex(json: "\(options)}", progress)
    }

    /// Creates the repository's text index, which `Filter.text` asks, and returns when queries use it.
    ///
    ///     try await songs.createTextIndex(["title": 10, "lyrics": 1])
    ///
    /// Words are found by Unicode's rules, in any script; their case, their endings and their accents are folded. It is
    /// kept as other indexes are, and throws as they do; `.exists` also where there is another text index.
    /// - Parameters:
    ///   - weights: Dotted paths to texts, 1 to 16, each with how much a word there counts, from 1 to 99,999.
    ///   - language: Whose endings are taken off, by libstemmer's name or a code of ISO 639; "none" takes none off.
    ///   - stopWords: Words that do not count, but for phrases; at most 10,000.
    ///   - name: 1 to 128 bytes; by default the paths, joined by underscores, and "_text".
    ///   - progress: As of `createIndex`.
    public func createTextIndex(
        _ weights: KeyValuePairs<String, Int>, language: String = "english", stopWords: [String] = [],
        name: String? = nil, progress: (@Sendable (Int) throws -> Void)? = nil
    ) async throws {
        let fields = try weights.map { try "\(coding.text($0.key, what: "path")):\($0.value)" }
        var options = "{\"kind\":\"text\",\"fields\":{\(fields.joined(separator: ","))}"
        options += ",\"language\":\(try coding.text(language, what: "language"))"
        options += ",\"stop_words\":\(try coding.text(stopWords, what: "stop words"))"
        if let name { options += ",\"name\":\(try coding.text(name, what: "name"))" }
        try await createIndex(json: "\(options)}", progress)
    }

    private func createIndex(json text: String, _ progress: (@Sendable (Int) throws -> Void)?) async throws {
        let json = Array(text.utf8)
        let core = try await core()
        try store.requireOutsideProvider()
        let counted: WorkProgress = { done, _ in try progress?(done) }
        try await LongWork.run(on: .hosts, counted) { work throws(CoreError) in
            try json.withBytes { json throws(CoreError) in try core.createIndex(json) { work.tell($0, 0) } }
        }
    }

    /// Takes an index away, and returns when its entries are gone. Throws `.notFound`, `.readOnly`.
    public func dropIndex(_ name: String) async throws {
        let core = try await core()
        try await store.waiting { () throws(CoreError) in try core.dropIndex(name) }
    }

    /// The repository's indexes, ordered by name.
    public func indexes() async throws -> [IndexDescription] {
        let core = try await core()
        let report = try await store.waiting { () throws(CoreError) in try core.indexes() }
        guard case .array(let indexes) = try JSONValue(report: report) else { return [] }
        return indexes.compactMap { IndexDescription($0) }
    }

    /// Checks every entity of the repository, and holds its indexes against them, on one snapshot.
    public func verify() async throws -> RepositoryVerification {
        let core = try await core()
        let report = try await store.waiting { () throws(CoreError) in try core.verify() }
        return try JSONDecoder().decode(RepositoryVerification.self, from: Data(report))
    }
}
