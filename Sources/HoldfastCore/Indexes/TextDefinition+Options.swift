internal import HoldfastEnvironment
internal import HoldfastQuery

/// What a text index is over, as JSON: the members of its options, and of its definition in the catalogue.
extension TextDefinition {
    init(_ reader: inout OptionReader) throws(HoldfastError) {
        guard case .object(let members) = reader.value("fields"),
            (1...IndexDefinition.maxFields).contains(members.count)
        else {
            throw IndexDefinition.refusal(
                "must be an object of 1 to \(IndexDefinition.maxFields) paths, each with its weight, as "
                    + "{\"title\": 10, \"body\": 1}")
        }
        var fields: [Field] = []
        for member in members {
            let path = try IndexDefinition.path(member.name)
            guard case .integer(let weight) = member.value, (1...Self.maxWeight).contains(weight) else {
                throw IndexDefinition.refusal(
                    "gives \"\(path.text)\" a weight other than a whole number from 1 to \(Self.maxWeight)")
            }
            guard !fields.contains(where: { $0.path == path }) else {
                throw IndexDefinition.refusal("names \"\(path.text)\" twice")
            }
            fields.append(Field(path: path, weight: weight))
        }
        let language = try reader.text("language") ?? "english"
        guard Self.knows(language) else {
            throw HoldfastError(
                .invalidOption,
                "the option \"language\" of a text index names \"\(language)\", whose words nothing here can stem: give a "
                    + "language of libstemmer's, as \"english\" or \"en\", or \"none\"",
                detail: [("option", .text("language"))])
        }
        var stopWords: [[UInt8]] = []
        if let value = reader.value("stop_words") {
            guard case .array(let elements) = value, elements.count <= Self.maxStopWords else {
                throw Self.stopWordsRefusal
            }
            for element in elements {
                guard case .string(let word) = element else { throw Self.stopWordsRefusal }
                stopWords.append(word)
            }
        }
        try self.init(fields: fields, language: language, stopWords: stopWords)
    }

    private static var stopWordsRefusal: HoldfastError {
        HoldfastError(
            .invalidOption,
            "the option \"stop_words\" of a text index must be an array of at most \(maxStopWords) words",
            detail: [("option", .text("stop_words"))])
    }

    /// The members.
    func write(to writer: inout JSONWriter) {
        writer.member("kind", "text")
        writer.member("fields") { writer in
            for field in fields {
                writer.member(field.path.text)
                writer.integer(field.weight)
            }
        }
        writer.member("language", language)
        writer.member("stop_words", each: stopWords) { writer, word in
            writer.string(String(decoding: word, as: UTF8.self))
        }
    }
}
