import { dropUndefined } from '../../base/objects.ts'
import { UserError, tryOr } from '../../base/errors.ts'
import { printable } from '../../base/terminal/printable.ts'
import { goodLines } from '../../base/yaml.ts'
import { MODEL, MODEL_HINT, PERMISSION_MODES } from './agent-values.ts'
import type { AgentConfig } from './chains-schema.ts'

/** An agent file of Claude Code: frontmatter, followed by the system prompt. */
export interface AgentFile {
  readonly name: string
  readonly description?: string
  /** As shown in messages. */
  readonly path: string
  readonly line: number
  readonly config: AgentConfig
}

interface Parts {
  readonly path: string
  readonly yaml: string
  readonly body: string
}

type Fields = Readonly<Record<string, unknown>>

const FRONTMATTER_LIMIT = 64 * 1024

/** `stem` is the file name without extension. Undefined if there is no frontmatter. */
export function parseAgentFile(text: string, path: string, stem: string): AgentFile | undefined {
  const parts = split(text, path)
  if (parts === undefined) return undefined
  const fields = readFields(parts)
  const { description } = fields
  const systemPromptText = parts.body.trim()
  const name = nameOf(fields, parts, stem)
  if (systemPromptText === '') {
    throw new UserError(
      `${path}  No system prompt after the frontmatter.`,
      'Add instructions for the agent, or delete the file.',
    )
  }
  return {
    name,
    ...(typeof description === 'string' ? { description } : {}),
    path,
    line: lineOf(parts, 'name') ?? 1,
    config: { systemPromptText, ...settingsOf(fields, parts) },
  }
}

function split(text: string, path: string): Parts | undefined {
  const [open] = /^\uFEFF?---[ \t]*(?:\r?\n|$)/.exec(text) ?? []
  if (open === undefined) return undefined
  const rest = text.slice(open.length)
  const close = /^---[ \t]*\r?$/m.exec(rest)
  if (close === null) {
    throw new UserError(
      `${path}:1  The frontmatter is never closed.`,
      'Add a line with only --- after it.',
    )
  }
  if (close.index > FRONTMATTER_LIMIT) {
    throw new UserError(`${path}:1  The frontmatter is longer than 64 KiB.`)
  }
  return { path, yaml: rest.slice(0, close.index), body: rest.slice(close.index + close[0].length) }
}

function readFields({ path, yaml }: Parts): Fields {
  const quoted = quoteValues(yaml)
  const value = parseYaml(yaml) ?? parseYaml(quoted)
  if (value === undefined) {
    throw new UserError(
      `${path}:${goodLines(quoted) + 2}  The frontmatter is not valid YAML.`,
      'Quote the value on that line.',
    )
  }
  if (value === null) return {}
  if (typeof value === 'object' && !Array.isArray(value)) return value as Fields
  throw new UserError(
    `${path}:2  The frontmatter must consist of key: value lines.`,
    'For example: name: reviewer',
  )
}

/** Undefined if it is not valid YAML; null if it is empty. */
function parseYaml(yaml: string): unknown {
  return tryOr(undefined, () => Bun.YAML.parse(yaml) ?? null)
}

const LINE = /^([A-Za-z][\w-]*):[ \t]+(\S.*?)[ \t]*\r?$/gm

/** Claude Code accepts `description: Use it when: …`, which YAML accepts only in quotes. */
function quoteValues(yaml: string): string {
  return yaml.replaceAll(LINE, (line: string, key: string, value: string) => {
    const isPlain = !/^["'[{|>]/.test(value)
    const isRefused = /: |:$| #|^[@`%&*!,\]}?-]/.test(value)
    return isPlain && isRefused ? `${key}: ${JSON.stringify(value)}` : line
  })
}

function nameOf(fields: Fields, parts: Parts, stem: string): string {
  const { name } = fields
  if (name === undefined || name === null || name === '') return stem
  const text = typeof name === 'number' ? String(name) : name
  const isName = typeof text === 'string' && text.trim() === text && text === printable(text)
  if (isName && /^[^-/][^/]*$/.test(text)) return text
  return refuse(parts, 'name', name, "a single line without '/' that does not start with '-'")
}

function settingsOf(fields: Fields, parts: Parts): AgentConfig {
  const { model } = fields
  const isInherited = model === 'inherit' || model === 'default'
  const allowedTools = toolsOf(fields, parts, 'tools')
  const isModel = (value: unknown) => typeof value === 'string' && MODEL.test(value)
  const isMode = (value: unknown) => PERMISSION_MODES.some((known) => known === value)
  const isCount = (value: unknown) => Number.isInteger(value) && Number(value) > 0
  const check = (key: string, isValid: (value: unknown) => boolean, expected: string) => {
    const value = fields[key] ?? undefined
    return value === undefined || isValid(value) ? value : refuse(parts, key, value, expected)
  }
  return dropUndefined({
    model: isInherited ? undefined : check('model', isModel, `"inherit", ${MODEL_HINT}`),
    allowedTools: allowedTools?.includes('*') === true ? undefined : allowedTools,
    disallowedTools: toolsOf(fields, parts, 'disallowedTools'),
    permissionMode: check('permissionMode', isMode, PERMISSION_MODES.join(', ')),
    maxTurns: check('maxTurns', isCount, 'a positive integer'),
  }) as AgentConfig
}

/** A list, or names separated by commas; in `Bash(a, b)` the comma is part of the name. */
function toolsOf(fields: Fields, parts: Parts, key: string): string[] | undefined {
  const value = fields[key] ?? undefined
  if (value === undefined) return undefined
  const names: unknown = typeof value === 'string' ? value.match(/(?:\([^()]*\)|[^,])+/g) : value
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) {
    return names.map((name) => name.trim()).filter((name) => name !== '')
  }
  return refuse(parts, key, value, 'tool names such as Read, Grep, Bash')
}

/** The part of an invalid value to show in a message. */
const FOUND_WIDTH = 60

function lineOf({ yaml }: Parts, key: string): number | undefined {
  const index = yaml.split('\n').findIndex((line) => line.startsWith(`${key}:`))
  return index === -1 ? undefined : index + 2
}

function refuse(parts: Parts, key: string, value: unknown, expected: string): never {
  const text = JSON.stringify(value)
  const found = typeof value === 'object' ? 'not a string' : printable(text.slice(0, FOUND_WIDTH))
  const place = `${parts.path}:${lineOf(parts, key) ?? 1}`
  throw new UserError(`${place}  ${key} is ${found}, expected ${expected}.`)
}
