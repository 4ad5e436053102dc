import { addDays, dateOf, dateOfDayNumber, dayNumberOf, type IsoDate, partsOf } from './calendar.ts'

/**
 * Days on which banks settle: of TARGET (the euro), of the Federal Reserve (US dollars), of South Africa, and Monday to Friday where no holidays are
 * known. The rules are those of 2020 to 2099; days that a government declares for one year are in the table up to 2024.
 */

export const BANK_CALENDARS = ['target', 'fed', 'za', 'weekdays'] as const
export type BankCalendar = (typeof BANK_CALENDARS)[number]

const SUNDAY = 0
const MONDAY = 1
const THURSDAY = 4
const SATURDAY = 6

/** Returns the day of the week, 0 for Sunday: 1970-01-01 was a Thursday. */
const weekdayOf = (date: IsoDate): number => (((dayNumberOf(date) + THURSDAY) % 7) + 7) % 7

/** Returns Easter Sunday of the Gregorian calendar, by the golden number and the epact (Lilius and Clavius). */
function easterSunday(year: number): IsoDate {
  const golden = year % 19
  const century = Math.floor(year / 100)
  const moonCorrection = Math.floor((8 * century + 13) / 25)
  const epact = (19 * golden + century - Math.floor(century / 4) - moonCorrection + 15) % 30
  // The full moon of spring is on 18 April at the latest, and of two years of one cycle never on the same day.
  const isLate = epact === 29 || (epact === 28 && golden > 10)
  const fullMoon = dayNumberOf(dateOf(year, 3, 21)) + epact - (isLate ? 1 : 0)
  const daysToSunday = 7 - weekdayOf(dateOfDayNumber(fullMoon))
  return dateOfDayNumber(fullMoon + daysToSunday)
}

/** Returns the first, second, … such weekday of a month. */
function nthWeekday(year: number, month: number, weekday: number, nth: number): IsoDate {
  const first = dateOf(year, month, 1)
  return addDays(first, ((weekday - weekdayOf(first) + 7) % 7) + (nth - 1) * 7)
}

const lastMondayOfMay = (year: number): IsoDate => addDays(nthWeekday(year, 6, MONDAY, 1), -7)

const goodFriday = (year: number): IsoDate => addDays(easterSunday(year), -2)
const easterMonday = (year: number): IsoDate => addDays(easterSunday(year), 1)

/** Moves a holiday from Sunday to Monday; one on a Saturday closes nothing else. */
const sundayToMonday = (date: IsoDate): IsoDate => (weekdayOf(date) === SUNDAY ? addDays(date, 1) : date)

const inYear = (year: number, ...monthsAndDays: readonly (readonly [number, number])[]): IsoDate[] =>
  monthsAndDays.map(([month, day]) => dateOf(year, month, day))

const targetHolidays = (year: number): IsoDate[] => [
  ...inYear(year, [1, 1], [5, 1], [12, 25], [12, 26]),
  goodFriday(year),
  easterMonday(year),
]

/** Lists the holidays of the Federal Reserve; Juneteenth is one since 2022. */
const fedHolidays = (year: number): IsoDate[] => [
  ...inYear(year, [1, 1], ...(year >= 2022 ? [[6, 19] as const] : []), [7, 4], [11, 11], [12, 25]).map(sundayToMonday),
  nthWeekday(year, 1, MONDAY, 3),
  nthWeekday(year, 2, MONDAY, 3),
  lastMondayOfMay(year),
  nthWeekday(year, 9, MONDAY, 1),
  nthWeekday(year, 10, MONDAY, 2),
  nthWeekday(year, 11, THURSDAY, 4),
]

/** Elections, Christmas on a Sunday, and a won world cup: declared by the President for one year. */
const DECLARED_IN_ZA: readonly IsoDate[] = ['2021-11-01', '2022-12-27', '2023-12-15', '2024-05-29']

/** Lists the holidays of the Public Holidays Act 36 of 1994. */
const southAfricanHolidays = (year: number): IsoDate[] => [
  ...inYear(year, [1, 1], [3, 21], [4, 27], [5, 1], [6, 16], [8, 9], [9, 24], [12, 16], [12, 25], [12, 26]).map(
    sundayToMonday,
  ),
  goodFriday(year),
  easterMonday(year),
  ...DECLARED_IN_ZA.filter((date) => partsOf(date).year === year),
]

const HOLIDAYS: Record<BankCalendar, (year: number) => IsoDate[]> = {
  target: targetHolidays,
  fed: fedHolidays,
  za: southAfricanHolidays,
  weekdays: () => [],
}

const holidaysOfYears = new Map<string, ReadonlySet<IsoDate>>()

function holidaysOf(calendar: BankCalendar, year: number): ReadonlySet<IsoDate> {
  const name = `${calendar} ${year}`
  const known = holidaysOfYears.get(name)
  if (known) return known
  const holidays = new Set(HOLIDAYS[calendar](year))
  holidaysOfYears.set(name, holidays)
  return holidays
}

/** Returns true for a day on which the banks of the calendar settle. */
export function isBankDay(calendar: BankCalendar, date: IsoDate): boolean {
  const weekday = weekdayOf(date)
  return weekday !== SATURDAY && weekday !== SUNDAY && !holidaysOf(calendar, partsOf(date).year).has(date)
}

/** Returns the day itself when it is a bank day, else the next one. */
export function bankDayOnOrAfter(calendar: BankCalendar, date: IsoDate): IsoDate {
  let day = date
  while (!isBankDay(calendar, day)) day = addDays(day, 1)
  return day
}

/**
 * Returns the bank day that is so many bank days after a day, or before it for a negative count: 1 is the next one. For 0 it is the day itself,
 * whether it is a bank day or not.
 */
export function addBankDays(calendar: BankCalendar, date: IsoDate, count: number): IsoDate {
  const step = count < 0 ? -1 : 1
  let day = date
  for (let left = Math.abs(count); left > 0; left -= 1) {
    do day = addDays(day, step)
    while (!isBankDay(calendar, day))
  }
  return day
}
