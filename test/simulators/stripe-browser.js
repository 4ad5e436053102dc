// In the place of js.stripe.com/endive/stripe.js. It has the calls that a page of ours makes, and reports each to the simulator, which judges them by the
// declarations of @stripe/stripe-js. Numbers are typed into a frame of the simulator's origin, which the page around it cannot read.
;(() => {
  const origin = new URL(document.currentScript.src).origin

  /** Sends texts only, so that no other question goes before it. */
  const post = async (path, body) => {
    const response = await fetch(`${origin}/browser/${path}`, { method: 'POST', body: JSON.stringify(body) })
    return response.json()
  }

  const judge = (call, options) => void post('judge', { call, options }).catch(() => undefined)

  const placeOf = (target) => (typeof target === 'string' ? document.querySelector(target) : target)

  function frameOf(path, title) {
    const frame = document.createElement('iframe')
    frame.src = `${origin}/browser/${path}`
    frame.title = title
    frame.allow = 'payment *; publickey-credentials-get *'
    frame.style.border = '0'
    frame.style.width = '100%'
    return frame
  }

  /** Asks a frame, and resolves with the answer that has the question's number. */
  let asked = 0
  function ask(frame, question) {
    const number = ++asked
    return new Promise((resolve) => {
      const hear = ({ source, origin: from, data }) => {
        if (source !== frame.contentWindow || from !== origin || data.number !== number) return
        removeEventListener('message', hear)
        resolve(data.answer)
      }
      addEventListener('message', hear)
      frame.contentWindow.postMessage({ ...question, number }, origin)
    })
  }

  function paymentElement(options) {
    judge('paymentElement', options)
    const frame = frameOf('frame', 'Secure payment input frame')
    frame.style.height = '12rem'
    const handlers = {}
    const emit = (name, event) =>
      (handlers[name] ?? []).forEach((handler) => handler({ elementType: 'payment', ...event }))
    addEventListener('message', ({ source, origin: from, data }) => {
      if (source === frame.contentWindow && from === origin && data.event) emit(data.event, data.details)
    })
    const element = {
      mount: (target) => void placeOf(target).append(frame),
      unmount: () => frame.remove(),
      destroy: () => frame.remove(),
      focus: () => void ask(frame, { call: 'focus' }),
      update: (changes) => judge('paymentElement', { ...options, ...changes }),
      on: (name, handler) => {
        ;(handlers[name] ??= []).push(handler)
        return element
      },
    }
    return { element, frame }
  }

  function elementsOf(options) {
    judge('elements', options)
    let payment
    return {
      clientSecret: options.clientSecret,
      frame: () => payment.frame,
      create: (kind, more = {}) => {
        if (kind !== 'payment') throw new Error(`The simulator has no ${kind} element`)
        payment = paymentElement(more)
        return payment.element
      },
      getElement: () => payment?.element ?? null,
      update: (changes) => judge('elements', { ...options, ...changes }),
      submit: () => ask(payment.frame, { call: 'submit' }),
    }
  }

  /** Shows the page of a bank over all else, until the customer has answered it or left. */
  function showBank({ id }) {
    const frame = frameOf(`bank?intent=${id}`, 'Confirm with your bank')
    Object.assign(frame.style, {
      position: 'fixed',
      inset: '0',
      height: '100%',
      zIndex: '2147483647',
      background: '#fff',
    })
    document.body.append(frame)
    return new Promise((resolve) => {
      addEventListener('message', function hear({ source, origin: from }) {
        if (source !== frame.contentWindow || from !== origin) return
        removeEventListener('message', hear)
        frame.remove()
        resolve()
      })
    })
  }

  window.Stripe = (key, settings = {}) => {
    judge('Stripe', { key, settings })
    const intentOf = (clientSecret) => post('intent', { key, clientSecret })

    /** Goes on with an intent that a bank asks about, and returns what became of it as `setupIntent` or `paymentIntent`. */
    async function finish(clientSecret) {
      const { intent: before, error } = await intentOf(clientSecret)
      if (error) return { error }
      const isAsked = before.status === 'requires_action'
      if (isAsked) await showBank(before)
      const { intent } = isAsked ? await intentOf(clientSecret) : { intent: before }
      const failure = intent.last_setup_error ?? intent.last_payment_error
      if (intent.status === 'requires_payment_method' && failure)
        return { error: { ...failure, [intent.object]: intent } }
      return { [intent.object === 'setup_intent' ? 'setupIntent' : 'paymentIntent']: intent }
    }

    return {
      elements: elementsOf,
      confirmSetup: async ({ elements, clientSecret = elements.clientSecret, confirmParams, redirect }) => {
        judge('confirmSetup', { confirmParams, redirect })
        const name = confirmParams?.payment_method_data?.billing_details?.name ?? null
        const { error } = await ask(elements.frame(), { call: 'confirm', key, clientSecret, name })
        return error ? { error } : finish(clientSecret)
      },
      handleNextAction: async (options) => {
        judge('handleNextAction', options)
        return finish(options.clientSecret)
      },
      retrieveSetupIntent: async (clientSecret) => ({ setupIntent: (await intentOf(clientSecret)).intent }),
      retrievePaymentIntent: async (clientSecret) => ({ paymentIntent: (await intentOf(clientSecret)).intent }),
    }
  }
})()
