import { passesLuhn, remainderBy97 } from './bank-numbers.ts'
import { daysInMonth } from './calendar.ts'

/**
 * Forms and check digits of VAT numbers, without the prefix of their country, separators and small letters. Figures are those that tax
 * authorities publish; where they leave a choice it is that of python3-stdnum, with which the tests compare.
 */

type Check = (number: string) => boolean

/** Returns the sum of the digits, each by its weight; the last digits have none where the weights are fewer. */
function weighted(digits: string, weights: readonly number[]): number {
  let sum = 0
  for (const [place, weight] of weights.entries()) sum += weight * Number(digits[place])
  return sum
}

/** Returns the remainder that is never negative. */
const modulo = (value: number, by: number): number => ((value % by) + by) % by

const FALLING = [9, 8, 7, 6, 5, 4, 3, 2]

const digitAt = (number: string, place: number): number => Number(number.at(place))

const isOfWeights =
  (form: RegExp, weights: readonly number[], by: number): Check =>
  (number) =>
    form.test(number) && modulo(weighted(number, weights), by) === 0

/** Checks by ISO 7064, MOD 11,10. */
function passesMod11By10(digits: string): boolean {
  let check = 5
  for (const digit of digits) check = ((((check || 10) * 2) % 11) + Number(digit)) % 10
  return check === 1
}

const isBirthDay = (year: number, month: number, day: number): boolean =>
  month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month)

const numberAt = (digits: string, from: number, to: number): number => Number(digits.slice(from, to))

const isAustrian: Check = (number) => {
  if (!/^U\d{8}$/.test(number)) return false
  const sum = [...number.slice(1, 8)].reduce((all, digit, place) => {
    const counted = Number(digit) * (place % 2 === 0 ? 1 : 2)
    return all + (counted > 9 ? counted - 9 : counted)
  }, 0)
  return modulo(6 - sum, 10) === digitAt(number, -1)
}

const isBelgian: Check = (number) => {
  const whole = number.length === 9 ? `0${number}` : number
  if (!/^\d{10}$/.test(whole) || Number(whole) === 0) return false
  return (numberAt(whole, 0, 8) + numberAt(whole, 8, 10)) % 97 === 0
}

function isBulgarianLegal(number: string): boolean {
  const first = weighted(number, [1, 2, 3, 4, 5, 6, 7, 8]) % 11
  const check = first === 10 ? weighted(number, [3, 4, 5, 6, 7, 8, 9, 10]) % 11 : first
  return check % 10 === digitAt(number, -1)
}

function isBulgarianPerson(number: string): boolean {
  const [month, years] = [numberAt(number, 2, 4), numberAt(number, 0, 2)]
  const [shift, century] = month > 40 ? [40, 2000] : month > 20 ? [20, 1800] : [0, 1900]
  if (!isBirthDay(century + years, month - shift, numberAt(number, 4, 6))) return false
  return (weighted(number, [2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11) % 10 === digitAt(number, -1)
}

const isBulgarian: Check = (number) => {
  if (/^\d{9}$/.test(number)) return isBulgarianLegal(number)
  if (!/^\d{10}$/.test(number)) return false
  const last = digitAt(number, -1)
  const isForeigner = weighted(number, [21, 19, 17, 13, 11, 9, 7, 3, 1]) % 10 === last
  const isOther = modulo(11 - weighted(number, [4, 3, 2, 7, 6, 5, 4, 3, 2]), 11) === last
  return isForeigner || isOther || isBulgarianPerson(number)
}

const CYPRIOT_ODD = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21]
const isCypriot: Check = (number) => {
  if (!/^(?!12)\d{8}[A-Z]$/.test(number)) return false
  let sum = 0
  for (let place = 0; place < 8; place += 1) {
    const digit = digitAt(number, place)
    sum += place % 2 === 0 ? (CYPRIOT_ODD[digit] as number) : digit
  }
  return number.charCodeAt(8) - 65 === sum % 26
}

/** Checks a number of birth, as Czechs and Slovaks have. */
function isBirthNumber(number: string): boolean {
  const isOld = number.length === 9
  let year = 1900 + numberAt(number, 0, 2)
  if (isOld && year >= 1980) year -= 100
  if (isOld && year > 1953) return false
  if (!isOld && year < 1954) year += 100
  if (!isBirthDay(year, (numberAt(number, 2, 4) % 50) % 20, numberAt(number, 4, 6))) return false
  if (isOld) return true
  const check = numberAt(number, 0, 9) % 11
  return (year < 1985 ? check % 10 : check) === digitAt(number, -1)
}

const isCzech: Check = (number) => {
  if (/^[0-8]\d{7}$/.test(number))
    return (modulo(11 - weighted(number, FALLING.slice(1, 8)), 11) || 1) % 10 === digitAt(number, -1)
  if (/^6\d{8}$/.test(number)) {
    const check = weighted(number.slice(1), FALLING.slice(1, 8)) % 11
    return modulo(8 - modulo(10 - check, 11), 10) === digitAt(number, -1)
  }
  return /^\d{9,10}$/.test(number) && isBirthNumber(number)
}

const SPANISH_LETTERS = 'TRWAGMYFPDXBNJZSQVHLCKE'
const SPANISH_COMPANY_LETTERS = 'JABCDEFGHI'
const isSpanish: Check = (number) => {
  const last = number.at(-1) ?? ''
  if (/^[0-9KLMXYZ]\d{7}[A-Z]$/.test(number)) {
    const head = number
      .slice(0, 8)
      .replace(/^[KLM]/, '')
      .replace('X', '0')
      .replace('Y', '1')
      .replace('Z', '2')
    return SPANISH_LETTERS[Number(head) % 23] === last
  }
  if (!/^[ABCDEFGHJNPQRSUVW]\d{7}[0-9A-Z]$/.test(number)) return false
  const check = Array.from({ length: 10 }, (_, digit) => digit).find((digit) =>
    passesLuhn(`${number.slice(1, 8)}${digit}`),
  ) as number
  return last === String(check) || last === SPANISH_COMPANY_LETTERS[check]
}

const FRENCH_KEYS = '0123456789ABCDEFGHJKLMNPQRSTUVWXYZ'
const isFrench: Check = (number) => {
  if (!/^[0-9A-HJ-NP-Z]{2}\d{9}$/.test(number)) return false
  const siren = number.slice(2)
  // Numbers of Monaco begin with 000 and belong to no register of France.
  if (!siren.startsWith('000') && !passesLuhn(siren)) return false
  const [first, second] = [FRENCH_KEYS.indexOf(number[0]!), FRENCH_KEYS.indexOf(number[1]!)]
  if (first < 10 && second < 10) return first * 10 + second === Number(`${siren}12`) % 97
  const key = first < 10 ? first * 24 + second - 10 : first * 34 + second - 100
  return (Number(siren) + 1 + Math.floor(key / 11)) % 11 === key % 11
}

const isGreek: Check = (number) => {
  const whole = number.length === 8 ? `0${number}` : number
  if (!/^\d{9}$/.test(whole)) return false
  return (weighted(whole, [256, 128, 64, 32, 16, 8, 4, 2]) % 11) % 10 === digitAt(whole, -1)
}

const IRISH_LETTERS = 'WABCDEFGHIJKLMNOPQRSTUV'
const irishLetter = (digits: string, letter: string): string | undefined =>
  IRISH_LETTERS[(weighted(digits, FALLING.slice(1)) + 9 * Math.max(0, IRISH_LETTERS.indexOf(letter))) % 23]
const isIrish: Check = (number) => {
  if (!/^\d[0-9A-Z+*]\d{5}[A-W]{1,2}$/.test(number)) return false
  if (/^\d{7}/.test(number)) return number[7] === irishLetter(number.slice(0, 7), number[8] ?? 'W')
  return number[7] === irishLetter(`0${number.slice(2, 7)}${number[0]}`, 'W')
}

const isItalian: Check = (number) =>
  /^(?!0{7})\d{7}(?!000)(0\d\d|100|120|121|888|999)\d$/.test(number) && passesLuhn(number)

const isLithuanian: Check = (number) => {
  if (!/^(\d{7}1\d|\d{10}1\d)$/.test(number)) return false
  const places = Array.from({ length: number.length - 1 }, (_, place) => place)
  const first =
    weighted(
      number,
      places.map((place) => 1 + (place % 9)),
    ) % 11
  const check =
    first === 10
      ? weighted(
          number,
          places.map((place) => 1 + ((place + 2) % 9)),
        ) % 11
      : first
  return check % 10 === digitAt(number, -1)
}

const isLatvian: Check = (number) => {
  if (!/^\d{11}$/.test(number)) return false
  if (digitAt(number, 0) > 3) return weighted(number, [9, 1, 4, 8, 3, 10, 2, 5, 7, 6, 1]) % 11 === 3
  const year = 1800 + 100 * digitAt(number, 6) + numberAt(number, 4, 6)
  if (!isBirthDay(year, numberAt(number, 2, 4), numberAt(number, 0, 2))) return false
  return ((1 + weighted(number, [10, 5, 8, 4, 2, 1, 6, 3, 7, 9])) % 11) % 10 === digitAt(number, -1)
}

const isDutch: Check = (number) => {
  const found = /^(\d{1,9})B(\d\d)$/.exec(number)
  if (!found) return false
  const [head, tail] = [found[1]!.padStart(9, '0'), found[2]!]
  if (Number(head) === 0 || Number(tail) === 0) return false
  return modulo(weighted(head, [...FALLING, -1]), 11) === 0 || remainderBy97(`NL${head}B${tail}`) === 1
}

const ROMANIAN_CENTURIES: Readonly<Record<string, number>> = { 3: 1800, 4: 1800, 5: 2000, 6: 2000 }
const isRomanian: Check = (number) => {
  if (/^[1-9]\d{12}$/.test(number)) {
    const year = (ROMANIAN_CENTURIES[number[0]!] ?? 1900) + numberAt(number, 1, 3)
    if (!isBirthDay(year, numberAt(number, 3, 5), numberAt(number, 5, 7))) return false
    const check = weighted(number, [2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11
    return (check === 10 ? 1 : check) === digitAt(number, -1)
  }
  if (!/^[1-9]\d{1,9}$/.test(number)) return false
  const sum = weighted(number.padStart(10, '0'), [7, 5, 3, 2, 1, 7, 5, 3, 2])
  return ((10 * sum) % 11) % 10 === digitAt(number, -1)
}

const isSlovene: Check = (number) => {
  if (!/^[1-9]\d{7}$/.test(number)) return false
  const check = 11 - (weighted(number, FALLING.slice(1)) % 11)
  return (check === 10 ? 0 : check) === digitAt(number, -1)
}

const isSlovak: Check = (number) =>
  /^\d{10}$/.test(number) && (isBirthNumber(number) || (/^[1-9]\d[234789]/.test(number) && Number(number) % 11 === 0))

/** Departments of the government have numbers below 500, authorities of health the others. */
const isOfState = (kind: string, number: string): boolean => (kind === 'GD') === Number(number) < 500
const isBritish: Check = (number) => {
  const short = /^(GD|HA)(\d{3})$/.exec(number)
  if (short) return isOfState(short[1]!, short[2]!)
  const long = /^(GD|HA)8888(\d{3})(\d\d)$/.exec(number)
  if (long) return isOfState(long[1]!, long[2]!) && Number(long[2]) % 97 === Number(long[3])
  if (!/^\d{9}(\d{3})?$/.test(number)) return false
  const rest = weighted(number, [8, 7, 6, 5, 4, 3, 2, 10, 1]) % 97
  return rest === 0 || (numberAt(number, 0, 3) >= 100 && (rest === 42 || rest === 55))
}

const isSwiss: Check = (number) =>
  /^CHE\d{9}(MWST|TVA|IVA|TPV)?$/.test(number) &&
  modulo(11 - weighted(number.slice(3), [5, 4, 3, 2, 7, 6, 5, 4]), 11) === digitAt(number.slice(0, 12), -1)

const isNorwegian: Check = (number) =>
  /^\d{9}(MVA)?$/.test(number) && weighted(number, [3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0

const isPortuguese: Check = (number) =>
  /^[1-9]\d{8}$/.test(number) && modulo(11 - weighted(number, FALLING), 11) % 10 === digitAt(number, -1)

/** The check of each country that has one, by its ISO code; XI are those of Northern Ireland. */
export const VAT_NUMBER_CHECKS: Readonly<Record<string, Check>> = {
  AT: isAustrian,
  BE: isBelgian,
  BG: isBulgarian,
  CY: isCypriot,
  CZ: isCzech,
  DE: (number) => /^[1-9]\d{8}$/.test(number) && passesMod11By10(number),
  DK: isOfWeights(/^[1-9]\d{7}$/, [2, 7, 6, 5, 4, 3, 2, 1], 11),
  EE: isOfWeights(/^\d{9}$/, [3, 7, 1, 3, 7, 1, 3, 7, 1], 10),
  ES: isSpanish,
  FI: isOfWeights(/^\d{8}$/, [7, 9, 10, 5, 8, 4, 2, 1], 11),
  FR: isFrench,
  GR: isGreek,
  HR: (number) => /^\d{11}$/.test(number) && passesMod11By10(number),
  HU: isOfWeights(/^\d{8}$/, [9, 7, 3, 1, 9, 7, 3, 1], 10),
  IE: isIrish,
  IT: isItalian,
  LT: isLithuanian,
  LU: (number) => /^\d{8}$/.test(number) && numberAt(number, 0, 6) % 89 === numberAt(number, 6, 8),
  LV: isLatvian,
  MT: isOfWeights(/^[1-9]\d{7}$/, [3, 4, 6, 7, 8, 9, 10, 1], 37),
  NL: isDutch,
  PL: isOfWeights(/^\d{10}$/, [6, 5, 7, 2, 3, 4, 5, 6, 7, -1], 11),
  PT: isPortuguese,
  RO: isRomanian,
  SE: (number) => /^\d{10}01$/.test(number) && passesLuhn(number.slice(0, 10)),
  SI: isSlovene,
  SK: isSlovak,
  XI: isBritish,
  GB: isBritish,
  CH: isSwiss,
  NO: isNorwegian,
  // VAT numbers begin with 4, other references of the tax authority with the others.
  ZA: (number) => /^[012349]\d{9}$/.test(number) && passesLuhn(number),
}
