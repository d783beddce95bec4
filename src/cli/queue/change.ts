import { UsageError, type Input } from '../command.ts'
import { print } from '../tasks/print.ts'
import { noAgents, withDesk, type Opened } from './caller.ts'
import { goOnWords, isLeft } from './left.ts'
import { readStdinText } from './stdin-text.ts'
import { Words } from './words.ts'

/** The verb `send`. */
export async function sendMessage(input: Input): Promise<number> {
  const [to, ...words] = new Words(input, []).rest
  const text = words.join(' ')
  if (to === undefined || text === '') {
    throw new UsageError(
      'send needs an agent and a message.',
      'Write e.g. forkhestra send main "…"',
    )
  }
  const body = text === '-' ? await readStdinText(input, 'message') : text
  return withDesk(
    input,
    'fills',
    async ({ desk, run }) => {
      await desk.send(to, body)
      if (input.flag('json')) print(JSON.stringify({ ok: true, run, to }))
      return 0
    },
    noAgents,
  )
}

/** The verb `cancel`. */
export async function cancelTask(input: Input): Promise<number> {
  const name = new Words(input, []).one()
  if (name === undefined) throw new UsageError('cancel needs the name of a task.')
  return withDesk(
    input,
    'looks',
    async (opened) => {
      const { run } = opened
      const { ended, told } = await opened.desk.cancel(name)
      if (input.flag('json')) print(JSON.stringify({ ok: true, run, ended, told }))
      else {
        if (ended.length > 0) print(`Ended: ${ended.join(', ')}`)
        if (told.length > 0) print(toldWords(opened, told))
      }
      return 0
    },
    noAgents,
  )
}

/** Where nobody is there who could stop them, they end once somebody goes on. */
function toldWords(opened: Opened, names: readonly string[]): string {
  if (!isLeft(opened)) return `Told to stop: ${names.join(', ')}`
  return `To be stopped: ${names.join(', ')}; ${goOnWords(opened, names.length)}`
}
