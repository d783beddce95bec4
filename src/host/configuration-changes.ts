import { errorText } from '../base/errors.ts'
import { Mask } from '../base/secrets/mask.ts'
import { printable } from '../base/terminal/printable.ts'
import type { ChainsConfig } from '../chain/parse/chains-schema.ts'
import type { Plan } from '../chain/plan/plan.ts'
import { loadConfiguration, type Configuration } from './configuration.ts'
import { namedIn } from './secrets.ts'

/** How many removed, and how many added lines are shown. */
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
  let found: Configuration
  try {
    found = await loadConfiguration(cwd, file, env)
  } catch (error) {
    return { changes: [`${file} can no longer be used (${errorText(error)}); ${continues}`] }
  }
  if (found.hash === hash) return { content: found.content, changes: [] }
  const now = new Mask({ ...env, ...namedIn(found.content) }).text(found.text ?? '')
  const lines = text === undefined ? [] : await changedLines(text, now)
  return { changes: [[`${file} has changed since; ${continues}`, ...lines].join('\n')] }
}

async function changedLines(before: string, now: string): Promise<string[]> {
  const { createTwoFilesPatch, OMIT_HEADERS } = await import('diff/lib/patch/create.js')
  const options = { context: 0, headerOptions: OMIT_HEADERS }
  const patch = createTwoFilesPatch('', '', before, now, undefined, undefined, options)
  return ['-', '+'].flatMap((sign) => {
    const lines = patch.split('\n').filter((line) => line.startsWith(sign))
    const shown = lines.slice(0, SHOWN).map((line) => {
      return `  ${sign} ${printable(line.slice(1)).slice(0, WIDEST)}`
    })
    const more = lines.length - SHOWN
    return more > 0 ? [...shown, `  ${sign} … (${more} more)`] : shown
  })
}
