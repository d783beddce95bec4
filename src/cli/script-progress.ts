import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode } from '../base/errors.ts'
import { stateFolder } from '../base/state-folder.ts'
import { parseAnsweredTurn, type AnsweredTurn } from '../fake-model/playback.ts'

/** Which turns of a script were answered here, so that a run that is resumed gets those that follow. */
export class ScriptProgress {
  readonly #path: string | undefined

  constructor(script: string, env: Readonly<Record<string, string | undefined>>) {
    const root = stateFolder(env)
    const name = Bun.hash.wyhash(`${process.cwd()}\0${realpathSync(script)}`).toString(36)
    this.#path = root && join(root, 'fake-model', `${name}.ndjson`)
  }

  read(): AnsweredTurn[] {
    if (this.#path === undefined) return []
    try {
      const lines = readFileSync(this.#path, 'utf8').split('\n')
      return lines.flatMap((line) => parseAnsweredTurn(line) ?? [])
    } catch (error) {
      if (errorCode(error) === undefined) throw error
      return []
    }
  }

  /** A fresh run begins with the first turn. */
  begin(): void {
    this.#try((path) => {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(path, '', { mode: 0o600 })
    })
  }

  add(answered: AnsweredTurn): void {
    this.#try((path) => appendFileSync(path, `${JSON.stringify(answered)}\n`))
  }

  /** Nothing is left to resume. */
  end(): void {
    this.#try((path) => rmSync(path, { force: true }))
  }

  /** A disk that takes nothing must not end a rehearsal; only its resume begins at the first turn. */
  #try(write: (path: string) => void): void {
    if (this.#path === undefined) return
    try {
      write(this.#path)
    } catch (error) {
      if (errorCode(error) === undefined) throw error
    }
  }
}

/** Whether a command resumes a run that was rehearsed before. */
export function isResume([program = '', verb]: readonly string[]): boolean {
  return /(?:^|\/)forkhestra$/.test(program) && verb === 'resume'
}
