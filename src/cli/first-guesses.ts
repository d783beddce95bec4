import { own } from '../base/objects.ts'
/** Words that people try first, and what to type instead; `…` stands for the words that follow. */
const COMMANDS = byWord({
  chain: 'forkhestra --chain …',
  'chains agents agent': 'forkhestra list',
  'start exec execute go launch loop': 'forkhestra …',
  'continue restart retry rerun recover': 'forkhestra resume',
  'history jobs sessions': 'forkhestra runs',
  'task todo todos': 'forkhestra tasks …',
  'tail output': 'forkhestra logs …',
  'usage costs spend stats': 'forkhestra cost',
  'setup new create': 'forkhestra init',
  'config configure settings': 'forkhestra validate',
  'abort halt terminate': 'forkhestra stop',
  'ask talk': 'forkhestra chat',
  'inspect describe': 'forkhestra show …',
  health: 'forkhestra doctor',
})

/** The command that was probably meant by a first word that is neither a command nor an agent. */
export function guessFirstWord(word: string, more: readonly string[] = []): string | undefined {
  const name = word.toLowerCase()
  const command = own(COMMANDS, name)
  const text = command?.replace('…', more.join(' ')).trim()
  return text === 'forkhestra' ? 'forkhestra --chain NAME' : text
}

/** Options that people expect of a run, by name without dashes, and what to type instead. */
export const RUN_GUESSES = byWord({
  'iterations iteration max-iterations max loop loops times count n':
    'The number of iterations follows the agent: forkhestra builder:5',
  'model max-turns allowed-tools disallowed-tools system-prompt mcp-config permission-mode':
    'Set it for the agent in forge/orch/chains.json: "agents": { "NAME": { … } }. See: docs/reference/configuration.md',
  m: 'Pass the prompt with -p "…". The model is set for the agent in forge/orch/chains.json: "model": "opus"',
  continue: 'To continue a run: forkhestra resume',
  c: 'To run a chain: --chain NAME. To continue a run: forkhestra resume',
  task: 'To work on one task: forkhestra forge-task-worker -- --task TASK-001',
  'message text': 'Pass the prompt with -p "…"',
  file: 'Pass a prompt file with --prompt-file',
  'max-budget budget max-cost-usd': 'The limit in dollars is --max-cost',
  'dry simulate preview plan': 'To see what would run: --dry-run',
  'parallel jobs j concurrency':
    'To run an agent several times in parallel: --copies 4. Limit of agents at once: --max-parallel',
  'isolation isolate': 'To run the chain in its own worktree: --worktree',
  agent: 'Name the agent without an option: forkhestra builder:5',
  'debug trace': 'For all details: --verbose',
  'quiet silent q': 'Redirect the output: > run.log. The record keeps everything: forkhestra logs',
})

function byWord(rows: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(rows)
  return Object.fromEntries(entries.flatMap(([all, text]) => all.split(' ').map((w) => [w, text])))
}
