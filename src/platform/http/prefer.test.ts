import { expect, test } from 'vitest'
import { preferencesOf } from './prefer.ts'

test('preferences are read by their names, in any letter case, and the first of a name holds', () => {
  const read: [string | string[] | undefined, ('strict' | 'lenient')?, boolean?][] = [
    [undefined],
    [''],
    [',;="'],
    ['return=representation', undefined, true],
    ['return = "Representation"', undefined, true],
    ['RETURN=representation; x=1', undefined, true],
    ['return=minimal'],
    ['return=minimal, return=representation'],
    ['return=representation, return=minimal', undefined, true],
    ['return'],
    ['return=representations'],
    ['handling=strict, return=representation', 'strict', true],
    ['respond-async,wait=10 , handling=lenient;foo, return="representation"', 'lenient', true],
    ['handling=odd, return=representation', undefined, true],
    // What stands in quotes, or behind a semicolon, is no preference of its own.
    ['x="a, return=representation"'],
    ['x; return=representation'],
    ['x="a\\", return=representation, handling=strict'],
    [['return=minimal', 'handling=strict'], 'strict'],
    [`${'a="'.repeat(5001)}, return=representation`],
  ]
  for (const [header, handling, isRepresented = false] of read)
    expect(preferencesOf(header), String(header).slice(0, 80)).toEqual({
      handling,
      isRepresented,
      isAsync: String(header).startsWith('respond-async'),
    })
})
