import HoldfastEnvironment
import HoldfastQuery
import SeededRandom
import Testing

@Suite("Expressions")
struct ExpressionTests {
    @Test(
        "Paths, variables, objects, arrays and literals",
        arguments: [
            ("5", "5"), ("null", "null"), (#""text""#, #""text""#), (#""$a""#, "1"), (#""$missing""#, "missing"),
            (#""$o.p""#, "2"), (#""$a.b""#, "missing"), (#""$list.x""#, "[1,2]"), (#""$list.0""#, "[]"),
            (#""$deep.x.y""#, "[[3],[]]"), (#""$$ROOT.a""#, "1"), (#""$$CURRENT.o""#, #"{"p":2}"#),
            (#""$$REMOVE""#, "missing"), (#"{"b":"$a","c":"$missing"}"#, #"{"b":1}"#),
            (#"["$a","$missing"]"#, "[1,null]"), (#"[1,[2]]"#, "[1,[2]]"), ("{}", "{}"),
            (#"{"$literal":"$a"}"#, #""$a""#), (#"{"$literal":{"$add":[1]}}"#, #"{"$add":[1]}"#),
        ])
    func values(expression: String, expected: String) throws {
        let document = #"{"a":1,"o":{"p":2},"list":[{"x":1},{"x":2},3,{}],"deep":[{"x":[{"y":3}]},{"x":[]},{"x":1}]}"#
        #expect(try evaluated(expression, of: document) == expected)
    }

    @Test("A parameter's value is a literal, whatever it looks like, and must be given")
    func parameters() throws {
        let value = try JSONValue(text: #"{"$add":[{"$param":"n"},1]}"#)
        let expression = try Expression(value, parameters: [Array("n".utf8): .integer(41)])
        #expect(try expression.evaluate(.object([])) == .integer(42))
        #expect(expression.parameters == [Array("n".utf8)])
        let text = try Expression(
            JSONValue(text: #"{"$param":"n"}"#), parameters: [Array("n".utf8): .string(Array("$a".utf8))])
        #expect(try text.evaluate(JSONValue(text: #"{"a":1}"#))?.text == #""$a""#)
        let error = try refusal(of: #"{"$param":"n"}"#)
        #expect(error.message.contains("\"n\"") && error.message.contains("give it one"))
    }

    @Test("Variables that are given from outside are read by name, and hidden by nearer ones")
    func variables() throws {
        let name = Array("x".utf8)
        let value = try JSONValue(text: #"["$$x.a",{"$let":{"vars":{"x":2},"in":"$$x"}},"$$x"]"#)
        let expression = try Expression(value, variables: [name])
        #expect(
            try expression.evaluate(.object([]), variables: [JSONValue(text: #"{"a":1}"#)])?.text == #"[1,2,{"a":1}]"#)
        #expect(try expression.evaluate(.object([]), variables: [nil])?.text == "[null,2,null]")
    }

    @Test(
        "Conditions, and what they do not need is not evaluated",
        arguments: [
            (#"{"$cond":["$t",1,{"$divide":[1,0]}]}"#, "1"), (#"{"$cond":{"if":"$f","then":1,"else":2}}"#, "2"),
            (#"{"$cond":["$missing",1,2]}"#, "2"), (#"{"$cond":["$zero",1,2]}"#, "2"), (#"{"$cond":["",1,2]}"#, "1"),
            (#"{"$ifNull":["$missing",null,3,{"$divide":[1,0]}]}"#, "3"),
            (#"{"$ifNull":[null,"$missing"]}"#, "missing"),
            (#"{"$switch":{"branches":[{"case":"$f","then":1},{"case":"$t","then":2}]}}"#, "2"),
            (#"{"$switch":{"branches":[{"case":"$f","then":1}],"default":3}}"#, "3"),
            (#"{"$and":["$f",{"$divide":[1,0]}]}"#, "false"), (#"{"$or":["$t",{"$divide":[1,0]}]}"#, "true"),
            (#"{"$and":[]}"#, "true"), (#"{"$or":[]}"#, "false"), (#"{"$not":["$f"]}"#, "true"),
            (#"{"$not":"$missing"}"#, "true"),
            (#"{"$let":{"vars":{"a":1,"b":{"$let":{"vars":{"c":2},"in":"$$c"}}},"in":["$$a","$$b"]}}"#, "[1,2]"),
        ])
    func conditions(expression: String, expected: String) throws {
        #expect(try evaluated(expression, of: #"{"t":true,"f":false,"zero":0.0}"#) == expected)
    }

    @Test(
        "What is missing is less than null, and types come in the order of sorting",
        arguments: [
            (#"{"$eq":["$missing",null]}"#, "false"), (#"{"$lt":["$missing",null]}"#, "true"),
            (#"{"$gt":["$n",null]}"#, "false"), (#"{"$eq":[1,1.0]}"#, "true"), (#"{"$cmp":[1,"a"]}"#, "-1"),
            (#"{"$cmp":[true,[1]]}"#, "1"), (#"{"$ne":["$missing","$other"]}"#, "false"),
            (#"{"$gte":[9007199254740993,9007199254740992.0]}"#, "true"),
            (#"{"$lte":[9007199254740993,9007199254740992.0]}"#, "false"),
        ])
    func comparisons(expression: String, expected: String) throws {
        #expect(try evaluated(expression, of: #"{"n":null}"#) == expected)
    }

    @Test("Values are ordered as keys order them", arguments: Seeds.of(500))
    func order(seed: UInt64) {
        var samples = JSONSamples(seed: seed)
        let values = (0..<12).map { _ in samples.value(depth: 3) }
        for left in values {
            for right in values {
                #expect(left.order(right).signum() == PlainOrder.order(left, right).signum(), "\(left) \(right)")
            }
        }
    }

    @Test(
        "What is no expression is refused with its path, its operator and a cure",
        arguments: [
            (#"{"a":{"$ad":[1]}}"#, "$ad", "a", "did you mean \"$add\"?"),
            (#"{"$subtract":[1]}"#, "$subtract", nil, "takes 2"),
            (#"{"$add":1,"b":2}"#, "$add", nil, "only one"),
            (#"{"a":["$$ROT"]}"#, nil, "a.0", "did you mean \"$$ROOT\"?"),
            (#""$a..b""#, nil, nil, "$literal"), (#"{"a.b":1}"#, nil, nil, "no dots"),
            (#""$$NOW""#, nil, nil, "parameter"),
            (#"{"$cond":{"if":1,"then":2}}"#, "$cond", nil, "has no \"else\""),
            (#"{"$cond":{"if":1,"thn":2,"else":3}}"#, "$cond", nil, "did you mean \"then\"?"),
            (#"{"$map":{"input":[],"as":"A","in":1}}"#, "$map", nil, "small letter"),
            (#"{"$switch":{"branches":[]}}"#, "$switch", nil, "branches"),
            (#"{"x":{"$divide":[1,{"$add":[1,-1]}]}}"#, "$divide", "x", "divide by 0"),
            (#"{"x":{"$add":[1,{"$mod":["$a",0]}]}}"#, "$mod", "x.$add.1", "divide by 0"),
            (#"{"$add":["$a","text"]}"#, "$add", nil, "not a string"),
            (#"{"$switch":{"branches":[{"case":false,"then":1}]}}"#, "$switch", nil, "\"default\""),
            (#"{"$sqrt":-1}"#, "$sqrt", nil, "0 or more"), (#"{"$exp":1e5}"#, "$exp", nil, "range of doubles"),
            (#"{"$size":"$a"}"#, "$size", nil, "an array"), (#"{"$toInt":"1.5"}"#, "$toInt", nil, "$convert"),
            (#"{"$year":"yesterday"}"#, "$year", nil, "ISO 8601"),
        ] as [(String, String?, String?, String)])
    func refusals(expression: String, operation: String?, path: String?, cure: String) throws {
        let error = try refusal(of: expression, of: #"{"a":1}"#)
        #expect(error.status == .invalidQuery)
        #expect(error.message.contains(cure), "\(error.message)")
        func detail(_ name: String) -> String? {
            guard case .text(let text)? = error.detail.first(where: { $0.name == name })?.value else { return nil }
            return text
        }
        #expect(detail("operator") == operation)
        #expect(detail("path") == path)
    }
}
