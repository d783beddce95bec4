import { shorten } from '../base/shorten.ts'

/** What a tool is called for, by the first of these that its input has. */
const TELLING = [
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

/** One line that tells a person what a tool does now. */
export function toolBrief(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  const fields: Readonly<Record<string, unknown>> = { ...input }
  const key = TELLING.find((name) => typeof fields[name] === 'string' && fields[name] !== '')
  const text = key === undefined ? briefJson(fields) : String(fields[key])
  const line = text.trim().replaceAll(/\s+/g, ' ')
  return shorten(line, LONGEST)
}

function briefJson(fields: Readonly<Record<string, unknown>>): string {
  return Object.keys(fields).length === 0 ? '' : JSON.stringify(fields)
}
