import { holdsCardNumber } from '../../kernel/card-number.ts'
import { Problems } from '../../kernel/fault.ts'
import { isJsonNumber, type Json } from '../wire/json.ts'

/** Numbers of cards where none belongs: in another field, in a field that nobody knows, in the name of a field. */

const MESSAGE = 'must not hold what could be a card number.'

/** Refuses (400) every place of a body but one that holds what could be the number of a card. Names that hold one are not repeated. */
export function refuseStrayNumbers(json: Json, allowed: string | null): void {
  const problems = new Problems()
  const refuse = (path: string) =>
    problems.add('card_number_misplaced', path === '' ? null : path, `${path === '' ? 'The body' : path} ${MESSAGE}`)
  const visit = (value: Json, path: string): void => {
    if (typeof value === 'string' || isJsonNumber(value)) {
      if (path !== allowed && holdsCardNumber(String(value))) refuse(path)
    } else if (Array.isArray(value)) value.forEach((entry, index) => visit(entry, `${path}[${index}]`))
    else if (typeof value === 'object' && value !== null)
      for (const [name, inner] of Object.entries(value)) {
        const isStray = holdsCardNumber(name)
        if (isStray) refuse(path)
        visit(inner, path === '' ? (isStray ? '…' : name) : `${path}.${isStray ? '…' : name}`)
      }
  }
  visit(json, '')
  problems.throwIfAny()
}
