import HoldfastEnvironment
import HoldfastQuery
import SeededRandom
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

    @Test("The matcher agrees with a plain evaluation on trees", arguments: Seeds.of(1000))
    func agreesWithTrees(seed: UInt64) throws {
        var samples = JSONSamples(seed: seed)
        let document = samples.object(depth: 4)
        let text = samples.text(of: document)
        for _ in 0..<20 {
            let filter = samples.filter(depth: 3)
            let expected = TreeEvaluation.matches(document, filter)
            #expect(try matches(samples.text(of: filter), text) == expected, "\(filter.text) on \(text)")
        }
    }

    @Test(
        "Comparisons stay within the literal's type",
        arguments: [
            (#"{"a":{"$gt":1}}"#, #"{"a":1.5}"#, true), (#"{"a":{"$gt":1}}"#, #"{"a":"2"}"#, false),
            (#"{"a":{"$gt":1}}"#, #"{"a":true}"#, false), (#"{"a":{"$gt":1}}"#, #"{}"#, false),
            (#"{"a":{"$lt":1}}"#, #"{"a":null}"#, false), (#"{"a":{"$lt":""}}"#, #"{"a":1}"#, false),
            (#"{"a":{"$gte":9007199254740993}}"#, #"{"a":9007199254740992.0}"#, false),
            (#"{"a":{"$gt":"é"}}"#, #"{"a":"\u00ea"}"#, true), (#"{"a":{"$gt":false}}"#, #"{"a":true}"#, true),
            (#"{"a":{"$gt":1,"$lt":3}}"#, #"{"a":[0,4]}"#, true), (#"{"a":{"$lt":[2]}}"#, #"{"a":[1,9]}"#, true),
            (#"{"a":{"$lt":[2]}}"#, #"{"a":[[1],9]}"#, true), (#"{"a":{"$lt":[2]}}"#, #"{"a":[9]}"#, false),
            (#"{"a":{"$gt":{"x":1}}}"#, #"{"a":{"x":2}}"#, true),
            (#"{"a":{"$gt":{"x":1}}}"#, #"{"a":{"x":"s"}}"#, true),
            (#"{"a":{"$gte":null}}"#, #"{}"#, true), (#"{"a":{"$gte":null}}"#, #"{"a":1}"#, false),
            (#"{"a":{"$gt":null}}"#, #"{"a":null}"#, false), (#"{"a":{"$lte":null}}"#, #"{"a":[null]}"#, true),
        ])
    func comparisons(filter: String, document: String, expected: Bool) throws {
        #expect(try matches(filter, document) == expected)
    }

    @Test(
        "Negations hold where no value passes, and so where there is none",
        arguments: [
            (#"{"a":{"$ne":1}}"#, #"{}"#, true), (#"{"a":{"$ne":1}}"#, #"{"a":[1,2]}"#, false),
            (#"{"a":{"$nin":[1,null]}}"#, #"{}"#, false), (#"{"a":{"$nin":[]}}"#, #"{}"#, true),
            (#"{"a":{"$not":{"$gt":1}}}"#, #"{"a":"x"}"#, true),
            (#"{"a":{"$not":{"$gt":1,"$lt":3}}}"#, #"{"a":3}"#, true),
            (#"{"a.b":{"$exists":false}}"#, #"{"a":[{"b":1},{}]}"#, false),
            (#"{"a.b":{"$exists":false}}"#, #"{"a":[]}"#, true),
            (#"{"$nor":[{"a":1},{"b":2}]}"#, #"{"a":2,"b":1}"#, true),
        ])
    func negations(filter: String, document: String, expected: Bool) throws {
        #expect(try matches(filter, document) == expected)
    }

    @Test(
        "Arrays are asked as a whole, for all, for one element, or for their size",
        arguments: [
            (#"{"a":{"$in":[3,"x",[1,2]]}}"#, #"{"a":[1,2]}"#, true), (#"{"a":{"$in":[]}}"#, #"{"a":1}"#, false),
            (#"{"a":{"$in":[null]}}"#, #"{}"#, true), (#"{"a":{"$in":[1.0,2]}}"#, #"{"a":[0,1]}"#, true),
            (#"{"a":{"$all":[1,2]}}"#, #"{"a":[2,0,1]}"#, true), (#"{"a":{"$all":[1]}}"#, #"{"a":1}"#, true),
            (#"{"a":{"$all":[]}}"#, #"{"a":[]}"#, false), (#"{"a":{"$all":[[1,2]]}}"#, #"{"a":[1,2]}"#, true),
            (#"{"a":{"$elemMatch":{"$gt":1,"$lt":3}}}"#, #"{"a":[0,4]}"#, false),
            (#"{"a":{"$elemMatch":{"$gt":1,"$lt":3}}}"#, #"{"a":[0,2]}"#, true),
            (#"{"a":{"$elemMatch":{"$gt":1}}}"#, #"{"a":2}"#, false),
            (#"{"a":{"$elemMatch":{"$gt":1}}}"#, #"{"a":[[2]]}"#, false),
            (#"{"a":{"$elemMatch":{"x":1,"y":2}}}"#, #"{"a":[{"x":1},{"y":2}]}"#, false),
            (#"{"a":{"$elemMatch":{"x":1,"y":2}}}"#, #"{"a":[{"x":1,"y":2}]}"#, true),
            (#"{"a":{"$elemMatch":{"0":1}}}"#, #"{"a":[[1]]}"#, true),
            (#"{"a":{"$elemMatch":{}}}"#, #"{"a":[1]}"#, false),
            (#"{"a":{"$all":[{"$elemMatch":{"x":1}},{"$elemMatch":{"x":2}}]}}"#, #"{"a":[{"x":1},{"x":2}]}"#, true),
            (#"{"a":{"$size":2}}"#, #"{"a":[1,2]}"#, true), (#"{"a":{"$size":2}}"#, #"{"a":[[1,2]]}"#, false),
            (#"{"a":{"$mod":[4,0]}}"#, #"{"a":[3,8.9]}"#, true),
            (#"{"a":{"$mod":[-1,0]}}"#, #"{"a":-9223372036854775808}"#, true),
            (#"{"a":{"$mod":[4,-1]}}"#, #"{"a":-5}"#, true), (#"{"a":{"$mod":[4,0]}}"#, #"{"a":1e300}"#, false),
            (#"{"a":{"$type":"array"}}"#, #"{"a":[1]}"#, true), (#"{"a":{"$type":["int",2]}}"#, #"{"a":["x"]}"#, true),
            (#"{"a":{"$type":"long"}}"#, #"{"a":2147483648}"#, true),
            (#"{"a":{"$type":"number"}}"#, #"{"a":null}"#, false),
        ])
    func arrays(filter: String, document: String, expected: Bool) throws {
        #expect(try matches(filter, document) == expected)
    }

    @Test("A long list of $in is looked up, and finds each of its values")
    func longList() throws {
        let values = (0..<20_000).map { $0 % 2 == 0 ? "\($0)" : "\"\($0)\"" }
        let filter = try filter(#"{"a":{"$in":[\#(values.joined(separator: ","))]}}"#)
        for value in ["0", "19998.0", "\"19999\"", "\"1\""] {
            #expect(try "{\"a\":\(value)}".withBytes { try filter.matches($0) })
        }
        for value in ["1", "20000", "\"2\"", "null"] {
            #expect(try !"{\"a\":\(value)}".withBytes { try filter.matches($0) })
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
