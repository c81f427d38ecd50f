package import HoldfastEnvironment

extension TextDefinition {
    /// The words of an entity, each with the sum of its weights over all places where it stands.
    package struct Counts {
        package internal(set) var weights: [[UInt8]: UInt64] = [:]
        /// How many words there are, stop words left out.
        package internal(set) var length: UInt64 = 0
    }

    /// Visits the words of an entity's texts, each with its weight and whether it is the first of its text, until `visit`
    /// answers false. Texts are what the fields lead to, and in arrays each element for itself. What is no text has no words.
    func eachWord(
        in walker: JSONWalker, at position: Int,
        _ visit: (WordWalk.Word, Int64, Bool) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        try walks.lend { words throws(HoldfastError) in
            var goesOn = true
            // Walks through JSON throw nothing but that it is damaged.
            var failure: HoldfastError?
            func take(_ value: Int, _ weight: Int64) throws(CorruptJSON) {
                let text = try walker.text(at: value)
                var isFirst = true
                func take(_ bytes: UnsafeRawBufferPointer) throws(HoldfastError) {
                    try words.each(in: bytes) { word throws(HoldfastError) in
                        goesOn = try visit(word, weight, isFirst)
                        isFirst = false
                        return goesOn
                    }
                }
                let decoded = text.hasEscapes ? try walker.decode(text) : nil
                do throws(HoldfastError) {
                    if let decoded {
                        try decoded.withBytes(take)
                    } else {
                        try take(walker.bytes(text.start, text.end))
                    }
                } catch {
                    failure = error
                    throw CorruptJSON(position: value)
                }
            }
            do throws(CorruptJSON) {
                for field in fields where goesOn {
                    _ = try PathWalk(walker, field.path).visit(from: position) { leaf throws(CorruptJSON) in
                        switch leaf {
                        case .missing, .unnamed, .blocked: break
                        case .member(let value), .element(let value):
                            switch try walker.kind(at: value) {
                            case .string: try take(value, field.weight)
                            case .array:
                                var elements = try walker.elements(of: value)
                                while goesOn, let element = try elements.next() {
                                    if try walker.kind(at: element) == .string { try take(element, field.weight) }
                                }
                            default: break
                            }
                        }
                        return !goesOn
                    }
                }
            } catch { throw failure ?? HoldfastError(error) }
        }
    }

    /// What an index keeps of an entity. Of one with as many different words as `limit` nothing more is counted.
    package func counts(of document: UnsafeRawBufferPointer, limit: Int) throws(HoldfastError) -> Counts {
        let walker = JSONWalker(document)
        let root: Int
        do throws(CorruptJSON) { root = try walker.skipWhiteSpace(0) } catch { throw HoldfastError(error) }
        var counts = Counts()
        try eachWord(in: walker, at: root) { word, weight, _ throws(HoldfastError) in
            if word.isStopWord { return true }
            counts.length += 1
            let term = Array(word.bytes)
            if let place = counts.weights.index(forKey: term) {
                counts.weights.values[place] += UInt64(weight)
            } else {
                try counts.weights.askToGrow()
                counts.weights[term] = UInt64(weight)
            }
            return counts.weights.count < limit
        }
        return counts
    }
}
