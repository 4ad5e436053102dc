import { expect, test } from 'vitest'
import { csvField } from './manual.ts'

test.each([
  ['Ada', 'Ada'],
  ['', ''],
  ['Lee, Ann', '"Lee, Ann"'],
  ['5" pipe', '"5"" pipe"'],
  ['two\nlines', '"two\nlines"'],
  ['=1+1', "'=1+1"],
  ['+27', "'+27"],
  ['-5', "'-5"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\tx', "'\tx"],
  ['\r=1', `"'\r=1"`],
  ['=A,B', `"'=A,B"`],
  ['a=1', 'a=1'],
])('%j is written as %j: no text of a file is a formula', (text, field) => expect(csvField(text)).toBe(field))
