import { writeFileSync } from 'node:fs'
import { FORKHESTRA } from '../src/cli/forkhestra.ts'
import { runProgram } from '../src/cli/program.ts'
import { EventFile } from '../src/records/journal/event-file.ts'

// The program itself, with a timer around every append to the events of the run. It writes the result
// to the file named by its first argument.

/** How long the run and its appends took, in ms. */
export interface Timed {
  readonly whole: number
  readonly appends: number
}

const [path = '', ...args] = process.argv.slice(2)
let appends = 0
/** The methods may call each other, and only the outermost call is timed. */
let depth = 0

for (const name of ['append', 'write', 'sync'] as const) {
  const original = EventFile.prototype[name] as (...given: unknown[]) => void
  EventFile.prototype[name] = function timed(this: EventFile, ...given: unknown[]) {
    const began = performance.now()
    depth += 1
    try {
      original.apply(this, given)
    } finally {
      depth -= 1
      if (depth === 0) appends += performance.now() - began
    }
  }
}

const code = await runProgram(FORKHESTRA, args)
const timed: Timed = { whole: performance.now(), appends }
writeFileSync(path, JSON.stringify(timed))
process.exit(code)
