import { UserError } from '../../base/errors.ts'
import { lifeOf } from '../../base/linux/process-identity.ts'
import { readProcesses, readVariable } from '../../base/linux/process-table.ts'
import type { TaskFolders } from '../folders.ts'
import { withCurrentRoot, makeCheckoutFinder } from '../store/checkouts.ts'
import type { Claim, State } from '../store/state-shape.ts'

/** The agent or person that a command acts for. */
export interface Owner {
  readonly name: string
  readonly run: Claim['run']
}

/** Who calls an operation, and when. */
export interface Caller {
  readonly owner: Owner
  readonly now: Date
}

export type Iteration = NonNullable<Claim['run']>

/** Owns nothing: every claim belongs to someone else. */
export const NO_OWNER: Owner = { name: '', run: undefined }

/** How long a claim lasts without a command of its owner, if no process shows that the owner is alive. */
export const DEFAULT_LEASE_MS = 2 * 60 * 60 * 1000

/** All owners with an empty name would share their claims. */
export function checkName(as: string | undefined): void {
  if (as?.trim() !== '') return
  throw new UserError(
    'The name given with --as is empty.',
    'Pass a name, for example --as builder-1, or omit --as.',
  )
}

/** The iteration of a run, taken from the environment; outside a run the given name. */
export function findOwner(
  env: Readonly<Record<string, string | undefined>>,
  as: string | undefined,
): Owner {
  checkName(as)
  const id = env['FORKHESTRA_RUN_ID']
  if (id === undefined) return { name: as ?? (env['USER'] || 'somebody'), run: undefined }
  const process = env['FORKHESTRA_RUN_PROCESS']
  const { FORKHESTRA_SCOPE: scope } = env
  return {
    name: as ?? (env['FORKHESTRA_AGENT'] || 'agent'),
    run: {
      id,
      // In a group, the same step may run at several places.
      step: scope?.replace(/\/i\d+$/, '') ?? env['FORKHESTRA_STEP'] ?? '',
      iteration: env['FORKHESTRA_ITERATION'] ?? '',
      ...(process === undefined ? {} : { process }),
    },
  }
}

/** Why a claim is no longer valid; undefined while it is. */
export function whyDead(claim: Claim, now: Date): string | undefined {
  if (claim.settled !== undefined) return undefined
  if (claim.run !== undefined) {
    const life = claim.run.process === undefined ? 'unknown' : lifeOf(claim.run.process)
    if (life === 'alive') return undefined
    if (life === 'dead' && isAgentAlive(claim.run.process)) return undefined
    if (life === 'dead') return `run ${claim.run.id} is gone`
  }
  return claim.until !== undefined && claim.until < now.toISOString()
    ? 'its lease expired'
    : undefined
}

/** An agent that outlived its run may still be working on the task. */
function isAgentAlive(identity: string | undefined): boolean {
  if (identity === undefined || process.platform !== 'linux') return false
  return readProcesses().some(
    ({ pid, isDead }) =>
      !isDead && pid !== process.pid && readVariable(pid, 'FORKHESTRA_RUN_PROCESS') === identity,
  )
}

/** Inside a run a claim belongs to the iteration, outside to the name. */
export function isOwner(claim: Claim, owner: Owner): boolean {
  if (claim.run === undefined || owner.run === undefined) {
    return claim.run === owner.run && claim.owner === owner.name
  }
  return isSameIteration(claim.run, owner.run)
}

export function isSameIteration(a: Iteration, b: Iteration): boolean {
  return a.id === b.id && a.step === b.step && a.iteration === b.iteration
}

/** The claims that keep an owner from a task: those of others, and tasks settled in another checkout. */
export function blockingClaims(
  { claims }: State,
  owner: Owner,
  folders: TaskFolders,
  now: Date,
): Map<string, Claim> {
  const findCheckout = makeCheckoutFinder(folders)
  const found = new Map<string, Claim>()
  for (const [id, claim] of Object.entries(claims)) {
    const isOver = claim.settled !== undefined
    if (!isOver && (isOwner(claim, owner) || whyDead(claim, now) !== undefined)) continue
    const there = findCheckout(claim)
    const isElsewhere = there !== undefined && there !== folders
    if (isElsewhere || !isOver) found.set(id, withCurrentRoot(claim, there))
  }
  return found
}

export function isHeldByAnother(claim: Claim | undefined, { owner, now }: Caller): claim is Claim {
  if (claim === undefined || claim.settled !== undefined) return false
  return whyDead(claim, now) === undefined && !isOwner(claim, owner)
}
