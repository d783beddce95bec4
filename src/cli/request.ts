import { UserError } from '../base/errors.ts'
import { didYouMean } from '../base/nearest.ts'
import { parseDsl } from '../parse/dsl.ts'
import type { ChainConfig } from '../parse/chains-schema.ts'
import type { Facts } from '../plan/facts.ts'
import type { Request } from '../plan/make-plan.ts'
import { isKnownAgent } from '../plan/resolve-agent.ts'
import { UsageError, type Input } from './command.ts'
import type { Configuration } from './configuration.ts'

const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s

/** Turns what was typed into a request for a plan. */
export function makeRequest(
  input: Input,
  run: string,
  cwd: string,
  { content, base }: Configuration,
  facts: Facts,
): Request {
  const name = input.text('chain')
  const prompt = input.text('prompt')
  const promptFile = input.text('prompt-file')
  if (prompt !== undefined && promptFile !== undefined) {
    throw new UsageError('--prompt and --prompt-file exclude each other.', 'Give one of them.')
  }
  const agents = content.agents ?? {}
  const dsl = readDsl(input.positionals, name)
  const isAgent = (word: string) => isKnownAgent(word, agents, cwd, facts)
  return {
    run,
    cwd,
    name,
    chain: dsl === undefined ? getChain(content.chains, name!) : chainOf(dsl, isAgent),
    agents,
    // In a chain that was typed, a relative path is relative to where it was typed.
    base: dsl === undefined ? base : cwd,
    variables: readVariables(input.positionals),
    args: input.rest,
    cliPrompt: { prompt, promptFile },
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

/** The chain of that name; where there is none, the message lists what there is. */
export function getChain(chains: Readonly<Record<string, ChainConfig>>, name: string): ChainConfig {
  const found = Object.hasOwn(chains, name) ? chains[name] : undefined
  if (found !== undefined) return found
  const list = Object.entries(chains).map(([known, { description }]) =>
    description === undefined ? `  ${known}` : `  ${known}: ${description}`,
  )
  throw new UserError(
    `There is no chain '${name}'${didYouMean(name, Object.keys(chains)) || '.'}`,
    list.length === 0
      ? 'The configuration defines no chains: write some into forge/orch/chains.json.'
      : `Available chains:\n${list.join('\n')}`,
  )
}

function readVariables(positionals: readonly string[]): Map<string, string> {
  return new Map(
    positionals.flatMap((word) => {
      const match = VARIABLE.exec(word)
      return match === null ? [] : [[match[1]!, match[2]!] as const]
    }),
  )
}
