import HoldfastEnvironment
import HoldfastQuery
import Testing

extension JSONValue {
    init(text: String) throws { self = try text.withBytes { try JSONValue.parse($0, what: "sample") } }
}

/// What an expression makes of a document, as text; "missing" where that is missing.
func evaluated(_ expression: String, of document: String = "{}") throws -> String {
    try Expression(JSONValue(text: expression)).evaluate(JSONValue(text: document))?.text ?? "missing"
}

/// The error with which an expression is refused, when it is compiled or evaluated.
func refusal(
    of expression: String, of document: String = "{}", sourceLocation: SourceLocation = #_sourceLocation
) throws -> HoldfastError {
    let error = #expect(throws: HoldfastError.self, sourceLocation: sourceLocation) {
        try evaluated(expression, of: document)
    }
    return try #require(error)
}
