import { join } from 'node:path'
import { readTextFile } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import type { Place } from './check.ts'

const LIMIT_BYTES = 16 * 1024 * 1024

export type Fields = Readonly<Record<string, unknown>>

/** Where `claude` keeps its own files; undefined without a home. */
export function claudeFolder(env: Place['env']): string | undefined {
  const { CLAUDE_CONFIG_DIR: moved = '', HOME: home = '' } = env
  if (moved !== '') return moved
  return home === '' ? undefined : join(home, '.claude')
}

/** What the files of `claude` say about its login. */
export interface ClaudeFiles {
  readonly oauth: Fields | undefined
  readonly settings: Fields | undefined
  readonly state: Fields | undefined
}

export function readClaudeFiles(env: Place['env']): ClaudeFiles {
  const folder = claudeFolder(env)
  if (folder === undefined) return { oauth: undefined, settings: undefined, state: undefined }
  return {
    oauth: objectIn(readJson(join(folder, '.credentials.json')), 'claudeAiOauth'),
    settings: readJson(join(folder, 'settings.json')),
    // It lies beside the folder, unless that was moved.
    state: readJson(join(env['CLAUDE_CONFIG_DIR'] || env['HOME'] || '', '.claude.json')),
  }
}

/** As `claude` reads its switches. */
export function isOn(value: unknown): boolean {
  return typeof value === 'string' && ['1', 'true', 'yes', 'on'].includes(value.toLowerCase())
}

export function isSet(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

export function objectIn(fields: Fields | undefined, name: string): Fields | undefined {
  const value = fields?.[name]
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined
}

function readJson(path: string): Fields | undefined {
  const file = readTextFile(path, LIMIT_BYTES)
  if (file.kind !== 'text') return undefined
  try {
    return objectIn({ content: parseJson(file.text) }, 'content')
  } catch {
    return undefined
  }
}
