import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { errorText, UserError } from '../base/errors.ts'
import { readTextFile } from '../base/files.ts'
import { Mask } from '../base/secrets/mask.ts'
import { printable } from '../base/terminal/printable.ts'
import type { Environment } from '../base/environment.ts'
import type { ChainsConfig } from '../chain/parse/chains-schema.ts'
import type { Plan } from '../chain/plan/plan.ts'
import { cut } from '../views/terminal/columns.ts'
import { namedIn } from './secrets.ts'

/** A configuration; `base` is the folder that its relative paths start from. */
export interface Configuration {
  readonly file: string | undefined
  /** SHA-256 of the file's text, and the text itself. */
  readonly hash?: string
  readonly text?: string
  readonly base: string
  readonly content: ChainsConfig
}

const CONFIG_LIMIT_BYTES = 4 * 1024 * 1024

/** Reads the given configuration file, or the first one in the default locations. */
export async function loadConfiguration(
  cwd: string,
  given: string | undefined,
  env: Environment,
): Promise<Configuration> {
  for (const { path, base } of places(cwd, given, env)) {
    const file = readTextFile(path, CONFIG_LIMIT_BYTES)
    if (file.kind === 'text') {
      const name = nameFor(path, cwd)
      // Loaded on demand, because a validator takes time to load.
      const { parseChainsFile } = await import('../chain/parse/chains-file.ts')
      const content = parseChainsFile(file.text, name)
      const hash = new Bun.CryptoHasher('sha256').update(file.text).digest('hex')
      return { file: name, hash, text: file.text, base, content }
    }
    if (file.kind === 'unusable')
      throw new UserError(`Configuration ${nameFor(path, cwd)} ${file.problem}.`)
    if (given !== undefined) {
      throw new UserError(`Configuration not found: ${given}`, `Looked in: ${cwd}`)
    }
  }
  return { file: undefined, base: cwd, content: { chains: {} } }
}

function places(
  cwd: string,
  given: string | undefined,
  env: Environment,
): { path: string; base: string }[] {
  if (given !== undefined) return [{ path: resolve(cwd, given), base: cwd }]
  const { XDG_CONFIG_HOME: config = '', HOME: home = '' } = env
  const folders = [config, home && join(home, '.config')].filter(isAbsolute).slice(0, 1)
  const user = folders.map((folder) => join(folder, 'forkhestra/chains.json'))
  return [
    { path: join(cwd, 'forge/orch/chains.json'), base: cwd },
    { path: join(cwd, 'forge/chains.json'), base: cwd },
    ...user.map((path) => ({ path, base: dirname(path) })),
  ]
}

function nameFor(path: string, cwd: string): string {
  const name = relative(cwd, path)
  return name === '' || name.startsWith('..') ? path : name
}

/** Maximum number of removed, and of added, lines to show. */
const SHOWN = 6
const WIDEST = 120

/** The configuration of a recorded plan if it is still the same, or a warning about how it changed. */
export async function compareConfiguration(
  { cwd, configuration }: Plan,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly content?: ChainsConfig; readonly changes: readonly string[] }> {
  if (configuration === undefined) return { changes: [] }
  const { file, hash, text } = configuration
  const continues = 'the run continues with its original plan'
  const hint = '  To use the new file, start a new run'
  let found: Configuration
  try {
    found = await loadConfiguration(cwd, file, env)
  } catch (error) {
    return { changes: [`${file} can no longer be used (${errorText(error)}); ${continues}`] }
  }
  if (found.hash === hash) return { content: found.content, changes: [] }
  const now = new Mask({ ...env, ...namedIn(found.content) }).text(found.text ?? '')
  const lines = text === undefined ? [] : await changedLines(text, now)
  return {
    changes: [
      [`${file} has changed since the run started; ${continues}`, ...lines, hint].join('\n'),
    ],
  }
}

async function changedLines(before: string, now: string): Promise<string[]> {
  const { createTwoFilesPatch, OMIT_HEADERS } = await import('diff/lib/patch/create.js')
  const options = { context: 0, headerOptions: OMIT_HEADERS }
  const patch = createTwoFilesPatch('', '', before, now, undefined, undefined, options)
  return ['-', '+'].flatMap((sign) => {
    const lines = patch.split('\n').filter((line) => line.startsWith(sign))
    // Secrets are already masked, so a line may be cut anywhere.
    const shown = lines
      .slice(0, SHOWN)
      .map((line) => `  ${sign} ${cut(printable(line.slice(1)), WIDEST)}`)
    const more = lines.length - SHOWN
    return more > 0 ? [...shown, `  ${sign} … (${more} more)`] : shown
  })
}
