import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keep, KEPT, Maker, type Schemas, sorted, versionOf } from './stripe-declaration.ts'

/**
 * Makes JSON Schema of the declarations of the package `gocardless-nodejs`: of what its calls take, closed, and of the objects that they answer. It is
 * made as that of Stripe is.
 */

/** Calls whose facts are judged, by the file of the package that declares them. */
const CALLS = {
  payment: ['create', 'list'],
  refund: ['create', 'list'],
  event: ['list'],
  mandate: ['cancel'],
  billingRequest: ['create'],
  billingRequestFlow: ['create'],
  creditor: ['list'],
} as const

/** Objects by the name of their collection. */
const OBJECTS: Record<string, string> = {
  payments: 'Payment',
  refunds: 'Refund',
  events: 'Event',
  mandates: 'Mandate',
  billing_requests: 'BillingRequest',
  billing_request_flows: 'BillingRequestFlow',
  creditors: 'Creditor',
  customer_bank_accounts: 'CustomerBankAccount',
}

const FOLDER = fileURLToPath(new URL('../../node_modules/gocardless-nodejs', import.meta.url))

export interface GoCardlessDeclaration {
  requests: Schemas
  answers: Schemas
}

/** Returns the schemas of the installed package, made once and kept. Calls have names as "payment create", objects those of their collections. */
export async function readGoCardlessDeclaration(): Promise<GoCardlessDeclaration> {
  const makers = ['./stripe-declaration.ts', './gocardless-declaration.ts']
  const hash = createHash('sha256')
  for (const file of makers) hash.update(readFileSync(new URL(file, import.meta.url)))
  const kept = join(KEPT, `gocardless-${versionOf(FOLDER)}-${hash.digest('hex').slice(0, 12)}.json`)
  if (!existsSync(kept)) await keep(kept, makeDeclaration)
  return JSON.parse(readFileSync(kept, 'utf8')) as GoCardlessDeclaration
}

const serviceFile = (service: string) => join(FOLDER, 'types/services', `${service}Service.d.ts`)
const TYPES = join(FOLDER, 'types/types/Types.d.ts')

async function makeDeclaration(): Promise<GoCardlessDeclaration> {
  const { default: ts } = await import('typescript')
  const program = ts.createProgram([...Object.keys(CALLS).map(serviceFile), TYPES], {
    ...{ strict: true, skipLibCheck: true, types: [], lib: ['lib.es2022.d.ts'] },
    ...{ module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
  })
  const checker = program.getTypeChecker()
  const typeOf = (path: string, name: string) => {
    const source = program.getSourceFile(path)
    const module = source && checker.getSymbolAtLocation(source)
    const symbol = module && checker.getExportsOfModule(module).find((one) => one.name === name)
    if (symbol === undefined) throw new Error(`There is no ${name} in ${path}`)
    return checker.getDeclaredTypeOfSymbol(symbol)
  }
  /** Returns the type of the facts that a call takes before all else that is no identifier. */
  const factsOf = (service: string, call: string) => {
    const declared = typeOf(serviceFile(service), `${service[0]?.toUpperCase()}${service.slice(1)}Service`)
    const method = checker.getPropertyOfType(declared, call)
    const signature = method && checker.getTypeOfSymbol(method).getCallSignatures()[0]
    const facts = signature?.getParameters().find(({ name }) => name === 'requestParameters')
    if (facts === undefined) throw new Error(`There is no ${call} of ${service}`)
    return checker.getNonNullableType(checker.getTypeOfSymbol(facts))
  }
  const requests = new Maker(ts, checker, { isClosed: true, numbers: 'integer' })
  for (const [service, calls] of Object.entries(CALLS))
    for (const call of calls) requests.addRoot(`${service} ${call}`, factsOf(service, call))
  const answers = new Maker(ts, checker, { isClosed: false, numbers: 'number' })
  for (const [collection, name] of Object.entries(OBJECTS)) answers.addRoot(collection, typeOf(TYPES, name))
  return sorted({ requests: requests.schemas, answers: answers.schemas })
}
