import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { referencePath } from '../platform/http/reference-path.ts'
import type { OpenApi } from './document.ts'
import { firstPage, tagPage } from './pages.ts'
import { searchIndex } from './search-index.ts'

/** Writes the reference into a folder, from openapi.json, the style and the script below `root`. The build calls it. */
export function writeReference(root: string, folder: string): void {
  const document = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8')) as OpenApi
  mkdirSync(folder, { recursive: true })
  cpSync(join(root, 'web', 'docs'), folder, { recursive: true })
  writeFileSync(join(folder, 'index.html'), firstPage(document))
  writeFileSync(join(folder, 'search.json'), searchIndex(document))
  for (const tag of document.tags)
    writeFileSync(join(folder, `${basename(referencePath(tag.name))}.html`), tagPage(document, tag))
}
