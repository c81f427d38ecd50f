import HoldfastCore
import Testing

@Suite("Compiling filters")
struct FilterTests {
    private func filter(_ text: String) throws -> Filter { try text.withBytes { try Filter.parse($0) } }

    @Test("The empty filter is the one for all")
    func all() throws {
        #expect(try filter("{}") == .all)
        #expect(Filter.all.isAll)
        #expect(try !filter(#"{"a":1}"#).isAll)
    }

    @Test(
        "An unknown operator is refused with its name and place",
        arguments: [
            (#"{"a.b":{"$gtt":1}}"#, #"unknown operator "$gtt" at "a.b" in the filter"#),
            (#"{"a":{"$eq":1,"b":2}}"#, #"unknown operator "b" at "a" in the filter"#),
            (#"{"$or":[]}"#, #"unknown operator "$or" at the top level of the filter"#),
        ])
    func unknownOperator(text: String, message: String) {
        let error = #expect(throws: HoldfastError.self) { try filter(text) }
        #expect(error?.status == .invalidQuery)
        #expect(error?.message == message + #"; supported are "$eq" below a path"#)
    }

    @Test("The operator, its path and what is supported are there for programs")
    func detail() {
        let error = #expect(throws: HoldfastError.self) { try filter(#"{"a.b":{"$gtt":1}}"#) }
        #expect(
            error.map { String(decoding: $0.detailJSON, as: UTF8.self) }
                == #"{"operator":"$gtt","path":"a.b","supported":["$eq"]}"#)
    }

    @Test("What is no object, or no JSON, or too long a path is refused")
    func malformed() {
        #expect(#expect(throws: HoldfastError.self) { try filter("[]") }?.status == .invalidQuery)
        #expect(#expect(throws: HoldfastError.self) { try filter("{") }?.status == .invalidJSON)
        let path = String(repeating: "a.", count: 63) + "a"
        #expect(#expect(throws: HoldfastError.self) { try filter(#"{"\#(path)":1}"#) }?.status == .invalidQuery)
        #expect(throws: Never.self) { try filter(#"{"\#(path.dropFirst(2))":1}"#) }
    }

    @Test("A filter that pins the key field tells the id")
    func idEquality() throws {
        func id(_ text: String) throws -> String? { try filter(text).idEquality(key: "id")?.text }
        #expect(try id(#"{"id":"s1"}"#) == "s1")
        #expect(try id(#"{"a":1,"id":{"$eq":42}}"#) == "42")
        #expect(try id(#"{"id":42.0}"#) == "42")
        #expect(try id(#"{"id":1.5}"#) == nil)
        #expect(try id(#"{"id":null}"#) == nil)
        #expect(try id(#"{"id":["s1"]}"#) == nil)
        #expect(try id(#"{"id.x":"s1"}"#) == nil)
        #expect(try id(#"{"a":"s1"}"#) == nil)
    }
}
