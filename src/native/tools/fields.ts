import * as z from 'zod/mini'

// What inputs are made of; each `error` is what an answer says behind "expected".

export function text(error: string) {
  return z.string({ error })
}

export function path(error = 'a path as text') {
  const isPath = (value: string) => value !== '' && !value.includes('\0')
  return text(error).check(z.refine(isPath, { error: `${error}, neither empty nor with NUL` }))
}

export function whole(least: number, most = Number.MAX_SAFE_INTEGER) {
  const range = most === Number.MAX_SAFE_INTEGER ? `${least} on` : `${least} to ${most}`
  const error = `a whole number from ${range}`
  return z.int({ error }).check(z.minimum(least, { error }), z.maximum(most, { error }))
}

export function flag() {
  return z.boolean({ error: 'true or false' })
}
