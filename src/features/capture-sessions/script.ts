/**
 * The script of the frame, without which its form works too. It posts to the one page that may show the frame how large it is and what came of it,
 * and never what was entered; it listens to nobody.
 */
export const FRAME_SCRIPT = `(() => {
  const facts = document.querySelector('[data-host]').dataset
  const find = (selector) => document.querySelector(selector)
  // Whoever has sent a form is brought to what came of it; nobody else's focus is taken.
  const spot = find('[aria-invalid=true]') || find('[role=alert]') || (document.hasFocus() && find('h1[tabindex]'))
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
  const tell = (message) => parent.postMessage({ source: 'perennial-capture', channel: name, ...message }, facts.host)
  const size = () => tell({ type: 'resize', height: Math.ceil(find('main').getBoundingClientRect().bottom + scrollY) })
  tell({ type: 'ready' })
  new ResizeObserver(size).observe(find('main'))
  size()
  if (facts.result) tell({ type: 'result', state: facts.result })
  if (facts.error) tell({ type: 'error', code: facts.error })
})()`

/** The script of a bank that a gateway plays inside of the frame: once it was answered, the frame around it goes on by its button. */
export const BANK_SCRIPT = `(() => {
  if (parent === self) return
  document.documentElement.className = 'framed'
  if (!document.querySelector('[data-answered]')) return
  const button = parent.document.getElementById('go-on')
  if (button) button.form.requestSubmit(button)
})()`
