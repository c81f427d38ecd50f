/// A day of the proleptic Gregorian calendar. (The arithmetic counts days from March on, in eras of 400 years: Howard
/// Hinnant, "chrono-compatible low-level date algorithms".)
struct CalendarDate: Equatable {
    var year: Int64
    var month: Int64
    var day: Int64

    init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// From the days since 1970-01-01.
    init(days: Int64) {
        let shifted = days + 719_468
        let era = shifted.dividedDown(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Since 1970-01-01.
    var days: Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.dividedDown(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    static func days(inMonth month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// From 1.
    var dayOfYear: Int64 { days - CalendarDate(year: year, month: 1, day: 1).days + 1 }
    /// From 0 for Sunday.
    var weekday: Int64 { (days + 4).remainderDown(by: 7) }
    /// From 1 for Monday.
    var isoWeekday: Int64 { (days + 3).remainderDown(by: 7) + 1 }
    /// Weeks begin on Sunday; the days before the year's first one are week 0.
    var week: Int64 { (dayOfYear - 1 + 7 - weekday) / 7 }

    /// The week of ISO 8601 and the year that it belongs to, which is that of its Thursday.
    var isoWeek: (year: Int64, week: Int64) {
        let thursday = CalendarDate(days: days + 4 - isoWeekday)
        return (thursday.year, (thursday.dayOfYear - 1) / 7 + 1)
    }
}

extension Int64 {
    /// Rounded down, also below 0.
    func dividedDown(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }

    func remainderDown(by divisor: Int64) -> Int64 { self - dividedDown(by: divisor) * divisor }
}
