package import HoldfastEnvironment

extension TextDefinition {
    /// A text that one of the fields leads to.
    struct Text {
        let text: JSONText
        let weight: Int64
    }

    /// The words of an entity, each with the sum of its weights over all places where it stands.
    package struct Counts {
        package internal(set) var weights: [[UInt8]: UInt64] = [:]
        /// How many words there are, stop words left out.
        package internal(set) var length: UInt64 = 0
    }

    /// The texts of an entity: what the fields lead to, and in arrays each element for itself. What is no text has none.
    func texts(in walker: JSONWalker, at position: Int) throws(HoldfastError) -> [Text] {
        var texts: [Text] = []
        do throws(CorruptJSON) {
            for field in fields {
                _ = try PathWalk(walker, field.path).visit(from: position) { leaf throws(CorruptJSON) in
                    switch leaf {
                    case .missing, .unnamed, .blocked: break
                    case .member(let value), .element(let value):
                        switch try walker.kind(at: value) {
                        case .string: texts.append(Text(text: try walker.text(at: value), weight: field.weight))
                        case .array:
                            var elements = try walker.elements(of: value)
                            while let element = try elements.next() {
                                guard try walker.kind(at: element) == .string else { continue }
                                texts.append(Text(text: try walker.text(at: element), weight: field.weight))
                            }
                        default: break
                        }
                    }
                    return false
                }
            }
        } catch { throw HoldfastError(error) }
        return texts
    }

    /// Visits the words of an entity's texts, each with its weight and whether it is the first of its text, until `visit`
    /// answers false.
    func eachWord(
        in walker: JSONWalker, at position: Int,
        _ visit: (WordWalk.Word, Int64, Bool) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        let texts = try texts(in: walker, at: position)
        if texts.isEmpty { return }
        let words = try WordWalk(language: language, stopWords: foldedStopWords)
        var goesOn = true
        for text in texts where goesOn {
            var isFirst = true
            func take(_ bytes: UnsafeRawBufferPointer) throws(HoldfastError) {
                try words.each(in: bytes) { word throws(HoldfastError) in
                    goesOn = try visit(word, text.weight, isFirst)
                    isFirst = false
                    return goesOn
                }
            }
            if text.text.hasEscapes {
                let decoded: [UInt8]
                do throws(CorruptJSON) { decoded = try walker.decode(text.text) } catch { throw HoldfastError(error) }
                try decoded.withBytes(take)
            } else {
                try take(walker.bytes(text.text.start, text.text.end))
            }
        }
    }

    /// What an index keeps of an entity.
    package func counts(of document: UnsafeRawBufferPointer) throws(HoldfastError) -> Counts {
        let walker = JSONWalker(document)
        let root: Int
        do throws(CorruptJSON) { root = try walker.skipWhiteSpace(0) } catch { throw HoldfastError(error) }
        var counts = Counts()
        try eachWord(in: walker, at: root) { word, weight, _ in
            if word.isStopWord { return true }
            counts.length += 1
            counts.weights[word.bytes, default: 0] += UInt64(weight)
            return true
        }
        return counts
    }
}
