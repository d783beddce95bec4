import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compile } from '../scripts/build.ts'
import type { Figure } from './figure.ts'
import { timeOf } from './process.ts'
import { makeProject, type Programs } from './project.ts'
import type { Timed } from './timed-run.ts'

const ROUNDS = 9
const ITERATIONS = 1000

/** The share of the events, and of the whole record, in a run that does nothing else. */
export async function measureAppends({ forkhestra }: Programs): Promise<Figure[]> {
  const cwd = makeProject({ agent: '#!/bin/sh\n' })
  const [timed, report] = [join(cwd, 'timed-run'), join(cwd, 'report.json')]
  await compile('bench/timed-run.ts', timed)
  const agent = `./agent:${ITERATIONS}`
  const runs: Timed[] = []
  const [recorded, bare]: number[][] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    // Without a marker each run ends incomplete, with exit code 1.
    timeOf([timed, report, agent], cwd, 1)
    runs.push(JSON.parse(readFileSync(report, 'utf8')) as Timed)
    recorded!.push(timeOf(['env', forkhestra, agent], cwd, 1))
    bare!.push(timeOf(['env', '-u', 'HOME', '-u', 'XDG_STATE_HOME', forkhestra, agent], cwd, 1))
  }
  const { appends, whole } = runs.toSorted((a, b) => share(a) - share(b))[ROUNDS >> 1]!
  const name = `${ITERATIONS} empty iterations`
  return [
    figure(`appends of events, of a run of ${name}`, appends, whole, 0.05),
    figure(`${name} with a record, against none`, Math.min(...recorded!), Math.min(...bare!)),
  ]
}

function share({ appends, whole }: Timed): number {
  return appends / whole
}

function figure(name: string, measured: number, base: number, limit?: number): Figure {
  const target = limit === undefined ? {} : { limit }
  return { group: 'journal', name, measured, unit: 'ms', base, ...target }
}
