/** Joins texts to a list inside a sentence: "a", "a and b", "a, b and c". */
export function sentenceList(words: readonly string[], conjunction = 'and'): string {
  if (words.length <= 1) return words[0] ?? ''
  return `${words.slice(0, -1).join(', ')} ${conjunction} ${words.at(-1)}`
}

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
