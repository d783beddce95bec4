import { BUILT_IN_CHAINS } from '../builtins/chains.ts'
import { parseDsl } from '../parse/dsl.ts'
import type { ChainConfig } from '../parse/chains-schema.ts'
import type { Facts } from '../plan/facts.ts'
import type { Request } from '../plan/make-plan.ts'
import { isKnownAgent } from '../plan/resolve-agent.ts'
import { UsageError, type Input } from './command.ts'
import { readOverrides } from './overrides.ts'
import { getChain } from '../setup/chains.ts'
import type { Configuration } from '../setup/configuration.ts'
import { VERBS } from './verbs.ts'

const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s

/** Of a configuration so much is recorded, to show what has changed. */
const LONGEST_TEXT = 32 * 1024

/** Turns what was typed into a request for a plan. */
export function makeRequest(
  input: Input,
  run: string,
  cwd: string,
  { content, base, file, hash, text = '' }: Configuration,
  facts: Facts,
): Request {
  const name = input.text('chain')
  const prompt = input.text('prompt')
  const promptFile = input.text('prompt-file')
  if (prompt !== undefined && promptFile !== undefined) {
    throw new UsageError('--prompt and --prompt-file exclude each other.', 'Give one of them.')
  }
  if (promptFile === '') throw new UsageError('The path for --prompt-file is empty.')
  if (name === '') throw new UsageError('The name for --chain is empty.')
  const dsl = readDsl(input.positionals, name)
  const chains = { ...BUILT_IN_CHAINS, ...content.chains }
  // In a chain that was typed, a relative path is relative to where it was typed.
  const known = {
    cwd,
    agents: content.agents ?? {},
    base: dsl === undefined ? base : cwd,
    agentBase: base,
    chainNames: Object.keys(chains),
    verbs: dsl === undefined ? [] : Object.keys(VERBS),
  }
  const isAgent = (word: string) => isKnownAgent(word, known, facts)
  return {
    run,
    name,
    chain: dsl === undefined ? getChain(chains, name!) : chainOf(dsl, isAgent),
    isBuiltInChain: name !== undefined && !Object.hasOwn(content.chains, name),
    ...known,
    variables: readVariables(input.positionals),
    args: input.rest,
    cliPrompt: { prompt, promptFile },
    overrides: readOverrides(input),
    rawPrompt: input.flag('raw-prompt'),
    ...(file === undefined || hash === undefined
      ? {}
      : { configuration: { file, hash, ...(text.length > LONGEST_TEXT ? {} : { text }) } }),
    ...(content.prices === undefined ? {} : { prices: content.prices }),
    ...(content.queueLimits === undefined ? {} : { queueLimits: content.queueLimits }),
  }
}

function readDsl(positionals: readonly string[], chain: string | undefined): string | undefined {
  const [dsl, ...others] = positionals.filter((word) => !VARIABLE.test(word))
  if (chain !== undefined && dsl !== undefined) {
    throw new UsageError(
      `A chain was given twice: --chain ${chain} and '${dsl}'.`,
      'Give one of them. Variables are written NAME=value, arguments for the agents go behind --.',
    )
  }
  if (chain === undefined && dsl === undefined) {
    throw new UsageError('No agent and no chain was given.', 'Write e.g. forkhestra builder:10')
  }
  if (others.length > 0) {
    const all = [dsl, ...others].join(' ')
    throw new UsageError(
      `Unexpected argument '${others[0]}'.`,
      others[0] === '-'
        ? `Quote the chain, or the shell takes '>' for itself: forkhestra "a -> b"`
        : `A chain is one argument: forkhestra "${all}". Arguments for the agents go behind --.`,
    )
  }
  return dsl
}

function chainOf(dsl: string, isAgent: (word: string) => boolean): ChainConfig {
  const steps = parseDsl(dsl, isAgent).map(({ agent, loop }) => ({
    agent,
    ...(loop === undefined ? {} : { iterations: loop }),
  }))
  return { steps }
}

function readVariables(positionals: readonly string[]): Map<string, string> {
  const variables = new Map<string, string>()
  for (const word of positionals) {
    const [, name, value] = VARIABLE.exec(word) ?? []
    if (name === undefined || value === undefined) continue
    if (variables.has(name)) throw new UsageError(`The variable '${name}' is given twice.`)
    variables.set(name, value)
  }
  return variables
}
