import type { Figure } from './figure.ts'
import { makeProject, type Programs } from './project.ts'
import { timeOf } from './process.ts'

const ROUNDS = 30
const ITERATIONS = 200

/** What an iteration costs beyond the agent itself, compared with a shell loop. */
export function measureLoop({ forkhestra }: Programs): Figure[] {
  const cwd = makeProject({ agent: '#!/bin/sh\n' })
  const shell = ['bash', '-c', `for i in $(seq ${ITERATIONS}); do ./agent; done`]
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    // Without a marker the loop ends incomplete, with exit code 1.
    ours.push(timeOf([forkhestra, `./agent:${ITERATIONS}`], cwd, 1))
    theirs.push(timeOf(shell, cwd))
  }
  return [
    {
      group: 'loop',
      name: `${ITERATIONS} iterations of an agent that does nothing`,
      measured: Math.min(...ours),
      unit: 'ms',
      base: Math.min(...theirs),
      limit: 1.5,
    },
  ]
}
