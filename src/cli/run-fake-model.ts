import { closeSync, openSync } from 'node:fs'
import { counted } from '../base/amounts.ts'
import { errorText, UserError } from '../base/errors.ts'
import { readTextFile, writeAll } from '../base/files.ts'
import { makeEnvironment, renderShellLine } from '../fake-model/environment.ts'
import { readWhole } from '../base/numbers.ts'
import type { AnsweredTurn } from '../fake-model/playback.ts'
import { ScriptProgress } from '../fake-model/script-progress.ts'
import type { ScriptSource } from '../fake-model/script-schema.ts'
import { turnsOf, hasLimit, parseScript } from '../fake-model/script.ts'
import { startFakeModel, type FakeModel, type RecordedRequest } from '../fake-model/server.ts'
import { Tally } from '../fake-model/tally.ts'
import { UsageError, type Input } from './command.ts'
import { runInside } from './run-inside.ts'

export async function runFakeModel(input: Input): Promise<number> {
  const [file] = input.positionals
  if (file === undefined) {
    throw new UsageError('No script given.', 'Use: forkhestra fake-model <script> -- <command>')
  }
  const port = readWhole('--port', input.text('port') ?? '0', { least: 0, most: 65_535 })
  const script = readScript(file)
  if (!input.flag('check')) return serve(script, port, input, new ScriptProgress(file, process.env))
  console.log(`${file} is valid: ${counted(turnsOf(script).length, 'turn')}`)
  return 0
}

const REFUSED = 2

async function serve(
  script: ScriptSource,
  port: number,
  input: Input,
  progress: ScriptProgress,
): Promise<number> {
  const log = openLog(input.text('log'))
  const tally = new Tally()
  const onRequest = (request: RecordedRequest) => {
    log.write(request)
    tally.add(request)
  }
  const answered = input.flag('continue') || isResume(input.rest) ? progress.read() : []
  const onAnswered = (turn: AnsweredTurn) => progress.add(turn)
  const options = { port, onRequest, onAnswered, answered, remember: false }
  const model = await startFakeModel(script, options)
  if (answered.length === 0) progress.begin()
  else
    console.error(`[forkhestra] fake-model: continuing after ${counted(answered.length, 'turn')}`)
  try {
    const code = await serveUntilOver(model, input.rest, hasLimit(script))
    // A refused command has started no agent.
    const remarks = code === REFUSED && tally.isEmpty ? [] : tally.renderRemarks(model.unused)
    for (const line of remarks) console.error(`[forkhestra] fake-model: ${line}`)
    if (code === 0) progress.end()
    return code
  } finally {
    await model.stop()
    log.close()
  }
}

async function serveUntilOver(
  { url }: FakeModel,
  command: readonly string[],
  isSubscription: boolean,
): Promise<number> {
  if (command.length > 0)
    return runInside(command, makeEnvironment(url, process.env, isSubscription))
  console.log(renderShellLine(url, process.env, isSubscription))
  await stopSignal()
  return 0
}

const LONGEST_SCRIPT = 16 * 1024 ** 2

function readScript(file: string): ScriptSource {
  const read = readTextFile(file, LONGEST_SCRIPT)
  if (read.kind === 'text') return parseScript(read.text, file)
  if (read.kind === 'unusable') throw new UserError(`${file}  ${read.problem}.`)
  throw new UserError(
    `Script not found: ${file}`,
    'The shortest one is [{ "text": "Done." }]; see docs/reference/fake-model.md',
  )
}

function openLog(file: string | undefined) {
  if (file === undefined) return { write: () => undefined, close: () => undefined }
  const fd = openForAppending(file)
  let isBroken = false
  return {
    write(request: RecordedRequest) {
      if (isBroken) return
      try {
        writeAll(fd, Buffer.from(`${JSON.stringify(request)}\n`))
      } catch (error) {
        isBroken = true
        console.error(`[forkhestra] Warning: logging stopped: ${errorText(error)}`)
      }
    },
    close: () => closeSync(fd),
  }
}

function openForAppending(file: string): number {
  try {
    return openSync(file, 'a')
  } catch (error) {
    throw new UserError(`The log cannot be written: ${errorText(error)}`)
  }
}

async function stopSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  await promise
}

function isResume([program = '', command]: readonly string[]): boolean {
  return /(?:^|\/)forkhestra$/.test(program) && command === 'resume'
}
