/**
 * Returns whether an answer is wanted in another form than JSON: by the word of the query, and where that is silent by the Accept header.
 */
export const wantsForm = <Word extends string>(
  form: Word,
  mediaType: string,
  asked: { format: 'json' | Word | null | undefined; accept: string | string[] | undefined },
): boolean =>
  asked.format == null
    ? String(asked.accept ?? '')
        .split(',')
        .some((part) => part.split(';')[0]?.trim().toLowerCase() === mediaType)
    : asked.format === form
