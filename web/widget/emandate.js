/*
 * Shows the signing page of an eMandate in a frame: EMandate.init({ containerID, token, onComplete, onError }). Messages are taken from the frame
 * alone: by its origin, its window and the channel that is drawn here. onComplete gets { result: 'signed', token }; onError gets { result, token,
 * message }, where result is declined, expired, used (it was signed before) or error.
 */
;(function () {
  'use strict'
  const script = new URL(document.currentScript.src)
  const base = script.origin + script.pathname.replace(/\/widget\/emandate\.js$/, '')
  const MESSAGES = {
    declined: 'The signee did not sign.',
    expired: 'The time to sign is over.',
    used: 'This is signed already.',
    error: 'The token is not known, or this page may not show the frame.',
  }

  function init(options) {
    const token = String(options.token)
    const container = document.getElementById(options.containerID)
    const parts = /^(\d{1,16})x(\d{1,16})x0x([a-z2-7]{26})$/.exec(token)

    function fail(result, message) {
      if (typeof options.onError === 'function')
        options.onError({ result: result, token: token, message: message || MESSAGES[result] })
    }

    if (!container) return fail('error', 'There is no element ' + options.containerID + '.')
    if (!parts) return fail('error', 'The token is not whole.')
    const channel = Array.from(crypto.getRandomValues(new Uint8Array(16)), function (byte) {
      return byte.toString(16).padStart(2, '0')
    }).join('')
    const frame = document.createElement('iframe')
    let isHere = false
    let wasOpen = false
    let waiting

    function end() {
      clearTimeout(waiting)
      removeEventListener('message', onMessage)
    }

    function finish(result) {
      if (result === 'declined') return fail(result)
      end()
      if (result !== 'signed') return fail('expired')
      if (!wasOpen) return fail('used')
      if (typeof options.onComplete === 'function') options.onComplete({ result: 'signed', token: token })
    }

    function onMessage(event) {
      // Another frame took the place of this one.
      if (!frame.isConnected) return end()
      if (event.origin !== script.origin || event.source !== frame.contentWindow) return
      const message = event.data
      if (!message || message.source !== 'perennial-emandate' || message.channel !== channel) return
      isHere = true
      clearTimeout(waiting)
      if (message.type === 'open') wasOpen = true
      else if (message.type === 'resize' && message.height > 0 && message.height < 50000)
        frame.style.height = Math.ceil(message.height) + 'px'
      else if (message.type === 'result') finish(message.result)
    }

    // The frame posts to this origin alone, where the eMandate names none.
    frame.name = channel + ' ' + location.origin
    frame.title = container.getAttribute('aria-label') || 'eMandate'
    frame.setAttribute('sandbox', 'allow-scripts allow-same-origin allow-forms')
    frame.setAttribute('referrerpolicy', 'no-referrer')
    frame.style.cssText = 'display:block;width:100%;height:40rem;border:0;color-scheme:normal'
    // A page that is not there, or may not be shown here, tells nothing.
    frame.addEventListener('load', function () {
      clearTimeout(waiting)
      if (isHere || !frame.isConnected) return
      waiting = setTimeout(function () {
        fail('error')
      }, 3000)
    })
    addEventListener('message', onMessage)
    frame.src = base + '/m/' + parts[1] + '-' + parts[2] + '-0-' + parts[3]
    container.replaceChildren(frame)
  }

  window.EMandate = { init: init }
})()
