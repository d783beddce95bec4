import { shorten } from '../base/shorten.ts'

/** The first of these fields that an input has describes the call. */
const DESCRIPTIVE_FIELDS = [
  'command',
  'file_path',
  'notebook_path',
  'path',
  'pattern',
  'query',
  'url',
  'description',
  'prompt',
  'name',
]

const LONGEST = 200

/** One line for people that describes a tool call. */
export function toolBrief(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  const fields: Readonly<Record<string, unknown>> = { ...input }
  const key = DESCRIPTIVE_FIELDS.find(
    (name) => typeof fields[name] === 'string' && fields[name] !== '',
  )
  const text = key === undefined ? briefJson(fields) : String(fields[key])
  const line = text.trim().replaceAll(/\s+/g, ' ')
  return shorten(line, LONGEST)
}

function briefJson(fields: Readonly<Record<string, unknown>>): string {
  return Object.keys(fields).length === 0 ? '' : JSON.stringify(fields)
}
