/** Joins texts to a list inside a sentence: "a", "a and b", "a, b and c". */
export function sentenceList(words: readonly string[], conjunction = 'and'): string {
  if (words.length <= 1) return words[0] ?? ''
  return `${words.slice(0, -1).join(', ')} ${conjunction} ${words.at(-1)}`
}

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/** Returns a text without the signs that turn the direction of what follows them. */
export const straight = (text: string): string => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '')
