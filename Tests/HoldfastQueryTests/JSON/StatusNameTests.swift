import HoldfastEnvironment
import HoldfastQuery
import Testing

/// The header is the contract; the core's list must say the same.
@Suite("Status names")
struct StatusNameTests {
    /// Lines such as "    HF_NOT_FOUND = 20," of `include/holdfast/status.h`.
    private func headersStatuses() throws -> [String: Int32] {
        let path = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let file = try #require(fopen("/\(path)/include/holdfast/status.h", "r"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, file))
        let text = String(decoding: bytes, as: UTF8.self)
        let body = text.split(separator: "enum HF_ENUM(hf_status) {")[1].split(separator: "}")[0]
        var statuses: [String: Int32] = [:]
        for line in body.split(separator: "\n") {
            let words = line.split { " =,".contains($0) }
            if words.count == 2, words[0].hasPrefix("HF_") { statuses[String(words[0])] = Int32(words[1]) }
        }
        return statuses
    }

    @Test("Names and numbers are the header's")
    func agreeWithHeader() throws {
        let pairs = Status.allCases.map { ($0.name.description, $0.rawValue) }
        #expect(try headersStatuses() == Dictionary(pairs) { first, _ in first })
    }

    @Test("Each name ends with a NUL, for C")
    func closingNul() {
        for status in Status.allCases {
            #expect(status.name.utf8Start[status.name.utf8CodeUnitCount] == 0)
        }
    }
}
