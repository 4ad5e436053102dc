import { languageOf } from '../../platform/locale/format.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Drawable } from './document.ts'
import { wordsOf } from './words.ts'

/** Returns the name that a document's PDF is kept under, in its language: letters, digits and dashes alone, whatever its number is. */
export function fileNameOf({ kind, document }: Drawable, id: Id | null = null): string {
  const words = wordsOf(languageOf(document.locale))
  const name =
    kind === 'invoice'
      ? `${words.invoice}-${document.number ?? `${words.draft}-${id}`}`
      : kind === 'credit_note'
        ? `${words.creditNote}-${document.number}`
        : `${words.statement}-${document.from}-${document.to}`
  return `${name.replaceAll(/[^A-Za-z0-9._-]+/g, '-')}.pdf`
}
