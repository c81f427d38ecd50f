internal import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastQuery

/// How an import goes about it; `transfer.h` describes each.
public struct ImportOptions: Sendable {
    /// What becomes of an entity whose id is taken.
    public enum Existing: String, Sendable { case refuse, replace, skip }

    /// Where lines go that name none.
    public var repository: String?
    public var existing = Existing.refuse
    /// The name under which the progress is kept.
    public var resume: String?
    public var createsIndexes = true

    public init() {}

    public init(json: UnsafeRawBufferPointer?) throws(HoldfastError) {
        var reader = try OptionReader(json: json, what: "import options")
        repository = try reader.text("repository")
        if let value = try reader.existing() { existing = value }
        resume = try reader.resume()
        if let value = try reader.boolean("indexes") { createsIndexes = value }
        try reader.finish()
    }
}

extension OptionReader {
    mutating func existing() throws(HoldfastError) -> ImportOptions.Existing? {
        try text("existing", oneOf: ["refuse", "replace", "skip"]).map { ImportOptions.Existing(rawValue: $0)! }
    }

    mutating func resume() throws(HoldfastError) -> String? {
        guard let name = try text("resume") else { return nil }
        if (1...200).contains(name.utf8.count) { return name }
        throw HoldfastError(
            .invalidOption, "the option \"resume\" must be a name of 1 to 200 bytes",
            detail: [("option", .text("resume"))])
    }
}
