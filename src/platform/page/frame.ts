import type { Language } from '../locale/format.ts'
import { readableColour } from './colour.ts'
import { Html, html, plainName } from './html.ts'
import { STYLE } from './style.ts'
import { pageWords } from './words.ts'

/** The frame of every page: one column, an account's name, logo and colour above it, light and dark as the browser wishes, and no script but that of the page. */

/** Face of an account. */
export interface Look {
  name: string
  /** As # and six digits; null, or one that white letters cannot be read on: ours. */
  colour: string | null
  /** The address of its logo; null where it has none. */
  logo: string | null
  /** It moves no real money, which the page shows. */
  isTest: boolean
}

export interface PageContent {
  title: string
  content: Html
  /** A script of the page, without which it works too. */
  script?: string
}

/** Writes a whole page. `look` is null where nobody knows whose page it would have been. The nonce lets the browser take the one style. */
export function framed(
  { title, content, script }: PageContent,
  look: Look | null,
  language: Language,
  nonce: string,
): string {
  const words = pageWords(language)
  const name = look && plainName(look.name)
  const logo =
    look?.logo != null ? html`<img src="${look.logo}" alt="${words.logoOf(look.name)}" height="48" />` : undefined
  const head = look && html`<header aria-label="${words.from}">${logo ?? html`<p><bdi>${look.name}</bdi></p>`}</header>`
  const page = html`<!doctype html>
    <html lang="${language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="strict-origin" />
        <meta name="robots" content="noindex, nofollow" />
        <title>${name ? `${plainName(title)} – ${name}` : title}</title>
        <link rel="icon" href="data:," />
        <style nonce="${nonce}">${new Html(`:root{--brand:${readableColour(look?.colour ?? null)}}${STYLE}`)}</style>
      </head>
      <body>
        ${look?.isTest && html`<aside class="test">${words.test}</aside>`}
        <div class="sheet">
          ${head}
          <main>${content}</main>
        </div>
        ${script !== undefined && html`<script nonce="${nonce}">${new Html(script)}</script>`}
      </body>
    </html>`
  return page.markup
}
