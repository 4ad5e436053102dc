import { describe, expect, test } from 'vitest'
import { Problems } from '../../kernel/fault.ts'
import { flag, reference, text, whole } from './fields.ts'
import { type Json, parseJson } from './json.ts'
import { type Field, listOf, objectOf, optional, required, word } from './read.ts'
import { nullable } from './schema.ts'

function read(field: Field<any>, json: unknown, isStrict = false) {
  const problems = new Problems()
  const parsed = parseJson(typeof json === 'string' ? json : JSON.stringify(json)) as Json
  const value = field.read(parsed, '', { problems, timeZone: 'UTC', isStrict, isSecret: false })
  return { value, problems: problems.found.map(({ code, field: at }) => `${code} ${at}`), texts: problems.found }
}

const Charge = objectOf({ Qty: required(whole(0, 10)), Line: optional(text()) })
const Body = objectOf(
  {
    Name: required(text()),
    Memo: optional(text()),
    isActive: optional(flag()),
    groupID: optional(reference()),
    allocations: optional(listOf(Charge, { max: 3, what: 'allocations' }), undefined, undefined, [
      'Allocations',
      'LinkedAllocations',
    ]),
    Kind: optional(word(['unit', 'opt-in'] as const, { anyCase: true })),
    Password: optional(text({ max: 5 })),
  },
  { ignored: ['Balance'] },
)

describe('an object that arrives', () => {
  test('absent, null and blank are told apart: undefined, null and null', () => {
    expect(read(Body, { Name: 'a' }).value).toEqual({ Name: 'a' })
    expect(read(Body, { Name: 'a', Memo: null, groupID: null }).value).toEqual({ Name: 'a', Memo: null, groupID: null })
    expect(read(Body, { Name: 'a', Memo: '  ', groupID: 0, Kind: '' }).value).toEqual({
      Name: 'a',
      Memo: null,
      groupID: null,
      Kind: null,
    })
    expect(read(Body, { Name: 'a', groupID: '' }).value).toEqual({ Name: 'a', groupID: null })
  })

  test('a required field is missed when absent, null or blank', () => {
    for (const body of [{}, { Name: null }, { Name: '  ' }])
      expect(read(Body, body).problems).toEqual(['required Name'])
  })

  test('all problems are told together, with their paths', () => {
    const { problems } = read(Body, {
      Memo: 5,
      isActive: 'true',
      allocations: [{ Qty: 1 }, { Qty: -1, Line: 7 }, 5, {}].slice(0, 3),
    })
    expect(problems).toEqual([
      'required Name',
      'wrong_type Memo',
      'wrong_type isActive',
      'out_of_range allocations[1].Qty',
      'wrong_type allocations[1].Line',
      'wrong_type allocations[2]',
    ])
  })

  test('unknown fields are ignored, strictly asked refused; computed ones are always ignored', () => {
    const body = { Name: 'a', Balance: 12, Colour: 'red', __proto: 1 }
    expect(read(Body, body)).toMatchObject({ value: { Name: 'a' }, problems: [] })
    expect(read(Body, body, true).problems).toEqual(['unknown_field Colour', 'unknown_field __proto'])
    expect(read(Body, '{"Name":"a","__proto__":{"Memo":"x"}}').value).toEqual({ Name: 'a' })
    expect(read(Body, '{"Name":"a","__proto__":{"Memo":"x"},"constructor":1}', true).problems).toEqual([
      'unknown_field __proto__',
      'unknown_field constructor',
    ])
  })

  test('a name that differs only in letter case is refused, naming the right one, also nested and of computed fields', () => {
    const { problems, texts } = read(Body, {
      Name: 'a',
      memo: 'x',
      balance: 1,
      allocations: [{ Qty: 1, qty: 2 }],
      ALLOCATIONS: [],
    })
    expect(problems).toEqual([
      'wrong_letter_case memo',
      'wrong_letter_case balance',
      'wrong_letter_case ALLOCATIONS',
      'wrong_letter_case allocations[0].qty',
    ])
    expect(texts.map(({ message }) => message)).toEqual([
      'The field memo is not known; did you mean Memo?',
      'The field balance is not known; did you mean Balance?',
      'The field ALLOCATIONS is not known; did you mean allocations?',
      'The field allocations[0].qty is not known; did you mean Qty?',
    ])
  })

  test('aliases are the same field; different values under both are refused', () => {
    expect(read(Body, { Name: 'a', LinkedAllocations: [{ Qty: 2 }] }).value).toEqual({
      Name: 'a',
      allocations: [{ Qty: 2 }],
    })
    expect(read(Body, '{"Name":"a","allocations":[{"Qty":2}],"Allocations":[{"Qty":2.0}]}').problems).toEqual([])
    expect(read(Body, { Name: 'a', allocations: [], Allocations: [{ Qty: 2 }] }).problems).toEqual([
      'contradiction Allocations',
    ])
  })

  test('words are found in any letter case where the interface allows it, and answered as listed', () => {
    expect(read(Body, { Name: 'a', Kind: ' Opt-In ' }).value.Kind).toBe('opt-in')
    expect(read(Body, { Name: 'a', Kind: 'stair' }).problems).toEqual(['unknown_word Kind'])
    expect(read(objectOf({ Kind: required(word(['unit'])) }), { Kind: 'Unit' }).problems).toEqual(['unknown_word Kind'])
  })

  test('lists keep their bounds', () => {
    expect(read(Body, { Name: 'a', allocations: {} }).problems).toEqual(['wrong_type allocations'])
    expect(read(Body, { Name: 'a', allocations: [1, 2, 3, 4] }).problems).toEqual(['wrong_count allocations'])
  })

  test('a secret is never repeated, whatever is wrong with it', () => {
    for (const Password of ['far too secret', 5, ['far too secret'], { a: 'far too secret' }, true]) {
      const { texts } = read(Body, { Name: 'a', Password })
      expect(texts).toHaveLength(1)
      expect(JSON.stringify(texts)).not.toContain('far too')
      expect(JSON.stringify(texts)).not.toMatch(/\b5 was sent/)
    }
    expect(JSON.stringify(read(Body, { Name: 'a', password: 'far too secret' }).texts)).not.toContain('far too')
  })

  test('a body that is no object is one problem without a field', () => {
    for (const body of ['[]', '"x"', '5', 'null', 'true'])
      expect(read(Body, body).problems).toEqual(['wrong_type null'])
  })
})

test('null is one more type of a schema, also of one without a type', () => {
  expect(nullable({ type: 'string', enum: ['a'] })).toEqual({ type: ['string', 'null'], enum: ['a', null] })
  expect(nullable({ $ref: '#/x' })).toEqual({ anyOf: [{ $ref: '#/x' }, { type: 'null' }] })
  expect(nullable({ anyOf: [] })).toEqual({ anyOf: [{ anyOf: [] }, { type: 'null' }] })
})
