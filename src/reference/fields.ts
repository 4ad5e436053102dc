import { html, type Html, type HtmlValue } from '../platform/page/html.ts'
import { referencePath } from '../platform/http/reference-path.ts'
import { nameOf, type Parameter, type ShownSchema } from './document.ts'

/** Fields and parameters of the reference: each with its address, its type, its sentence and its bounds. */

/** Finds the page of a component. */
export type Homes = ReadonlyMap<string, string>

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g

/** Writes a sentence of the document: code, bold words and links of Markdown are all that it may hold. */
export function inline(text: string): Html {
  const parts: HtmlValue[] = []
  let from = 0
  for (const found of text.matchAll(INLINE)) {
    const [whole, code, bold, label, target] = found
    parts.push(text.slice(from, found.index))
    from = found.index + whole.length
    if (code !== undefined) parts.push(html`<code>${code}</code>`)
    else if (bold !== undefined) parts.push(html`<strong>${bold}</strong>`)
    else parts.push(html`<a href="${target}">${label}</a>`)
  }
  return html`${[...parts, text.slice(from)]}`
}

/** Writes paragraphs, which a blank line divides. */
export const paragraphs = (text: string): Html[] => text.split('\n\n').map((part) => html`<p>${inline(part)}</p>`)

const FORMATS: Record<string, string> = { date: 'date', 'date-time': 'date and time', uuid: 'UUID', binary: 'file' }
const TYPES: Record<string, string> = { integer: 'whole number', string: 'text', boolean: 'true or false' }

function joined(parts: readonly HtmlValue[], word: string): HtmlValue[] {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [word, part]))
}

/** Writes what a value may be; components are links. */
export function valueLinks(schema: ShownSchema, homes: Homes): Html {
  const name = nameOf(schema)
  if (name !== undefined) return html`<a href="${referencePath(homes.get(name) ?? '')}#${name}">${name}</a>`
  if (schema.anyOf)
    return html`${joined(
      schema.anyOf.map((one) => valueLinks(one, homes)),
      ' or ',
    )}`
  const types = ([] as string[]).concat(schema.type ?? 'object').map((type): HtmlValue => {
    if (type === 'array') return html`list of ${valueLinks(schema.items ?? {}, homes)}`
    return (type === 'string' ? FORMATS[schema.format ?? ''] : undefined) ?? TYPES[type] ?? type
  })
  return html`${joined(types, ' or ')}`
}

/** Returns the bounds of a value as one line; empty where there are none that a reader would meet. */
function boundsOf(schema: ShownSchema): Html[] {
  const { minimum, maximum, maxLength, minItems, maxItems } = schema
  const isBounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  const words = (schema.enum ?? []).filter((word) => word !== null).map((word) => html`<code>${String(word)}</code>`)
  return [
    ...(words.length > 0 ? [html`One of ${joined(words, ', ')}.`] : []),
    ...(isBounded ? [html`From ${String(minimum ?? 0)} to ${String(maximum)}.`] : []),
    ...(!isBounded && minimum ? [html`At least ${String(minimum)}.`] : []),
    ...(maxLength === undefined ? [] : [html`At most ${maxLength} characters.`]),
    ...(minItems ? [html`At least ${minItems} entries.`] : []),
    ...(maxItems === undefined ? [] : [html`At most ${maxItems} entries.`]),
  ]
}

interface Row {
  /** The address of the row on its page. */
  id: string
  name: string
  schema: ShownSchema
  sentence: string | undefined
  isRequired: boolean
}

function row({ id, name, schema, sentence, isRequired }: Row, homes: Homes): Html {
  const bounds = boundsOf(schema)
  const inner = schema.properties ?? schema.items?.properties
  const nested = inner ? (schema.properties ? schema : (schema.items ?? {})) : undefined
  return html`<div id="${id}"><dt><a href="#${id}"><code>${name}</code></a> <span>${valueLinks(schema, homes)}${isRequired && html`, <b>required</b>`}</span></dt>
<dd>${sentence === undefined ? null : html`${inline(sentence.replace(/([^.!?:])$/, '$1.'))} `}${joined(bounds, ' ')}${schema.default === undefined ? null : html` Default: <code>${JSON.stringify(schema.default)}</code>.`}${nested && fieldList(nested, id, homes)}</dd></div>
`
}

/** Writes the fields of an object; `below` begins their addresses. */
export function fieldList(schema: ShownSchema, below: string, homes: Homes): Html {
  const fields = Object.entries(schema.properties ?? {})
  return html`<dl class="fields">
${fields.map(([name, field]) => {
  const isRequired = schema.required?.includes(name) ?? false
  return row({ id: `${below}.${name}`, name, schema: field, sentence: field.description, isRequired }, homes)
})}</dl>`
}

/** Writes the parameters of an operation. */
export const parameterList = (parameters: readonly Parameter[], below: string, homes: Homes): Html =>
  html`<dl class="fields">
${parameters.map(({ name, schema, description, required }) =>
  row(
    {
      id: `${below}.${name}`,
      name,
      schema,
      sentence: [description, schema.description].filter(Boolean).join(' ') || undefined,
      isRequired: required,
    },
    homes,
  ),
)}</dl>`
