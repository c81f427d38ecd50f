import HoldfastEnvironment
import HoldfastQuery
import Testing

@Suite("Updates in MongoDB's operators")
struct UpdateTests {
    static func updated(
        _ target: String, _ update: String, limits: PayloadLimits = .standard
    ) throws -> String {
        let update = try update.withBytes { try Update($0, key: "id", limits: limits) }
        return String(decoding: try target.withBytes { try update.applied(to: $0) }, as: UTF8.self)
    }

    private func refused(
        _ target: String, _ update: String, limits: PayloadLimits = .standard
    ) -> HoldfastError? {
        #expect(throws: HoldfastError.self) { try Self.updated(target, update, limits: limits) }
    }

    @Test(
        "Each operator changes what is there, and makes what is not",
        arguments: [
            (#"{"a":1}"#, #"{"$set":{"a":[ 1.50 ]}}"#, #"{"a":[ 1.50 ]}"#),
            (#"{"a":1}"#, #"{"$set":{"c":2,"b":1e2}}"#, #"{"a":1,"b":1e2,"c":2}"#),
            (#"{"a":{"b":1}}"#, #"{"$set":{"a.b":2,"a.c":3}}"#, #"{"a":{"b":2,"c":3}}"#),
            (#"{}"#, #"{"$set":{"a.b.c":1,"a.b.d":2}}"#, #"{"a":{"b":{"c":1,"d":2}}}"#),
            (#"{"a":1,"b":{"c":2}}"#, #"{"$unset":{"a":"","b.c":1,"d":0,"a2.b":0}}"#, #"{"b":{}}"#),
            (#"{"a":1}"#, #"{"$inc":{"a":2,"b":-3}}"#, #"{"a":3,"b":-3}"#),
            (#"{"a":1,"b":1.5}"#, #"{"$inc":{"a":0.5,"b":1}}"#, #"{"a":1.5,"b":2.5}"#),
            // Beyond what a double holds.
            (
                #"{"a":9007199254740992,"b":3037000499}"#, #"{"$inc":{"a":1},"$mul":{"b":3037000499}}"#,
                #"{"a":9007199254740993,"b":9223372030926249001}"#
            ),
            (#"{"a":3,"b":2}"#, #"{"$mul":{"a":4,"b":0.5,"c":7,"d":1.5}}"#, #"{"a":12,"b":1.0,"c":0,"d":0.0}"#),
            (#"{"a":3,"b":3,"c":3.0}"#, #"{"$min":{"a":2,"b":4,"c":3,"d":5}}"#, #"{"a":2,"b":3,"c":3.0,"d":5}"#),
            (#"{"a":3,"b":3,"c":null}"#, #"{"$max":{"a":2,"b":"x","c":0}}"#, #"{"a":3,"b":"x","c":0}"#),
            (#"{"a":[1],"b":[ ]}"#, #"{"$push":{"a":[2],"b":3,"c":4}}"#, #"{"a":[1,[2]],"b":[3 ],"c":[4]}"#),
            (#"{"a":[1]}"#, #"{"$push":{"a":{"$each":[2,3]},"b":{"$each":[]}}}"#, #"{"a":[1,2,3],"b":[]}"#),
            (#"{"a":[ 1, 2 ]}"#, #"{"$push":{"a":{"$each":[8,9],"$position":0}}}"#, #"{"a":[8,9, 1, 2 ]}"#),
            (#"{"a":[1,2]}"#, #"{"$push":{"a":{"$each":[8],"$position":-1}}}"#, #"{"a":[1,8,2]}"#),
            (#"{"a":[1,2]}"#, #"{"$push":{"a":{"$each":[8],"$position":-9}}}"#, #"{"a":[8,1,2]}"#),
            (#"{"a":[1,2]}"#, #"{"$push":{"a":{"$each":[8],"$position":9}}}"#, #"{"a":[1,2,8]}"#),
            (#"{"a":[1, 2, 3]}"#, #"{"$push":{"a":{"$each":[4],"$slice":-2}}}"#, #"{"a":[3,4]}"#),
            (#"{"a":[1,2,3]}"#, #"{"$push":{"a":{"$each":[4],"$slice":2}}}"#, #"{"a":[1,2]}"#),
            (#"{"a":[1,2]}"#, #"{"$push":{"a":{"$each":[7,8],"$position":1,"$slice":2}}}"#, #"{"a":[1,7]}"#),
            (
                #"{"a":[1,2]}"#, #"{"$push":{"a":{"$each":[7],"$slice":0},"b":{"$each":[1,2],"$slice":-1}}}"#,
                #"{"a":[],"b":[2]}"#
            ),
            (#"{"a":[1.0,1,"x"]}"#, #"{"$addToSet":{"a":1,"b":2}}"#, #"{"a":[1.0,1,"x"],"b":[2]}"#),
            (#"{"a":[1]}"#, #"{"$addToSet":{"a":{"$each":[2,1.0,2.0,"x"]}}}"#, #"{"a":[1,2,"x"]}"#),
            (#"{"a":[1]}"#, #"{"$addToSet":{"a":{"x":1}}}"#, #"{"a":[1,{"x":1}]}"#),
            (#"{"a":[1,2,1.0,[1]],"b":1}"#, #"{"$pull":{"a":1,"c":2}}"#, #"{"a":[2,[1]],"b":1}"#),
            (#"{"a":[ {"x":1,"y":2}, 1, {"x":2} ]}"#, #"{"$pull":{"a":{"x":1}}}"#, #"{"a":[ 1, {"x":2} ]}"#),
            (#"{"a":[1,2,1,[3]]}"#, #"{"$pull":{"a":{"$gte":2,"$ne":5}}}"#, #"{"a":[1,1]}"#),
            (
                #"{"a":[{"x":1},{"y":[2]},{"x":3}]}"#, #"{"$pull":{"a":{"$or":[{"x":{"$gt":2}},{"y":2}]}}}"#,
                #"{"a":[{"x":1}]}"#
            ),
            (#"{"a": 1.50 ,"b":2}"#, #"{"$rename":{"a":"c.d","x":"y"}}"#, #"{"b":2,"c":{"d":1.50}}"#),
            (#"{"a":1,"b":2}"#, #"{"$rename":{"a":"b"}}"#, #"{"b":1}"#),
            (#"{"a":1}"#, #"{"$rename":{"x":"a"}}"#, #"{"a":1}"#),
            (#"{"a":[{"b":1},{"b":2}]}"#, #"{"$inc":{"a.1.b":5}}"#, #"{"a":[{"b":1},{"b":7}]}"#),
            (#"{"a":[1]}"#, #"{"$set":{"a.3":4,"a.1":2}}"#, #"{"a":[1,2,null,4]}"#),
            (#"{"a":[]}"#, #"{"$set":{"a.1.b":4}}"#, #"{"a":[null,{"b":4}]}"#),
            (#"{"a":[1,2]}"#, #"{"$unset":{"a.0":"","a.7":""}}"#, #"{"a":[null,2]}"#),
            (#"{}"#, #"{"$set":{"a.0":1}}"#, #"{"a":{"0":1}}"#),
            (#"{"a":1}"#, #"{"$unset":{"a.b":""},"$pull":{"b.c":1}}"#, #"{"a":1}"#),
        ])
    func examples(target: String, update: String, expected: String) throws {
        #expect(try Self.updated(target, update) == expected)
    }

    @Test("What comes to the same leaves the bytes as they are")
    func unchanged() throws {
        let target = "{ \"a\" : 1.50,\"s\":[ 1 , 2.0 ],\"n\":10 }"
        for update in [
            "{}", #"{"$set":{},"$inc":{}}"#, #"{"$inc":{"a":0,"n":0}}"#, #"{"$mul":{"n":1,"a":1.0}}"#,
            #"{"$addToSet":{"s":{"$each":[2,1]}}}"#, #"{"$pull":{"s":7,"x":1}}"#, #"{"$unset":{"x.y":1}}"#,
            #"{"$min":{"n":11},"$max":{"a":1.5}}"#, #"{"$push":{"s":{"$each":[]}}}"#, #"{"$rename":{"x":"a"}}"#,
        ] {
            #expect(try Self.updated(target, update) == target, "\(update)")
        }
    }

    @Test("Bytes that no path names stay as they were")
    func untouchedBytes() throws {
        let target = "{ \"a\" : 1.50,\n  \"\\u0062\":\t{ \"x\" :1e2 , \"y\":[ 1,2 ] },\n  \"c\": \"\\u00e9\" }\n"
        #expect(
            try Self.updated(target, #"{"$push":{"b.y":3},"$inc":{"d":1}}"#)
                == "{ \"a\" : 1.50,\n  \"\\u0062\":\t{ \"x\" :1e2 , \"y\":[ 1,2,3 ] },\n  \"c\": \"\\u00e9\",\"d\":1 }\n"
        )
        #expect(
            try Self.updated(target, #"{"$unset":{"a":1,"b.x":1}}"#)
                == "{ \"\\u0062\":\t{ \"y\":[ 1,2 ] },\n  \"c\": \"\\u00e9\" }\n")
    }

    @Test(
        "Paths that meet are a conflict, whatever their operators",
        arguments: [
            #"{"$set":{"a":1},"$inc":{"a":1}}"#, #"{"$set":{"a":1,"a.b":1}}"#,
            #"{"$set":{"a.b.c":1},"$unset":{"a.b":1}}"#, #"{"$rename":{"a":"b"},"$set":{"b.c":1}}"#,
            #"{"$rename":{"a":"a"}}"#, #"{"$rename":{"a":"a.b"}}"#, #"{"$rename":{"a":"c","b":"c"}}"#,
        ])
    func conflicts(update: String) throws {
        let error = refused("{}", update)
        #expect(error?.status == .invalidQuery)
        #expect(error?.message.contains("would create a conflict at") == true)
        #expect(try Self.updated("{}", #"{"$set":{"ab":1,"a.b":1,"a.c":1}}"#) == #"{"a":{"b":1,"c":1},"ab":1}"#)
    }

    @Test(
        "An update that means nothing is refused whatever it is applied to",
        arguments: [
            "[]", "1", "null", #"{"a":1}"#, #"{"$foo":{"a":1}}"#, #"{"$set":1}"#, #"{"$inc":{"a":"1"}}"#,
            #"{"$mul":{"a":null}}"#, #"{"$set":{"":1}}"#, #"{"$set":{"a..b":1}}"#, #"{"$set":{".a":1}}"#,
            #"{"$set":{"a.$":1}}"#, #"{"$set":{"a.$[].b":1}}"#, #"{"$rename":{"a":1}}"#, #"{"$rename":{"a":"b."}}"#,
            #"{"$push":{"a":{"$each":1}}}"#, #"{"$push":{"a":{"$each":[1],"x":1}}}"#, #"{"$push":{"a":{"$slice":1}}}"#,
            #"{"$push":{"a":{"$each":[1],"$sort":1}}}"#, #"{"$push":{"a":{"$each":[1],"$slice":1.5}}}"#,
            #"{"$addToSet":{"a":{"$each":[1],"$slice":1}}}"#, #"{"$pull":{"a":{"$nope":1}}}"#,
        ])
    func meaningless(update: String) {
        #expect(refused("{}", update)?.status == .invalidQuery)
    }

    @Test(
        "What does not fit the entity is refused, telling path, operator and cure",
        arguments: [
            (#"{"$inc":{"o.s":1}}"#, "\"$inc\" of \"o.s\" needs a number, and there is a string: make it one with"),
            (#"{"$mul":{"z":1}}"#, "\"$mul\" of \"z\" needs a number, and there is null"),
            (#"{"$push":{"n":1}}"#, "\"$push\" of \"n\" needs an array, and there is a number"),
            (#"{"$addToSet":{"o":1}}"#, "\"$addToSet\" of \"o\" needs an array, and there is an object"),
            (#"{"$pull":{"n":1}}"#, "\"$pull\" of \"n\" needs an array, and there is a number"),
            (#"{"$set":{"n.a":1}}"#, "\"$set\" of \"n.a\" cannot be created, because \"n\" is a number"),
            (#"{"$set":{"z.a.b":1}}"#, "\"$set\" of \"z.a.b\" cannot be created, because \"z\" is null"),
            (#"{"$set":{"l.a":1}}"#, "\"$set\" of \"l.a\" does not name an element of the array \"l\""),
            (#"{"$set":{"l.01":1}}"#, "does not name an element of the array"),
            (#"{"$inc":{"n":9223372036854775807}}"#, "leaves the range of 64-bit integers: 1 plus 9223372036854775807"),
            (#"{"$mul":{"h":-9223372036854775808}}"#, "leaves the range of 64-bit integers"),
            (#"{"$mul":{"r":1e300}}"#, "leaves the range of doubles"),
            (#"{"$rename":{"l.0":"x"}}"#, "\"$rename\" of \"l.0\" leads through an array"),
            (#"{"$rename":{"n":"l.0"}}"#, "\"$rename\" of \"l.0\" leads through an array"),
            (#"{"$set":{"l.99999999":1}}"#, "would fill the array up to index 99999999"),
            (#"{"$set":{"l.9223372036854775807":1}}"#, "would fill the array up to index 9223372036854775807"),
            (#"{"$set":{"id":"x"}}"#, "\"$set\" of \"id\" would change the entity's id"),
            (#"{"$unset":{"id.x":"x"}}"#, "would change the entity's id"),
            (#"{"$rename":{"n":"id"}}"#, "would change the entity's id"),
        ])
    func misfits(update: String, message: String) {
        let error = refused(#"{"id":1,"n":1,"h":2,"r":1e300,"z":null,"o":{"s":"x"},"l":[1]}"#, update)
        #expect(error?.status == .invalidEntity)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test("No result is deeper than the store allows, and values may be as deep as that")
    func depth() throws {
        let limits = PayloadLimits(maxDepth: 3)
        #expect(try Self.updated("{}", #"{"$set":{"a.b":[1]}}"#, limits: limits) == #"{"a":{"b":[1]}}"#)
        #expect(try Self.updated("{}", #"{"$push":{"a":{"$each":[[1]]}}}"#, limits: limits) == #"{"a":[[1]]}"#)
        for update in [
            #"{"$set":{"a.b":[[]]}}"#, #"{"$push":{"a":[[]]}}"#, #"{"$push":{"a.b":[]}}"#,
            #"{"$addToSet":{"a.b":{"$each":[[]]}}}"#, #"{"$min":{"a.b":{"c":{}}}}"#, #"{"$rename":{"x":"a.b"}}"#,
        ] {
            #expect(refused(#"{"x":[[]]}"#, update, limits: limits)?.status == .invalidEntity, "\(update)")
        }
        #expect(refused("{}", #"{"$unset":{"a.b.c.d":1}}"#, limits: limits)?.status == .invalidQuery)
    }

    @Test("Damage in the stored entity is reported as damage")
    func corruptTarget() {
        #expect(refused(#"{"a":1,"b""#, #"{"$inc":{"a":2}}"#)?.status == .corrupt)
        #expect(refused(#"{"a":[1,"#, #"{"$push":{"a":2}}"#)?.status == .corrupt)
    }
}
