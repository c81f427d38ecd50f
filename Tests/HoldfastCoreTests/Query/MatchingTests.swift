import HoldfastCore
import Testing

@Suite("Matching filters")
struct MatchingTests {
    private func filter(_ text: String) throws -> Filter { try text.withBytes { try Filter.parse($0) } }

    private func matches(_ filterText: String, _ document: String) throws -> Bool {
        let filter = try filter(filterText)
        return try document.withBytes { try filter.matches($0) }
    }

    @Test(
        "A literal matches equal values, array elements and whole arrays",
        arguments: [
            (#"{}"#, #"{"a":1}"#, true),
            (#"{"a":1}"#, #"{"a":1.0}"#, true), (#"{"a":1}"#, #"{"a":10e-1}"#, true),
            (#"{"a":1}"#, #"{"a":"1"}"#, false), (#"{"a":true}"#, #"{"a":1}"#, false),
            (#"{"a":9007199254740993}"#, #"{"a":9007199254740992.0}"#, false),
            (#"{"a":2}"#, #"{"a":[1,2]}"#, true), (#"{"a":[1,2]}"#, #"{"a":[1,2]}"#, true),
            (#"{"a":[1,2]}"#, #"{"a":[[1,2]]}"#, true), (#"{"a":[1,2]}"#, #"{"a":[2,1]}"#, false),
            (#"{"a":2}"#, #"{"a":[[2]]}"#, false), (#"{"a":[]}"#, #"{"a":[]}"#, true),
            (#"{"a":{"x":1,"y":2}}"#, #"{"a":{"x":1.0,"y":2}}"#, true),
            (#"{"a":{"x":1,"y":2}}"#, #"{"a":{"y":2,"x":1}}"#, false),
            (#"{"a":{"x":1}}"#, #"{"a":{"x":1,"y":2}}"#, false), (#"{"a":{}}"#, #"{"a":{}}"#, true),
            (#"{"a":"é"}"#, #"{"a":"\u00e9"}"#, true), (#"{"a":"é"}"#, "{\"a\":\"e\u{301}\"}", false),
            (#"{"a":{"$eq":1}}"#, #"{"a":1}"#, true), (#"{"a":{"$eq":{"$x":1}}}"#, #"{"a":{"$x":1}}"#, true),
            (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, true), (#"{"a":1,"b":2}"#, #"{"b":3,"a":1}"#, false),
        ])
    func literals(filter: String, document: String, expected: Bool) throws {
        #expect(try matches(filter, document) == expected)
    }

    @Test(
        "null matches null and what is missing, but not what an array cannot have",
        arguments: [
            (#"{"a":null}"#, #"{"a":null}"#, true), (#"{"a":null}"#, #"{}"#, true),
            (#"{"a":null}"#, #"{"a":[1,null]}"#, true), (#"{"a":null}"#, #"{"a":[]}"#, false),
            (#"{"a":null}"#, #"{"a":0}"#, false),
            (#"{"a.b":null}"#, #"{"a":4}"#, true), (#"{"a.b":null}"#, #"{"a":{}}"#, true),
            (#"{"a.b":null}"#, #"{"a":[{"b":3},{}]}"#, true), (#"{"a.b":null}"#, #"{"a":[{"b":3}]}"#, false),
            (#"{"a.b":null}"#, #"{"a":[]}"#, false), (#"{"a.b":null}"#, #"{"a":[1,"x"]}"#, false),
            (#"{"a.b":null}"#, #"{"a":[[]]}"#, false),
        ])
    func null(filter: String, document: String, expected: Bool) throws {
        #expect(try matches(filter, document) == expected)
    }

    @Test(
        "Paths go through objects, any element of arrays, and indexes",
        arguments: [
            (#"{"a.b":1}"#, #"{"a":{"b":1}}"#, true), (#"{"a.b":1}"#, #"{"a":[{"b":2},{"b":1}]}"#, true),
            (#"{"a.b":1}"#, #"{"a":[{"b":[2,1]}]}"#, true), (#"{"a.b":1}"#, #"{"a":[[{"b":1}]]}"#, false),
            (#"{"a.b":1}"#, #"{"a.b":1}"#, false), (#"{"a.1":2}"#, #"{"a":[1,2]}"#, true),
            (#"{"a.0":2}"#, #"{"a":[1,2]}"#, false), (#"{"a.01":2}"#, #"{"a":[1,2]}"#, false),
            (#"{"a.1":2}"#, #"{"a":[5,[2,4]]}"#, false), (#"{"a.1":[2,4]}"#, #"{"a":[5,[2,4]]}"#, true),
            (#"{"a.1":4}"#, #"{"a":[5,{"1":4}]}"#, true), (#"{"a.1":{"1":4}}"#, #"{"a":[5,{"1":4}]}"#, true),
            (#"{"a.1.b":4}"#, #"{"a":[5,{"b":4}]}"#, true), (#"{"a.0.1":4}"#, #"{"a":[[5,4]]}"#, true),
            (#"{"a.0.b":4}"#, #"{"a":[[{"b":4}]]}"#, true), (#"{"a.0":4}"#, #"{"a":{"0":4}}"#, true),
        ])
    func paths(filter: String, document: String, expected: Bool) throws {
        #expect(try matches(filter, document) == expected)
    }

    @Test("The matcher agrees with a plain evaluation on trees", arguments: 0..<1000)
    func agreesWithTrees(seed: UInt64) throws {
        var samples = JSONSamples(seed: seed)
        let document = samples.object(depth: 4)
        let text = samples.text(of: document)
        for _ in 0..<20 {
            let parts = (0...samples.below(4)).map { _ in samples.pick(["a", "b", "c", "0", "1", ""]) }
            let operand = samples.below(3) == 0 ? samples.value(depth: 2) : samples.scalar()
            let filter = JSONValue.object([
                .init(
                    name: Array(parts.joined(separator: ".").utf8),
                    value: .object([.init(name: Array("$eq".utf8), value: operand)]))
            ])
            let expected = TreeEvaluation.matches(document, parts, operand)
            #expect(try matches(samples.text(of: filter), text) == expected, "\(filter.text) on \(text)")
        }
    }

    @Test("A document made to multiply paths costs no exponential time")
    func fanOut() throws {
        var document = "1"
        for _ in 0..<48 { document = #"[{"0":\#(document)}]"# }
        let path = (0..<60).map { _ in "0" }.joined(separator: ".")
        #expect(try !matches(#"{"\#(path)":7}"#, #"{"0":\#(document)}"#))
    }

    @Test("Damage in the stored entity is reported as damage")
    func corrupt() {
        let error = #expect(throws: HoldfastError.self) { try matches(#"{"b":1}"#, #"{"a":1,"b""#) }
        #expect(error?.status == .corrupt)
    }
}
