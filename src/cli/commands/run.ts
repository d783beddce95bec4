import type { Command, Options } from '../command.ts'
import { RUN_GUESSES } from '../first-guesses.ts'

export const CWD: Options = {
  cwd: { value: '<path>', help: 'project folder (default: nearest one, searched upwards)' },
}

export const CONFIG_OPTIONS: Options = {
  ...CWD,
  config: { value: '<path>', help: 'configuration file (default: forge/orch/chains.json)' },
}

export const JSON_OBJECT: Options = { json: { help: 'print one JSON object' } }
export const ORPHANS: Options = {
  'kill-orphans': { help: 'kill processes that a dead run left behind' },
}
export const VERBOSE: Options = {
  verbose: { short: 'v', help: 'print everything in full, and where each prompt comes from' },
}
export const LIVE: Options = {
  live: { help: 'show the run on the whole terminal, like forkhestra watch' },
}
export const NO_TITLE: Options = {
  'no-title': { help: 'leave the title of the terminal window as it is' },
}

const BUDGET_OPTIONS: Options = {
  'max-cost': { value: '<usd>', help: 'stop the run when its agents have spent this much' },
  'max-tokens': { value: '<n>', help: 'stop the run after this many tokens' },
  'max-duration': { value: '<time>', help: 'stop the run after this time: 90s, 30m, 8h' },
}

/** Limits and gates, which override the configuration; `readOverrides` reads them. */
export const LIMIT_OPTIONS: Options = {
  ...BUDGET_OPTIONS,
  timeout: { value: '<time>', help: 'time limit per iteration (default: 4h; off: no limit)' },
  'idle-timeout': {
    value: '<time>',
    help: 'stop an agent after this long without output (direct agents: 30m)',
  },
  stall: { value: '<n>', help: 'stop a step after n iterations without progress (0: never)' },
  verify: {
    value: '<command>',
    repeats: true,
    help: 'must succeed before a marker is accepted; may be repeated',
  },
  until: {
    value: '<command>',
    help: 'runs after each iteration; completes the step if it succeeds',
  },
  notify: {
    value: '<where>',
    repeats: true,
    help: 'desktop, bell, a webhook URL, env:NAME, a command or off; may be repeated',
  },
  'max-parallel': { value: '<n>', help: 'run at most n agents at once (default: 4)' },
}

/** Options for branches; `readBranching` reads them. */
const BRANCH_OPTIONS: Options = {
  copies: { value: '<n>', help: 'run n copies of the last looping step in parallel' },
  setup: { value: '<command>', help: 'run a command once in every new worktree, such as "npm ci"' },
  copy: {
    value: '<path>',
    repeats: true,
    help: 'copy an ignored file, such as .env, to every new worktree; may be repeated',
  },
  worktree: { help: 'run the whole chain in its own worktree, and merge it at the end' },
}

export const runCommand: Command = {
  summary: 'Run coding agents unattended, in chains and loops with a fresh context each time.',
  usage: [
    'forkhestra <agent>[:N]                   one agent: once, or a loop of up to N iterations',
    'forkhestra "<chain>" [VAR=value …]       a chain: a:3 -> b:10',
    'forkhestra --chain <name> [VAR=value …]  a chain from the configuration',
    'forkhestra … -- <args…>                  arguments for every agent',
  ],
  examples: [
    ['forkhestra "planner:3 -> builder:20"', 'plan up to 3 times, then build up to 20 times'],
    ['forkhestra "(builder:9 -> reviewer:1):3"', 'build and review in turns, up to 3 rounds'],
    ['forkhestra builder:10 -p "Fix the tests"', 'a loop with a prompt'],
    ['forkhestra --chain docs TOPIC=install', 'a chain from the configuration, with a variable'],
    ['forkhestra builder:50 --verify "npm test"', 'complete only once the tests pass'],
    ['forkhestra builder:20 --copies 4', 'four builders, each in its own git worktree'],
    ['forkhestra --chain build --dry-run', 'show what would run'],
  ],
  json: 'events',
  options: {
    chain: { value: '<name>', help: 'run a chain from the configuration' },
    prompt: { short: 'p', value: '<text>', help: 'prompt for all steps' },
    'prompt-file': { value: '<path>', help: 'the same from a file, read again at every iteration' },
    'raw-prompt': { help: 'treat prompts as plain text, without /commands' },
    ...CONFIG_OPTIONS,
    ...LIMIT_OPTIONS,
    ...BRANCH_OPTIONS,
    anyway: { help: 'start even if another run is active in this working tree' },
    ...ORPHANS,
    'dry-run': { help: 'print what would run, and exit' },
    ...LIVE,
    ...VERBOSE,
    ...NO_TITLE,
    json: { help: 'print one JSON event per line on stdout' },
    version: { short: 'V', help: 'print the version' },
  },
  guesses: RUN_GUESSES,
  run: async (input) => (await import('../run-chain.ts')).runChain(input),
}

export const chatCommand: Command = {
  summary: 'Talk to the built-in agent.',
  usage: [
    'forkhestra chat [AGENT] [options]  on a terminal; type /help for help',
    'forkhestra chat [AGENT] -p TEXT    one turn; prints the answer',
    'forkhestra chat [AGENT] < FILE     one turn with a file or a pipe as input',
    'forkhestra chat --resume [RUN]     continue a chat (default: the newest)',
    'forkhestra chat --list             list the chats of this project',
  ],
  examples: [
    ['forkhestra chat', 'use the default model of your provider'],
    ['forkhestra chat reviewer', 'use an agent from the configuration'],
    ['forkhestra chat --model openai/gpt-6.1-sol', 'use another model'],
    ['git diff | forkhestra chat -p "Review this change."', 'send the prompt and the diff'],
    ['forkhestra chat --resume -p "And the tests?"', 'continue for one turn'],
  ],
  json: 'events',
  options: {
    prompt: {
      short: 'p',
      value: '<text>',
      help: 'send this message and exit; piped input is appended',
    },
    lines: { help: 'without a terminal: treat each line of stdin as a turn' },
    model: { value: '<model>', help: 'provider/id, or sonnet, opus, haiku' },
    'base-url': { value: '<url>', help: 'address of the model API, for example for compatible/…' },
    resume: { help: 'continue the chat with this id (default: the newest)' },
    list: { help: 'list the chats, newest first' },
    'raw-prompt': { help: 'send everything as plain text' },
    ...CONFIG_OPTIONS,
    ...BUDGET_OPTIONS,
    ...ORPHANS,
    json: { help: 'print one JSON event per line; with --list, one object' },
  },
  run: async (input) => (await import('../chat/chat.ts')).chat(input),
}
