/**
 * Returns the script of the frame, with more before it, without which the form of this service works too. It posts to the one page that may show the frame
 * how large it is and what came of it, and never what was entered; it listens to nobody.
 */
const frameScript = (more: string) => `(() => {
  const find = (selector) => document.querySelector(selector)
  const facts = (find('[data-host]') || document.body).dataset
  const tell = (message) =>
    parent === self || parent.postMessage({ source: 'perennial-capture', channel: name, ...message }, facts.host)
${more}
  // Whoever has sent a form is brought to what came of it; nobody else's focus is taken.
  const spot = find('[aria-invalid=true]') || find('[role=alert]:not([hidden])') || (document.hasFocus() && find('h1[tabindex]'))
  if (spot) spot.focus()
  const form = document.querySelector('form')
  if (form) form.addEventListener('submit', (event) => {
    if (form.dataset.sent) return event.preventDefault()
    form.dataset.sent = '1'
    form.querySelector('button').setAttribute('aria-disabled', 'true')
  })
  const again = document.querySelector('[data-again]')
  if (again) setTimeout(() => location.replace(again.href), 5000)
  if (parent === self) return
  document.documentElement.className = 'framed'
  const size = () => tell({ type: 'resize', height: Math.ceil(find('main').getBoundingClientRect().bottom + scrollY) })
  tell({ type: 'ready' })
  new ResizeObserver(size).observe(find('main'))
  size()
  if (facts.result) tell({ type: 'result', state: facts.result })
  if (facts.error) tell({ type: 'error', code: facts.error })
})()`

export const FRAME_SCRIPT = frameScript('')

/**
 * The script of a page with fields of the gateway's own, and of one on which a charge is confirmed there. The gateway's script comes first; only then this
 * service is asked for the facts that it needs, which are kept nowhere. Nothing that is entered into the gateway's fields can be read here.
 */
export const FIELDS_SCRIPT = frameScript(`;(() => {
  const form = find('[data-gateway]')
  if (!form) return
  const { gateway, at, kind } = form.dataset
  const words = JSON.parse(form.dataset.words)
  const byId = (id) => document.getElementById(id)
  const show = (id, isShown) => { byId(id).hidden = !isShown }
  let isBusy = false
  let isDone = false
  // What a gateway adds to a return address is not left in the history.
  if (location.search) history.replaceState(null, '', location.pathname)

  const load = () => window.Stripe ? Promise.resolve(window.Stripe) : new Promise((resolve, reject) => {
    const element = document.createElement('script')
    setTimeout(reject, 10000)
    element.onload = () => window.Stripe ? resolve(window.Stripe) : reject()
    element.onerror = reject
    element.src = gateway
    document.head.append(element)
  })
  const ask = async (below) => {
    const answer = await fetch(at + below, { method: 'POST', body: new URLSearchParams() })
    if (!answer.ok) throw new Error('not taken')
    return answer.json()
  }
  const fail = () => {
    show('loading', false)
    form.hidden = true
    show('unloaded', true)
    if (document.hasFocus()) byId('unloaded').focus()
    tell({ type: 'error', code: 'gateway_unavailable' })
  }
  const refuse = (text, code) => {
    const alert = byId('refusal')
    alert.textContent = text
    alert.hidden = false
    alert.focus()
    if (code) tell({ type: 'error', code })
  }
  const beBusy = (isNow) => {
    isBusy = isNow
    byId('sending').textContent = isNow ? words.sending : ''
    for (const button of form.querySelectorAll('button')) button.setAttribute('aria-disabled', String(isNow))
    if (isNow) show('refusal', false)
  }
  byId('again').addEventListener('click', () => location.replace(at + (kind === 'step' ? '/confirm' : '')))
  show('loading', true)
  ;(kind === 'step' ? startStep : startFields)()

  function startFields() {
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const appearance = () => ({
      theme: dark.matches ? 'night' : 'stripe',
      variables: { colorPrimary: getComputedStyle(document.documentElement).getPropertyValue('--brand').trim() },
    })
    let stripe
    let elements

    async function begin() {
      const Stripe = await load()
      const told = await ask('/fields')
      if (told.next) return location.replace(told.next)
      show('loading', false)
      if (told.refusal) return refuse(told.refusal, 'gateway_unavailable')
      form.hidden = false
      const wrong = find('[aria-invalid=true]')
      if (wrong) wrong.focus()
      if (told.stored) {
        byId('card-fields').textContent = told.stored
        isDone = true
        return
      }
      const { publishableKey, clientSecret } = told.client
      stripe = Stripe(publishableKey)
      elements = stripe.elements({ clientSecret, appearance: appearance(), locale: document.documentElement.lang })
      dark.addEventListener('change', () => elements.update({ appearance: appearance() }))
      elements
        .create('payment', {
          fields: { billingDetails: { name: 'never' } },
          wallets: { applePay: 'never', googlePay: 'never', link: 'never' },
        })
        .on('loaderror', fail)
        .mount('#card-fields')
    }

    /** Marks what is wrong with a name as the service would, so that a card is stored only with names that it takes. */
    function wrongOf(input) {
      const text = input.value.trim()
      if (text === '') return words.required
      if ([...text].length > 70) return words.too_long
      return /\\d(?:[^\\d\\p{L}]*\\d){11}/u.test(text) ? words.number_misplaced : ''
    }
    function checkNames() {
      const inputs = [...form.querySelectorAll('input[type=text]')]
      for (const input of inputs) {
        const wrong = wrongOf(input)
        const note = byId(input.id + '-note')
        input.setAttribute('aria-invalid', String(wrong !== ''))
        note.textContent = wrong
        note.className = wrong ? 'bad' : 'soft'
      }
      const first = inputs.find((input) => wrongOf(input) !== '')
      if (first) first.focus()
      return !first
    }
    function goOn() {
      isDone = true
      beBusy(false)
      form.requestSubmit()
    }

    async function store() {
      if (!checkNames()) return
      const checked = await elements.submit()
      if (checked.error) return refuse(checked.error.message || words.somethingWrong, 'validation_error')
      const holder = byId('givenName').value.trim() + ' ' + byId('familyName').value.trim()
      const { error, setupIntent } = await stripe.confirmSetup({
        elements,
        redirect: 'if_required',
        confirmParams: {
          return_url: location.origin + at,
          payment_method_data: { billing_details: { name: holder } },
        },
      })
      const { status } = setupIntent || (error && error.setup_intent) || {}
      if (status === 'succeeded' || status === 'processing') return goOn()
      if (status === 'canceled') return location.replace(at)
      if (!error) return refuse(words.unconfirmed)
      const isRefused = error.type === 'card_error' || error.code === 'setup_intent_authentication_failure'
      if (!isRefused) return refuse((error.type === 'validation_error' && error.message) || words.unanswered)
      refuse(error.message || words.declined, 'declined')
      const told = await ask('/refused')
      if (told.next) location.replace(told.next)
    }

    document.addEventListener('submit', (event) => {
      if (event.target !== form || (isDone && checkNames())) return
      event.preventDefault()
      event.stopPropagation()
      if (isBusy || isDone) return
      beBusy(true)
      store().catch(() => refuse(words.unanswered)).finally(() => isDone || beBusy(false))
    }, true)
    begin().catch(fail)
  }

  function startStep() {
    const goOn = byId('go-on')

    async function confirm() {
      beBusy(true)
      const Stripe = await load()
      const told = await ask('/step')
      show('loading', false)
      if (told.next) return location.replace(told.next)
      form.hidden = false
      if (told.client) {
        const { publishableKey, clientSecret } = told.client
        const { error, paymentIntent } = await Stripe(publishableKey).handleNextAction({ clientSecret })
        const { status } = paymentIntent || (error && error.payment_intent) || {}
        if (status === 'requires_action') return refuse(words.unconfirmed)
      }
      isDone = true
      beBusy(false)
      form.requestSubmit(goOn)
    }
    const run = () => confirm().catch(fail).finally(() => isDone || beBusy(false))

    document.addEventListener('submit', (event) => {
      if (event.target !== form || isDone || (event.submitter !== goOn && !isBusy)) return
      event.preventDefault()
      event.stopPropagation()
      if (!isBusy) run()
    }, true)
    if (form.dataset.waits) {
      show('loading', false)
      form.hidden = false
    } else run()
  }
  })()
`)

/** The script of a bank that a gateway plays inside of the frame: once it was answered, the frame around it goes on by its button. */
export const BANK_SCRIPT = `(() => {
  if (parent === self) return
  document.documentElement.className = 'framed'
  if (!document.querySelector('[data-answered]')) return
  const button = parent.document.getElementById('go-on')
  if (button) button.form.requestSubmit(button)
})()`
