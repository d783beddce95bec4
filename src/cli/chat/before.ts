import { stepsOf, type Plan } from '../../plan/plan.ts'
import { lastWordsIn } from '../../native/chat-turn.ts'
import { printableLines } from '../../base/printable.ts'
import { chatPath } from './list-chats.ts'

/** So many lines of what was said before are shown. */
const MOST_LINES = 40

/** What a person sees first: with whom he talks, and where an earlier chat ended. */
export function before(
  plan: Plan,
  folder: string | undefined,
  env: Readonly<Record<string, string>>,
): string[] {
  const { agent } = stepsOf(plan.root)[0]!
  const model = 'model' in agent ? agent.model : ''
  const head = `${agent.name}, ${model}, chat ${plan.run}. /help shows what there is.`
  if (folder === undefined) return [head, '']
  const { person, agent: answer } = lastWordsIn({ path: chatPath(folder), env })
  return [head, ...linesOf(person, '> '), ...linesOf(answer, ''), '']
}

function linesOf(text: string | undefined, mark: string): string[] {
  if (text === undefined || text === '') return []
  const lines = printableLines(text).split('\n')
  const cut = lines.length > MOST_LINES ? ['…', ...lines.slice(-MOST_LINES)] : lines
  return cut.map((line, index) => (index === 0 ? mark + line : line))
}
