import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type TypeScript from 'typescript'

/**
 * Makes JSON Schema (draft-07) of the declarations of the package `stripe`: of the parameters that operations take, and of the objects that they
 * answer. The compiler of TypeScript reads the declarations, so what they inherit, name elsewhere and make of generic types comes out whole.
 * Parameters are closed: a name or a word that is not declared is wrong. Answers are open, since Stripe may add to both at any time.
 */

export interface Schema {
  $ref?: string
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'null'
  const?: string | boolean
  enum?: string[]
  anyOf?: Schema[]
  not?: Schema
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
}

/** Roots by the name of an operation's parameters ("PaymentIntentCreate") or of an object ("payment_intent"). */
export interface Schemas {
  roots: Record<string, Schema>
  $defs: Record<string, Schema>
}

export interface Declaration {
  requests: Schemas
  answers: Schemas
  /** Of what a page hands to Stripe's script; closed as requests are. */
  browser: Schemas
}

/** Operations whose parameters are judged, by the file of the package that declares them. */
const OPERATIONS: Record<string, string[]> = {
  Customers: [
    ...['CustomerCreate', 'CustomerUpdate', 'CustomerSearch', 'CustomerRetrieve', 'CustomerDelete'],
    'CustomerListPaymentMethods',
  ],
  SetupIntents: ['Create', 'Update', 'Confirm', 'Cancel', 'Retrieve', 'List'].map((name) => `SetupIntent${name}`),
  PaymentIntents: ['Create', 'Confirm', 'Update', 'Cancel', 'Retrieve', 'List', 'Search'].map(
    (name) => `PaymentIntent${name}`,
  ),
  PaymentMethods: ['Create', 'Attach', 'Detach', 'Retrieve'].map((name) => `PaymentMethod${name}`),
  Refunds: ['RefundCreate', 'RefundList', 'RefundRetrieve'],
  Disputes: ['DisputeList'],
  Charges: ['ChargeRetrieve', 'ChargeList'],
  Events: ['EventRetrieve', 'EventList'],
  Mandates: ['MandateRetrieve'],
  BalanceTransactions: ['BalanceTransactionList'],
  WebhookEndpoints: ['Create', 'Update', 'List', 'Delete'].map((name) => `WebhookEndpoint${name}`),
  Accounts: ['AccountRetrieveCurrent'],
}

/** Objects whose shape is judged: the word in `object`, then file and name of the declaration. */
const OBJECTS: Record<string, [file: string, name: string]> = {
  customer: ['Customers', 'Customer'],
  deleted_customer: ['Customers', 'DeletedCustomer'],
  setup_intent: ['SetupIntents', 'SetupIntent'],
  payment_intent: ['PaymentIntents', 'PaymentIntent'],
  payment_method: ['PaymentMethods', 'PaymentMethod'],
  charge: ['Charges', 'Charge'],
  refund: ['Refunds', 'Refund'],
  dispute: ['Disputes', 'Dispute'],
  mandate: ['Mandates', 'Mandate'],
  balance_transaction: ['BalanceTransactions', 'BalanceTransaction'],
  webhook_endpoint: ['WebhookEndpoints', 'WebhookEndpoint'],
  deleted_webhook_endpoint: ['WebhookEndpoints', 'DeletedWebhookEndpoint'],
  account: ['Accounts', 'Account'],
  event: ['Events', 'EventBase'],
}

/** Calls of a page, by file and name of the declaration in the package `@stripe/stripe-js`. */
const BROWSER_CALLS: Record<string, [file: string, name: string]> = {
  Stripe: ['stripe', 'StripeConstructorOptions'],
  elements: ['elements-group', 'StripeElementsOptionsClientSecret'],
  paymentElement: ['elements/payment', 'StripePaymentElementOptions'],
  confirmSetup: ['setup-intents', 'ConfirmSetupData'],
}

const PACKAGES = new URL('../../node_modules/', import.meta.url)
const FOLDER = fileURLToPath(new URL('stripe', PACKAGES))
const BROWSER_FOLDER = fileURLToPath(new URL('@stripe/stripe-js', PACKAGES))
export const KEPT = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url))

/** The installed package by what decides the schema: its own version and that of the API that it speaks. */
export const PACKAGE = {
  version: versionOf(FOLDER),
  browserVersion: versionOf(BROWSER_FOLDER),
  apiVersion: /ApiVersion = "(.+)"/.exec(readFileSync(join(FOLDER, 'cjs/apiVersion.d.ts'), 'utf8'))?.[1],
}

export function versionOf(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version
}

/** Returns the schemas of the installed package. They are made once, in some seconds of work, and kept beside other caches of `node_modules`. */
export async function readDeclaration(): Promise<Declaration> {
  const maker = createHash('sha256')
    .update(readFileSync(import.meta.filename))
    .digest('hex')
    .slice(0, 12)
  const kept = join(KEPT, `stripe-${PACKAGE.version}-${PACKAGE.browserVersion}-${maker}.json`)
  if (!existsSync(kept)) await keep(kept)
  return JSON.parse(readFileSync(kept, 'utf8')) as Declaration
}

/** Returns the SHA-256 of the schemas, in which names and words are sorted. */
export const fingerprint = (declaration: Declaration) =>
  createHash('sha256').update(JSON.stringify(declaration)).digest('hex')

/** Makes the schemas and keeps them. Of several processes that want them, the first works and the others wait, for as long as that may take. */
export async function keep(path: string, make: () => Promise<object> = makeDeclaration): Promise<void> {
  mkdirSync(dirname(path), { recursive: true })
  const mine = `${path}.making`
  try {
    mkdirSync(mine)
  } catch {
    for (let waited = 0; waited < 60_000 && existsSync(mine); waited += 100) await setTimeout(100)
    if (existsSync(path)) return
  }
  try {
    writeFileSync(`${path}.${process.pid}`, JSON.stringify(await make()))
    renameSync(`${path}.${process.pid}`, path)
  } finally {
    rmSync(mine, { recursive: true, force: true })
  }
}

/** Makes the schemas anew, keys sorted. */
async function makeDeclaration(): Promise<Declaration> {
  const { default: ts } = await import('typescript')
  const files = [...new Set([...Object.keys(OPERATIONS), ...Object.values(OBJECTS).map(([file]) => file)])]
  const scripts = Object.values(BROWSER_CALLS).map(([file]) => browserPathOf(file))
  const program = ts.createProgram([...files.map(pathOf), ...scripts], {
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

  const requests = new Maker(ts, checker, { isClosed: true, numbers: 'integer' })
  for (const [file, operations] of Object.entries(OPERATIONS))
    for (const name of operations) requests.addRoot(name, typeOf(pathOf(file), `${name}Params`))
  const answers = new Maker(ts, checker, { isClosed: false, numbers: 'number' })
  for (const [name, [file, type]] of Object.entries(OBJECTS)) answers.addRoot(name, typeOf(pathOf(file), type))
  const browser = new Maker(ts, checker, { isClosed: true, numbers: 'number' })
  for (const [name, [file, type]] of Object.entries(BROWSER_CALLS))
    browser.addRoot(name, typeOf(browserPathOf(file), type))
  return sorted({ requests: requests.schemas, answers: answers.schemas, browser: browser.schemas })
}

const pathOf = (file: string) => join(FOLDER, 'cjs/resources', `${file}.d.ts`)
const browserPathOf = (file: string) => join(BROWSER_FOLDER, 'dist/stripe-js', `${file}.d.ts`)

interface Making {
  /** Of what we send: words and names beyond the declared ones are wrong. */
  isClosed: boolean
  numbers: 'integer' | 'number'
}

export class Maker {
  readonly schemas: Schemas = { roots: {}, $defs: {} }
  readonly #ts: typeof TypeScript
  readonly #checker: TypeScript.TypeChecker
  readonly #isClosed: boolean
  readonly #numbers: Making['numbers']

  constructor(ts: typeof TypeScript, checker: TypeScript.TypeChecker, { isClosed, numbers }: Making) {
    this.#ts = ts
    this.#checker = checker
    this.#isClosed = isClosed
    this.#numbers = numbers
  }

  addRoot(name: string, type: TypeScript.Type): void {
    this.schemas.roots[name] = this.#of(type)
  }

  #of(type: TypeScript.Type): Schema {
    const { TypeFlags } = this.#ts
    const { flags } = type
    if (flags & (TypeFlags.Any | TypeFlags.Unknown)) return {}
    if (type.isUnion()) return this.#ofUnion(type)
    if (flags & TypeFlags.Null) return { type: 'null' }
    if (type.isStringLiteral()) return { const: type.value }
    if (flags & TypeFlags.String || this.#isAnyText(type)) return { type: 'string' }
    if (type.isIntersection()) return this.#shapeOf(type)
    if (flags & TypeFlags.Number) return { type: this.#numbers }
    if (flags & TypeFlags.BooleanLiteral) return { const: this.#checker.typeToString(type) === 'true' }
    if (flags & TypeFlags.Boolean) return { type: 'boolean' }
    if (flags & (TypeFlags.Undefined | TypeFlags.Void | TypeFlags.Never)) return { not: {} }
    if (flags & TypeFlags.Object) return this.#ofObject(type as TypeScript.ObjectType)
    throw new Error(`The judge knows no schema of ${this.#checker.typeToString(type)}`)
  }

  #ofUnion(union: TypeScript.UnionType): Schema {
    const { TypeFlags } = this.#ts
    const parts = union.types.filter(({ flags }) => !(flags & (TypeFlags.Undefined | TypeFlags.Void)))
    if (parts.length === 0) return { not: {} }
    const words = parts.filter((part) => part.isStringLiteral()).map(({ value }) => value)
    const isBoolean = parts.some(({ flags }) => flags & TypeFlags.BooleanLiteral)
    const others = parts
      .filter((part) => !part.isStringLiteral() && !(part.flags & TypeFlags.BooleanLiteral))
      .filter((part) => !(this.#isClosed && words.length > 0 && this.#isAnyText(part)))
      .map((part) => this.#of(part))
    const all = [
      ...(words.length > 1 ? [{ enum: words.toSorted() }] : words.map((word) => ({ const: word }))),
      ...(isBoolean ? [{ type: 'boolean' as const }] : []),
      ...others,
    ]
    return all.length === 1 && all[0] !== undefined ? all[0] : { anyOf: all.toSorted(byText) }
  }

  /** A text to which `Record<never, never>` is added makes editors list the words beside it; numbers with many places are an object, and a text on the wire. */
  #isAnyText(type: TypeScript.Type): boolean {
    if (!type.isIntersection()) return false
    return type.aliasSymbol?.name === 'Decimal' || type.types.some(({ flags }) => flags & this.#ts.TypeFlags.String)
  }

  #ofObject(type: TypeScript.ObjectType): Schema {
    if (this.#checker.isArrayType(type)) {
      const [item] = this.#checker.getTypeArguments(type as TypeScript.TypeReference)
      return { type: 'array', items: item === undefined ? {} : this.#of(item) }
    }
    // A page may hand over functions, and objects of the language, which no form has.
    if (type.getCallSignatures().length > 0) return {}
    const name = this.#nameOf(type)
    if (name === undefined) return this.#shapeOf(type)
    if (name.startsWith('/')) return {}
    if (this.schemas.$defs[name] === undefined) {
      // It may contain itself.
      this.schemas.$defs[name] = {}
      this.schemas.$defs[name] = this.#shapeOf(type)
    }
    return { $ref: `#/$defs/${name}` }
  }

  /** Its file and its name there; nothing for a type without name, and for one that depends on others. */
  #nameOf(type: TypeScript.ObjectType): string | undefined {
    const declared = type.symbol.declarations?.[0]
    const isNamed = declared !== undefined && type.symbol.name !== '__type'
    if (!isNamed || ((type as TypeScript.TypeReference).typeArguments ?? []).length > 0) return undefined
    const file = declared
      .getSourceFile()
      .fileName.replace(/^.*\/(?:cjs|dist|gocardless-nodejs)\/(?:resources\/)?|\.d\.ts$/g, '')
    return `${file}/${this.#checker.getFullyQualifiedName(type.symbol).replace(/^".*"\./, '')}`
  }

  #shapeOf(type: TypeScript.Type): Schema {
    const index = this.#checker.getIndexInfosOfType(type)[0]
    if (index !== undefined) return { type: 'object', additionalProperties: this.#of(index.type) }
    const properties = this.#checker.getPropertiesOfType(type)
    const required = properties.filter(({ flags }) => !(flags & this.#ts.SymbolFlags.Optional))
    return {
      type: 'object',
      properties: Object.fromEntries(properties.map((one) => [one.name, this.#of(this.#checker.getTypeOfSymbol(one))])),
      ...(required.length > 0 ? { required: required.map(({ name }) => name).toSorted() } : {}),
      ...(this.#isClosed ? { additionalProperties: false } : {}),
    }
  }
}

const byText = (one: unknown, other: unknown) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)

/** Sorts the keys of objects, however deep. */
export function sorted<T>(value: T): T {
  if (Array.isArray(value)) return value.map(sorted) as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)])) as T
}
