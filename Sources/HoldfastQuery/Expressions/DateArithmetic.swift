internal import HoldfastEnvironment

/// The units of `$dateTrunc`, `$dateDiff` and `$dateAdd`.
private enum DateUnit: String, CaseIterable {
    case year, quarter, month, week, day, hour, minute, second, millisecond

    /// Of units whose months have no fixed length; 0 of others.
    var months: Int64 {
        switch self {
        case .year: 12
        case .quarter: 3
        case .month: 1
        default: 0
        }
    }

    /// Of units with a fixed length.
    var milliseconds: Int64 {
        switch self {
        case .week: 7 * 86_400_000
        case .day: 86_400_000
        case .hour: 3_600_000
        case .minute: 60_000
        case .second: 1000
        default: 1
        }
    }
}

extension ExpressionPlace {
    /// Nil for null and what is missing.
    fileprivate func unit(_ value: JSONValue?) throws(HoldfastError) -> DateUnit? {
        if value.isNullish { return nil }
        let name = try text(value)
        guard let unit = DateUnit(rawValue: String(decoding: name, as: UTF8.self)) else {
            let names = DateUnit.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw refusal("takes for \"unit\" one of \(names): name one of them")
        }
        return unit
    }

    /// From 0 for Sunday, which is also taken where there is none.
    fileprivate func startOfWeek(_ value: JSONValue?) throws(HoldfastError) -> Int64? {
        guard let value else { return 0 }
        if case .null = value { return nil }
        let names = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
        let given = String(decoding: try text(value), as: UTF8.self).lowercased()
        guard !given.isEmpty, let day = names.firstIndex(where: { $0 == given || $0.prefix(3) == given }) else {
            throw refusal("takes for \"startOfWeek\" a day such as \"monday\" or \"mon\": name one")
        }
        return Int64(day)
    }
}

extension DateText {
    /// Since 1970 at an offset, rounded down.
    fileprivate func milliseconds(at offset: Int64) -> Int64 { (seconds + offset) * 1000 + nanoseconds / 1_000_000 }

    fileprivate func day(at offset: Int64) -> CalendarDate {
        CalendarDate(days: (seconds + offset).dividedDown(by: Self.secondsOfDay))
    }
}

enum DateArithmetic {
    /// Since 2000-01-01, where the bins of `$dateTrunc` begin.
    private static let millennium: Int64 = 10_957

    // MARK: Truncating

    /// The beginning of the bin of so many units that the date lies in.
    static let truncate: ListFunction = { operands, place, _ throws(HoldfastError) in
        guard var date = try place.date(operands[0]), let unit = try place.unit(operands[1]),
            let offset = try place.timeZone(operands[3]), let weekday = try place.startOfWeek(operands[4])
        else { return .null }
        var size: Int64 = 1
        if let given = operands[2] {
            if case .null = given { return .null }
            size = try place.whole(given, "\"binSize\"")
            guard 1...100_000_000_000 ~= size else {
                throw place.refusal("takes a \"binSize\" from 1 to 100000000000, not \(size): give another")
            }
        }
        var beginning: Int64
        if unit.months > 0 {
            let day = date.day(at: offset)
            let months = (day.year - 2000) * 12 + day.month - 1
            let first = months - months.remainderDown(by: size * unit.months)
            let (year, month) = (2000 + first.dividedDown(by: 12), first.remainderDown(by: 12) + 1)
            guard -1...10_001 ~= year else { throw outOfRange(place) }
            beginning = CalendarDate(year: year, month: month, day: 1).days * DateText.secondsOfDay * 1000
        } else {
            let origin = (millennium + (unit == .week ? (weekday - 6).remainderDown(by: 7) : 0)) * 86_400_000
            let (length, overflows) = size.multipliedReportingOverflow(by: unit.milliseconds)
            let distance = date.milliseconds(at: offset) - origin
            beginning = origin + distance - distance.remainderDown(by: overflows ? .max / 2 : length)
        }
        date.seconds = beginning.dividedDown(by: 1000) - offset
        date.nanoseconds = beginning.remainderDown(by: 1000) * 1_000_000
        return try text(date, place)
    }

    // MARK: Differences

    /// How many beginnings of a unit lie between two dates.
    static let difference: ListFunction = { operands, place, _ throws(HoldfastError) in
        guard let start = try place.date(operands[0]), let end = try place.date(operands[1]),
            let unit = try place.unit(operands[2]), let offset = try place.timeZone(operands[3]),
            let weekday = try place.startOfWeek(operands[4])
        else { return .null }
        func count(_ date: DateText) -> Int64 {
            if unit.months > 0 {
                let day = date.day(at: offset)
                return (day.year * 12 + day.month - 1).dividedDown(by: unit.months)
            }
            // 1970-01-01 was a Thursday, the day 4.
            let shift = unit == .week ? (4 - weekday) * 86_400_000 : 0
            return (date.milliseconds(at: offset) + shift).dividedDown(by: unit.milliseconds)
        }
        return .integer(count(end) - count(start))
    }

    // MARK: Adding

    static let add: ListFunction = { operands, place, _ throws(HoldfastError) in
        try move(operands, isForward: true, place)
    }

    static let subtract: ListFunction = { operands, place, _ throws(HoldfastError) in
        try move(operands, isForward: false, place)
    }

    private static func move(
        _ operands: [JSONValue?], isForward: Bool, _ place: ExpressionPlace
    ) throws(HoldfastError) -> JSONValue {
        guard var date = try place.date(operands[0]), let unit = try place.unit(operands[1]), !operands[2].isNullish,
            let offset = try place.timeZone(operands[3])
        else { return .null }
        let given = try place.whole(operands[2], "\"amount\"")
        // No date is so far from another.
        guard given.magnitude <= 400_000_000_000_000 else { throw outOfRange(place) }
        let amount = isForward ? given : -given
        if unit.months > 0 {
            let day = date.day(at: offset)
            let time = (date.seconds + offset).remainderDown(by: DateText.secondsOfDay)
            let months = day.year * 12 + day.month - 1 + amount * unit.months
            let (year, month) = (months.dividedDown(by: 12), months.remainderDown(by: 12) + 1)
            guard -1...10_001 ~= year else { throw outOfRange(place) }
            // The last day of the month where it has no such day.
            let target = CalendarDate(
                year: year, month: month, day: min(day.day, CalendarDate.days(inMonth: month, of: year)))
            date.seconds = target.days * DateText.secondsOfDay + time - offset
        } else {
            let milliseconds = Int128(date.milliseconds(at: 0)) + Int128(amount) * Int128(unit.milliseconds)
            guard let milliseconds = Int64(exactly: milliseconds) else { throw outOfRange(place) }
            date.seconds = milliseconds.dividedDown(by: 1000)
            date.nanoseconds = milliseconds.remainderDown(by: 1000) * 1_000_000 + date.nanoseconds % 1_000_000
        }
        return try text(date, place)
    }

    private static func text(_ date: DateText, _ place: ExpressionPlace) throws(HoldfastError) -> JSONValue {
        guard DateText.allowed ~= date.seconds, DateText.allowed ~= date.seconds + date.offset else {
            throw outOfRange(place)
        }
        return .string(date.text)
    }

    private static func outOfRange(_ place: ExpressionPlace) -> HoldfastError {
        place.refusal("leaves the years 1 to 9999: choose another result for such dates with \"$cond\"")
    }
}
