import HoldfastEnvironment
import HoldfastQuery
import SeededRandom
import Testing

@Suite("Accumulators")
struct AccumulatorTests {
    private func result(_ accumulation: String, _ documents: [String]) throws -> String {
        let accumulation = try Accumulation(JSONValue(text: accumulation))
        var accumulator = accumulation.begin()
        for document in documents { try accumulation.add(JSONValue(text: document), to: &accumulator) }
        return try accumulator.result.text
    }

    @Test(
        "Each makes of a group what its name says",
        arguments: [
            (#"{"$sum":"$n"}"#, "6"), (#"{"$sum":1}"#, "5"), (#"{"$avg":"$n"}"#, "2.0"), (#"{"$min":"$n"}"#, "1"),
            (#"{"$max":"$n"}"#, "3"), (#"{"$first":"$n"}"#, "3"), (#"{"$last":"$n"}"#, "null"),
            (#"{"$count":{}}"#, "5"),
            (#"{"$push":"$n"}"#, "[3,1,null,2]"), (#"{"$addToSet":"$s"}"#, "[1]"), (#"{"$stdDevPop":"$s"}"#, "0.0"),
            (#"{"$stdDevSamp":"$n"}"#, "1.0"), (#"{"$mergeObjects":"$o"}"#, #"{"a":2,"b":1}"#),
            (#"{"$sum":"$missing"}"#, "0"), (#"{"$avg":"$missing"}"#, "null"), (#"{"$min":"$missing"}"#, "null"),
            (#"{"$sum":["$n"]}"#, "6"),
        ])
    func results(accumulation: String, expected: String) throws {
        let documents = [
            #"{"n":3,"s":1,"o":{"a":1}}"#, #"{"n":1,"s":1.0}"#, #"{"n":null,"o":null}"#, #"{"n":2,"o":{"b":1}}"#,
            #"{"o":{"a":2}}"#,
        ]
        #expect(try result(accumulation, documents) == expected)
    }

    @Test("Sums of integers are exact, also on the way beyond 64 bits and back, and those beyond are doubles")
    func exactSums() throws {
        let most = #"{"n":9223372036854775807}"#
        #expect(try result(#"{"$sum":"$n"}"#, [most, most, #"{"n":-9223372036854775807}"#]) == "9223372036854775807")
        #expect(try result(#"{"$sum":"$n"}"#, [most, most]) == "1.8446744073709552e+19")
        #expect(try result(#"{"$avg":"$n"}"#, [most, most, most]) == "9.223372036854776e+18")
    }

    @Test("A sum of doubles does not depend on their order", arguments: Seeds.of(100))
    func sumsOfDoubles(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var numbers: [Double] = (0..<200).map { _ in Double.random(in: -1...1, using: &generator) * 0x1p40 }
        numbers += [1e300, -1e300]
        func sum() throws -> String {
            try result(#"{"$sum":"$n"}"#, numbers.map { #"{"n":\#($0)}"# })
        }
        let first = try #require(Double(sum()))
        let scale = numbers.dropLast(2).map(\.magnitude).reduce(0, +)
        for _ in 0..<3 {
            numbers.shuffle(using: &generator)
            #expect(try abs(#require(Double(sum())) - first) <= scale * 0x1p-50)
        }
    }

    @Test("Memory is counted: what a set or a list keeps, and nothing for what it does not")
    func memory() throws {
        let accumulation = try Accumulation(JSONValue(text: #"{"$push":"$t"}"#))
        let document = try JSONValue(text: "{\"t\":\"\(String(repeating: "x", count: 1000))\"}")
        var list = accumulation.begin()
        let empty = list.bytes
        for _ in 0..<100 { try accumulation.add(document, to: &list) }
        #expect(list.bytes >= empty + 100_000 && list.bytes < empty + 120_000)
        let toSet = try Accumulation(JSONValue(text: #"{"$addToSet":"$t"}"#))
        var set = toSet.begin()
        for _ in 0..<100 { try toSet.add(document, to: &set) }
        #expect(set.bytes >= empty + 1000 && set.bytes < empty + 4000)
    }

    @Test(
        "What is no accumulator is refused by name",
        arguments: [
            (#"{"$smu":1}"#, "did you mean \"$sum\"?"), (#"{"$add":[1]}"#, "no accumulator"),
            ("1", "must be an object"),
            (#"{"$sum":1,"$avg":1}"#, "must be an object"), (#"{"$count":1}"#, "empty object"),
            (#"{"$sum":[1,2]}"#, "one expression"),
        ])
    func refusals(accumulation: String, message: String) throws {
        let error = try #require(throws: HoldfastError.self) { try Accumulation(JSONValue(text: accumulation)) }
        #expect(error.status == .invalidQuery && error.message.contains(message), "\(error.message)")
    }
}
