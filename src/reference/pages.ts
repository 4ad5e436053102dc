import { html, type Html } from '../platform/page/html.ts'
import { referencePath } from '../platform/http/reference-path.ts'
import { homesOf, ofRefusals, type OpenApi, operationsOf } from './document.ts'
import { fieldList, type Homes, inline, paragraphs, valueLinks } from './fields.ts'
import { operationSection } from './operation.ts'

/** The pages of the reference: the first, and one of each tag. They need no script. */

interface Content {
  title: string
  /** The tag whose page it is. */
  tag?: string
  main: Html
}

function frame({ info, tags }: OpenApi, content: Content): string {
  const link = (href: string, label: string, isHere: boolean) =>
    isHere
      ? html`<li><a href="${href}" aria-current="page">${label}</a></li>`
      : html`<li><a href="${href}">${label}</a></li>`
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${content.title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/style.css">
<script src="/docs/search.js" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header><a class="name" href="/docs">${info.title} <span>${info.version}</span></a>
<form id="search" role="search" hidden><input type="search" aria-label="Search operations and fields" placeholder="Search operations and fields" autocomplete="off"><ul aria-live="polite"></ul></form></header>
<div class="columns">
<nav aria-label="Resources"><details open><summary>Contents</summary><ul>
${link('/docs', 'Overview', content.tag === undefined)}
${tags.map(({ name }) => link(referencePath(name), name, name === content.tag))}
</ul></details></nav>
<main id="main">
${content.main}
</main>
</div>
</body>
</html>
`
  return page.markup
}

const shortList = (document: OpenApi, tag: string, page: string): Html =>
  html`<ul class="operations">
${operationsOf(document, tag).map(
  ({ operationId, method, path, summary }) =>
    html`<li><a href="${page}#${operationId}">${summary}</a> <span><b class="${method.toLowerCase()}">${method}</b> <code>${path}</code></span></li>
`,
)}</ul>`

function recordSection(document: OpenApi, name: string, homes: Homes): Html {
  const schema = document.components.schemas[name] ?? {}
  return html`<section id="${name}"><h3><a href="#${name}">${name}</a></h3>
${schema.description !== undefined && html`<p>${inline(schema.description)}</p>`}
${schema.properties ? fieldList(schema, name, homes) : html`<p>${valueLinks(schema, homes)}</p>`}</section>
`
}

/** Writes the first page: what holds everywhere, and every operation as a link. */
export function firstPage(document: OpenApi): string {
  const refusals = Object.entries(document.components.responses)
  const main = html`<h1>Reference</h1>
${paragraphs(document.info.description)}
<p>The same as an <a href="/openapi.json">OpenAPI document</a>.</p>
<section><h2 id="errors">Errors that any operation may answer</h2>
<dl class="errors">${refusals.map(([name, { description }]) => {
    const status = name.replace('Refused', '')
    return html`<div id="error-${status}"><dt><a href="#error-${status}"><code>${status}</code></a></dt><dd>${inline(description ?? '')}.</dd></div>
`
  })}</dl>
${[...ofRefusals(document)].map((name) => recordSection(document, name, homesOf(document)))}</section>
${document.tags.map(
  ({ name }) =>
    html`<section><h2><a href="${referencePath(name)}">${name}</a></h2>${shortList(document, name, referencePath(name))}</section>
`,
)}`
  return frame(document, { title: `${document.info.title}: reference`, main })
}

/** Writes the page of a tag: its operations, then the records that it is the first to name. */
export function tagPage(document: OpenApi, { name: tag, description }: OpenApi['tags'][number]): string {
  const homes = homesOf(document)
  const records = [...homes].filter(([, home]) => home === tag).map(([name]) => name)
  const operations = operationsOf(document, tag)
  const main = html`<h1>${tag}</h1>
${description !== undefined && paragraphs(description)}
${shortList(document, tag, '')}
${operations.map((operation) => operationSection(operation, document, homes))}
${records.length > 0 && html`<h2 id="records">Bodies and answers</h2>`}
${records.map((name) => recordSection(document, name, homes))}`
  return frame(document, { title: `${tag}: ${document.info.title} reference`, tag, main })
}
