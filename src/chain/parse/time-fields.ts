import * as z from 'zod/mini'
import { parseDuration } from '../../base/durations.ts'
import { fieldsOf } from './schema-fields.ts'

// Times stay texts in the configuration and become milliseconds in chain/plan.

const TIME = String.raw`(\d+(\.\d+)?(ms|s|m|h|d))+`

const timeField = (pattern: RegExp, error: string) =>
  fieldsOf(
    z.string({ error }).check(
      z.regex(pattern, { error, abort: true }),
      z.refine((value) => value === 'off' || isReadable(value), {
        error: 'a duration of at most ten years',
      }),
    ),
  )

export const time = timeField(
  new RegExp(`^(?=.*[1-9])${TIME}$`),
  'a duration greater than zero such as "30m" or "1h30m"',
)
export const timeOrZero = timeField(new RegExp(`^${TIME}$`), 'a duration such as "30m" or "1h30m"')
export const timeOrOff = timeField(
  new RegExp(`^(off|(?=.*[1-9])${TIME})$`),
  'a duration greater than zero such as "30m" or "1h30m", or "off"',
)

function isReadable(value: string): boolean {
  try {
    parseDuration(value, 'it')
    return true
  } catch {
    return false
  }
}
