internal import CHoldfastPlatform
internal import CPCRE2
internal import HoldfastEnvironment

/// A regular expression of PCRE2, for UTF-8. Matching takes bounded time and memory: what costs too much is given up.
///
/// PCRE2's own limit of steps counts anew for each place of a text where a match may begin, so that it bounds the
/// whole only when divided by the text's length; then it may stop a harmless search in a long text, too. Hence two
/// attempts: compiled code under such a limit; and, where that gives up, an interpreter that counts the steps of
/// all beginnings together.
///
/// `@unchecked` because of the pointers: what they point to is written by `init` alone, and PCRE2 allows compiled code
/// and match contexts to be used by several threads at once as long as nobody changes them.
package final class Pattern: @unchecked Sendable, Equatable {
    package let text: [UInt8]
    /// Letters of `i m s x`.
    package let options: [UInt8]
    /// What every text begins with that the pattern matches; empty where the pattern does not say so.
    package let prefix: [UInt8]

    private let code: OpaquePointer
    /// The same pattern, calling `count` before each of its items.
    private let counted: OpaquePointer
    private let shortTextContext: OpaquePointer

    package enum Failure: Error {
        /// With the position in the pattern, in bytes.
        case invalid(String, at: Int)
        case noMemory
    }

    package enum Outcome { case matches, differs, tooExpensive, damaged, noMemory }

    package static let maxBytes = 16_384

    package init(_ text: [UInt8], options: [UInt8]) throws(Failure) {
        var flags = UInt32(PCRE2_UTF) | UInt32(PCRE2_NEVER_BACKSLASH_C)
        for letter in options {
            switch letter {
            case UInt8(ascii: "i"): flags |= UInt32(PCRE2_CASELESS)
            case UInt8(ascii: "m"): flags |= UInt32(PCRE2_MULTILINE)
            case UInt8(ascii: "s"): flags |= UInt32(PCRE2_DOTALL)
            case UInt8(ascii: "x"): flags |= UInt32(PCRE2_EXTENDED)
            default: throw .invalid("unknown option", at: 0)
            }
        }
        guard text.count <= Self.maxBytes else {
            throw .invalid("it has \(text.count) bytes; \(Self.maxBytes) are allowed", at: Self.maxBytes)
        }
        let compiled = try Self.compile(text, flags)
        guard let context = pcre2_match_context_create_8(nil) else {
            Self.free(compiled.code)
            Self.free(compiled.counted)
            throw .noMemory
        }
        Self.limit(context, steps: Limits.inForce.patternSteps / Limits.inForce.patternShortText)
        code = compiled.code
        counted = compiled.counted
        shortTextContext = context
        self.text = text
        self.options = options
        prefix = options.isEmpty ? Self.prefix(of: text) : []
    }

    deinit {
        Self.free(code)
        Self.free(counted)
        pcre2_match_context_free_8(shortTextContext)
    }

    package static func == (left: Pattern, right: Pattern) -> Bool {
        left === right || (left.text == right.text && left.options == right.options)
    }

    private static func compile(
        _ text: [UInt8], _ flags: UInt32
    ) throws(Failure) -> (code: OpaquePointer, counted: OpaquePointer) {
        let compilation = text.withUnsafeBufferPointer { text in
            var compilation = Compilation(text: text, flags: flags)
            if text.count <= Limits.inForce.patternShort {
                compilation.run()
                return compilation
            }
            // PCRE2 recurses as deep as groups stand in each other or call each other, and from one item that may be
            // left out to the next.
            let failure = withUnsafeMutablePointer(to: &compilation) { compilation in
                hfplatform_on_large_stack({ $0!.assumingMemoryBound(to: Compilation.self).pointee.run() }, compilation)
            }
            if failure != 0 { compilation.error = PCRE2_ERROR_HEAP_FAILED }
            return compilation
        }
        if let code = compilation.code, let counted = compilation.counted { return (code, counted) }
        free(compilation.code)
        if compilation.error == PCRE2_ERROR_HEAP_FAILED { throw .noMemory }
        var message = [UInt8](repeating: 0, count: 200)
        let length = pcre2_get_error_message_8(compilation.error, &message, message.count)
        throw .invalid(
            String(decoding: message.prefix(max(0, Int(length))), as: UTF8.self), at: compilation.position)
    }

    private struct Compilation {
        let text: UnsafeBufferPointer<UInt8>
        let flags: UInt32
        var code: OpaquePointer?
        var counted: OpaquePointer?
        var error: Int32 = 0
        var position = 0

        mutating func run() {
            code = pcre2_compile_8(text.baseAddress, text.count, flags, &error, &position, nil)
            guard code != nil else { return }
            counted = pcre2_compile_8(
                text.baseAddress, text.count, flags | UInt32(PCRE2_AUTO_CALLOUT), &error, &position, nil)
            // Where the system allows no code to be made, the interpreter does the work.
            atNoFork { pcre2_jit_compile_8(code, UInt32(PCRE2_JIT_COMPLETE)) }
        }
    }

    private static func free(_ code: OpaquePointer?) { atNoFork { pcre2_code_free_8(code) } }

    /// PCRE2 gives out and takes back memory for code under a lock of its own, which a forked child could find taken
    /// for ever.
    @discardableResult
    private static func atNoFork<Result>(_ body: () -> Result) -> Result {
        hfplatform_fork_hold()
        defer { hfplatform_fork_release() }
        return body()
    }

    // MARK: Matching

    /// Whether some part of the text matches.
    package func match(_ text: UnsafeRawBufferPointer) -> Outcome {
        guard let data = pcre2_match_data_create_8(1, nil) else { return .noMemory }
        defer { pcre2_match_data_free_8(data) }
        let outcome = matchCompiled(text, data)
        return outcome == .tooExpensive ? matchCounted(text, data) : outcome
    }

    private func matchCompiled(_ text: UnsafeRawBufferPointer, _ data: OpaquePointer) -> Outcome {
        let isLong = self.text.count > Limits.inForce.patternLong
        if text.count < Limits.inForce.patternShortText, !isLong {
            return Self.match(code, text, data, shortTextContext)
        }
        guard let context = pcre2_match_context_create_8(nil) else { return .noMemory }
        defer { pcre2_match_context_free_8(context) }
        Self.limit(
            context, steps: max(64, Limits.inForce.patternSteps / max(text.count, Limits.inForce.patternShortText)))
        guard isLong else { return Self.match(code, text, data, context) }
        guard
            let stack = pcre2_jit_stack_create_8(
                Limits.inForce.patternStackBytes, Limits.inForce.patternStackBytes, nil)
        else {
            return .noMemory
        }
        defer { pcre2_jit_stack_free_8(stack) }
        pcre2_jit_stack_assign_8(context, nil, UnsafeMutableRawPointer(stack))
        return Self.match(code, text, data, context)
    }

    private func matchCounted(_ text: UnsafeRawBufferPointer, _ data: OpaquePointer) -> Outcome {
        guard let context = pcre2_match_context_create_8(nil) else { return .noMemory }
        defer { pcre2_match_context_free_8(context) }
        Self.limit(context, steps: Int(UInt32.max))
        let ofText = Limits.inForce.patternItemsPerByte.multipliedReportingOverflow(by: text.count)
        var itemsLeft = Limits.inForce.patternItems + (ofText.overflow ? Limits.greatest : ofText.partialValue)
        return withUnsafeMutablePointer(to: &itemsLeft) { itemsLeft in
            pcre2_set_callout_8(context, Self.count, itemsLeft)
            return Self.match(counted, text, data, context)
        }
    }

    /// Ends the match when no items are left.
    private static let count:
        @convention(c) (UnsafeMutablePointer<pcre2_callout_block_8>?, UnsafeMutableRawPointer?) -> Int32 = { _, left in
            guard let left = left?.assumingMemoryBound(to: Int.self) else { return 0 }
            left.pointee -= 1
            return left.pointee < 0 ? PCRE2_ERROR_MATCHLIMIT : 0
        }

    private static func limit(_ context: OpaquePointer, steps: Int) {
        pcre2_set_match_limit_8(context, UInt32(clamping: steps))
        pcre2_set_depth_limit_8(context, UInt32(clamping: steps))
        pcre2_set_heap_limit_8(context, UInt32(clamping: Limits.inForce.patternMemory))
    }

    private static func match(
        _ code: OpaquePointer, _ text: UnsafeRawBufferPointer, _ data: OpaquePointer, _ context: OpaquePointer
    ) -> Outcome {
        // An empty text may have no address, which PCRE2 takes together with the length 0.
        let result = pcre2_match_8(
            code, text.baseAddress?.assumingMemoryBound(to: UInt8.self), text.count, 0, 0, data, context)
        switch result {
        case 0...: return .matches
        case PCRE2_ERROR_NOMATCH: return .differs
        case PCRE2_ERROR_NOMEMORY: return .noMemory
        // Stored text is UTF-8; where it is not, it was damaged.
        case PCRE2_ERROR_UTF8_ERR21...PCRE2_ERROR_UTF8_ERR1: return .damaged
        default: return .tooExpensive  // a limit of steps, depth, heap, or the compiled code's stack
        }
    }

    // MARK: Prefix

    /// The literal text behind a leading `^`, of patterns so plain that there can be no doubt: without alternatives and
    /// without groups that begin with `(?` or `(*`, which may be options, comments or verbs.
    private static func prefix(of text: [UInt8]) -> [UInt8] {
        guard text.first == UInt8(ascii: "^"), !text.contains(UInt8(ascii: "|")) else { return [] }
        for (byte, next) in zip(text, text.dropFirst()) where byte == UInt8(ascii: "(") {
            if next == UInt8(ascii: "?") || next == UInt8(ascii: "*") { return [] }
        }
        var prefix: [UInt8] = []
        /// Where the last character of the prefix begins.
        var last = 0
        var rest = text.dropFirst()
        while let first = rest.first {
            var byte = first
            if byte == UInt8(ascii: "\\") {
                // Escaped punctuation means itself; letters and digits have meanings of their own.
                guard let escaped = rest.dropFirst().first, isPunctuation(escaped) else { break }
                rest = rest.dropFirst()
                byte = escaped
            } else if ".^$*+?()[]{}".utf8.contains(byte) {
                break
            }
            if byte & 0xC0 != 0x80 { last = prefix.count }
            prefix.append(byte)
            rest = rest.dropFirst()
        }
        return leavesWhatIsBefore(rest) ? prefix : Array(prefix[..<last])
    }

    /// Whether no quantifier can stand there, perhaps behind something without a meaning as `\E`, that makes the character
    /// before it optional.
    private static func leavesWhatIsBefore(_ rest: ArraySlice<UInt8>) -> Bool {
        guard let first = rest.first else { return true }
        if first == UInt8(ascii: "\\"), let letter = rest.dropFirst().first { return "dDwWsSbB".utf8.contains(letter) }
        return ".[$+".utf8.contains(first)
    }

    private static func isPunctuation(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }
}
