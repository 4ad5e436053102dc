import { referencePath } from '../platform/http/reference-path.ts'
import { homesOf, type OpenApi, operationsOf } from './document.ts'

/**
 * Writes what the search of the pages looks in: pages, operations as [page, id, path, summary], for each name of a parameter in the query its
 * operations, and for each name of a field its records.
 */
export function searchIndex(document: OpenApi): string {
  const homes = homesOf(document)
  const tags = document.tags.map(({ name }) => name)
  const described = tags.flatMap((tag, page) =>
    operationsOf(document, tag).map((operation) => ({ ...operation, page })),
  )
  const operations = described.map(({ page, operationId, method, path, summary }) => [
    page,
    operationId,
    `${method} ${path}`,
    summary,
  ])
  const parameters: Record<string, number[]> = {}
  for (const [index, operation] of described.entries())
    for (const { name } of (operation.parameters ?? []).filter((parameter) => parameter.in === 'query'))
      (parameters[name] ??= []).push(index)
  const records = [...homes].map(([name, tag]) => [tags.indexOf(tag), name])
  const fields: Record<string, number[]> = {}
  for (const [index, [name]] of [...homes].entries())
    for (const field of Object.keys(document.components.schemas[name]?.properties ?? {}))
      (fields[field] ??= []).push(index)
  return JSON.stringify({
    pages: tags.map((tag) => [referencePath(tag), tag]),
    operations,
    parameters,
    records,
    fields,
  })
}
