import { stepsOf, type Plan } from '../../chain/plan/plan.ts'
import { lastExchange } from '../../engines/native/chat-turn.ts'
import { printableLines } from '../../base/terminal/printable.ts'
import { chatPath } from '../../host/chat/list-chats.ts'

/** So many lines of what was said before are shown. */
const MOST_LINES = 40

/** The first lines of a chat: agent, model, and the last exchange of an earlier session. */
export function before(
  plan: Plan,
  folder: string | undefined,
  env: Readonly<Record<string, string>>,
): string[] {
  const { agent } = stepsOf(plan.root)[0]!
  const model = 'model' in agent ? agent.model : ''
  const head = `${agent.name}, ${model}, chat ${plan.run}. Type /help for help.`
  if (folder === undefined) return [head, '']
  const { person, agent: answer } = lastExchange({ path: chatPath(folder), env })
  return [head, ...linesOf(person, '> '), ...linesOf(answer, ''), '']
}

function linesOf(text: string | undefined, mark: string): string[] {
  if (text === undefined || text === '') return []
  const lines = printableLines(text).split('\n')
  const cut = lines.length > MOST_LINES ? ['…', ...lines.slice(-MOST_LINES)] : lines
  return cut.map((line, index) => (index === 0 ? mark + line : line))
}
