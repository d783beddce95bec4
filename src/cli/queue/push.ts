import { readPushOptions } from '../../parse/phases/push-options.ts'
import type { Push } from '../../queue/desk.ts'
import { UsageError, type Input } from '../command.ts'
import { pathFromProject } from '../../setup/project.ts'
import { projectOf } from '../project.ts'
import { print } from '../tasks/print.ts'
import { withDesk } from './caller.ts'
import { checkAgent } from './check-agent.ts'
import { readStdinText } from './stdin-text.ts'
import { PUSH_OPTIONS, Words } from './words.ts'

/** The verb `push`. */
export async function pushTask(input: Input): Promise<number> {
  const push = await readPush(input, new Words(input, PUSH_OPTIONS))
  if (push.agent !== undefined) await checkAgent(input, push.agent)
  const none = () => 1
  return withDesk(
    input,
    'makes',
    async ({ desk, run, agent }) => {
      const [name] = await desk.push([push])
      print(input.flag('json') ? JSON.stringify({ ok: true, run, agent, name }) : name!)
      return 0
    },
    none,
  )
}

/** A path that was typed is relative to where it was typed; the task runs in the project. */
function agentPath(agent: string, input: Input): string {
  if (!agent.includes('/') || process.env['FORKHESTRA_RUN_ID']) return agent
  const path = pathFromProject(agent, projectOf(input))
  return path.includes('/') ? path : `./${path}`
}

/** Read as the same command in a prompt is, so that it means the same. */
async function readPush(input: Input, words: Words): Promise<Push> {
  const text = words.rest.join(' ')
  const prompt = text === '-' ? await readStdinText(input, 'prompt') : text
  if (prompt.trim() === '') {
    throw new UsageError(
      'The prompt of the task is missing.',
      'For one from stdin write: push -. One that looks like an option stands behind --.',
    )
  }
  const values = PUSH_OPTIONS.flatMap((name) => {
    const value = words.text(name)
    if (value === undefined) return []
    return [[name, name === 'agent' ? agentPath(value, input) : value] as const]
  })
  return { ...readPushOptions(values), prompt }
}
