import CHoldfastWords
import HoldfastEnvironment
import SeededRandom
@_spi(_Unicode) import Swift
import Testing

@testable import HoldfastQuery

@Suite("Words")
struct WordTests {
    /// The words of a text as they stand there.
    private func words(of bytes: [UInt8]) -> [[UInt8]] {
        var words: [[UInt8]] = []
        bytes.withUnsafeBufferPointer { buffer in
            var (position, start, end) = (0, 0, 0)
            while hfwords_next(buffer.baseAddress, buffer.count, &position, &start, &end) {
                words.append(Array(buffer[start..<end]))
            }
        }
        return words
    }

    private func words(of text: String) -> [String] {
        words(of: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    private func terms(of text: String, _ language: String = "none") throws -> [String] {
        var terms: [String] = []
        try Array(text.utf8).withBytes { bytes throws(HoldfastError) in
            try WordWalk(language: language).each(in: bytes) { word in
                terms.append(String(decoding: word.bytes, as: UTF8.self))
                return true
            }
        }
        return terms
    }

    @Test(
        "A text is taken apart in every script",
        arguments: [
            (
                "The quick (\"brown\") fox can't jump 32.3 feet, right?",
                ["The", "quick", "brown", "fox", "can't", "jump", "32.3", "feet", "right"]
            ),
            ("e.g. 3,141.5 v1.2a a:b 1:2", ["e.g", "3,141.5", "v1.2a", "a:b", "1", "2"]),
            ("pre-market", ["pre", "market"]), ("snake_case ___ _a", ["snake_case", "_a"]),
            ("l’été d'or", ["l’été", "d'or"]), ("東京タワー", ["東", "京", "タワー"]), ("ひらがな", ["ひ", "ら", "が", "な"]),
            ("Привет, мир!", ["Привет", "мир"]), ("ψυχή", ["ψυχή"]),
            ("שלום צה\"ל ג'ירפה", ["שלום", "צה\"ל", "ג'ירפה"]),
            ("مرحبا بالعالم", ["مرحبا", "بالعالم"]), ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
            ("한국어 말", ["한국어", "말"]), ("👍🏽 🇩🇪 ok", ["ok"]), ("", []), (" .,;'\"", []),
            ("a\u{0}b\nc\u{2029}d", ["a", "b", "c", "d"]), ("soft\u{AD}hyphen", ["soft\u{AD}hyphen"]),
            ("1'\u{200D}\u{2139} Ⓜz", ["1", "'\u{200D}\u{2139}", "Ⓜz"]),
        ])
    func words(text: String, expected: [String]) { #expect(words(of: text) == expected) }

    @Test("Words are those that Swift's own rules find", arguments: Seeds.of(20))
    func likeSwift(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        // Without Hebrew, of whose letters before a quote Swift takes others apart than the rules say.
        let scalars = Array(
            "aBz12'.,:;\"_ -\n\r\u{301}\u{308}\u{200D}\u{200C}\u{AD}アカあ東éЖн\u{628}\u{64E}\u{915}\u{94D}ก👍·λ\u{2024}"
                .unicodeScalars)
        for _ in 0..<2000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...10, using: &random) { text.append(scalars.randomElement(using: &random)!) }
            let whole = String(text)
            var expected: [[UInt8]] = []
            var start = whole.startIndex
            while start < whole.endIndex {
                let end = whole._wordIndex(after: start)
                let isWord = whole[start..<end].unicodeScalars.contains {
                    $0.properties.isAlphabetic && !$0.properties.isDiacritic
                        && $0.properties.generalCategory != .nonspacingMark
                        || $0.properties.numericType != nil
                }
                if isWord { expected.append(Array(whole[start..<end].utf8)) }
                start = end
            }
            #expect(words(of: Array(whole.utf8)) == expected, "\(text.map { String($0.value, radix: 16) })")
        }
    }

    @Test(
        "Case, accents and endings are folded",
        arguments: [
            ("Café CAFE cafe\u{301}", "none", ["cafe", "cafe", "cafe"]),
            ("STRASSE Straße", "none", ["strasse", "strasse"]),
            ("ΛΌΓΟΣ λόγος", "none", ["λογοσ", "λογοσ"]), ("can’t can't", "none", ["can't", "can't"]),
            ("Running runs dog’s", "english", ["run", "run", "dog"]),
            ("brûlée brulee crème creme", "en", ["brule", "brule", "creme", "creme"]), ("running", "none", ["running"]),
            ("mangées mange\u{301}es", "fr", ["mang", "mang"]), ("Новый новые", "russian", ["нов", "нов"]),
            ("canciones canción", "es", ["cancion", "cancion"]), ("soft\u{AD}hyphen", "none", ["softhyphen"]),
            ("s it's", "porter", ["s", "it'"]), ("छ", "nepali", ["छ"]), ("ـ", "arabic", ["ـ"]),
            ("かがか\u{3099}", "none", ["か", "か\u{3099}", "か\u{3099}"]),
        ])
    func folding(text: String, language: String, expected: [String]) throws {
        #expect(try terms(of: text, language).map { Array($0.utf8) } == expected.map { Array($0.utf8) })
    }

    @Test("A term has at most 256 bytes, of whole scalars")
    func longWords() throws {
        for (count, expected) in [(1, 1), (255, 255), (256, 256), (257, 256), (100_000, 256)] {
            #expect(try terms(of: String(repeating: "x", count: count))[0].utf8.count == expected)
        }
        #expect(try terms(of: String(repeating: "東", count: 1)) == ["東"])
        #expect(try terms(of: String(repeating: "ж", count: 300))[0].utf8.count == 256)
        #expect(try terms(of: "x" + String(repeating: "ж", count: 300))[0].utf8.count == 255)
        #expect(try terms(of: "e" + String(repeating: "\u{301}", count: 100_000)) == ["e"])
    }

    @Test("Bytes that are no text are taken for what they are", arguments: Seeds.of(10))
    func anyBytes(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in
                [UInt8(ascii: "a"), UInt8.random(in: 0...255, using: &random)].randomElement(using: &random)!
            }
            let found = words(of: bytes)
            #expect(found.reduce(0) { $0 + $1.count } <= bytes.count)
            for word in found {
                var term = [UInt8](repeating: 0, count: Int(HFWORDS_TERM_BYTES))
                #expect(hfwords_term(word, word.count, nil, false, &term) >= 0)
            }
        }
    }

    @Test("A word that was met before has the term that it had", arguments: Seeds.of(4))
    func knownWords(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let letters = Array("aeéisfS'東ж")
        for language in ["none", "english", "french", "porter"] {
            let known = try WordWalk(language: language)
            for _ in 0..<1500 {
                let length = Int.random(in: 1...34, using: &random)
                let kinds = Int.random(in: 1...letters.count, using: &random)
                let text = String((0..<length).map { _ in letters[Int.random(in: 0..<kinds, using: &random)] })
                for _ in 0..<2 {
                    var terms: [String] = []
                    try Array(text.utf8).withBytes { bytes throws(HoldfastError) in
                        try known.each(in: bytes) { word in
                            terms.append(String(decoding: word.bytes, as: UTF8.self))
                            return true
                        }
                    }
                    #expect(try terms == self.terms(of: text, language), "\(text)")
                }
            }
        }
    }

    @Test("A text that seems to go on and does not is read once")
    func hostileTexts() {
        // Read again from each of them, a text of two million marks would take hours.
        for unit in ["a:", "1.", "a.\u{301}", "\u{301}", "'", "\u{200D}", "a:\u{AD}"] {
            let bytes = Array(String(repeating: unit, count: 1_000_000).utf8)
            #expect(words(of: bytes).reduce(0) { $0 + $1.count } <= bytes.count)
        }
    }

    @Test("The terms of words stay what they are, because indexes on disk hold them")
    func pinned() throws {
        let languages = [
            "arabic", "basque", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian",
            "italian", "norwegian", "porter", "portuguese", "romanian", "russian", "spanish", "swedish", "turkish",
        ]
        let text =
            "Relational organisations happily généralement Häuser canciones novità книгами λόγους كتابها çocuklar"
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for language in languages + ["none"] {
            for byte in try terms(of: text, language).joined(separator: " ").utf8 {
                hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
            }
        }
        #expect(
            hash == 0x2E4D_B24D_D93E_649A,
            "changed: give the entries of text indexes another number (IndexDefinition.swift)")
    }
}
