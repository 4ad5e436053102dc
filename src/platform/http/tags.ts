/** Resources as the reference groups operations, each introduced by its room. */

const introductions = new Map<string, string>()

/** Introduces a tag and returns it; operations of other files and rooms may bear it too. */
export function introduced<Tag extends string>(tag: Tag, sentence: string): Tag {
  introductions.set(tag, sentence)
  return tag
}

/** Returns the sentence of a tag; undefined of one that nobody introduced, which a test names. */
export const introductionOf = (tag: string): string | undefined => introductions.get(tag)
