/** Forms as Stripe takes them, in bodies and queries: `metadata[order]=9&types[0]=charge.refunded`. */

/** A text, or names (of an object, or the places of a list) with what stands under them. */
export type FormValue = string | { [name: string]: FormValue }

/** Returns what a form holds, every value a text. @throws {Error} that names what cannot be read: a name twice, or both a text and an object */
export function decodeForm(text: string): Record<string, FormValue> {
  const whole: Record<string, FormValue> = Object.create(null)
  for (const pair of text === '' ? [] : text.split('&')) {
    const [name = '', value = '', ...more] = pair.split('=')
    if (more.length > 0) throw new Error(`Form: ${pair}: a value writes = as %3D`)
    put(whole, decode(name), decode(value))
  }
  return whole
}

function put(whole: Record<string, FormValue>, name: string, value: string): void {
  const match = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name)
  if (match === null) throw new Error(`Form: ${name}: brackets do not match`)
  const [, first = '', inner = ''] = match
  let place = whole
  let key = first
  for (const [, next = ''] of inner.matchAll(/\[([^[\]]*)\]/g)) {
    const there = (place[key] ??= Object.create(null) as Record<string, FormValue>)
    if (typeof there === 'string') throw new Error(`Form: ${name}: has a value of its own, too`)
    place = there
    key = next === '' ? String(Object.keys(there).length) : next
  }
  if (place[key] !== undefined) throw new Error(`Form: ${name}: is there twice`)
  place[key] = value
}

const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))
