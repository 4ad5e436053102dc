import { describe, expect, test } from 'vitest'
import { html, type HtmlValue, plainName } from './html.ts'

describe('a template', () => {
  test('escapes every value, in text and in quotes, and leaves markup as it is', () => {
    const hostile = `<script>alert("1")</script> & 'x'`
    expect(html`<p title="${hostile}">${hostile}</p>`.markup).toBe(
      '<p title="&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;">&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;</p>',
    )
    expect(html`<ul>${['a', '<b>'].map((name) => html`<li>${name}</li>`)}</ul>`.markup).toBe(
      '<ul><li>a</li><li>&lt;b&gt;</li></ul>',
    )
  })

  test('writes nothing for what is not there, and 0 for 0', () => {
    expect(html`a${null}${undefined}${false}${0}${0n}${[]}`.markup).toBe('a00')
  })

  test('cannot be made of an object that looks like markup', () => {
    const forged = { markup: '<script>' } as unknown as HtmlValue
    expect(html`<p>${forged}</p>`.markup).not.toContain('<script>')
  })

  test('throws where a value stands in a tag without quotes, also behind a quoted one', () => {
    expect(() => html`<p class=${'x'}>`).toThrow('in quotes')
    expect(() => html`<p class="${'x'}" id=${'y'}>`).toThrow('in quotes')
    expect(() => html`<p ${'onclick'}="x">`).toThrow('in quotes')
    expect(html`${'1'} < 2 <p class='${'x'}'>${'y'}`.markup).toBe("1 < 2 <p class='x'>y")
  })
})

test('a name for a title has no signs that turn its direction, and one line', () => {
  expect(plainName('Ada\u202e moc.live\u2066 \r\n Lovelace\u200b')).toBe('Ada moc.live Lovelace')
})
