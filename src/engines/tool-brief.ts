import { oneLine, shorten } from '../base/shorten.ts'

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
  if (typeof input !== 'object' || input === null || Object.keys(input).length === 0) return ''
  const fields: Readonly<Record<string, unknown>> = { ...input }
  const texts = DESCRIPTIVE_FIELDS.map((name) => fields[name])
  const text = texts.find((value): value is string => typeof value === 'string' && value !== '')
  const line = text ?? JSON.stringify(fields)
  return shorten(oneLine(line), LONGEST)
}
