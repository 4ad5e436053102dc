/** Usernames that the service makes: first initial and last name in ASCII, with a number if taken. */

// What Unicode does not take apart into a letter and a mark: Latin, Cyrillic and Greek letters with how they are spelled.
const SPELLED = new Map(
  [
    'ł l, đ d, ð d, ø o, ħ h, ŧ t, ı i, ĸ k, ŋ n, þ th, ß ss, æ ae, œ oe, ə e',
    'а a, б b, в v, г g, ґ g, д d, е e, є ye, ж zh, з z, и i, і i, к k, л l, м m, н n, о o, п p, р r, с s, т t, у u, ф f, х kh',
    'ц ts, ч ch, ш sh, щ shch, ы y, э e, ю yu, я ya, ђ dj, ј j, љ lj, њ nj, ћ c, џ dz',
    'α a, β v, γ g, δ d, ε e, ζ z, η i, θ th, ι i, κ k, λ l, μ m, ν n, ξ x, ο o, π p, ρ r, σ s, ς s, τ t, υ y, φ f, χ ch, ψ ps, ω o',
  ].flatMap((line) => line.split(', ').map((pair) => pair.split(' ') as [string, string])),
)

const BASE_MAX = 40

/** Letters and digits of a name in lower-case ASCII; what has no spelling is left out. */
export function asciiOf(name: string): string {
  const parts = [...name.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '')]
  return parts.map((char) => SPELLED.get(char) ?? (/[a-z0-9]/.test(char) ? char : '')).join('')
}

/** Returns the beginning of a generated username. A name without any ASCII spelling falls back to the mail address, then to a plain word. */
export function usernameBase(contact: { name: string; lastName: string; email: string }): string {
  const last = asciiOf(contact.lastName)
  const first = asciiOf(contact.name)
  const named = last === '' ? first : first.slice(0, 1) + last
  return (named || asciiOf(contact.email.split('@')[0] ?? '') || 'contact').slice(0, BASE_MAX)
}

/** Returns the base itself, else with the first number from 2 that is free. */
export function freeUsername(base: string, taken: ReadonlySet<string>): string {
  if (!taken.has(base)) return base
  let number = 2
  while (taken.has(`${base}${number}`)) number += 1
  return `${base}${number}`
}

/** Returns the form in which usernames are compared: regardless of letter case and of how a character is composed. */
export const usernameKey = (username: string): string => username.normalize('NFKC').toLowerCase()
