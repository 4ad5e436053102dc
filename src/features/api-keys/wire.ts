import { outFlag, outObject, outText, outWord } from '../../platform/wire/write.ts'

/** The record of a key's events: nothing that its value could be found by. */
export const KeyRecordOut = outObject({
  Name: outText(),
  Permission: outWord(['full', 'read'] as const),
  isStrict: outFlag(),
})
