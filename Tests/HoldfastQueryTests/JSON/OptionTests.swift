import HoldfastEnvironment
import HoldfastQuery
import Testing

@Suite("Reading options")
struct OptionTests {
    private func reader(_ text: String?) throws -> OptionReader {
        try OptionReader(json: text.map { Array($0.utf8) }, what: "transaction options")
    }

    private func refusal(_ text: String?, _ body: (inout OptionReader) throws -> Void) -> HoldfastError? {
        #expect(throws: HoldfastError.self) {
            var options = try reader(text)
            try body(&options)
        }
    }

    @Test("No options, or none in the object, are all defaults", arguments: [nil, "", "{}"])
    func defaults(text: String?) throws {
        var options = try reader(text)
        #expect(try options.text("isolation") == nil)
        #expect(try options.integer("limit", in: 1...9) == nil)
        #expect(try options.boolean("cache") == nil)
        #expect(try options.milliseconds("timeout_ms") == nil)
        try options.finish()
    }

    @Test("Each type is read as what it is")
    func values() throws {
        var options = try reader(#"{"isolation":"snapshot","limit":9,"cache":false,"timeout_ms":1500,"more":[1]}"#)
        #expect(try options.text("isolation", oneOf: ["serializable", "snapshot"]) == "snapshot")
        #expect(try options.integer("limit", in: 1...9) == 9)
        #expect(try options.boolean("cache") == false)
        #expect(try options.milliseconds("timeout_ms") == .milliseconds(1500))
        #expect(options.value("more") == .array([.integer(1)]))
        try options.finish()
    }

    @Test("An unknown option is refused with the name that was meant")
    func typo() {
        let error = refusal(#"{"timout_ms":5}"#) {
            _ = try $0.milliseconds("timeout_ms")
            _ = try $0.text("isolation")
            try $0.finish()
        }
        #expect(error?.status == .invalidOption)
        #expect(
            error?.message
                == #"unknown option "timout_ms" in the transaction options; did you mean "timeout_ms"?"#)
        #expect(
            error.map { String(decoding: $0.detailJSON, as: UTF8.self) }
                == #"{"option":"timout_ms","nearest":"timeout_ms"}"#)
    }

    @Test("Swapped letters count as one error, and nothing near lists what is valid")
    func nearest() {
        let swapped = refusal(#"{"iso":5}"#) {
            _ = try $0.text("ios")
            try $0.finish()
        }
        #expect(swapped?.message.hasSuffix(#"did you mean "ios"?"#) == true)
        let far = refusal(#"{"colour":5}"#) {
            _ = try $0.text("isolation")
            _ = try $0.boolean("cache")
            try $0.finish()
        }
        #expect(
            far?.message
                == #"unknown option "colour" in the transaction options; valid are "isolation", "cache""#)
        #expect(far.map { String(decoding: $0.detailJSON, as: UTF8.self) } == #"{"option":"colour"}"#)
    }

    @Test("A wrong type or value is refused with what was given and what is allowed")
    func wrongValues() {
        func message(_ text: String, _ body: (inout OptionReader) throws -> Void) -> String? {
            let error = refusal(text, body)
            #expect(error?.status == .invalidOption)
            return error?.message
        }
        let lead = #"option "x" in the transaction options must be "#
        #expect(
            message(#"{"x":"c"}"#) { _ = try $0.text("x", oneOf: ["a", "b"]) } == lead + #""a" or "b", not "c""#)
        #expect(message(#"{"x":1}"#) { _ = try $0.text("x") } == lead + "a string, not 1")
        #expect(
            message(#"{"x":10}"#) { _ = try $0.integer("x", in: 1...9) } == lead + "an integer from 1 to 9, not 10")
        #expect(
            message(#"{"x":1.0}"#) { _ = try $0.integer("x", in: 1...9) }
                == lead + "an integer from 1 to 9, not 1.0")
        #expect(message(#"{"x":null}"#) { _ = try $0.boolean("x") } == lead + "true or false, not null")
        #expect(
            message(#"{"x":-1}"#) { _ = try $0.milliseconds("x") }
                == lead + "an integer of milliseconds of at least 0, not -1")
        #expect(message("[]") { _ in } == "the transaction options must be a JSON object, not an array")
    }
}
