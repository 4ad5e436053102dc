import { Ajv, type ErrorObject, type SchemaValidateFunction, type ValidateFunction } from 'ajv'
import { decodeForm, type FormValue } from './form.ts'
import { readDeclaration, type Declaration, type Schema, type Schemas } from './stripe-declaration.ts'
import type { Operation } from './stripe-operations.ts'

/**
 * Judges what is sent to Stripe, and what the simulator answers in its place, by what Stripe publishes: the declarations of its own client. A name or
 * a word that is not declared is wrong, also if the product would survive it.
 */

export interface Problem {
  /** As in the form: `metadata[perennial]`. */
  param: string
  code: string
  message: string
}

/** A body, read as its schema reads it: integers are numbers, lists are arrays. */
export type Body = Record<string, unknown>

/** Limits of texts that the declarations do not state, in characters. */
const LONGEST: Record<string, number> = { description: 1000, statement_descriptor_suffix: 22 }
const METADATA_NAME = 40
const METADATA_VALUE = 500
const METADATA_NAMES = 50
const IDEMPOTENCY_KEY = 255

let theJudge: Promise<StripeJudge> | undefined

export class StripeJudge {
  readonly #declaration: Declaration
  readonly #requests: Validators
  readonly #answers: Validators
  readonly #browser: Validators

  private constructor(declaration: Declaration) {
    this.#declaration = declaration
    this.#requests = new Validators(declaration.requests)
    this.#answers = new Validators(declaration.answers)
    this.#browser = new Validators(declaration.browser)
  }

  /** Returns the one judge of this process: what it has compiled once serves all simulators. */
  static read(): Promise<StripeJudge> {
    return (theJudge ??= readDeclaration().then((declaration) => new StripeJudge(declaration)))
  }

  /** Judges what a request sends: the body of a POST, else its query. Returns what it means, and all that is wrong with it. */
  judgeRequest(operation: Operation, form: string): { body: Body; problems: Problem[] } {
    let read: Record<string, FormValue>
    try {
      read = decodeForm(form)
    } catch (error) {
      return { body: {}, problems: [{ param: '', code: 'parameter_invalid', message: String(error) }] }
    }
    const root = { $ref: `#/roots/${operation.parameters}` }
    const body = coerce(this.#declaration.requests, root, read) as Body
    const problems = [
      ...this.#requests.problemsOf(`roots/${operation.parameters}`, body),
      ...lengthProblems(body),
      ...this.#expandProblems(operation, body),
    ].map((problem) =>
      problem.param === 'payment_method_types'
        ? { ...problem, code: 'payment_method_types_no_longer_supported' }
        : problem,
    )
    return { body, problems }
  }

  /** Judges an object that is answered, by its word in `object`, with all that it holds. A name that is not declared is wrong as well. */
  judgeAnswer(answer: Body): string[] {
    const kind = answer['deleted'] === true ? `deleted_${String(answer['object'])}` : String(answer['object'])
    if (kind === 'list')
      return [
        ...(typeof answer['has_more'] === 'boolean' && typeof answer['url'] === 'string' ? [] : ['list: is not whole']),
        ...(answer['data'] as Body[]).flatMap((one) => this.judgeAnswer(one)),
      ]
    if (this.#declaration.answers.roots[kind] === undefined) return [`${kind}: no object of this kind is declared`]
    const problems = this.#answers.problemsOf(`roots/${kind}`, answer)
    const inner = kind === 'event' ? this.judgeAnswer((answer['data'] as { object: Body }).object) : []
    return [...problems.map(({ param, message }) => `${kind} ${param}: ${message}`), ...inner]
  }

  /** Judges a call that a page makes to Stripe's script, by what it hands over. Returns what is wrong with it. */
  judgeCall(call: string, given: unknown): string[] {
    const whole = (given ?? {}) as Body
    const isKey = /^pk_(?:test|live)_\w+$/.test(String(whole['key']))
    switch (call) {
      case 'Stripe':
        return [
          ...(isKey ? [] : ['Stripe: takes a publishable key']),
          ...this.#callProblems(call, whole['settings'] ?? {}),
        ]
      case 'confirmSetup':
        return [
          ...(whole['redirect'] === 'if_required' ? [] : ['confirmSetup redirect: leaves the page']),
          ...this.#callProblems(call, whole['confirmParams']),
        ]
      case 'handleNextAction':
        return typeof whole['clientSecret'] === 'string' ? [] : ['handleNextAction clientSecret: is missing']
      default:
        return this.#callProblems(call, whole)
    }
  }

  #callProblems(call: string, given: unknown): string[] {
    return this.#browser.problemsOf(`roots/${call}`, given).map(({ param, message }) => `${call} ${param}: ${message}`)
  }

  /** `expand` names fields that are answered as an identifier, or as the object if it is asked for. */
  #expandProblems({ answer, isList }: Operation, { expand = [] }: Body): Problem[] {
    const unknown = (expand as unknown[]).filter((path) => {
      const names = String(path).split('.')
      if (isList && names.shift() !== 'data') return true
      return names.length === 0 || !this.#isExpandable({ $ref: `#/roots/${answer}` }, names)
    })
    return unknown.map((path) => ({
      param: 'expand',
      code: 'parameter_invalid',
      message: `This property cannot be expanded (${String(path)}).`,
    }))
  }

  #isExpandable(schema: Schema, [name = '', ...rest]: string[]): boolean {
    const alternatives = alternativesOf(this.#declaration.answers, schema)
    return alternatives.some((one) => {
      const field = one.properties?.[name]
      if (field === undefined) return false
      const kinds = alternativesOf(this.#declaration.answers, field)
      const isLeft = kinds.some(({ type }) => type === 'string') && kinds.some(({ type }) => type === 'object')
      return rest.length === 0 ? isLeft : this.#isExpandable(field, rest)
    })
  }
}

/** Returns what is wrong with the key of a request. */
export const keyProblem = (key: string | undefined): Problem[] =>
  key === undefined || key.length <= IDEMPOTENCY_KEY
    ? []
    : [
        {
          param: '',
          code: 'parameter_invalid',
          message: `Idempotency-Key has more than ${IDEMPOTENCY_KEY} characters.`,
        },
      ]

function lengthProblems(body: Body, within = ''): Problem[] {
  return Object.entries(body).flatMap(([name, value]) => {
    const param = within === '' ? name : `${within}[${name}]`
    const longest = LONGEST[name]
    if (typeof value === 'string' && longest !== undefined && value.length > longest)
      return [{ param, code: 'parameter_invalid', message: `has more than ${longest} characters` }]
    if (name === 'metadata' && typeof value === 'object') return metadataProblems(param, value as Body)
    return typeof value === 'object' && value !== null ? lengthProblems(value as Body, param) : []
  })
}

function metadataProblems(param: string, metadata: Body): Problem[] {
  const entries = Object.entries(metadata)
  const long = entries.filter(([name, value]) => name.length > METADATA_NAME || String(value).length > METADATA_VALUE)
  return [
    ...long.map(([name]) => ({
      param: `${param}[${name}]`,
      code: 'parameter_invalid',
      message: `has more than ${METADATA_NAME} characters of name, or ${METADATA_VALUE} of value`,
    })),
    ...(entries.length > METADATA_NAMES
      ? [{ param, code: 'parameter_invalid', message: `has more than ${METADATA_NAMES} names` }]
      : []),
  ]
}

/** Resolves names of a schema, and returns the schemas of which a value has to keep one. */
function alternativesOf(schemas: Schemas, schema: Schema): Schema[] {
  if (schema.$ref !== undefined) return alternativesOf(schemas, named(schemas, schema.$ref.slice('#/'.length)))
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap((one) => alternativesOf(schemas, one))
}

/** Finds a schema by "roots/payment_intent" or "$defs/Refunds/Refund". */
function named(schemas: Schemas, name: string): Schema {
  const group = name.startsWith('roots/') ? schemas.roots : schemas.$defs
  const found = group[name.slice(name.indexOf('/') + 1)]
  if (found === undefined) throw new Error(`The schema has no ${name}`)
  return found
}

/** Reads a text or a group of a form as its schema wants it. What does not fit stays as it is, and the schema refuses it. */
export function coerce(schemas: Schemas, schema: Schema, value: FormValue | undefined): unknown {
  const alternatives = alternativesOf(schemas, schema)
  const types = new Set(alternatives.map(({ type }) => type))
  if (typeof value === 'string') {
    const isWord = alternatives.some((one) => one.const === value || one.enum?.includes(value))
    if (isWord || types.has('string')) return value
    // Digits first: the conversion of a validator would take 115.00 for 115.
    if (types.has('integer') && /^-?\d{1,15}$/.test(value)) return Number(value)
    return types.has('boolean') && (value === 'true' || value === 'false') ? value === 'true' : value
  }
  const list = alternatives.find(({ type }) => type === 'array')
  const names = Object.keys(value ?? {})
  if (list?.items !== undefined && names.length > 0 && names.every((name, at) => name === String(at)))
    return names.map((name) => coerce(schemas, list.items ?? {}, value?.[name]))
  const object = alternatives.find(({ type }) => type === 'object')
  const others = typeof object?.additionalProperties === 'object' ? object.additionalProperties : {}
  return Object.fromEntries(
    names.map((name) => [name, coerce(schemas, object?.properties?.[name] ?? others, value?.[name])]),
  )
}

/** Validators of named schemas, each compiled when it is first needed: all of them reach a thousand objects, of which a test meets thirty. */
export class Validators {
  readonly #schemas: Schemas
  readonly #ajv = new Ajv({ allErrors: true, strict: false })
  readonly #compiled = new Map<string, ValidateFunction>()

  constructor(schemas: Schemas) {
    this.#schemas = schemas
    const validate: SchemaValidateFunction = (name: string, data: unknown, _schema, place) => {
      const check = this.#named(name)
      const isRight = check(data) as boolean
      const path = place?.instancePath ?? ''
      validate.errors = (check.errors ?? []).map((error) => ({ ...error, instancePath: path + error.instancePath }))
      return isRight
    }
    this.#ajv.addKeyword({ keyword: 'named', errors: 'full', validate })
  }

  problemsOf(name: string, data: unknown): Problem[] {
    const check = this.#named(name)
    if (check(data)) return []
    const errors = (check.errors ?? []).filter(({ keyword }) => keyword !== 'anyOf')
    return errors.map(problemOf)
  }

  #named(name: string): ValidateFunction {
    const compiled = this.#compiled.get(name) ?? this.#ajv.compile(withNames(named(this.#schemas, name)))
    this.#compiled.set(name, compiled)
    return compiled
  }
}

/** Makes keywords of references, so that the validator of one schema does not hold those of all others. Objects are closed. */
function withNames(schema: Schema): object {
  if (schema.$ref !== undefined) return { named: schema.$ref.slice('#/'.length) }
  const { anyOf, items, properties, additionalProperties } = schema
  return {
    ...schema,
    ...(anyOf && { anyOf: anyOf.map(withNames) }),
    ...(items && { items: withNames(items) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, withNames(inner)])),
    }),
    // What is declared without any name stands for objects of all kinds.
    ...(Object.keys(properties ?? {}).length > 0 && { additionalProperties: false }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: withNames(additionalProperties) }),
  }
}

function problemOf({ instancePath, keyword, params, message = '' }: ErrorObject): Problem {
  const name = (params['additionalProperty'] ?? params['missingProperty']) as string | undefined
  const [first = '', ...inner] = [...instancePath.split('/').slice(1), ...(name === undefined ? [] : [name])]
  const param = first + inner.map((piece) => `[${piece}]`).join('')
  if (keyword === 'additionalProperties')
    return { param, code: 'parameter_unknown', message: `Received unknown parameter: ${param}` }
  if (keyword === 'required') return { param, code: 'parameter_missing', message: `Missing required param: ${param}.` }
  const words = (params['allowedValues'] ?? params['allowedValue']) as unknown
  return { param, code: 'parameter_invalid', message: words === undefined ? message : `${message}: ${String(words)}` }
}
