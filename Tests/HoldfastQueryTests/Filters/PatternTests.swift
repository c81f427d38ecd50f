import Testing

@testable import HoldfastEnvironment
@testable import HoldfastQuery

@Suite("Regular expressions")
struct PatternTests {
    private func matches(_ condition: String, _ value: String) throws -> Bool {
        let filter = try "{\"a\":\(condition)}".withBytes { try Filter.parse($0) }
        return try "{\"a\":\(value)}".withBytes { try filter.matches($0) }
    }

    @Test(
        "A string matches where some part of it does",
        arguments: [
            (#"{"$regex":"b+"}"#, #""abbc""#, true), (#"{"$regex":"^b"}"#, #""abbc""#, false),
            (#"{"$regex":"^B","$options":"i"}"#, #""bc""#, true),
            (#"{"$options":"i","$regex":"É"}"#, #""\u00e9""#, true),
            (#"{"$regex":"^.$"}"#, #""😀""#, true), (#"{"$regex":"^b$","$options":"m"}"#, #""a\nb\nc""#, true),
            (#"{"$regex":"a.b"}"#, #""a\nb""#, false), (#"{"$regex":"a.b","$options":"s"}"#, #""a\nb""#, true),
            (#"{"$regex":"a b","$options":"x"}"#, #""ab""#, true), (#"{"$regex":"\\bx\\b"}"#, #"["y","z x"]"#, true),
            (#"{"$regex":""}"#, #""""#, true), (#"{"$regex":"1"}"#, "1", false),
            (#"{"$regex":"^(a+)\\1$"}"#, #""aaaa""#, true),
            (#"{"$not":{"$regex":"^a"}}"#, "null", true),
            (#"{"$elemMatch":{"$regex":"^a","$ne":"ab"}}"#, #"["ab","ac"]"#, true),
        ])
    func matching(condition: String, value: String, expected: Bool) throws {
        #expect(try matches(condition, value) == expected)
    }

    @Test(
        "What is no expression, or no option, is refused with its reason",
        arguments: [
            (
                #"{"$regex":"a("}"#,
                #"operator "$regex" at "a" in the filter is no regular expression of PCRE2: missing closing parenthesis, at byte 2 of it"#
            ),
            (
                #"{"$regex":1}"#,
                #"operator "$regex" at "a" in the filter takes a regular expression as a string, not a number"#
            ),
            (
                #"{"$regex":"a","$options":"g"}"#,
                #"operator "$options" at "a" in the filter takes a string of the letters i, m, s and x"#
            ),
            (#"{"$options":"i"}"#, #"operator "$options" at "a" in the filter stands beside "$regex" alone"#),
        ])
    func refusals(condition: String, message: String) {
        let error = #expect(throws: HoldfastError.self) { try matches(condition, "1") }
        #expect(error?.status == .invalidQuery)
        #expect(error?.message == message)
    }

    @Test(
        "An expression that would take for ever is given up",
        arguments: [
            ("(a+)+[xy]", 100), ("(?:a|aa)+[xy]", 2_000), ("(?:a?){20}[xy]", 5_000), ("(.*)*[xy]", 100_000),
            ("(?:(?:a|b)*c?)*[xy]", 100_000),
        ])
    func catastrophe(pattern: String, length: Int) {
        let error = #expect(throws: HoldfastError.self) {
            try matches(#"{"$regex":"\#(pattern)"}"#, "\"" + String(repeating: "a", count: length) + "\"")
        }
        #expect(error?.status == .invalidQuery)
        #expect(error?.message.contains("too expensive") == true)
    }

    @Test(
        "A long text is searched by what is not too expensive", arguments: ["x.*[yz]", "a[xy]", "^a*$", "(?:a|[bc])$"])
    func longText(pattern: String) throws {
        let text = String(repeating: "a", count: 1_000_000)
        #expect(try matches(#"{"$regex":"\#(pattern)"}"#, "\"\(text)\"") == pattern.hasSuffix("$"))
        #expect(try matches(#"{"$regex":"x.*[yz]"}"#, "\"x\(text)z\""))
    }

    @Test(
        "The text that every match begins with is there for a planner",
        arguments: [
            ("^abc", "abc"), ("^ab*c", "a"), ("^ab+c", "ab"), (#"^a\.b\d"#, "a.b"), ("^aé?", "a"), ("^a|b", ""),
            ("abc", ""), ("^ab{0}", "a"), ("^(a)", ""), (#"^a\\\*"#, #"a\*"#), ("^a$", "a"), ("^é.", "é"),
            ("^a(?#c)*b", ""), (#"^ab\E*c"#, "a"), (#"^ab\Q\E?c"#, "a"), (#"^ab\Qc\E*"#, "a"), ("^xa(?i)b", ""),
            ("^ab(c)*", "a"),
            ("^ab(*ACCEPT)", ""), ("^ab}", "a"),
        ])
    func prefix(pattern: String, prefix: String) throws {
        #expect(try Pattern(Array(pattern.utf8), options: []).prefix == Array(prefix.utf8))
        #expect(try Pattern(Array(pattern.utf8), options: Array("i".utf8)).prefix.isEmpty)
    }

    @Test("Expressions with the same text and options are one condition")
    func equality() throws {
        func filter(_ text: String) throws -> Filter { try text.withBytes { try Filter.parse($0) } }
        #expect(
            try filter(#"{"a":{"$regex":"x","$options":"im"}}"#) == filter(#"{"a":{"$options":"mi","$regex":"x"}}"#))
        #expect(try filter(#"{"a":{"$regex":"x"}}"#) != filter(#"{"a":{"$regex":"x","$options":"i"}}"#))
    }
}
