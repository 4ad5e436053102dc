/*
 * Shows the frame of a capture session in the page that holds this script, and tells that page what comes of it, by events of the container:
 * perennial:ready, perennial:result (detail.state) and perennial:error (detail.code). Messages are taken from the frame alone: by its origin, its
 * window and the channel that is drawn here.
 */
;(function () {
  'use strict'
  const script = document.currentScript
  const address = script.getAttribute('data-frame')
  const box = document.getElementById(script.getAttribute('data-container'))
  if (!address || !box || box.firstChild) return
  const origin = new URL(address).origin
  const channel = Array.from(crypto.getRandomValues(new Uint8Array(16)), function (byte) {
    return byte.toString(16).padStart(2, '0')
  }).join('')
  const frame = document.createElement('iframe')
  let isReady = false
  // Each page of the frame reports once, a little before or after the browser has loaded it.
  let isReported = false
  let waiting = 0

  function tell(type, detail) {
    box.dispatchEvent(new CustomEvent('perennial:' + type, { detail: detail, bubbles: true }))
  }

  function onMessage(event) {
    if (event.origin !== origin || event.source !== frame.contentWindow) return
    const message = event.data
    if (!message || message.source !== 'perennial-capture' || message.channel !== channel) return
    if (message.type === 'ready') {
      isReported = !waiting
      clearTimeout(waiting)
      waiting = 0
      if (!isReady) tell('ready', {})
      isReady = true
    } else if (message.type === 'resize' && message.height > 0 && message.height < 10000) {
      frame.style.height = Math.ceil(message.height) + 'px'
    } else if (message.type === 'result') tell('result', { state: String(message.state) })
    else if (message.type === 'error') tell('error', { code: String(message.code) })
  }

  frame.name = channel
  frame.title = script.getAttribute('data-title') || 'Payment method'
  // Fields of a gateway's own open windows, as of a bank, and ask for passkeys.
  const isWide = script.getAttribute('data-allows') === 'popups'
  frame.setAttribute(
    'sandbox',
    'allow-scripts allow-same-origin allow-forms' + (isWide ? ' allow-popups allow-popups-to-escape-sandbox' : ''),
  )
  if (isWide) frame.allow = 'payment *; publickey-credentials-get *'
  frame.setAttribute('referrerpolicy', 'no-referrer')
  frame.style.cssText = 'display:block;width:100%;height:36rem;border:0;color-scheme:normal'
  // What reports nothing is no page of the session: the browser refuses to show the frame here, or the service has refused a request.
  frame.addEventListener('load', function () {
    clearTimeout(waiting)
    waiting = isReported
      ? 0
      : setTimeout(function () {
          waiting = 0
          tell('error', { code: isReady ? 'general_error' : 'invalid_domain' })
        }, 3000)
    isReported = false
  })
  window.addEventListener('message', onMessage)
  frame.src = address
  box.appendChild(frame)
})()
