import { constants } from 'node:os'
import { reportingDamage } from '../../host/records/foreign.ts'
import { parseInput, type Input } from '../command.ts'
import { RECORD_COMMANDS } from '../commands/records.ts'
import { hasScreen, notice } from '../front-end.ts'
import { chooseRun, recordsFor } from './choose-run.ts'
import { openLiveScreen } from './live-screen.ts'

/** The command `watch`. Leaving it does not affect the run. */
export async function watchRun(input: Input): Promise<number> {
  if (!hasScreen()) {
    notice('No terminal to draw on: printing plain lines, like forkhestra logs --follow')
    const { printLogs } = await import('./print-logs.ts')
    return printLogs(input, true)
  }
  const places = recordsFor(input)
  const run = chooseRun(input, places)
  const end = await reportingDamage(run, () => {
    const session = openLiveScreen(run.id, run.folder, places)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const)
      process.on(signal, () => session.stop(signal))
    return session.run()
  })
  if (end === 'quit') return 0
  if (end !== 'resume') return 128 + constants.signals[end === 'gone' ? 'SIGHUP' : end]
  const { resumeRun } = await import('../resume-run.ts')
  const cwd = input.text('cwd')
  const words = [run.id, '--live', ...(cwd === undefined ? [] : ['--cwd', cwd])]
  return resumeRun(parseInput(words, RECORD_COMMANDS.resume))
}
