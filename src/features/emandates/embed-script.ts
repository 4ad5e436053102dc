/**
 * The script by which a page of an account shows the signing page in a frame. The frame reports how it ended and how high it is; what comes from
 * any other window, or from another origin, is passed over.
 */
export const EMBED_SCRIPT = `(() => {
  'use strict'
  const home = new URL(document.currentScript.src)
  const base = home.href.slice(0, home.href.indexOf('/widget/emandate.js'))
  const call = (handler, value) => { if (typeof handler === 'function') handler(value) }
  const init = ({ containerID, token, onComplete, onError }) => {
    const container = document.getElementById(containerID)
    const parts = /^(\\d{1,16})x(\\d{1,16})x0x([a-z2-7]+)$/.exec(token)
    if (!container || !parts) return call(onError, { result: 'error', token, message: container ? 'The token is not whole.' : 'There is no element ' + containerID + '.' })
    const frame = document.createElement('iframe')
    frame.src = base + '/m/' + parts[1] + '-' + parts[2] + '-0-' + parts[3]
    frame.title = container.getAttribute('aria-label') || 'eMandate'
    frame.setAttribute('referrerpolicy', 'no-referrer')
    frame.style.cssText = 'width:100%;min-height:480px;border:0'
    const take = ({ source, origin, data }) => {
      if (source !== frame.contentWindow || origin !== home.origin || !data || data.source !== 'perennial-emandate') return
      if (Number.isFinite(data.height)) frame.style.height = Math.min(Math.max(data.height, 480), 20000) + 'px'
      if (!['signed', 'declined', 'expired'].includes(data.result)) return
      removeEventListener('message', take)
      call(data.result === 'signed' ? onComplete : onError, { result: data.result, token })
    }
    addEventListener('message', take)
    container.replaceChildren(frame)
  }
  window.EMandate = { init }
})()
`
