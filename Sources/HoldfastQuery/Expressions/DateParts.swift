internal import HoldfastEnvironment

extension ExpressionPlace {
    /// Nil for null and what is missing.
    func date(_ value: JSONValue?) throws(HoldfastError) -> DateText? {
        if value.isNullish { return nil }
        guard case .string(let text)? = value else {
            throw needs("dates as strings in the form of ISO 8601", not: value)
        }
        guard let date = DateText(text) else {
            throw refusal(
                "takes dates in the form of ISO 8601, such as \"2024-05-06T07:08:09Z\", not "
                    + "\"\(String(decoding: text.prefix(60), as: UTF8.self))\": store it so, or choose with \"$cond\"")
        }
        return date
    }

    /// The offset from UTC in seconds; that of UTC where there is none; nil for null.
    func timeZone(_ value: JSONValue?) throws(HoldfastError) -> Int64? {
        guard let value else { return 0 }
        if case .null = value { return nil }
        guard let offset = DateText.offset(named: try text(value)) else {
            throw refusal(
                "takes for \"timezone\" \"UTC\" or an offset such as \"+02:00\": give the offset of the place")
        }
        return offset
    }
}

/// The operators that read a part of a date, in UTC or at another offset.
enum DatePart: String, CaseIterable, Sendable {
    case year, month, dayOfMonth, hour, minute, second, millisecond, dayOfWeek, dayOfYear, week, isoWeek, isoWeekYear,
        isoDayOfWeek

    /// Takes a date, or an object of a date and a time zone.
    @Sendable func compile(
        _ compiler: inout ExpressionCompiler, _ value: JSONValue, _ place: ExpressionPlace
    ) throws(HoldfastError) -> any ExpressionNode {
        guard case .object(let members) = value, !members.contains(where: { $0.name.first == UInt8(ascii: "$") }) else {
            return Variadic([try compiler.operands(value, 1...1, place)[0], nil], part, place)
        }
        let given = try compiler.members(value, required: ["date"], optional: ["timezone"], place)
        let date = try compiler.expression(given[0]!, below: "date")
        var zone: (any ExpressionNode)?
        if let value = given[1] { zone = try compiler.expression(value, below: "timezone") }
        return Variadic([date, zone.map { IfMissing($0) }], part, place)
    }

    private var part: ListFunction {
        { operands, place, _ throws(HoldfastError) in
            guard let date = try place.date(operands[0]), let offset = try place.timeZone(operands[1]) else {
                return .null
            }
            return .integer(self.part(of: date, at: offset))
        }
    }

    private func part(of date: DateText, at offset: Int64) -> Int64 {
        let local = date.seconds + offset
        let time = local.remainderDown(by: DateText.secondsOfDay)
        let day = CalendarDate(days: local.dividedDown(by: DateText.secondsOfDay))
        return switch self {
        case .year: day.year
        case .month: day.month
        case .dayOfMonth: day.day
        case .hour: time / 3600
        case .minute: time / 60 % 60
        case .second: time % 60
        case .millisecond: date.nanoseconds / 1_000_000
        case .dayOfWeek: day.weekday + 1
        case .dayOfYear: day.dayOfYear
        case .week: day.week
        case .isoWeek: day.isoWeek.week
        case .isoWeekYear: day.isoWeek.year
        case .isoDayOfWeek: day.isoWeekday
        }
    }
}

/// `$dateToString`.
enum DateFormat {
    private static let standard = Array("%Y-%m-%dT%H:%M:%S.%LZ".utf8)

    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    static let write: ListFunction = { operands, place, evaluation throws(HoldfastError) in
        guard let date = try place.date(operands[0]) else { return operands[3] ?? .null }
        guard let offset = try place.timeZone(operands[2]) else { return .null }
        let format = operands[1] == nil ? standard : try place.text(operands[1])
        // A letter becomes nine at most.
        try evaluation.spend(9 * format.count, place)
        return .string(try text(of: date, at: offset, format, place))
    }

    private static func text(
        of date: DateText, at offset: Int64, _ format: [UInt8], _ place: ExpressionPlace
    ) throws(HoldfastError) -> [UInt8] {
        let local = date.seconds + offset
        let time = local.remainderDown(by: DateText.secondsOfDay)
        let day = CalendarDate(days: local.dividedDown(by: DateText.secondsOfDay))
        var writer = DigitWriter()
        var letters = format.makeIterator()
        while let letter = letters.next() {
            guard letter == UInt8(ascii: "%") else {
                writer.bytes.append(letter)
                continue
            }
            let specifier = letters.next().map { Character(Unicode.Scalar($0)) }
            switch specifier {
            case "Y": writer.number(day.year, 4)
            case "m": writer.number(day.month, 2)
            case "d": writer.number(day.day, 2)
            case "H": writer.number(time / 3600, 2)
            case "M": writer.number(time / 60 % 60, 2)
            case "S": writer.number(time % 60, 2)
            case "L": writer.number(date.nanoseconds / 1_000_000, 3)
            case "j": writer.number(day.dayOfYear, 3)
            case "u": writer.number(day.isoWeekday, 1)
            case "w": writer.number(day.weekday + 1, 1)
            case "U": writer.number(day.week, 2)
            case "V": writer.number(day.isoWeek.week, 2)
            case "G": writer.number(day.isoWeek.year, 4)
            case "b": writer.bytes += Array(months[Int(day.month) - 1].utf8.prefix(3))
            case "B": writer.bytes += Array(months[Int(day.month) - 1].utf8)
            case "z": writer.offset(offset, separator: nil)
            case "Z": writer.bytes += Array(String(offset / 60).utf8)
            case "%": writer.bytes.append(letter)
            default:
                throw place.refusal(
                    "has \"%\(specifier.map(String.init) ?? "")\" in its format, which means nothing: use %Y %m %d %H %M %S %L "
                        + "%j %u %w %U %V %G %b %B %z %Z, or %% for the sign itself")
            }
        }
        return writer.bytes
    }
}
