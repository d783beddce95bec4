import { expect } from 'bun:test'
import { eventSchema, type RunEvent } from '../../src/records/events/schema.ts'
import { forkhestra, Running, type Finished } from './forkhestra.ts'
import { makeProject, type Files } from './project.ts'
import { journalOf, ofType, runsOf } from './record.ts'

/** A project whose configuration has one chain, `c`. */
export function makeChain(steps: readonly object[], files: Files = {}, chain: object = {}): string {
  const configuration = { chains: { c: { ...chain, steps } } }
  return makeProject({ ...files, 'forge/orch/chains.json': JSON.stringify(configuration) })
}

interface Options {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** The result of a run, and the content of its record. */
export interface Ran extends Finished {
  readonly run: string
  readonly events: readonly RunEvent[]
}

export async function runChain(cwd: string, { args = [], env = {} }: Options = {}): Promise<Ran> {
  return withRecord(await forkhestra(['--chain', 'c', ...args], { cwd, env }), cwd)
}

export function startChain(cwd: string, { args = [], env = {} }: Options = {}): Running {
  return new Running(['--chain', 'c', ...args], { cwd, env })
}

/** Reads the record of the newest run, whose events must be those of the schema, without other fields. */
export function withRecord(finished: Finished, cwd: string): Ran {
  const run = runsOf(cwd).at(-1) ?? ''
  const events = journalOf(cwd, run)
  for (const event of events) expect(eventSchema.parse(event)).toEqual(event)
  return { ...finished, run, events }
}

/** The reason of each end of a step, in order. */
export function reasonsIn(events: readonly RunEvent[]): string[] {
  return ofType(events, 'step_ended').map(({ reason }) => reason)
}

/** `step.iteration outcome` of each iteration, with `again` if it did not count. */
export function turnsIn(events: readonly RunEvent[]): string[] {
  return ofType(events, 'iteration_ended').map(({ step, round, iteration, outcome, again }) =>
    [
      `${step}${round === undefined ? '' : `r${round}`}.${iteration}`,
      outcome.kind,
      ...(again === true ? ['again'] : []),
    ].join(' '),
  )
}
