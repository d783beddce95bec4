import { UserError } from '../base/errors.ts'
import { isInRepository } from '../base/repository.ts'
import { enterWorkingTree, type Seat } from '../journal/working-tree.ts'
import type { Plan } from '../plan/plan.ts'
import { cwdOption } from '../views/words.ts'
import type { Input } from './command.ts'
import { currentProject } from './project.ts'

/**
 * Takes the working tree for a run: two that work in the same one overwrite each other's files. A run
 * inside of another one is part of its work.
 */
export function takeWorkingTree({ run, cwd }: Plan, input: Input): Seat {
  if (process.env['FORKHESTRA_RUN_ID']) return { leave: () => undefined }
  const isWelcome = (others: readonly unknown[]) => others.length === 0 || input.flag('anyway')
  const taken = enterWorkingTree({ run, cwd }, process.env, isWelcome)
  if ('leave' in taken) return taken
  const [first] = taken
  const show = `forkhestra show ${first!.run}${cwdOption(first!.cwd || undefined, currentProject())}`
  throw new UserError(
    `Run ${first!.run} is still at work in this working tree.`,
    [
      `See what it does: ${show}`,
      ...(isInRepository(cwd) ? ['Or use another tree: git worktree add ../second'] : []),
      'Or start in the same tree anyway: add --anyway',
    ].join('\n'),
  )
}
