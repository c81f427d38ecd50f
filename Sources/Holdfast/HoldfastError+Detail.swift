public import Foundation
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

extension HoldfastError {
    /// What an error is about, for programs. Which members there are depends on the status, and on what was called; those
    /// that an error does not have are nil.
    ///
    ///     catch let error as HoldfastError {
    ///         switch error.status {
    ///         case .uniqueViolation: show("\(error.detail.other ?? "") has this already")
    ///         case .versionMismatch: reload(since: error.detail.expected)
    ///         case .invalidOption: show("no option \(error.detail.option ?? "")")
    ///         default: show(error.message)
    ///         }
    ///     }
    ///
    /// ``json`` has them all, also what later versions add.
    public struct Detail: Sendable, Hashable {
        /// Everything, as a JSON object, such as `{"ids":["s1"]}` of a conflict.
        public let json: String

        /// The details in a JSON object, for hosts that answer in the library's terms. Of what is no such object all members
        /// are nil.
        public init(json: String = "{}") { self.json = json }

        /// Who has a store open that others cannot open meanwhile.
        public struct Holder: Sendable, Hashable {
            /// The process.
            public var pid: Int32
            /// The name of its program.
            public var program: String
            /// When it opened the store, by its clock.
            public var since: Date
        }
    }
}

extension HoldfastError.Detail {
    // MARK: Entities

    /// The repository's name.
    public var repository: String? { text("repository") }
    /// Which entity it is about: of a `.uniqueViolation` the one that was refused.
    public var id: String? { text("id") }
    /// Of a `.conflict`: the entities that were changed meanwhile, the first of them.
    public var ids: [String]? { texts("ids") }
    /// The type as which an entity cannot be decoded.
    public var type: String? { text("type") }
    /// Of a `.uniqueViolation`: the entity that has the value.
    public var other: String? { text("other") }
    /// Of a `.uniqueViolation`: the value, as JSON; of an index over several paths, an array.
    public var value: String? { text("value") }
    /// The index's name.
    public var index: String? { text("index") }
    /// Which of the entities, updates or steps that were given together, the first being 0.
    public var item: Int? { number("index") }
    /// Of a `.versionMismatch`: the version that the caller expected.
    public var expected: UInt64? { number("expected") }
    /// The version that is stored, also of a `.conflict`.
    public var actual: UInt64? { number("actual") }
    /// Of a `.conflict`: the commit that the transaction has read.
    public var snapshot: UInt64? { number("snapshot") }
    /// How often a transaction was run.
    public var attempts: Int? { number("attempts") }

    // MARK: What was passed

    /// The option, by its name here: `maxInFlight`.
    public var option: String? { text("option") }
    /// What may have been meant, of an unknown option.
    public var nearest: String? { text("nearest") }
    /// What there is, of an unknown operator.
    public var supported: [String]? { texts("supported") }
    /// The operator of a filter, an update or a pipeline, such as `$gt`.
    public var `operator`: String? { text("operator") }
    /// The stage of a pipeline, from 0.
    public var stage: Int? { number("stage") }
    /// Where in an entity: the path of a filter or an update.
    public var path: String? { text("path") }
    /// The parameter of a filter.
    public var parameter: String? { text("parameter") }
    /// Where JSON is wrong: after how many bytes.
    public var offset: Int? { number("position") }
    /// Of an import: the line, the first being 1.
    public var line: Int? { number("line") }
    /// Of an import from another database: the table that is not there,
    public var table: String? { text("table") }
    /// or the column.
    public var column: String? { text("column") }

    // MARK: Others

    /// Of a `.cursorLost`: where to go on, once what is stored was read anew.
    public var position: String? { text("position") }
    /// Of a wait: what was waited for.
    public var identifier: String? { text("identifier") }
    /// Of a `.schemaTooNew`: the store's version.
    public var version: Int? { number("version") }
    /// The file that another program has locked.
    public var file: String? { text("file") }
    /// Of a host's function: the number that it answered.
    public var code: Int? { number("code") }
    /// Of a `.busy`: who has the store open.
    public var holder: Holder? {
        guard let holder = member("holder"), let pid: Int32 = holder.member("pid")?.number(),
            let since: Int64 = holder.member("since")?.number()
        else { return nil }
        return Holder(
            pid: pid, program: holder.member("program")?.text ?? "",
            since: Date(timeIntervalSince1970: Double(since) / 1000))
    }
}

extension HoldfastError.Detail: CustomStringConvertible {
    /// The JSON.
    public var description: String { json }
}

// MARK: - Writing and reading it

extension HoldfastError.Detail {
    private init(_ members: [JSONValue.Member]) {
        let json = JSONWriter.object { writer in
            for member in members {
                writer.member(utf8: member.name)
                writer.value(member.value)
            }
        }
        self.init(json: String(decoding: json, as: UTF8.self))
    }

    /// With these members alone.
    init(members: KeyValuePairs<String, String>) {
        self.init(members.map { JSONValue.Member(name: Array($0.utf8), value: .string(Array($1.utf8))) })
    }

    /// With a number in the place of another of the name, if there is one.
    func with(_ name: String, _ number: Int) -> Self {
        let name = Array(name.utf8)
        return Self(members.filter { $0.name != name } + [JSONValue.Member(name: name, value: .integer(Int64(number)))])
    }

    /// Parsed at each access: whoever asks has an error to deal with, and mostly nobody asks.
    private var parsed: JSONValue? {
        try? Array(json.utf8).withBytes { bytes throws(CoreError) in try JSONValue.parse(bytes, what: "detail") }
    }

    private var members: [JSONValue.Member] {
        guard case .object(let members) = parsed else { return [] }
        return members
    }

    private func member(_ name: StaticString) -> JSONValue? { parsed?.member(name) }

    private func text(_ name: StaticString) -> String? { member(name)?.text }

    private func texts(_ name: StaticString) -> [String]? {
        guard case .array(let elements) = member(name) else { return nil }
        return elements.compactMap(\.text)
    }

    private func number<Number: FixedWidthInteger>(_ name: StaticString) -> Number? { member(name)?.number() }
}

extension JSONValue {
    fileprivate var text: String? {
        guard case .string(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    fileprivate func number<Number: FixedWidthInteger>() -> Number? {
        guard case .integer(let number) = self else { return nil }
        return Number(exactly: number)
    }
}
