/** Returns the weight that an Accept header gives to a media type that it names: 1 unless it gives another, 0 where it does not name it. */
function weightOf(mediaType: string, accept: string): number {
  const named = accept
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((word) => word.trim()))
    .find(([type]) => type === mediaType)
  if (named === undefined) return 0
  const weight = Number(named.find((word) => word.startsWith('q='))?.slice(2) ?? 1)
  return Number.isNaN(weight) ? 1 : weight
}

/**
 * Returns whether an answer is wanted in another form than JSON: by the word of the query, and where that is silent by the Accept header, which
 * names the other form and does not prefer JSON to it.
 */
export function wantsForm<Word extends string>(
  form: Word,
  mediaType: string,
  asked: { format: 'json' | Word | null | undefined; accept: string | string[] | undefined },
): boolean {
  if (asked.format != null) return asked.format === form
  const accept = String(asked.accept ?? '')
  const weight = weightOf(mediaType, accept)
  return weight > 0 && weight >= weightOf('application/json', accept)
}
