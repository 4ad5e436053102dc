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

/** Reports to the page that holds the frame how high this one is. */
const HEIGHT_SCRIPT = `
if (parent !== window) {
  const report = () => parent.postMessage({ source: 'perennial-emandate', height: document.documentElement.scrollHeight }, '*')
  new ResizeObserver(report).observe(document.body)
  report()
}`

/** The scripts of a page that is still to be signed. */
export const SIGNING_SCRIPT = DRAWING_SCRIPT + HEIGHT_SCRIPT

/** Reports the end of a signature to the page that holds the frame: nothing but how it ended. */
export const resultScript = (result: 'signed' | 'declined' | 'expired'): string =>
  `${HEIGHT_SCRIPT}
if (parent !== window) parent.postMessage({ source: 'perennial-emandate', result: '${result}' }, '*')`
