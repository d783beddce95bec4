import type { FrontEnd } from '../host/front-end.ts'
import { dealWithOrphans } from '../host/orphans.ts'
import type { ReadyRun } from '../host/run-session.ts'
import { isNested, takeWorkingTree } from '../host/working-tree.ts'
import { recordPlaces } from '../records/journal/record-folder.ts'
import type { Input } from './command.ts'
import { runInTerminal } from './run-in-terminal.ts'

/** Carries a new plan out, in a working tree that no other run has. */
export async function startRun(
  input: Input,
  { env, project, confirm }: FrontEnd,
  ready: ReadyRun,
): Promise<number> {
  const seat = takeWorkingTree(ready.plan, env, input.flag('anyway'))
  try {
    const places = recordPlaces(project, env)
    const isShared = input.flag('anyway') || isNested(env)
    const mayKill = input.flag('kill-orphans')
    const orphans = await dealWithOrphans(places, { mayKill, isShared }, confirm)
    const warnings = [...ready.warnings, ...orphans]
    const [verbose, json] = [input.flag('verbose'), input.flag('json')]
    return await runInTerminal({ ...ready, warnings }, { verbose, json, mentionsQueues: true })
  } finally {
    seat.leave()
  }
}
