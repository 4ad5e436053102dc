/** Returns the JSON text of a value; whole numbers of any size, which JSON does not know, stand in it as texts. */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value, (_name, part: unknown) => (typeof part === 'bigint' ? String(part) : part))
