/** The script of the signing page: it shows a field to draw in, and writes its strokes into the form. Without it names are typed. */
const DRAWING_SCRIPT = `
(() => {
  const box = document.getElementById('draw'), field = document.getElementById('drawing'), svg = document.getElementById('pad')
  if (!box || !field || !svg) return
  const line = svg.querySelector('path')
  const MAX = 18000
  let path = field.value, last = '', down = false
  box.hidden = false
  const show = () => { line.setAttribute('d', path); field.value = path }
  const point = (event) => {
    const { left, top, width, height } = svg.getBoundingClientRect()
    const bound = (value, max) => Math.max(0, Math.min(max, Math.round(value * max)))
    return bound((event.clientX - left) / width, 600) + ' ' + bound((event.clientY - top) / height, 200)
  }
  let start = ''
  svg.addEventListener('pointerdown', (event) => { down = true; start = last = point(event); svg.setPointerCapture(event.pointerId); event.preventDefault() })
  svg.addEventListener('pointermove', (event) => {
    if (!down || path.length > MAX) return
    const to = point(event)
    if (to === last) return
    path += (start ? 'M' + start : '') + 'L' + to
    start = ''; last = to; show()
  })
  for (const name of ['pointerup', 'pointercancel']) svg.addEventListener(name, () => { down = false; start = '' })
  document.getElementById('clear').addEventListener('click', () => { path = ''; show() })
  show()
})()`

/** Sends a form once, however often its button is pressed, and leads to what is wrong with it. */
const FORM_SCRIPT = `
;(() => {
  const form = document.querySelector('form')
  const problems = document.querySelector('[role=alert]')
  if (problems) problems.focus()
  if (!form) return
  let isSent = false
  form.addEventListener('submit', (event) => { if (isSent) event.preventDefault(); isSent = true })
  addEventListener('pageshow', () => { isSent = false })
})()`

/**
 * Posts to the page that holds the frame how high this one is, and how it ended: nothing that was entered. It goes to the one origin that may show
 * the frame, else to the origin in the name of the frame, which the page gave it beside its channel: the browser hands it to no page of another one.
 */
const FRAME_SCRIPT = `
;(() => {
  if (parent === self) return
  const main = document.querySelector('main'), { host, state } = document.querySelector('[data-state]').dataset
  const [channel, opener] = name.split(' '), to = host || opener
  if (!/^https?:\\/\\//.test(to)) return
  const tell = (message) => parent.postMessage({ source: 'perennial-emandate', channel, ...message }, to)
  const size = () => tell({ type: 'resize', height: Math.ceil(main.getBoundingClientRect().bottom + scrollY) })
  tell(state === 'open' ? { type: 'open' } : { type: 'result', result: state })
  new ResizeObserver(size).observe(main)
  size()
})()`

/** The script of a page in any state. */
export const SIGNING_SCRIPT = DRAWING_SCRIPT + FORM_SCRIPT + FRAME_SCRIPT
