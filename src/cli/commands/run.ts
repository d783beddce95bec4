import type { Command, Options } from '../command.ts'
import { RUN_GUESSES } from '../first-guesses.ts'

/** What every command that reads the configuration takes. */
export const CONFIG_OPTIONS: Options = {
  cwd: { value: '<path>', help: 'project folder (default: found from the current folder upwards)' },
  config: { value: '<path>', help: 'configuration file (default: forge/orch/chains.json)' },
}

/** Limits and gates, above what the configuration says; `readOverrides` reads them. */
export const LIMIT_OPTIONS: Options = {
  'max-cost': { value: '<usd>', help: 'stop the run when its agents have spent this much' },
  'max-tokens': { value: '<n>', help: 'stop the run after this many tokens' },
  'max-duration': { value: '<time>', help: 'stop the run after this time: 90s, 30m, 8h' },
  timeout: { value: '<time>', help: 'time limit per iteration (default: 4h; off: none)' },
  'idle-timeout': {
    value: '<time>',
    help: 'stop an agent that is silent this long (default for direct agents: 30m)',
  },
  stall: { value: '<n>', help: 'stop a step after n iterations without progress; 0: never' },
  verify: {
    value: '<command>',
    repeats: true,
    help: 'must succeed before a marker is believed; may be repeated',
  },
  until: { value: '<command>', help: 'run after each iteration; its success completes the step' },
}

export const runCommand: Command = {
  summary: 'Run coding agents unattended, in chains and loops with a fresh context each time.',
  usage: [
    'forkhestra <agent>[:N]                   one agent: once, or a loop of at most N iterations',
    'forkhestra "<chain>" [VAR=value …]       a chain: a:3 -> b:10',
    'forkhestra --chain <name> [VAR=value …]  a named chain of the configuration',
    'forkhestra … -- <args…>                  arguments for every agent',
  ],
  examples: [
    ['forkhestra "planner:3 -> builder:20"', 'plan at most 3 times, then build at most 20 times'],
    ['forkhestra builder:10 -p "Fix the tests"', 'a loop with a prompt'],
    ['forkhestra --chain docs TOPIC=install', 'a named chain with a variable'],
    ['forkhestra builder:50 --verify "npm test"', 'done only when the tests pass, too'],
    ['forkhestra --chain build --dry-run', 'what would run'],
  ],
  json: 'events',
  options: {
    chain: { value: '<name>', help: 'run a named chain of the configuration' },
    prompt: { short: 'p', value: '<text>', help: 'the prompt for all steps' },
    'prompt-file': { value: '<path>', help: 'the same from a file, read again at every iteration' },
    'raw-prompt': { help: 'treat prompts as plain text, without /commands' },
    ...CONFIG_OPTIONS,
    ...LIMIT_OPTIONS,
    anyway: { help: 'start even if another run is active in this working tree' },
    'kill-orphans': { help: 'kill the processes that a dead run left behind' },
    'dry-run': { help: 'print what would run, run nothing' },
    verbose: { short: 'v', help: 'show everything, untruncated, and the source of each prompt' },
    json: { help: 'print one JSON event per line on stdout' },
    version: { short: 'V', help: 'print the version' },
  },
  guesses: RUN_GUESSES,
  async run(input) {
    const { runChain } = await import('../run-chain.ts')
    return runChain(input)
  },
}
