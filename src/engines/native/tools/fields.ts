import * as z from 'zod/mini'

// Fields of inputs; each `error` completes a message after "expected".

export function text(error: string) {
  return z.string({ error })
}

export function path(error = 'a path as text') {
  const isPath = (value: string) => value !== '' && !value.includes('\0')
  return text(error).check(z.refine(isPath, { error: `${error} that is not empty and has no NUL` }))
}

export function whole(least: number, most = Number.MAX_SAFE_INTEGER) {
  const isOpen = most === Number.MAX_SAFE_INTEGER
  const range = isOpen ? `of at least ${least}` : `from ${least} to ${most}`
  const error = `a whole number ${range}`
  return z.int({ error }).check(z.minimum(least, { error }), z.maximum(most, { error }))
}

export function flag() {
  return z.boolean({ error: 'true or false' })
}
