import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Environment } from '../base/environment.ts'
import { errorCode } from '../base/errors.ts'
import { stateFolder } from '../base/state-folder.ts'
import { parseAnsweredTurn, type AnsweredTurn } from './playback.ts'

/** The answered turns of a script, on disk, so that a resumed run continues after them. */
export class ScriptProgress {
  readonly #path: string | undefined

  constructor(script: string, env: Environment) {
    const root = stateFolder(env)
    const name = Bun.hash.wyhash(`${process.cwd()}\0${realpathSync(script)}`).toString(36)
    this.#path = root && join(root, 'fake-model', `${name}.ndjson`)
  }

  read(): AnsweredTurn[] {
    const text = this.#try((path) => readFileSync(path, 'utf8')) ?? ''
    return text.split('\n').flatMap((line) => parseAnsweredTurn(line) ?? [])
  }

  begin(): void {
    this.#try((path) => {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(path, '', { mode: 0o600 })
    })
  }

  add(answered: AnsweredTurn): void {
    this.#try((path) => appendFileSync(path, `${JSON.stringify(answered)}\n`))
  }

  end(): void {
    this.#try((path) => rmSync(path, { force: true }))
  }

  /** A full disk affects only a resume, which then begins with the first turn. */
  #try<Result>(work: (path: string) => Result): Result | undefined {
    try {
      return this.#path === undefined ? undefined : work(this.#path)
    } catch (error) {
      if (errorCode(error) === undefined) throw error
      return undefined
    }
  }
}
