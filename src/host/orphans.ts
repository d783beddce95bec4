import { join } from 'node:path'
import { NotNow, UserError } from '../base/errors.ts'
import { listNames } from '../base/files.ts'
import { Mask } from '../base/secrets/mask.ts'
import { printable } from '../base/terminal/printable.ts'
import type { Leftover } from '../records/events/schema.ts'
import type { RecordPlaces } from '../records/journal/record-folder.ts'
import { holderOf } from '../records/journal/run-lock.ts'
import { RunProcesses, findOrphans } from '../run/process/run-processes.ts'
import { resumeCommand } from '../views/runs.ts'
import type { FrontEnd } from './front-end.ts'
import { isChat } from './records/plan-in.ts'

type User = Pick<FrontEnd, 'confirm' | 'env'>

interface DeadRun {
  readonly run: string
  readonly record: string
}

interface OrphanChoice {
  readonly mayKill: boolean
  /** Whether a new run may start while orphans are running. */
  readonly isShared: boolean
}

/**
 * Kills the processes that dead runs left running, if the user agrees; returns warnings. Otherwise refuses the
 * new run, because both would work on the same tasks and files.
 */
export async function clearOrphans(
  { roots, origins }: RecordPlaces,
  { mayKill, isShared }: OrphanChoice,
  user: User,
): Promise<string[]> {
  // The signature first: the lock of a record from elsewhere may be unreadable.
  const isDead = (folder: string) => origins.isSigned(folder) && holderOf(folder)?.life === 'dead'
  const records = roots.flatMap((root) =>
    listNames(root).flatMap((id) => (id.startsWith('.') ? [] : [[id, join(root, id)] as const])),
  )
  const dead = new Map(records.filter(([, folder]) => isDead(folder)))
  const warnings: string[] = []
  for (const [run, processes] of findOrphans([...dead.keys()])) {
    const words = `${run} is dead and left these processes running: ${namesOf(processes, user)}`
    if (mayKill || (await user.confirm(`Run ${words}. Kill them?`))) {
      warnings.push(await end(run, processes, user))
    } else if (isShared) {
      warnings.push(`run ${words}; to kill them: --kill-orphans`)
    } else {
      throw new UserError(
        `Run ${words}.`,
        [
          'They would interfere with the new run. Kill them: add --kill-orphans',
          `Or continue the dead run: ${resumeWithout({ run, record: dead.get(run)! })}`,
          'Or start anyway: add --anyway',
        ].join('\n'),
      )
    }
  }
  return warnings
}

/** The same for a resumed run: two agents in one iteration would undo each other's work. */
export async function endOrphansOf(dead: DeadRun, mayKill: boolean, user: User): Promise<string[]> {
  const { run } = dead
  const processes = RunProcesses.ofDeadRun(run).list()
  if (processes.length === 0) return []
  if (!mayKill) await mustConfirm(dead, processes, user)
  return [await end(run, processes, user)]
}

/**
 * Asks in advance whether the processes of a dead run may be killed, so that a refusal changes nothing.
 * `isDriven`: whether the run is still alive.
 */
export async function mayEndOrphans(
  dead: DeadRun,
  mayKill: boolean,
  isDriven: () => boolean,
  user: User,
): Promise<boolean> {
  const { run } = dead
  const before = RunProcesses.ofDeadRun(run).list()
  if (mayKill || before.length === 0 || isDriven()) return mayKill
  // A process that ends normally kills its children before it releases the lock.
  const now = RunProcesses.ofDeadRun(run).list()
  const processes = before.filter(({ pid }) => now.some((each) => each.pid === pid))
  if (processes.length === 0) return false
  await mustConfirm(dead, processes, user)
  return true
}

export function hasOrphans(run: string): boolean {
  return RunProcesses.ofDeadRun(run).list().length > 0
}

async function mustConfirm(
  dead: DeadRun,
  processes: readonly Leftover[],
  user: User,
): Promise<void> {
  const words = `Run ${dead.run} left these processes running: ${namesOf(processes, user)}.`
  if (await user.confirm(`${words} Kill them?`)) return
  const hint = `They would interfere with the resumed run. Kill them: ${resumeWithout(dead)}`
  throw new NotNow(words, hint)
}

/** The command that kills the orphans of a run and continues it. */
function resumeWithout({ run, record }: DeadRun): string {
  return `${resumeCommand(run, isChat(record))} --kill-orphans`
}

async function end(run: string, processes: readonly Leftover[], user: User): Promise<string> {
  const leftovers = await RunProcesses.ofDeadRun(run).end(new AbortController().signal)
  const survivors = leftovers.filter(({ survived }) => survived === true)
  const did = survivors.length === 0 ? 'killed' : 'could not kill'
  const names = namesOf(survivors.length === 0 ? processes : survivors, user)
  return `${did} the processes that run ${run} left running: ${names}`
}

function namesOf(processes: readonly Leftover[], { env }: User): string {
  const words = processes.map(({ pid, command }) => `${command} (pid ${pid})`).join(', ')
  return printable(new Mask(env).text(words))
}
