import { relative, resolve } from 'node:path'
import { dropUndefined } from '../base/objects.ts'
import { readWhole } from '../base/numbers.ts'
import { isInside } from '../chain/parse/branch-schema.ts'
import { MAX_COPIES, MIN_COPIES } from '../chain/parse/chain-text.ts'
import type { ChainConfig } from '../chain/parse/chains-schema.ts'
import { withCopies } from '../chain/parse/items.ts'
import type { Request } from '../chain/plan/request.ts'
import type { Project } from '../host/project.ts'
import { UsageError, type Input } from './command.ts'

export function readBranching(input: Input, project: Project): NonNullable<Request['branching']> {
  const setup = input.text('setup')
  if (setup?.trim() === '')
    throw new UsageError('The command for --setup is empty.', 'For example: --setup "npm ci"')
  const paths = input.texts('copy').map((path) => readCopy(path, project))
  return {
    isWhole: input.flag('worktree'),
    ...dropUndefined({ setup, copy: paths.length === 0 ? undefined : paths }),
  }
}

/** Paths in the plan are relative to the project. */
function readCopy(path: string, { folder, here }: Project): string {
  const inside = path === '' ? '' : relative(folder, resolve(here, path))
  if (isInside(inside)) return inside
  throw new UsageError(
    `--copy is '${path}', expected a path inside the project.`,
    'For example: --copy .env',
  )
}

/** Applies `--copies` to the last step that loops. */
export function applyCopies(chain: ChainConfig, input: Input): ChainConfig {
  const text = input.text('copies')
  if (text === undefined) return chain
  const hint = 'For example: 4.'
  const copies = readWhole('--copies', text, { least: MIN_COPIES, most: MAX_COPIES }, hint)
  const copied = withCopies(chain, copies)
  if (copied !== undefined) return copied
  throw new UsageError(
    `--copies ${copies} needs an agent that runs in a loop, and the chain has none.`,
    `For example: forkhestra builder:20 --copies ${copies}`,
  )
}
