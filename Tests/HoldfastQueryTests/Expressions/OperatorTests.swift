import HoldfastEnvironment
import HoldfastQuery
import SeededRandom
import Testing

@Suite("Operators of expressions")
struct OperatorTests {
    @Test(
        "Numbers: integers exactly, beyond 64 bits doubles; null makes null",
        arguments: [
            (#"{"$add":[1,2,3]}"#, "6"), (#"{"$add":[1,2.5]}"#, "3.5"), (#"{"$add":[]}"#, "0"),
            (#"{"$add":[1,"$missing"]}"#, "null"), (#"{"$add":[0.1,0.2,0.3]}"#, "0.6"),
            (#"{"$add":[9223372036854775807,1]}"#, "9.223372036854776e+18"),
            (#"{"$add":[9223372036854775807,1,-1]}"#, "9223372036854775807"), (#"{"$subtract":[1,3]}"#, "-2"),
            (#"{"$subtract":[-9223372036854775808,1]}"#, "-9.223372036854776e+18"), (#"{"$multiply":[2,3,4]}"#, "24"),
            (#"{"$multiply":[4294967296,4294967296]}"#, "1.8446744073709552e+19"), (#"{"$divide":[1,2]}"#, "0.5"),
            (#"{"$divide":[null,0]}"#, "null"), (#"{"$mod":[-7,3]}"#, "-1"), (#"{"$mod":[7.5,2]}"#, "1.5"),
            (#"{"$mod":[-9223372036854775808,-1]}"#, "0"), (#"{"$abs":-9223372036854775808}"#, "9.223372036854776e+18"),
            (#"{"$abs":-2}"#, "2"), (#"{"$ceil":1.2}"#, "2.0"), (#"{"$floor":-1.2}"#, "-2.0"), (#"{"$floor":7}"#, "7"),
            (#"{"$round":2.5}"#, "2.0"), (#"{"$round":[2.675,2]}"#, "2.68"), (#"{"$round":[1235,-1]}"#, "1240"),
            (#"{"$round":[1225,-1]}"#, "1220"), (#"{"$round":[9.99,1]}"#, "10.0"), (#"{"$round":[0.05,1]}"#, "0.0"),
            (#"{"$round":[-1234.5678,-2]}"#, "-1200.0"), (#"{"$trunc":[-7.897,1]}"#, "-7.8"),
            (#"{"$trunc":7.9}"#, "7.0"),
            (#"{"$trunc":[1299,-2]}"#, "1200"), (#"{"$round":[9223372036854775807,-19]}"#, "1e+19"),
            (#"{"$sqrt":16}"#, "4.0"), (#"{"$pow":[2,10]}"#, "1024"), (#"{"$pow":[2,-1]}"#, "0.5"),
            (#"{"$pow":[2,64]}"#, "1.8446744073709552e+19"), (#"{"$pow":[-2,63]}"#, "-9223372036854775808"),
            (#"{"$exp":0}"#, "1.0"), (#"{"$ln":1}"#, "0.0"), (#"{"$log10":1000}"#, "3.0"), (#"{"$log":[8,2]}"#, "3.0"),
            (#"{"$sum":[1,2,"x",null]}"#, "3"), (#"{"$sum":{"$literal":[1,2.5]}}"#, "3.5"),
            (#"{"$avg":[[1,2]]}"#, "1.5"),
            (#"{"$min":[3,1,2]}"#, "1"), (#"{"$max":[]}"#, "null"), (#"{"$stdDevPop":[[1,3]]}"#, "1.0"),
        ])
    func numbers(expression: String, expected: String) throws {
        #expect(try evaluated(expression) == expected)
    }

    @Test(
        "Texts, counted in code points",
        arguments: [
            (#"{"$concat":["a","é","b"]}"#, #""aéb""#), (#"{"$concat":["a",null]}"#, "null"),
            (#"{"$toLower":"ÄB1"}"#, #""äb1""#), (#"{"$toUpper":"straße"}"#, #""STRASSE""#),
            (#"{"$toUpper":null}"#, #""""#),
            (#"{"$substrCP":["añb😀c",1,3]}"#, #""ñb😀""#), (#"{"$substrCP":["abc",5,2]}"#, #""""#),
            (#"{"$substrCP":[123,1,1]}"#, #""2""#), (#"{"$strLenCP":"ñ😀"}"#, "2"),
            (#"{"$split":["a-b--c","-"]}"#, #"["a","b","","c"]"#), (#"{"$split":["abc","abc"]}"#, #"["",""]"#),
            (#"{"$trim":{"input":" \t a b\u00a0 "}}"#, #""a b""#),
            (#"{"$ltrim":{"input":"ééxé","chars":"é"}}"#, #""xé""#),
            (#"{"$rtrim":{"input":"xyz","chars":"zy"}}"#, #""x""#),
            (#"{"$trim":{"input":"x","chars":"$missing"}}"#, "null"),
            (#"{"$indexOfCP":["ñandú","ú"]}"#, "4"), (#"{"$indexOfCP":["abcabc","c",3]}"#, "5"),
            (#"{"$indexOfCP":["abcabc","c",0,2]}"#, "-1"), (#"{"$indexOfCP":["abc","",3]}"#, "3"),
            (#"{"$indexOfCP":["abc","",4]}"#, "-1"), (#"{"$indexOfCP":[null,"a"]}"#, "null"),
            (#"{"$regexMatch":{"input":"Café","regex":"^caf.$","options":"i"}}"#, "true"),
            (#"{"$regexMatch":{"input":null,"regex":"x"}}"#, "false"),
            (#"{"$replaceAll":{"input":"aaaa","find":"aa","replacement":"b"}}"#, #""bb""#),
            (#"{"$replaceOne":{"input":"aXaX","find":"X","replacement":"-"}}"#, #""a-aX""#),
            (#"{"$toString":1.0}"#, #""1""#), (#"{"$toString":2.5}"#, #""2.5""#), (#"{"$toString":true}"#, #""true""#),
        ])
    func texts(expression: String, expected: String) throws {
        #expect(try evaluated(expression) == expected)
    }

    @Test(
        "Arrays and sets",
        arguments: [
            (#"{"$size":"$a"}"#, "3"), (#"{"$arrayElemAt":["$a",-1]}"#, "3"),
            (#"{"$arrayElemAt":["$a",3]}"#, "missing"),
            (#"{"$arrayElemAt":["$a",-9223372036854775808]}"#, "missing"), (#"{"$first":"$a"}"#, "1"),
            (#"{"$last":"$a"}"#, "3"), (#"{"$first":[[]]}"#, "missing"), (#"{"$slice":["$a",2]}"#, "[1,2]"),
            (#"{"$slice":["$a",-2]}"#, "[2,3]"), (#"{"$slice":["$a",1,9223372036854775807]}"#, "[2,3]"),
            (#"{"$slice":["$a",-9223372036854775808,1]}"#, "[1]"), (#"{"$in":[2.0,"$a"]}"#, "true"),
            (#"{"$in":["$missing","$a"]}"#, "false"), (#"{"$concatArrays":["$a",[4]]}"#, "[1,2,3,4]"),
            (#"{"$concatArrays":["$a",null]}"#, "null"), (#"{"$reverseArray":"$a"}"#, "[3,2,1]"),
            (#"{"$indexOfArray":["$a",3]}"#, "2"), (#"{"$indexOfArray":["$a",1,1]}"#, "-1"),
            (#"{"$range":[0,10,3]}"#, "[0,3,6,9]"), (#"{"$range":[3,0,-1]}"#, "[3,2,1]"), (#"{"$range":[3,3]}"#, "[]"),
            (
                #"{"$range":[-9223372036854775808,9223372036854775807,9223372036854775807]}"#,
                "[-9223372036854775808,-1,9223372036854775806]"
            ),
            (#"{"$isArray":"$a"}"#, "true"), (#"{"$isArray":1}"#, "false"),
            (#"{"$map":{"input":"$a","as":"n","in":{"$multiply":["$$n",2]}}}"#, "[2,4,6]"),
            (#"{"$map":{"input":"$a","in":"$missing"}}"#, "[null,null,null]"),
            (#"{"$map":{"input":null,"in":1}}"#, "null"),
            (#"{"$filter":{"input":"$a","cond":{"$gt":["$$this",1]}}}"#, "[2,3]"),
            (#"{"$filter":{"input":"$a","as":"n","cond":{"$gt":["$$n",1]},"limit":1}}"#, "[2]"),
            (
                #"{"$reduce":{"input":"$a","initialValue":"","in":{"$concat":["$$value",{"$toString":"$$this"}]}}}"#,
                #""123""#
            ),
            (
                #"{"$map":{"input":"$a","as":"x","in":{"$map":{"input":"$a","as":"y","in":{"$multiply":["$$x","$$y"]}}}}}"#,
                "[[1,2,3],[2,4,6],[3,6,9]]"
            ),
            (#"{"$sortArray":{"input":[3,"a",null,1],"sortBy":1}}"#, #"[null,1,3,"a"]"#),
            (
                #"{"$sortArray":{"input":[{"a":1,"b":1},{"a":2},{"a":1,"b":2}],"sortBy":{"a":-1,"b":-1}}}"#,
                #"[{"a":2},{"a":1,"b":2},{"a":1,"b":1}]"#
            ),
            (#"{"$setUnion":[[1,2,1.0],[3,2]]}"#, "[1,2,3]"), (#"{"$setIntersection":[[1,2,2,3],[3,2]]}"#, "[2,3]"),
            (#"{"$setDifference":[[3,1,2,3],[1]]}"#, "[3,2]"), (#"{"$setIsSubset":[[1,1],[1,2]]}"#, "true"),
            (#"{"$setEquals":[[1,2],[2,1,1]]}"#, "true"), (#"{"$setUnion":[[1],null]}"#, "null"),
        ])
    func arrays(expression: String, expected: String) throws {
        #expect(try evaluated(expression, of: #"{"a":[1,2,3]}"#) == expected)
    }

    @Test(
        "Objects and types",
        arguments: [
            (#"{"$mergeObjects":["$o",null,{"b":3,"c":4}]}"#, #"{"a":1,"b":3,"c":4}"#),
            (#"{"$mergeObjects":[]}"#, "{}"),
            (#"{"$objectToArray":"$o"}"#, #"[{"k":"a","v":1},{"k":"b","v":2}]"#),
            (#"{"$arrayToObject":[[["x",1],["y",2],["x",3]]]}"#, #"{"x":3,"y":2}"#),
            (#"{"$arrayToObject":{"$objectToArray":"$o"}}"#, #"{"a":1,"b":2}"#), (#"{"$getField":"$.x"}"#, "missing"),
            (#"{"$getField":{"field":{"$literal":"$p"},"input":"$d"}}"#, "9"), (#"{"$getField":"d"}"#, #"{"$p":9}"#),
            (#"{"$setField":{"field":"c.d","input":"$o","value":5}}"#, #"{"a":1,"b":2,"c.d":5}"#),
            (#"{"$setField":{"field":"a","input":"$o","value":"$$REMOVE"}}"#, #"{"b":2}"#),
            (#"{"$unsetField":{"field":"b","input":"$o"}}"#, #"{"a":1}"#), (#"{"$type":"$missing"}"#, #""missing""#),
            (#"{"$type":1}"#, #""int""#), (#"{"$type":2147483648}"#, #""long""#), (#"{"$type":1.0}"#, #""double""#),
            (#"{"$isNumber":1.5}"#, "true"), (#"{"$isNumber":"1"}"#, "false"), (#"{"$toInt":"-12"}"#, "-12"),
            (#"{"$toInt":1.9}"#, "1"), (#"{"$toLong":2147483648.5}"#, "2147483648"),
            (#"{"$toDouble":"1e3"}"#, "1000.0"),
            (#"{"$toBool":0}"#, "false"), (#"{"$toBool":"false"}"#, "true"), (#"{"$toInt":null}"#, "null"),
            (#"{"$convert":{"input":"x","to":"int","onError":-1}}"#, "-1"),
            (#"{"$convert":{"input":null,"to":"int","onNull":0}}"#, "0"), (#"{"$convert":{"input":"7","to":16}}"#, "7"),
        ])
    func objectsAndTypes(expression: String, expected: String) throws {
        if expression.contains("$.x") {
            #expect(throws: HoldfastError.self) { try evaluated(expression) }
        } else {
            #expect(try evaluated(expression, of: #"{"o":{"a":1,"b":2},"d":{"$p":9}}"#) == expected)
        }
    }

    @Test("Merging many objects with many members keeps each name once, with its last value", arguments: Seeds.of(50))
    func merging(seed: UInt64) throws {
        var samples = JSONSamples(seed: seed)
        var objects: [JSONValue] = []
        var expected: [[UInt8]: JSONValue] = [:]
        for _ in 0..<10 {
            var members: [[UInt8]: JSONValue] = [:]
            for _ in 0..<samples.below(20) { members[Array("m\(samples.below(30))".utf8)] = samples.scalar() }
            expected.merge(members) { _, new in new }
            objects.append(.object(members.map { JSONValue.Member(name: $0.key, value: $0.value) }))
        }
        let merge = JSONValue.object([
            .init(
                name: Array("$mergeObjects".utf8),
                value: .array(
                    objects.map { value in
                        .object([.init(name: Array("$literal".utf8), value: value)])
                    }))
        ])
        guard case .object(let members)? = try Expression(merge).evaluate(.null) else {
            Issue.record("no object")
            return
        }
        #expect(members.count == expected.count)
        for member in members { #expect(expected[member.name] == member.value) }
    }

    @Test("Replacing and splitting agree with a plain search", arguments: Seeds.of(300))
    func searching(seed: UInt64) throws {
        var samples = JSONSamples(seed: seed)
        let text = String((0..<samples.below(30)).map { _ in samples.pick(["a", "b"] as [Character]) })
        let wanted = String((0...samples.below(4)).map { _ in samples.pick(["a", "b"] as [Character]) })
        var parts = [""]
        var rest = Substring(text)
        while !rest.isEmpty {
            if rest.hasPrefix(wanted) {
                parts.append("")
                rest = rest.dropFirst(wanted.count)
            } else {
                parts[parts.count - 1].append(rest.removeFirst())
            }
        }
        #expect(
            try evaluated(#"{"$split":["\#(text)","\#(wanted)"]}"#)
                == JSONValue.array(parts.map { .string(Array($0.utf8)) }).text)
        #expect(
            try evaluated(#"{"$replaceAll":{"input":"\#(text)","find":"\#(wanted)","replacement":"-"}}"#)
                == "\"\(parts.joined(separator: "-"))\"")
        let index = parts.count == 1 ? -1 : parts[0].count
        #expect(try evaluated(#"{"$indexOfCP":["\#(text)","\#(wanted)"]}"#) == "\(index)")
    }
}
