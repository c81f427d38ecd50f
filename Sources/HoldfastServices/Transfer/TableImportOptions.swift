internal import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastQuery

/// How a table is imported; `transfer.h` describes each.
public struct TableImportOptions: Sendable {
    /// Nil: the table's name.
    public var repository: String?
    /// The column whose value becomes the id. Nil: the one that fits best.
    public var id: String?
    /// Columns whose text is JSON.
    public var json: [String] = []
    public var general = ImportOptions()

    public init() {}

    public init(json options: UnsafeRawBufferPointer?) throws(HoldfastError) {
        var reader = try OptionReader(json: options, what: "table import options")
        repository = try reader.text("repository")
        id = try reader.text("id")
        if let value = reader.value("json") { json = try Self.names(value) }
        if let value = try reader.existing() { general.existing = value }
        general.resume = try reader.resume()
        try reader.finish()
    }

    private static func names(_ value: JSONValue) throws(HoldfastError) -> [String] {
        var names: [String] = []
        if case .array(let values) = value {
            for case .string(let name) in values { names.append(String(decoding: name, as: UTF8.self)) }
            if names.count == values.count { return names }
        }
        throw HoldfastError(
            .invalidOption, "option \"json\" in the table import options must be an array of columns' names",
            detail: [("option", .text("json"))])
    }
}
