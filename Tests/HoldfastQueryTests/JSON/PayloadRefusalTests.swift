import HoldfastEnvironment
import HoldfastQuery
import Testing

@Suite("Refusing payloads")
struct PayloadRefusalTests {
    @Test(
        "What is no JSON is refused with its name and position",
        arguments: ["", "{", #"{"a":1,}"#, #"{"a":1,"a":2}"#, "[1] x", "\"\u{1}\"", "1e999", "nul", #""\ud800""#])
    func invalidJSON(text: String) throws {
        do {
            _ = try text.parsed()
            Issue.record("accepted")
        } catch {
            #expect(error.status == .invalidJSON)
            #expect(error.message.hasPrefix("invalid JSON in the sample: "))
            guard case .number(let position) = error.detail.first(where: { $0.name == "position" })?.value else {
                Issue.record("no position in the detail")
                return
            }
            #expect(position <= text.utf8.count)
            #expect(error.message.hasSuffix(" at byte \(position)"))
        }
    }

    @Test("Limits for size and depth hold, and what just fits is accepted")
    func limits() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try nested(100).parsed()
        #expect(#expect(throws: HoldfastError.self) { try nested(101).parsed() }?.status == .invalidJSON)

        let limits = PayloadLimits(maxBytes: 4, maxDepth: 1)
        _ = try "[12]".withBytes { try JSONValue.parse($0, what: "sample", limits: limits) }
        let error = #expect(throws: HoldfastError.self) {
            try "[123]".withBytes { try JSONValue.parse($0, what: "sample", limits: limits) }
        }
        #expect(error?.status == .invalidJSON)
    }
}
