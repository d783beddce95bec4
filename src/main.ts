import { writeSync } from 'node:fs'
import { isStdoutClosed } from './cli/closed-stdout.ts'
import type { Program } from './cli/program.ts'
import { VERSION } from './host/version.ts'

// Monitoring tools send these signals. By default they would kill the run.
for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => undefined)

const args = process.argv.slice(2)
const name = process.argv0.slice(process.argv0.lastIndexOf('/') + 1)
process.exit(isVersionPrinted() ? 0 : await run())

/** Answered without loading a program. If printing fails, the program reports the error. */
function isVersionPrinted(): boolean {
  if ((args[0] !== '--version' && args[0] !== '-V') || isStdoutClosed()) return false
  try {
    return writeSync(1, `${VERSION}\n`) > 0
  } catch {
    return false
  }
}

async function run(): Promise<number> {
  const { runProgram } = await import('./cli/program.ts')
  return runProgram(await loadProgram(), args)
}

/** One binary, several programs: the name by which it was called decides. */
async function loadProgram(): Promise<Program> {
  if (name === 'forge-tasks') return (await import('./cli/tasks/program.ts')).FORGE_TASKS
  if (/^(?:forge-)?task-(?:manager|coordinator|worker)$/.test(name))
    return (await import('./cli/bundled/program.ts')).makeAgentProgram(name, args)
  return (await import('./cli/forkhestra.ts')).FORKHESTRA
}
