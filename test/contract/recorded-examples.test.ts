import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { UNRECORDED } from '../../scripts/recorded-story.ts'
import { RECORDED } from '../../src/platform/http/recorded.ts'
import { closed } from '../api/document.ts'

/** Examples in openapi.json are recorded from one story: they fit their schemas and contradict neither themselves nor each other. */

// Answers are read by name here; their shapes are what is tested.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

const document: Json = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'))
const operations = Object.values(document.paths).flatMap((methods: Json) => Object.values(methods)) as Json[]
const contentOf = (operation: Json, status: number): Json => operation.responses[status]?.content?.['application/json']
const isSuccess = (status: string): boolean => Number(status) < 300

/** An answer, or a preview where it has another status. */
const answers = Object.entries(RECORDED).flatMap(([id, { path, status, answer, preview }]) => [
  ...(answer === undefined ? [] : [{ id, path, status, answer: answer as Json, isPreview: false }]),
  ...(preview === undefined ? [] : [{ id, path, status: 200, answer: preview as Json, isPreview: true }]),
])

const ajv = new Ajv2020({ strict: false })
;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
const elsewhere = (schema: object): object =>
  JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/components', '"document#/components'))
ajv.addSchema({ $id: 'document', components: elsewhere(document.components) })

const HINT = 'if its fields changed: npm run record:examples, then npm run generate'

test.each(answers)('$id $status is answered as its schema has it', ({ id, status, answer }) => {
  const operation = operations.find(({ operationId }) => operationId === id)
  const validate = ajv.compile(elsewhere(contentOf(operation, status).schema))
  expect(validate(answer) ? undefined : `${ajv.errorsText(validate.errors)}; ${HINT}`).toBeUndefined()
})

test('an operation has its examples from the story, or a reason why not', () => {
  const shown = operations.filter(
    ({ requestBody, responses }) =>
      requestBody?.content['application/json']?.example !== undefined ||
      Object.entries(responses).some(
        ([status, { content }]: Json) => isSuccess(status) && content?.['application/json']?.example !== undefined,
      ),
  )
  const ids = shown.map(({ operationId }) => operationId as string)
  expect(ids.filter((id) => !(id in RECORDED) && !(id in UNRECORDED))).toEqual([])
  expect(Object.keys(UNRECORDED).filter((id) => id in RECORDED || !ids.includes(id))).toEqual([])
})

test('an answer that is shown has something in it', () => {
  expect(answers.filter(({ answer }) => Array.isArray(answer) && answer.length === 0).map(({ id }) => id)).toEqual([])
})

/** Returns every object of an answer, with the identifiers of those around it. */
function objectsOf(value: Json, around: Json = {}): { object: Json; around: Json }[] {
  if (Array.isArray(value)) return value.flatMap((entry) => objectsOf(entry, around))
  if (typeof value !== 'object' || value === null) return []
  const own = Object.entries(value).filter(([name, inner]) => name.endsWith('ID') && inner !== 0 && inner !== null)
  const within = { ...around, ...Object.fromEntries(own) }
  return [{ object: value, around }, ...Object.values(value).flatMap((inner) => objectsOf(inner, within))]
}

const objects = answers.flatMap(({ id, answer }) => objectsOf(answer).map((found) => ({ id, ...found })))
const cents = (value: number): number => Math.round(value * 100)
const sumOf = (list: Json[], name: string): number => list.reduce((sum, one) => sum + cents(one[name]), 0)

describe('amounts', () => {
  const invoices = objects.filter(({ object }) => 'Charges' in object && 'TotalEx' in object)

  test.each(invoices)('of the invoice in $id add up', ({ object }) => {
    expect(sumOf(object.Charges, 'AmountEx')).toBe(cents(object.TotalEx))
    expect(sumOf(object.Taxes, 'TaxAmount')).toBe(cents(object.TotalTax))
    expect(cents(object.TotalEx) + cents(object.TotalTax)).toBe(cents(object.Total))
    expect(sumOf(object.PaymentsApplied, 'amountApplied')).toBe(
      cents(object.TotalActualPaid) + cents(object.TotalPendingPaid),
    )
    expect(sumOf(object.NegativeAdjustmentsApplied, 'amountApplied')).toBe(cents(object.TotalNegativeAdjs))
    expect(cents(object.ActualBalance)).toBe(
      cents(object.Total) - cents(object.TotalActualPaid) - cents(object.TotalNegativeAdjs),
    )
    expect(cents(object.Balance)).toBe(cents(object.ActualBalance) - cents(object.TotalPendingPaid))
  })

  const notes = objects.filter(({ object }) => 'CreditNumber' in object && 'TotalTax' in object)

  test.each(notes)('of the credit note in $id add up', ({ object }) => {
    expect(cents(object.TotalEx) + cents(object.TotalTax)).toBe(cents(object.Amount) - cents(object.Unsettled))
    expect(sumOf(object.Taxes, 'TaxAmount')).toBe(cents(object.TotalTax))
    expect(sumOf(object.Allocations, 'amountApplied')).toBeLessThanOrEqual(cents(object.Amount))
  })

  test('are in invoices and in credit notes', () => {
    expect([invoices.length > 5, notes.length > 3]).toEqual([true, true])
  })
})

describe('identifiers', () => {
  test('of a path are those of its answer', () => {
    const wrong = answers.filter(({ path, answer, isPreview }) => {
      const [, word, number] = /^\/v1\/(\w+)s\/(\d+)$/.exec(path) ?? []
      return !isPreview && number !== undefined && ![Number(number), undefined].includes(answer[`${String(word)}ID`])
    })
    expect(wrong).toEqual([])
  })

  test('of lines and allocations are those of the record around them', () => {
    const wrong = objects.filter(
      ({ object, around }) =>
        'chargeID' in object &&
        'invoiceID' in object &&
        around.invoiceID !== undefined &&
        ![around.invoiceID, null].includes(object.invoiceID),
    )
    expect(wrong).toEqual([])
  })

  /** Facts of a record that never change, by its identifier. */
  const FACTS: Record<string, string[]> = {
    invoiceID: ['InvoiceDate', 'invoiceNum', 'subscriptionID'],
    subscriptionID: ['StartDate'],
    paymentID: ['Method'],
    creditNoteID: ['CreditNumber', 'Amount'],
    customerID: ['Company'],
  }

  test.each(Object.entries(FACTS))('%s names the same record wherever it stands', (name, facts) => {
    const seen = new Map<string, unknown>()
    for (const { id, object } of objects)
      for (const fact of facts.filter((one) => object[name] && one in object)) {
        const key = `${name} ${object[name]} ${fact}`
        if (seen.has(key)) expect([id, key, object[fact]]).toEqual([id, key, seen.get(key)])
        else seen.set(key, object[fact])
      }
    expect(seen.size).toBeGreaterThan(0)
  })
})
