import HoldfastEnvironment
import HoldfastQuery
import SeededRandom
import Testing

@Suite("Patching entities (RFC 7396)")
struct MergePatchTests {
    private func patched(_ target: String, _ patch: String) throws -> String {
        let patch = try patch.withBytes { try MergePatch($0) }
        return String(decoding: try target.withBytes { try patch.applied(to: $0) }, as: UTF8.self)
    }

    /// The RFC's own pseudocode, section 2, on trees.
    private func merge(_ target: JSONValue?, _ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [JSONValue.Member] = []
        if case .object(let old) = target { members = old }
        for change in changes {
            let index = members.firstIndex { $0.name == change.name }
            if change.value == .null {
                if let index { members.remove(at: index) }
            } else {
                let value = merge(index.map { members[$0].value }, change.value)
                let member = JSONValue.Member(name: change.name, value: value)
                if let index { members[index] = member } else { members.append(member) }
            }
        }
        return .object(members)
    }

    @Test(
        "The examples of the RFC's appendix",
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#),
            (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
            (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
            (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
            (#"{}"#, #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        ])
    func appendix(target: String, patch: String, expected: String) throws {
        #expect(try patched(target, patch) == expected)
    }

    @Test("Patching text equals patching trees, in content and in order", arguments: Seeds.of(500))
    func agreesWithTrees(seed: UInt64) throws {
        var samples = JSONSamples(seed: seed)
        let target = samples.object(depth: 4)
        let patch = samples.object(depth: 4)
        let text = samples.text(of: target)
        let patchText = samples.text(of: patch)
        #expect(try patched(text, patchText).parsed() == merge(target, patch), "\(text) patched by \(patchText)")
    }

    @Test("Bytes that the patch does not name stay as they were")
    func untouchedBytes() throws {
        let target = "{ \"a\" : 1.50,\n  \"\\u0062\":\t{ \"x\" :1e2 , \"y\":[ 1,2 ] },\n  \"c\": \"\\u00e9\" }\n"
        #expect(try patched(target, "{}") == target)
        #expect(try patched(target, #"{"zz":null}"#) == target)
        #expect(
            try patched(target, #"{"b":{"x": 1.0}}"#)
                == "{ \"a\" : 1.50,\n  \"\\u0062\":\t{ \"x\" :1.0 , \"y\":[ 1,2 ] },\n  \"c\": \"\\u00e9\" }\n")
        #expect(
            try patched(target, #"{"b":null}"#) == "{ \"a\" : 1.50,\n  \"c\": \"\\u00e9\" }\n")
        #expect(
            try patched(target, #"{"a":null, "c":null, "d":[ null ]}"#)
                == "{ \"\\u0062\":\t{ \"x\" :1e2 , \"y\":[ 1,2 ] },\"d\":[ null ] }\n")
        #expect(try patched(target, #"{"a":null,"b":null,"c":null}"#) == "{ }\n")
        #expect(try patched("{ }", #"{"a":1}"#) == "{\"a\":1 }")
    }

    @Test("A patch that is no object is refused as no entity")
    func notAnObject() {
        for patch in ["[]", "1", "null", "\"x\""] {
            let error = #expect(throws: HoldfastError.self) { try patched("{}", patch) }
            #expect(error?.status == .invalidEntity)
        }
    }

    @Test("Damage in the stored entity is reported as damage")
    func corruptTarget() {
        let error = #expect(throws: HoldfastError.self) { try patched(#"{"a":1,"b""#, #"{"a":2}"#) }
        #expect(error?.status == .corrupt)
    }
}
