import { closeSync, openSync, readSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeStamp } from '../src/records/events/event.ts'
import type { RunEvent } from '../src/records/events/schema.ts'
import { next } from '../src/records/events/fold.ts'
import { NO_EVENTS } from '../src/records/events/state.ts'
import { Journal } from '../src/records/journal/journal.ts'
import { readRunState } from '../src/records/journal/read-run.ts'
import { measureAppends } from './appends.ts'
import type { Figure } from './figure.ts'
import { makeProject, type Programs } from './project.ts'

const ROUNDS = 5
const CHUNK_BYTES = 256 * 1024

/** Messages and tool calls in a typical iteration. */
const TALK = 98
const LONG = { iterations: 10_000, talk: TALK }
const MILLION = 'a record of 1 000 000 events'

const stamp = makeStamp('20260101-000000-bench', 'w-bench')
const TEXT = 'The tests pass. Next I look at how the parser treats a file that ends in a comment.'

/** What it costs to write the record of a run, and to read its state back. */
export async function measureJournal(programs: Programs): Promise<Figure[]> {
  return [...measureReading(), ...measureWriting(), ...(await measureAppends(programs))]
}

function measureReading(): Figure[] {
  const folder = makeProject({})
  const before = heap()
  carryOut(new Journal(folder, stamp), LONG)
  const grown = heap() - before
  const reading = best(() => readOnce(join(folder, 'events.ndjson')))
  const opening = best(() => readRunState(folder))
  rmSync(join(folder, 'checkpoint.json'))
  const folding = best(() => readRunState(folder))
  const base = { group: 'journal', unit: 'ms', base: reading } as const
  return [
    { ...base, name: `opening ${MILLION}, against reading it`, measured: opening, limit: 2 },
    { ...base, name: 'the same without its checkpoint', measured: folding },
    {
      group: 'journal',
      name: `memory that writing ${MILLION} leaves behind`,
      measured: grown / 1e6,
      unit: 'MB',
      limit: 10,
    },
  ]
}

function measureWriting(): Figure[] {
  const iterations = 1000
  const looping = best(() => carryOut(new Journal(makeProject({}), stamp), { iterations, talk: 0 }))
  const talking = best(() => {
    carryOut(new Journal(makeProject({}), stamp), { iterations: 1, talk: 100_000 })
  })
  return [
    {
      group: 'journal',
      name: 'an iteration that survives a power failure: start, receipt, end',
      measured: looping / iterations,
      unit: 'ms',
      limit: 1.5,
    },
    {
      group: 'journal',
      name: 'a message of an agent',
      measured: talking / 100,
      unit: 'µs',
    },
  ]
}

/** Writes the record of a loop as the program does. */
function carryOut(journal: Journal, { iterations, talk }: { iterations: number; talk: number }) {
  let state = NO_EVENTS
  const append = (event: RunEvent) => {
    state = next(state, event)
    journal.append(event)
    journal.checkpoint(state)
  }
  const steps = [{ step: 1, agent: 'agent', maxIterations: iterations }]
  const begin = { schema: 1, version: '1.0.0', pid: 1, cwd: '/', steps, plan: {} } as const
  append(stamp({ type: 'run_started', ...begin }))
  append(stamp({ type: 'step_started', scope: ['s1'], step: 1, agent: 'agent' }))
  for (let iteration = 1; iteration <= iterations; iteration++) {
    const place = { scope: ['s1', `i${iteration}`], step: 1, iteration, attempt: 1 }
    append(stamp({ type: 'iteration_started', ...place, pid: 1, argv: ['/bin/agent', 'Do it'] }))
    for (let said = 0; said < talk; said++) append(stamp({ type: 'message', ...place, text: TEXT }))
    const outcome = { kind: 'exited', code: 0 } as const
    append(stamp({ type: 'iteration_ended', ...place, outcome, ms: 1, outputBytes: 0 }))
    if (iteration % 100 === 0) journal.flush()
  }
  journal.close()
}

function readOnce(path: string): void {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  const fd = openSync(path, 'r')
  while (readSync(fd, chunk, 0, chunk.length, null) > 0);
  closeSync(fd)
}

function best(work: () => unknown): number {
  let shortest = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    work()
    shortest = Math.min(shortest, performance.now() - began)
  }
  return shortest
}

function heap(): number {
  Bun.gc(true)
  return process.memoryUsage().heapUsed
}
