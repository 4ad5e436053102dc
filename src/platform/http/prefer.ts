/** Preferences of a request: the header Prefer of RFC 7240. */

export interface Preferences {
  /** How unknown names are handled; undefined where the request prefers nothing. */
  handling: 'strict' | 'lenient' | undefined
  /** A change that answers no body answers what reading its record answers then. */
  isRepresented: boolean
  /** A long operation that can go on on its own answers before it is done. */
  isAsync: boolean
}

/** Matches one preference with its parameters, up to the next comma that stands in no quotes. */
const ONE = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g

/** Matches its name and value; parameters belong to no other preference. */
const NAMED = /^\s*([\w-]+)(?:\s*=\s*"?([\w-]*))?/

/** Reads the preferences of a header. The first of a name holds; those that are not known, and values that are not, change nothing. */
export function preferencesOf(header: string | string[] | undefined): Preferences {
  const found = new Map<string, string>()
  for (const one of String(header ?? '').match(ONE) ?? []) {
    const [, name = '', value = ''] = NAMED.exec(one) ?? []
    if (!found.has(name.toLowerCase())) found.set(name.toLowerCase(), value.toLowerCase())
  }
  const handling = found.get('handling')
  return {
    handling: handling === 'strict' || handling === 'lenient' ? handling : undefined,
    isRepresented: found.get('return') === 'representation',
    isAsync: found.has('respond-async'),
  }
}
