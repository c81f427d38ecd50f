internal import HoldfastEnvironment

/// The operand of `$text`:
///
///     {"$search": "coffee \"dark roast\" -decaf", "$language": "english"}
extension Condition {
    /// Refuses what is no operand, as far as that can be told before the parameters have their values.
    func checkText(what: String) throws(HoldfastError) {
        guard case .object(let members) = operand, operand.parameterName == nil else {
            throw Operator.text.refusal(
                of: operand, location: nil, takes: "an object, as {\"$search\": \"words\"}", what: what)
        }
        for member in members {
            switch String(decoding: member.name, as: UTF8.self) {
            case "$search", "$language":
                if member.value.parameterName == nil { _ = try text(of: member, what) }
            case "$caseSensitive", "$diacriticSensitive":
                guard member.value == .bool(false) else {
                    let name = String(decoding: member.name, as: UTF8.self)
                    throw refuse(
                        "has \"\(name)\", which may only be false: text indexes fold case and accents; match the text "
                            + "with \"$regex\" besides", what)
                }
            case let name:
                throw refuse(
                    "has \"\(name)\"; it takes \"$search\" and \"$language\"", what)
            }
        }
        guard members.contains(where: { $0.name.elementsEqual("$search".utf8) }) else {
            throw refuse("has no \"$search\": give it the words to be found", what)
        }
    }

    /// What is asked for; the parameters have their values.
    func search(of definition: TextDefinition, what: String) throws(HoldfastError) -> WordSearch {
        guard case .object(let members) = operand else { throw refuse("takes no parameter", what) }
        var search: [UInt8] = []
        var language: String?
        for member in members {
            switch String(decoding: member.name, as: UTF8.self) {
            case "$search": search = try text(of: member, what)
            case "$language":
                let name = String(decoding: try text(of: member, what), as: UTF8.self)
                guard TextDefinition.knows(name) else {
                    throw refuse(
                        "has the \"$language\" \"\(name)\", whose words nothing here can stem: give a language of "
                            + "libstemmer's, as \"english\" or \"en\", or \"none\"", what)
                }
                language = name
            default: break
            }
        }
        return try WordSearch(search, language: language, of: definition, what: what)
    }

    private func text(of member: JSONValue.Member, _ what: String) throws(HoldfastError) -> [UInt8] {
        if case .string(let text) = member.value { return text }
        let name = String(decoding: member.name, as: UTF8.self)
        throw refuse("takes a string for \"\(name)\", not \(member.value.typeInWords)", what)
    }

    private func refuse(_ reason: String, _ what: String) -> HoldfastError {
        Operator.text.refusal(reason, location: nil, what: what)
    }
}
