import { LANGUAGES } from '../locale/format.ts'

/** The languages that a browser asks for. */

const HEADER_MAX = 1000

/** Returns the tag that Accept-Language wants most among those of our languages, as de-CH; undefined where it wants none of them. */
export function wantedLocale(header: string | undefined): string | undefined {
  const wanted = (header ?? '')
    .slice(0, HEADER_MAX)
    .split(',')
    .flatMap((entry) => {
      const [tag = '', ...parameters] = entry.trim().split(/\s*;\s*/)
      const weight = Number(parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2) ?? '1')
      const isOurs = LANGUAGES.some((language) => language === tag.toLowerCase().split('-')[0])
      return isOurs && /^[a-z]{2}(-[a-z0-9]{2,8})*$/i.test(tag) && weight > 0 ? [{ tag, weight }] : []
    })
  // Of equal weight the first counts: the order of a sort is stable.
  return wanted.toSorted((one, other) => other.weight - one.weight)[0]?.tag
}
