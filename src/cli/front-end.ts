import { UserError } from '../base/errors.ts'
import { isTerminal } from '../base/linux/is-terminal.ts'
import { loadConfiguration, type Configuration } from '../host/configuration.ts'
import type { FrontEnd } from '../host/front-end.ts'
import { openProject, pathFromProject, projectLines, type Project } from '../host/project.ts'
import type { Input } from './command.ts'

/** The command line as the host sees it; the project is looked up on first use. */
export function frontEndOf(input: Input): FrontEnd {
  const cwd = input.text('cwd')
  let project: Project | undefined
  return {
    env: process.env,
    cwdOption: cwd === undefined ? '' : ` --cwd ${cwd}`,
    get project() {
      return (project ??= projectOf(input))
    },
    notice,
    confirm,
  }
}

/** Prints a line for the user that is not part of the result. */
export function notice(line: string): void {
  console.error(`[forkhestra] ${line}`)
}

let isAnnounced = false

/** The project of a command; shown if it is not the current folder. */
export function projectOf(input: Input): Project {
  const project = openProject(input.text('cwd'), process.env)
  if (!isAnnounced && !input.flag('json')) for (const line of projectLines(project)) notice(line)
  isAnnounced = true
  return project
}

export function configPath(input: Input, project: Project): string | undefined {
  const given = input.text('config')
  return given === undefined ? undefined : pathFromProject(given, project)
}

export function configurationFor(input: Input, project: Project): Promise<Configuration> {
  return loadConfiguration(project.folder, configPath(input, project), process.env)
}

/** Asks on the terminal. End of input means no. */
async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false
  // Loaded on demand: it takes a tenth of the start of a run.
  const { createInterface } = await import('node:readline')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const { promise: answer, resolve, reject } = Promise.withResolvers<string>()
  lines.once('line', resolve)
  const endLine = () => {
    process.stderr.write('\n')
    resolve('')
  }
  lines.once('close', endLine)
  lines.once('SIGINT', () =>
    reject(new Interrupted('cancelled at a question, before the run started')),
  )
  lines.setPrompt(`[forkhestra] ${question} [y/N] `)
  lines.prompt()
  try {
    return /^y(?:es)?$/i.test((await answer).trim())
  } finally {
    // Its own listeners must see the end of input, or they would echo what is typed later.
    lines.off('close', endLine).close()
  }
}

/** Ctrl-C before the run started. */
class Interrupted extends UserError {
  override readonly exitCode = 130
}

/** Whether there is a terminal that a whole screen can be drawn on. */
export function hasScreen(): boolean {
  return isTerminal(0) && isTerminal(1) && process.env['TERM'] !== 'dumb'
}
