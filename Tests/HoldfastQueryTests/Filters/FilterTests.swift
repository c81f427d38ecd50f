import HoldfastEnvironment
import HoldfastQuery
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
        "What is wrong is named, with its place and the cure",
        arguments: [
            (#"{"a.b":{"$gtt":1}}"#, #"unknown operator "$gtt" at "a.b" in the filter; did you mean "$gt"?"#, 8),
            (
                #"{"$where":"x"}"#,
                #"unknown operator "$where" at the top level of the filter; supported are "$and", "$or", "$nor", "$text""#,
                1
            ),
            (
                #"{"$gt":1}"#,
                #"operator "$gt" must stand below a path, as {"path": {"$gt": ...}}, not at the top level of the filter"#,
                1
            ),
            (
                #"{"a":{"$or":[]}}"#,
                #"operator "$or" must stand beside paths, as {"$or": [{...}, ...]}, not below one, in the filter"#, 6
            ),
            (
                #"{"$and":[{},{"a":{"$in":1}}]}"#, #"operator "$in" at "a" in the filter takes an array, not a number"#,
                24
            ),
            (#"{"$or":[]}"#, #"operator "$or" in the filter takes an array of at least one filter, not an array"#, 7),
            (
                #"{"a": {"$size": -1}}"#,
                #"operator "$size" at "a" in the filter takes a whole number, 0 or more, not a number"#, 16
            ),
            (
                #"{"a":{"$mod":[0,1]}}"#,
                #"operator "$mod" at "a" in the filter cannot divide by 0: give another divisor"#, 13
            ),
            (
                #"{"a":{"$not":3}}"#,
                #"operator "$not" at "a" in the filter takes an object of operators, not a number"#, 13
            ),
            (
                #"{"a":{"$in":[1,{"$gt":2}]}}"#,
                #"operator "$in" at "a" in the filter takes literals, not operators: join conditions with "$or""#, 15
            ),
            (
                #"{"a":{"$elemMatch":{"$param":"x"}}}"#,
                #"operator "$elemMatch" at "a" in the filter takes an object of operators or of paths, not an object"#,
                19
            ),
        ])
    func refusals(text: String, message: String, position: Int) {
        let error = #expect(throws: HoldfastError.self) { try filter(text) }
        #expect(error?.status == .invalidQuery)
        #expect(error?.message == message)
        #expect(
            error.map { String(decoding: $0.detailJSON, as: UTF8.self).hasSuffix("\"position\":\(position)}") } == true)
    }

    @Test("The operator, its path and what is supported are there for programs")
    func detail() {
        let error = #expect(throws: HoldfastError.self) { try filter(#"{"$and":[{"a.b":{"$foo":1}}],"$where":1}"#) }
        #expect(
            error.map { String(decoding: $0.detailJSON, as: UTF8.self) }?.hasPrefix(
                #"{"operator":"$foo","path":"a.b","supported":["$eq","$ne","$gt","$gte","$lt","$lte","$in""#) == true)
    }

    @Test("More than a thousand conditions are refused, as many as that are not")
    func conditionLimit() {
        func text(_ count: Int) -> String {
            #"{"$or":[\#((0..<count).map { "{\"a\":\($0)}" }.joined(separator: ","))]}"#
        }
        #expect(throws: Never.self) { try filter(text(999)) }
        #expect(#expect(throws: HoldfastError.self) { try filter(text(1000)) }?.status == .invalidQuery)
    }

    // MARK: Parameters

    private func bind(_ text: String, _ values: String) throws -> Filter {
        let template = try text.withBytes { try FilterTemplate.parse($0) }
        guard case .object(let members) = try values.parsed() else { return .all }
        return try template.bind(members)
    }

    @Test(
        "A filter with bound parameters is the filter with the values written out",
        arguments: [
            (#"{"a":{"$param":"x"}}"#, #"{"x":1}"#, #"{"a":1}"#),
            (#"{"a":{"b":[{"$param":"x"}]}}"#, #"{"x":{"c":2}}"#, #"{"a":{"b":[{"c":2}]}}"#),
            (
                #"{"a":{"$gte":{"$param":"x"},"$lt":{"$param":"y"}}}"#, #"{"x":1,"y":[2]}"#,
                #"{"a":{"$gte":1,"$lt":[2]}}"#
            ),
            (#"{"a":{"$in":[{"$param":"x"},3]}}"#, #"{"x":4}"#, #"{"a":{"$in":[4,3]}}"#),
            (#"{"a":{"$nin":{"$param":"x"}}}"#, #"{"x":[4,3]}"#, #"{"a":{"$nin":[3,4]}}"#),
            (#"{"$or":[{"a":{"$not":{"$size":{"$param":"x"}}}}]}"#, #"{"x":2}"#, #"{"a":{"$not":{"$size":2}}}"#),
            (#"{"a":{"$elemMatch":{"b":{"$param":"x"}}}}"#, #"{"x":2}"#, #"{"a":{"$elemMatch":{"b":2}}}"#),
            (
                #"{"a":{"$all":[{"$elemMatch":{"$gt":{"$param":"x"}}}]}}"#, #"{"x":2}"#,
                #"{"a":{"$elemMatch":{"$gt":2}}}"#
            ),
        ])
    func parameters(text: String, values: String, expected: String) throws {
        #expect(try bind(text, values) == filter(expected))
    }

    @Test(
        "A parameter's value is a literal, whatever it looks like",
        arguments: [#"{"$gt":1}"#, #"{"$param":"x"}"#, "[{}]"])
    func parametersAreLiterals(value: String) throws {
        for operand in [#"{"$param":"x"}"#, #"{"$in":[{"$param":"x"}]}"#, #"{"$all":{"$param":"all"}}"#] {
            let isAll = operand.contains("all")
            let bound = try bind(#"{"a":\#(operand)}"#, isAll ? #"{"all":[\#(value)]}"# : #"{"x":\#(value)}"#)
            #expect(try #"{"a":\#(value)}"#.withBytes { try bound.matches($0) })
            #expect(try !#"{"a":2}"#.withBytes { try bound.matches($0) })
        }
    }

    @Test("A parameter without a value, and a value without a parameter, are refused by name")
    func unboundParameters() {
        #expect(
            #expect(throws: HoldfastError.self) { try bind(#"{"a":{"$param":"x"}}"#, "{}") }?.message
                == #"the parameter "x" of the filter has no value: give it one"#)
        #expect(
            #expect(throws: HoldfastError.self) { try bind(#"{"a":{"$param":"least"}}"#, #"{"least":1,"leats":2}"#) }?
                .message
                == #"the filter has no parameter "leats"; did you mean "least"?"#)
        #expect(#expect(throws: HoldfastError.self) { try filter(#"{"a":{"$param":"x"}}"#) }?.status == .invalidQuery)
        #expect(
            #expect(throws: HoldfastError.self) { try bind(#"{"a":{"$in":{"$param":"x"}}}"#, #"{"x":1}"#) }?.message
                == #"operator "$in" at "a" in the filter takes an array, not a number"#)
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
