import HoldfastEnvironment
import HoldfastQuery
import SeededRandom
import Testing

@Suite("Writing JSON text")
struct WritingTests {
    @Test("What is written parses to what was meant", arguments: Seeds.of(200))
    func roundTrip(seed: UInt64) throws {
        var samples = JSONSamples(seed: seed)
        let value = samples.value(depth: 5)
        #expect(try value.text.parsed() == value)
    }

    @Test("Commas stand between members and elements, at every level")
    func commas() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("a")
        writer.beginArray()
        writer.integer(.min)
        writer.unsigned(.max)
        writer.beginObject()
        writer.endObject()
        writer.null()
        writer.endArray()
        writer.member("b")
        writer.raw(Array("[1]".utf8))
        writer.member("c")
        writer.real(.infinity)
        writer.endObject()
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"a":[-9223372036854775808,18446744073709551615,{},null],"b":[1],"c":null}"#)
    }

    @Test("Only what JSON forbids is escaped")
    func escapes() {
        var writer = JSONWriter()
        writer.string("é/\u{7F}\"\\\n\r\t\u{8}\u{C}\u{0}\u{1F}\u{1F600}")
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == "\"é/\u{7F}\\\"\\\\\\n\\r\\t\\b\\f\\u0000\\u001f\u{1F600}\"")
    }

    @Test("An error's detail holds its members and its cause")
    func errorDetail() {
        let cause = HoldfastError(.io, "cannot write: \"disk\"")
        let error = HoldfastError(
            .invalidOption, "no",
            detail: [
                ("option", .text("x")), ("position", .number(7)), ("names", .texts(["a", "b"])),
                ("given", .json(Array("[null]".utf8))),
            ], cause: cause)
        #expect(
            String(decoding: error.detailJSON, as: UTF8.self)
                == #"{"option":"x","position":7,"names":["a","b"],"given":[null],"#
                + #""cause":{"status":"HF_IO","message":"cannot write: \"disk\""}}"#)
        #expect(String(decoding: cause.detailJSON, as: UTF8.self) == "{}")
    }
}
