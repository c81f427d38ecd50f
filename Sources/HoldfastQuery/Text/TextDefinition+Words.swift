package import HoldfastEnvironment

extension TextDefinition {
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

    /// The same of a text that is an entity.
    package func eachWord(
        in document: UnsafeRawBufferPointer, _ visit: (WordWalk.Word, Int64, Bool) throws(HoldfastError) -> Bool
    ) throws(HoldfastError) {
        let walker = JSONWalker(document)
        let root: Int
        do throws(CorruptJSON) { root = try walker.skipWhiteSpace(0) } catch { throw HoldfastError(error) }
        try eachWord(in: walker, at: root, visit)
    }
}
