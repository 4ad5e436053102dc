import { html, type Html } from '../platform/page/html.ts'
import { nameOf, type OpenApi, type ShownOperation, type Response, type ShownSchema } from './document.ts'
import { fieldList, type Homes, inline, paragraphs, parameterList, valueLinks } from './fields.ts'

/** Section of an operation: its address, its sentence, what it takes, what it answers, what it refuses, and how to call it. */

const JSON_TYPE = 'application/json'
const PARTS = [
  ['path', 'In the path'],
  ['query', 'In the query'],
  ['header', 'Headers'],
] as const

const jsonText = (value: unknown): string => JSON.stringify(value, null, 2)

/** Returns a value that a parameter could have. */
function sampleOf({ type, format, enum: words }: ShownSchema): string {
  if (words?.length) return String(words[0])
  if (format === 'date' || format === 'date-time') return '2027-01-01'
  if (format === 'uuid') return '7c9e6679-7425-40de-944b-e07fc1f90ae7'
  return ([] as unknown[]).concat(type).includes('string') ? 'C1001' : '1'
}

/** Writes a call of the operation for a shell. */
function curlOf({ method, path, parameters = [], requestBody, security }: ShownOperation): string {
  const schemas = new Map(parameters.map(({ name, schema }) => [name, schema]))
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => sampleOf(schemas.get(name) ?? {}))
  const asked = parameters
    .filter((one) => one.in === 'query' && one.required)
    .map(({ name, schema }) => `${name}=${encodeURIComponent(sampleOf(schema))}`)
  const example = requestBody?.content[JSON_TYPE]?.example
  const raw = Object.keys(requestBody?.content ?? {}).find((type) => type !== JSON_TYPE)
  const body =
    example !== undefined
      ? [`-H 'Content-Type: application/json'`, `-d '${jsonText(example).replaceAll("'", String.raw`'\''`)}'`]
      : raw !== undefined && !requestBody?.content[JSON_TYPE]
        ? [`-H 'Content-Type: ${raw}'`, '--data-binary @FILE']
        : []
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'http://localhost:3000${filled}${asked.length > 0 ? `?${asked.join('&')}` : ''}'`,
    ...(security?.length === 0 ? [] : ['-u ACCOUNT:KEY']),
    ...body,
  ].join(' \\\n  ')
}

function requestOf({ requestBody, operationId }: ShownOperation, document: OpenApi, homes: Homes): Html | undefined {
  if (!requestBody) return undefined
  const types = Object.entries(requestBody.content)
  const schema = types[0]?.[1].schema ?? {}
  const whole = document.components.schemas[nameOf(schema) ?? ''] ?? schema
  const note = requestBody.required ? '' : ' It may be left out.'
  return html`<h3>Body</h3>
<p>${types.map(([type]) => type).join(' or ')}${types[0]?.[0] === JSON_TYPE && html`: ${valueLinks(schema, homes)}`}.${note}</p>
${!nameOf(schema) && whole.properties && fieldList(whole, `${operationId}.body`, homes)}`
}

function success(
  status: string,
  { description, content = {} }: Response,
  operation: ShownOperation,
  homes: Homes,
): Html {
  const id = `${operation.operationId}.${status}`
  const { schema, example } = content[JSON_TYPE] ?? {}
  const others = Object.keys(content).filter((type) => type !== JSON_TYPE)
  const inner = schema && !schema.$ref ? (schema.properties ? schema : schema.items) : undefined
  return html`<div id="${id}"><dt><a href="#${id}"><code>${status}</code></a></dt><dd>${inline(description ?? '')}${schema && html`: ${valueLinks(schema, homes)}`}${others.length > 0 && html` (${others.join(', ')})`}.
${inner?.properties && fieldList(inner, id, homes)}${example !== undefined && html`<details><summary>Example</summary><pre tabindex="0"><code>${jsonText(example)}</code></pre></details>`}</dd></div>
`
}

/** Writes the refusals: those of the operation with their reasons, those of every operation as links. */
function refusals(operation: ShownOperation): Html {
  const all = Object.entries(operation.responses).filter(([status]) => status >= '300')
  const own = all.filter(([, { $ref }]) => !$ref)
  const common = all.filter(([, { $ref }]) => $ref)
  const idOf = (status: string) => `${operation.operationId}.${status}`
  return html`${
    own.length > 0 &&
    html`<dl class="errors">${own.map(
      ([
        status,
        { description },
      ]) => html`<div id="${idOf(status)}"><dt><a href="#${idOf(status)}"><code>${status}</code></a></dt><dd>${inline(description ?? '')}.</dd></div>
`,
    )}</dl>`
  }
${common.length > 0 && html`<p>As everywhere: ${common.map(([status], index) => html`${index > 0 && ', '}<a id="${idOf(status)}" href="/docs#error-${status}">${status}</a>`)}.</p>`}`
}

/** Writes the section of an operation. */
export function operationSection(operation: ShownOperation, document: OpenApi, homes: Homes): Html {
  const { operationId: id, method, path, summary, description, parameters = [] } = operation
  const answers = Object.entries(operation.responses).filter(([status]) => status < '300')
  return html`<section class="operation" id="${id}">
<h2><a href="#${id}">${summary}</a></h2>
<p class="address"><b class="${method.toLowerCase()}">${method}</b> <code>${path}</code></p>
${description !== undefined && paragraphs(description)}
${PARTS.map(([part, title]) => {
  const some = parameters.filter((one) => one.in === part)
  return some.length > 0 && html`<h3>${title}</h3>${parameterList(some, `${id}.${part}`, homes)}`
})}
${requestOf(operation, document, homes)}
<h3>Try it</h3>
<pre tabindex="0"><code>${curlOf(operation)}</code></pre>
<h3>Answers</h3>
<dl class="answers">${answers.map(([status, answer]) => success(status, answer, operation, homes))}</dl>
<h3>Errors</h3>
${refusals(operation)}
</section>
`
}
