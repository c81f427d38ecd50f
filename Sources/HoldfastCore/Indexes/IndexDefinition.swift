package import HoldfastEnvironment
package import HoldfastQuery
public import HoldfastStorage

/// What an index is over, and whether it is unique. As JSON, which is how it is given and how the catalogue keeps it:
///
///     {"fields": {"address.city": 1, "age": -1}, "unique": true}
///     {"fields": {"seen": 1}, "expire_after_ms": 60000}
///     {"kind": "text", "fields": {"title": 10, "body": 1}, "language": "english", "stop_words": ["the", "a"]}
///
/// Of an index of the kind "text" the fields have weights, TextRows.swift tells of its rows, and in the catalogue
/// it has {"entries": 4}: which rows there are, and which terms words have. For the others, fields are dotted paths in the order of the key, 1 for ascending and -1 for descending. The others may be missing.
///
/// In the catalogue a definition with a path of several parts has beside them {"entries": 2}: of which kind its entries
/// are. Without it they are those of OutdatedTuples.swift. (Paths of one part have the same entries of either kind.)
package struct IndexDefinition: Sendable, Equatable {
    static let maxFields = 16
    /// The kind of entries that PathTuples.swift describes.
    fileprivate static let entries: Int64 = 2
    /// The kind of rows that TextRows.swift describes, with the words of CHoldfastWords. Another number once the
    /// tables or libstemmer make other terms of the same words: entries of two kinds do not go together.
    fileprivate static let textEntries: Int64 = 5

    package let fields: [SortOrder.Field]
    let isUnique: Bool
    /// So long after the time that stands there, an entity is deleted.
    package let expiresAfterMilliseconds: UInt64?
    /// What an index of words is over; nil where it is one of values.
    package let text: TextDefinition?
    /// Whether its entries are of an outdated kind. They hold what filters look for, so that queries may use them, but
    /// in no order that a sort could rely on, and what they call unique is not what `repository.h` does.
    private(set) var isOutdated = false

    /// From what the caller gave, or what the catalogue holds.
    package init(_ reader: inout OptionReader) throws(HoldfastError) {
        let isUnique = try reader.boolean("unique") ?? false
        let expiry = try reader.integer("expire_after_ms", in: 0...(1 << 50))
        if try reader.text("kind", oneOf: ["values", "text"]) == "text" {
            if isUnique { throw Self.textRefusal("unique", "cannot be: words stand in many entities") }
            if expiry != nil { throw Self.textRefusal("expire_after_ms", "tells no time: index the time besides") }
            try self.init(TextDefinition(&reader))
            return
        }
        try self.init(
            fields: reader.value("fields"), isUnique: isUnique, expiresAfterMilliseconds: expiry.map { UInt64($0) })
    }

    private init(
        fields value: JSONValue?, isUnique: Bool, expiresAfterMilliseconds: UInt64?
    ) throws(HoldfastError) {
        guard case .object(let members) = value, (1...Self.maxFields).contains(members.count) else {
            throw Self.refusal(
                "must be an object of 1 to \(Self.maxFields) paths, each with 1 (ascending) or -1 (descending)")
        }
        var fields: [SortOrder.Field] = []
        for member in members {
            let path = try Self.path(member.name)
            switch member.value {
            case .integer(1), .real(1): fields.append(SortOrder.Field(path: path, descending: false))
            case .integer(-1), .real(-1): fields.append(SortOrder.Field(path: path, descending: true))
            default: throw Self.refusal("gives \"\(path.text)\" a direction other than 1 or -1")
            }
        }
        self.fields = fields
        text = nil
        self.isUnique = isUnique
        self.expiresAfterMilliseconds = expiresAfterMilliseconds
        guard expiresAfterMilliseconds == nil || fields.count == 1 else {
            throw Self.refusal("has several paths, and \"expire_after_ms\" needs one that leads to a time")
        }
    }

    private init(_ text: TextDefinition) {
        fields = text.fields.map { SortOrder.Field(path: $0.path, descending: false) }
        self.text = text
        isUnique = false
        expiresAfterMilliseconds = nil
    }

    static func path(_ name: [UInt8]) throws(HoldfastError) -> Path {
        guard !name.isEmpty, name.first != UInt8(ascii: "$"), !name.contains(0) else {
            throw refusal("has the path \"\(String(decoding: name, as: UTF8.self))\", which is none")
        }
        return try Path(name, what: "index")
    }

    /// Over one path.
    package init(_ path: Path) {
        fields = [SortOrder.Field(path: path, descending: false)]
        text = nil
        isUnique = false
        expiresAfterMilliseconds = nil
    }

    /// From the catalogue. What it says besides cannot be kept to, so it is not passed over.
    package init(_ json: [UInt8]) throws(HoldfastError) {
        var reader = try OptionReader(json: json, what: "index definition")
        try self.init(&reader)
        if text != nil {
            // Nobody could keep entries of another kind.
            let entries = try reader.integer("entries", in: 1...(1 << 50))
            guard entries == Self.textEntries else {
                throw HoldfastError(
                    .unsupported,
                    "has entries of the kind \(entries ?? 0), and this library keeps those of the kind "
                        + "\(Self.textEntries): drop it and create it again")
            }
        } else {
            isOutdated = try reader.integer("entries", in: Self.entries...Self.entries) == nil && hasLongPath
        }
        try reader.finish()
    }

    package var json: [UInt8] {
        JSONWriter.object { writer in
            if let text {
                text.write(to: &writer)
                writer.member("entries", Self.textEntries)
                return
            }
            writer.member("fields")
            write(to: &writer)
            if isUnique { writer.member("unique", true) }
            writeExpiry(to: &writer)
            if hasLongPath && !isOutdated { writer.member("entries", Self.entries) }
        }
    }

    fileprivate var hasLongPath: Bool { fields.contains { $0.path.parts.count > 1 } }

    /// The same with entries of the present kind.
    package var renewed: IndexDefinition {
        var renewed = self
        renewed.isOutdated = false
        return renewed
    }

    /// What an index of this name and kind is created with.
    package func writeOptions(named name: String, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", name)
        if let text {
            text.write(to: &writer)
            writer.endObject()
            return
        }
        writer.member("fields")
        write(to: &writer)
        writer.member("unique", isUnique)
        writeExpiry(to: &writer)
        writer.endObject()
    }

    func writeExpiry(to writer: inout JSONWriter) {
        guard let expiresAfterMilliseconds else { return }
        writer.member("expire_after_ms", expiresAfterMilliseconds)
    }

    /// The fields as an object.
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        for field in fields {
            writer.member(field.path.text)
            writer.integer(field.descending ? -1 : 1)
        }
        writer.endObject()
    }

    /// "address.city_-age": what an index is called that was given no name.
    var defaultName: String {
        if text != nil { return fields.map(\.path.text).joined(separator: "_") + "_text" }
        return fields.map { ($0.descending ? "-" : "") + $0.path.text }.joined(separator: "_")
    }

    private static func textRefusal(_ option: String, _ reason: String) -> HoldfastError {
        HoldfastError(
            .invalidOption, "the option \"\(option)\" of a text index \(reason)", detail: [("option", .text(option))])
    }

    static func refusal(_ reason: String) -> HoldfastError {
        HoldfastError(
            .invalidOption, "the option \"fields\" of an index \(reason)", detail: [("option", .text("fields"))])
    }
}

extension IndexRecord {
    /// What a library must understand of the format of files to keep the index: its kind of entries.
    public var minimumReader: Int64 {
        guard let definition = try? IndexDefinition(definition) else { return 1 }
        if definition.text != nil { return 4 }
        return definition.isOutdated || !definition.hasLongPath ? 1 : IndexDefinition.entries
    }
}

extension StorageSnapshot {
    /// A repository's indexes that can be understood: a query does without the others.
    package func indexes(of repository: RepositoryID) throws(HoldfastError) -> [Index] {
        var indexes: [Index] = []
        for record in try self.indexes() where record.repository == repository {
            if let index = try? Index(record) { indexes.append(index) }
        }
        return indexes
    }
}

/// An index that is known and understood.
package struct Index: Sendable, Equatable {
    package let record: IndexRecord
    package let definition: IndexDefinition

    package init(_ record: IndexRecord) throws(HoldfastError) {
        self.record = record
        if let known = UnderstoodTexts.definition(record.definition) {
            definition = known
            return
        }
        do throws(HoldfastError) { definition = try IndexDefinition(record.definition) } catch {
            if error.status == .noMemory { throw error }
            if error.status == .unsupported {
                throw HoldfastError(
                    .unsupported, "the text index \"\(record.name)\" \(error.message)",
                    detail: [("index", .text(record.name))])
            }
            throw HoldfastError(
                .corrupt,
                "the definition of the index \"\(record.name)\" is damaged: restore a backup, or drop the index",
                detail: [("index", .text(record.name))], cause: error)
        }
        if definition.text != nil { UnderstoodTexts.add(record.definition, definition) }
    }

    /// Whether an entity may have other than one entry, or one that is not the value by which it is sorted.
    package var hasArrays: Bool { record.hasArrays || definition.isOutdated || definition.text != nil }

    /// One that nobody has made: for what a planner says about it. It may have arrays.
    package init(imagined definition: IndexDefinition, in repository: RepositoryID) {
        record = IndexRecord(
            id: 0, repository: repository, name: "", definition: [], state: .ready, hasArrays: true)
        self.definition = definition
    }
}
