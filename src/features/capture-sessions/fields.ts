import type { Shown } from '../../platform/http/pages.ts'
import type { Language } from '../../platform/locale/format.ts'
import { html, type Html } from '../../platform/page/html.ts'
import type { GatewayFields } from '../gateways/facts.ts'
import { FIELDS_SCRIPT } from './script.ts'
import { frameWords } from './words.ts'

/**
 * Pages on which the script of a gateway runs: those with card fields of its own, and those on which a charge is confirmed to the customer's bank. Their policy
 * is wider than that of any other page, by the sources that the gateway names.
 */

/** Returns the script of such a page, and the sources that its policy takes. */
export const fieldsPage = ({
  scripts,
  frames,
  connects,
}: GatewayFields): Pick<Shown, 'script' | 'scripts' | 'frames' | 'connects'> => ({
  script: FIELDS_SCRIPT,
  scripts,
  frames,
  connects: ["'self'", ...connects],
})

interface Facts {
  language: Language
  fields: GatewayFields
  /** The path that the form lies at, below which the page's script asks. */
  path: string
  /** The way on where the gateway's script does not come. */
  elsewhere?: Html | undefined
}

/** Writes what stands above a form with the gateway's own fields: that it is loaded, or why it is not, and what was refused. */
function aroundForm({ language, elsewhere }: Facts, refusal: string | null, text: string): Html {
  const { fields } = frameWords(language)
  const alert =
    refusal === null
      ? html`<p class="note bad" role="alert" tabindex="-1" id="refusal" hidden></p>`
      : html`<p class="note bad" role="alert" tabindex="-1" id="refusal">${refusal}</p>`
  return html`${alert}
    <p role="status" id="loading" hidden>${fields.loading}</p>
    <div class="note bad" role="alert" tabindex="-1" id="unloaded" hidden>
      <p><strong>${fields.unloaded}</strong></p>
      <p>${text}</p>
      <button type="button" id="again">${fields.again}</button>
      ${elsewhere}
    </div>
    <noscript>
      <p class="note bad">${fields.noScript}</p>
      ${elsewhere}
    </noscript>`
}

/** Writes a form whose card is entered into fields of the gateway's own: `names` are the fields of this service, `heading` names theirs, where the page has none that does (`card-title`). */
export function fieldsForm(
  facts: Facts,
  form: { heading?: Html; names: readonly Html[]; rest?: Html; button: string; refusal: string | null },
): Html {
  const { language, fields, path } = facts
  const { wrongs, fields: words, somethingWrong, refusals } = frameWords(language)
  const { required, too_long, number_misplaced } = wrongs
  const { sending, unconfirmed } = words
  const { declined, not_yet: unanswered } = refusals
  const texts = { required, too_long, number_misplaced, somethingWrong, sending, unconfirmed, declined, unanswered }
  return html`${aroundForm(facts, form.refusal, words.unloadedText)}
    <form
      method="post"
      action="${path}"
      novalidate
      autocomplete="on"
      hidden
      data-gateway="${fields.script}"
      data-at="${path}"
      data-words="${JSON.stringify(texts)}"
    >
      <div role="group" aria-labelledby="card-title">
        ${form.heading}
        <div id="card-fields" class="field"></div>
      </div>
      ${form.names} ${form.rest}
      <button type="submit">${form.button}</button>
      <p role="status" id="sending"></p>
    </form>`
}

/** Writes the form of a charge that is confirmed by the gateway's script. It begins at once, unless somebody has just been there. */
export function stepForm(facts: Facts, { hasBeenThere, button }: { hasBeenThere: boolean; button: string }): Html {
  const { language, fields, path } = facts
  const { fields: words, cancel, unconfirmed: stillWaits, refusals } = frameWords(language)
  const texts = { sending: words.confirming, unconfirmed: words.unconfirmed, unanswered: refusals.not_yet }
  return html`${aroundForm(facts, hasBeenThere ? stillWaits : null, words.unloadedStep)}
    <form
      method="post"
      action="${path}/confirm"
      hidden
      data-kind="step"
      data-gateway="${fields.script}"
      data-at="${path}"
      data-words="${JSON.stringify(texts)}"
      data-waits="${hasBeenThere ? 'yes' : ''}"
    >
      <button type="submit" name="answer" value="confirmed" id="go-on">${button}</button>
      <button type="submit" name="answer" value="cancel" class="plain">${cancel}</button>
      <p role="status" id="sending"></p>
    </form>`
}
