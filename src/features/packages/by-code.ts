import { invalid, type Problems } from '../../kernel/fault.ts'
import type { AccountId, ComponentId, PackageId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { type IdOfCode, listIdsOfComponents, listPackageIds } from './code-queries.ts'

/** Names of packages and components by their codes, wherever their identifiers are taken. */

interface Coded<IdName extends string, CodeName extends string> {
  list(db: Queryable, account: AccountId, keys: readonly string[]): Promise<IdOfCode[]>
  word: 'package' | 'component'
  idName: IdName
  codeName: CodeName
}

const PACKAGE = { list: listPackageIds, word: 'package', idName: 'packageID', codeName: 'packageCode' } as const
const COMPONENT = {
  list: listIdsOfComponents,
  word: 'component',
  idName: 'componentID',
  codeName: 'ComponentCode',
} as const

type Named<IdName extends string, CodeName extends string> = {
  [Name in IdName]?: bigint | null | undefined
} & { [Name in CodeName]?: string | null | undefined }

/**
 * Gives each entry that names a record by its code the identifier of that record. Notes codes that nobody has, and those that contradict the
 * identifier beside them; such an entry is left without an identifier. `fieldOf` is the path of an entry, empty or with a dot at its end.
 */
async function fillIds<IdName extends string, CodeName extends string>(
  db: Queryable,
  account: AccountId,
  { list, word, idName, codeName }: Coded<IdName, CodeName>,
  entries: readonly Named<IdName, CodeName>[],
  fieldOf: (index: number) => string,
  problems: Problems,
): Promise<void> {
  const codes = entries.flatMap((entry) => (entry[codeName] == null ? [] : [String(entry[codeName])]))
  if (codes.length === 0) return
  const keys = [...new Set(codes.map((code) => code.toLowerCase()))]
  const known = new Map((await list(db, account, keys)).map(({ id, key }) => [key, id]))
  for (const [index, entry] of entries.entries()) {
    const code = entry[codeName]
    if (code == null) continue
    const field = `${fieldOf(index)}${codeName}`
    const id = known.get(String(code).toLowerCase())
    const sent = entry[idName]
    const isContradiction = id !== undefined && sent != null && sent !== id
    if (id === undefined) problems.add(`${word}_unknown`, field, `There is no ${word} with the ${codeName} ${code}.`)
    else if (isContradiction)
      problems.add('contradiction', field, `${field} ${code} is the code of ${word} ${id}, not of ${sent}.`)
    const filled = id === undefined || isContradiction ? undefined : id
    Object.assign(entry, { [idName]: filled })
  }
}

/** Gives a body that names its package by code the identifier of it. */
export const fillPackageId = (
  db: Queryable,
  account: AccountId,
  body: Named<'packageID', 'packageCode'>,
  problems: Problems,
): Promise<void> => fillIds(db, account, PACKAGE, [body], () => '', problems)

/** Gives entries that name their component by code the identifier of it, and notes those that name none. */
export async function fillComponentIds(
  db: Queryable,
  account: AccountId,
  entries: readonly Named<'componentID', 'ComponentCode'>[],
  list: string,
  problems: Problems,
): Promise<void> {
  const fieldOf = (index: number) => (list === '' ? '' : `${list}[${index}].`)
  await fillIds(db, account, COMPONENT, entries, fieldOf, problems)
  for (const [index, { componentID, ComponentCode }] of entries.entries()) {
    const field = `${fieldOf(index)}componentID`
    const isRefused = problems.found.some(
      (problem) => problem.field === field || problem.field === `${fieldOf(index)}ComponentCode`,
    )
    if (componentID == null && ComponentCode == null && !isRefused)
      problems.add('required', field, `${field} is required, or ComponentCode.`)
  }
}

/** Returns the package that a filter names, by identifier or code. Throws 400 where the code is unknown or contradicts the identifier. */
export const filteredPackage = async (
  db: Queryable,
  account: AccountId,
  query: Named<'packageID', 'packageCode'>,
): Promise<PackageId | null> => filtered(db, account, PACKAGE, query)

/** Returns the component that a filter names, by identifier or code. Throws 400 where the code is unknown or contradicts the identifier. */
export const filteredComponent = async (
  db: Queryable,
  account: AccountId,
  query: Named<'componentID', 'ComponentCode'>,
): Promise<ComponentId | null> => filtered(db, account, COMPONENT, query)

async function filtered<IdName extends string, CodeName extends string>(
  db: Queryable,
  account: AccountId,
  { list, word, idName, codeName }: Coded<IdName, CodeName>,
  query: Named<IdName, CodeName>,
): Promise<bigint | null> {
  const [sent, code] = [query[idName], query[codeName]]
  if (code == null) return sent ?? null
  const id = (await list(db, account, [String(code).toLowerCase()]))[0]?.id
  if (id === undefined) throw invalid(`${word}_unknown`, `There is no ${word} with the ${codeName} ${code}.`, codeName)
  if (sent != null && sent !== id)
    throw invalid('contradiction', `${codeName} ${code} is the code of ${word} ${id}, not of ${sent}.`, codeName)
  return id
}
