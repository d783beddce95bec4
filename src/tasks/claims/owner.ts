import { UserError } from '../../base/errors.ts'
import { lifeOf } from '../../base/process-identity.ts'
import type { Places } from '../store/places.ts'
import { located, makeFinder } from '../store/checkouts.ts'
import type { Claim, State } from '../store/state.ts'

/** On whose behalf a command acts. */
export interface Owner {
  readonly name: string
  readonly run: Claim['run']
}

export type Iteration = NonNullable<Claim['run']>

/** Asks on nobody's behalf: every claim is somebody else's. */
export const NOBODY: Owner = { name: '', run: undefined }

/** Two hours, as long as nothing is heard of an owner, and no process tells whether it lives. */
export const DEFAULT_LEASE_MS = 2 * 60 * 60 * 1000

/** Whoever has no name would share everything with all others that have none. */
export function checkName(as: string | undefined): void {
  if (as?.trim() !== '') return
  throw new UserError(
    'The name behind --as is empty.',
    'Give one, e.g. --as builder-1, or leave --as out.',
  )
}

/** The iteration of a run that the environment tells of, or the given name. */
export function findOwner(
  env: Readonly<Record<string, string | undefined>>,
  as: string | undefined,
): Owner {
  checkName(as)
  const id = env['FORKHESTRA_RUN_ID']
  if (id === undefined) return { name: as ?? (env['USER'] || 'somebody'), run: undefined }
  const process = env['FORKHESTRA_RUN_PROCESS']
  return {
    name: as ?? (env['FORKHESTRA_AGENT'] || 'agent'),
    run: {
      id,
      step: env['FORKHESTRA_STEP'] ?? '',
      iteration: env['FORKHESTRA_ITERATION'] ?? '',
      ...(process === undefined ? {} : { process }),
    },
  }
}

/** Why a claim holds no longer, or undefined while it does. */
export function whyDead(claim: Claim, now: Date): string | undefined {
  if (claim.settled !== undefined) return undefined
  if (claim.run !== undefined) {
    const life = claim.run.process === undefined ? 'unknown' : lifeOf(claim.run.process)
    if (life === 'alive') return undefined
    if (life === 'dead') return `run ${claim.run.id} is gone`
  }
  return claim.until !== undefined && claim.until < now.toISOString()
    ? 'its time ran out'
    : undefined
}

/** Whether the same agent, or the same iteration, holds it. */
export function isOwner(claim: Claim, owner: Owner): boolean {
  if (claim.run === undefined || owner.run === undefined) {
    return claim.run === owner.run && claim.owner === owner.name
  }
  return isSameIteration(claim.run, owner.run)
}

export function isSameIteration(a: Iteration, b: Iteration): boolean {
  return a.id === b.id && a.step === b.step && a.iteration === b.iteration
}

/** The claims that keep an owner from a task: those of others, and what was settled elsewhere. */
export function standing(
  { claims }: State,
  owner: Owner,
  places: Places,
  now: Date,
): Map<string, Claim> {
  const findCheckout = makeFinder(places)
  const found = new Map<string, Claim>()
  for (const [id, claim] of Object.entries(claims)) {
    const isOver = claim.settled !== undefined
    if (!isOver && (isOwner(claim, owner) || whyDead(claim, now) !== undefined)) continue
    const there = findCheckout(claim)
    const isElsewhere = there !== undefined && there !== places
    if (isElsewhere || !isOver) found.set(id, located(claim, there))
  }
  return found
}

/** Whether somebody else is at it right now. */
export function isHeldByAnother(claim: Claim, owner: Owner, now: Date): boolean {
  const isLive = claim.settled === undefined && whyDead(claim, now) === undefined
  return isLive && !isOwner(claim, owner)
}
