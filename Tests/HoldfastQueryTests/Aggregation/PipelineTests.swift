import HoldfastEnvironment
import HoldfastQuery
import Testing

@Suite("Pipelines")
struct PipelineTests {
    private func pipeline(_ text: String, _ parameters: [JSONValue.Member] = []) throws -> Pipeline {
        try Array(text.utf8).withUnsafeBytes { try Pipeline.parse($0, key: "id", parameters: parameters) }
    }

    private func reads(_ stage: String) throws -> [String]? {
        try pipeline("[\(stage)]").stages[0].reads.names?.map { String(decoding: $0, as: UTF8.self) }.sorted()
    }

    @Test(
        "A stage tells which members of the documents it looks at",
        arguments: [
            (#"{"$match":{"a.b":1,"$or":[{"c":1},{"d":{"$elemMatch":{"e":1}}}]}}"#, ["a", "c", "d"]),
            (
                #"{"$group":{"_id":"$a.b","x":{"$sum":{"$add":["$c",{"$size":"$d.e"}]}},"y":{"$sum":1}}}"#,
                ["a", "c", "d"]
            ),
            (#"{"$group":{"_id":null,"x":{"$push":{"y":"$z","n":"no"}}}}"#, ["z"]),
            (#"{"$sort":{"a.b":1,"c":-1}}"#, ["a", "c"]),
            (#"{"$project":{"a":1,"b.c":1,"d":"$e"}}"#, ["a", "b", "e", "id"]),
            (#"{"$project":{"a":1,"id":0}}"#, ["a"]),
            (#"{"$project":{"a":0,"b.c":0}}"#, []),
            (#"{"$set":{"a":1,"b.c":"$d","e":{"f":"$g"}}}"#, ["b", "d", "e", "g"]),
            (#"{"$unwind":"$a.b"}"#, ["a"]),
            (#"{"$lookup":{"from":"x","localField":"a.b","foreignField":"c","as":"d"}}"#, ["a"]),
            (#"{"$bucket":{"groupBy":"$a","boundaries":[0,1],"output":{"x":{"$sum":"$b"}}}}"#, ["a", "b"]),
            (#"{"$sortByCount":"$a"}"#, ["a"]), (#"{"$count":"n"}"#, []),
            (#"{"$replaceWith":{"$mergeObjects":["$a","$b"]}}"#, ["a", "b"]),
            (#"{"$set":{"x":{"$let":{"vars":{"v":"$a"},"in":"$$v.b"}}}}"#, ["a"]),
        ])
    func uses(stage: String, names: [String]) throws { #expect(try reads(stage) == names) }

    @Test(
        "A stage that may look at any member says so",
        arguments: [
            #"{"$group":{"_id":null,"all":{"$push":"$$ROOT"}}}"#, #"{"$set":{"x":"$$CURRENT.a"}}"#,
            #"{"$set":{"x":{"$getField":"a"}}}"#,
        ])
    func usesAll(stage: String) throws { #expect(try reads(stage) == nil) }

    @Test(
        "What is chosen, left out and computed is what MongoDB makes of it",
        arguments: [
            (#"{"$project":{"b.c":1}}"#, #"{"id":"1","a":1,"b":{"c":2,"d":3}}"#, #"{"id":"1","b":{"c":2}}"#),
            (#"{"$project":{"b.c":1}}"#, #"{"b":[{"c":2},3,[{"d":1}],{}]}"#, #"{"b":[{"c":2},[{}],{}]}"#),
            (#"{"$project":{"b.c":1,"id":0}}"#, #"{"id":"1","b":4}"#, #"{}"#),
            (#"{"$project":{"b":{"c":0}}}"#, #"{"a":1,"b":[{"c":2,"d":1},3]}"#, #"{"a":1,"b":[{"d":1},3]}"#),
            (#"{"$project":{"x":"$a","a":1}}"#, #"{"b":1,"a":2}"#, #"{"a":2,"x":2}"#),
            (#"{"$project":{"a":"$a","b":1}}"#, #"{"a":2,"b":3}"#, #"{"b":3,"a":2}"#),
            (#"{"$project":{"id":1}}"#, #"{"a":2,"id":3}"#, #"{"id":3}"#),
            (#"{"$project":{"id":0}}"#, #"{"a":2,"id":3}"#, #"{"a":2}"#),
            (#"{"$project":{"a":0,"id":0}}"#, #"{"a":2,"b":1,"id":3}"#, #"{"b":1}"#),
            (#"{"$set":{"b.c":1}}"#, #"{"b":[{"c":2},3,{}],"d":1}"#, #"{"b":[{"c":1},{"c":1},{"c":1}],"d":1}"#),
            (#"{"$set":{"b.c":1,"d":"$b"}}"#, #"{"b":4}"#, #"{"b":{"c":1},"d":4}"#),
            (#"{"$set":{"a":"$b","b":"$a"}}"#, #"{"a":1,"b":2}"#, #"{"a":2,"b":1}"#),
            (#"{"$set":{"a":{"b":{"c":1}}}}"#, #"{"a":{"b":{"d":2},"e":3}}"#, #"{"a":{"b":{"d":2,"c":1},"e":3}}"#),
            (#"{"$set":{"a":{"$literal":{}}}}"#, #"{}"#, #"{"a":{}}"#),
            (#"{"$unset":["a.b","c"]}"#, #"{"a":[{"b":1,"d":2}],"c":1,"e":1}"#, #"{"a":[{"d":2}],"e":1}"#),
        ])
    func projections(stage: String, document: String, expected: String) throws {
        guard case .project(let projector) = try pipeline("[\(stage)]").stages[0].operation else {
            Issue.record("no projection")
            return
        }
        let document = try Array(document.utf8).withUnsafeBytes { try JSONValue.parse($0, what: "document") }
        var writer = JSONWriter()
        writer.value(try projector.apply(document))
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }

    @Test("A document of a text has the members that are asked for, or all", arguments: [nil, ["b", "é"], []])
    func storedTexts(names: [String]?) throws {
        let text = #" {"a" : [1,{"x":null}],"b":-0.5e1,"\u00e9":"\n","c":true} "#
        let all = try Array(text.utf8).withUnsafeBytes { try JSONValue.parse($0, what: "document") }
        guard case .object(let members) = all else { return }
        let wanted = names.map { $0.map { Array($0.utf8) } }
        let document = try Array(text.utf8).withUnsafeBytes { try JSONValue(document: $0, members: wanted) }
        #expect(document == .object(members.filter { wanted?.contains($0.name) ?? true }))
    }

    @Test("Two filters in one are as flat as one")
    func joinedFilters() throws {
        var joined = Filter.all
        for number in 0..<300 {
            let filter = try Array(#"{"m\#(number)":1}"#.utf8).withUnsafeBytes { try Filter.parse($0) }
            joined = joined.and(filter)
        }
        #expect(joined.conjuncts.count == 300)
        var walk = ExtentWalk(left: .max)
        #expect(try walk.excess(of: joined.source, beyond: 4) == nil)
        var writer = JSONWriter()
        writer.value(joined.source)
        #expect(try writer.bytes.withUnsafeBytes { try Filter.parse($0) } == joined)
    }
}
