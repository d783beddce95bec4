import { existsSync, fstatSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { dropUndefined } from '../base/objects.ts'
import { BUILT_IN_CHAINS } from '../chain/builtins/chains.ts'
import { parseChain, MAX_COPIES, MIN_COPIES } from '../chain/parse/chain-text.ts'
import { expandChain, renameAgents, withCopies } from '../chain/parse/items.ts'
import { findLookalike, guessCommand, withArrows } from '../chain/parse/dsl-guess.ts'
import type { Facts } from '../chain/plan/facts.ts'
import type { Request } from '../chain/plan/request.ts'
import { isKnownAgent } from '../chain/plan/resolve-agent.ts'
import { pathOfOpened } from '../base/places.ts'
import { UsageError, type Input } from './command.ts'
import { guessFirstWord } from './first-guesses.ts'
import { readOverrides } from './overrides.ts'
import { getChain } from '../host/chains.ts'
import type { Configuration } from '../host/configuration.ts'
import { pathFromProject, type Project } from '../host/project.ts'
import { typedAgent } from '../host/typed-agent.ts'
import { COMMAND_NAMES } from './forkhestra.ts'
import { readWhole } from '../base/numbers.ts'
import { staysInside } from '../chain/parse/branch-schema.ts'
import type { ChainConfig } from '../chain/parse/chains-schema.ts'

const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s

/** A longer configuration is not recorded. Its text is used to show changes. */
const LONGEST_TEXT = 32 * 1024

export function makeRequest(
  input: Input,
  run: string,
  project: Project,
  { content, base, file, hash, text = '' }: Configuration,
  facts: Facts,
): Request {
  const name = input.text('chain')
  const prompt = input.text('prompt')
  const promptFile = input.text('prompt-file')
  if (prompt !== undefined && promptFile !== undefined) {
    throw new UsageError('--prompt and --prompt-file cannot be combined.', 'Use one or the other.')
  }
  if (promptFile === '') throw new UsageError('The path for --prompt-file is empty.')
  if (name === '') throw new UsageError('The name for --chain is empty.')
  const { folder: cwd, here } = project
  const words = input.positionals.filter((word) => !VARIABLE.test(word))
  const isTyped = name === undefined
  const chains = { ...BUILT_IN_CHAINS, ...content.chains }
  const known = {
    cwd,
    agents: content.agents ?? {},
    base: isTyped ? cwd : base,
    agentBase: base,
    chainNames: Object.keys(chains),
    ...(isTyped ? { here, commands: COMMANDS } : {}),
  }
  const rename = (word: string) => typedAgent(word, project, known.agents)
  const isAgent = (word: string) => isKnownAgent(rename(word), known, facts)
  const dsl = readDsl(words, name, isAgent, input.quoteHint)
  const chain =
    dsl === undefined
      ? getChain(chains, name!, file === undefined ? cwd : undefined)
      : { steps: renameAgents(parseChain(dsl, isAgent), rename) }
  return {
    run,
    name,
    chain: applyCopies(expandChain(chain, chains, name), input),
    isBuiltInChain: name !== undefined && !Object.hasOwn(content.chains, name),
    ...known,
    variables: readVariables(input.positionals),
    args: input.rest,
    cliPrompt: {
      prompt,
      promptFile: promptFile === undefined ? undefined : pathFromProject(promptFile, project),
    },
    overrides: readOverrides(input),
    branching: readBranching(input, project),
    rawPrompt: input.flag('raw-prompt'),
    ...(file === undefined || hash === undefined
      ? {}
      : { configuration: { file, hash, ...(text.length > LONGEST_TEXT ? {} : { text }) } }),
    ...dropUndefined({
      prices: content.prices,
      queueLimits: content.queueLimits,
      notify: content.notify,
    }),
  }
}

const COMMANDS: Request['commands'] = { guess: guessFirstWord, names: COMMAND_NAMES }

function readDsl(
  [dsl, ...others]: readonly string[],
  chain: string | undefined,
  isAgent: (word: string) => boolean,
  quoteHint: string | undefined,
): string | undefined {
  if (chain !== undefined && dsl !== undefined) {
    throw new UsageError(
      `Unexpected argument '${dsl}' with --chain ${chain}.`,
      quoteHint ??
        'Pass variables as NAME=value, the prompt with -p, and arguments for the agents after --.',
    )
  }
  if (chain === undefined && dsl === undefined) {
    throw new UsageError(
      'No agent or chain given.',
      'For example: forkhestra builder:10, or forkhestra --chain build. List all: forkhestra list',
    )
  }
  if (dsl !== undefined && others.length > 0) {
    if (quoteHint !== undefined)
      throw new UsageError(`Unexpected argument '${others[0]}'.`, quoteHint)
    throw describeSurplus(dsl, others, isAgent)
  }
  return dsl
}

function describeSurplus(
  dsl: string,
  others: readonly string[],
  isAgent: (word: string) => boolean,
): UsageError {
  const all = [dsl, ...others].join(' ')
  const isChain = all.includes('->') || others.some((word) => word === '&' || word === '||')
  const command =
    isChain || findLookalike(all) !== undefined
      ? withArrows(all)
      : guessCommand(dsl, others.join(' '), isAgent)
  return new UsageError(
    `Unexpected argument '${others[0]}'.`,
    others[0] === '-'
      ? `Quote the chain, or the shell treats '>' as a redirection: forkhestra "a -> b"${describeLoss()}`
      : `Use: ${command}\nArguments for the agents go after --.`,
  )
}

/** The shell has redirected stdout to what was meant to be the next agent. */
function describeLoss(): string {
  if (!fstatSync(1).isFile()) return ''
  const path = relative(process.cwd(), pathOfOpened(1, '/dev/stdout'))
  return `\nThe shell has created or emptied '${path}': restore it if it was your program.`
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

function readBranching(input: Input, project: Project): NonNullable<Request['branching']> {
  const setup = input.text('setup')
  if (setup?.trim() === '')
    throw new UsageError('The command for --setup is empty.', 'For example: --setup "npm ci"')
  const paths = input.texts('copy').map((path) => readCopy(path, project))
  return {
    isWhole: input.flag('worktree'),
    ...dropUndefined({ setup, copy: paths.length === 0 ? undefined : paths }),
  }
}

/** Paths in the plan are relative to the project. */
function readCopy(path: string, { folder, here }: Project): string {
  const full = resolve(here, path)
  if (/^\d+$/.test(path) && !existsSync(full))
    throw new UsageError(
      `There is no file '${path}' to copy to the worktrees.`,
      `For ${path} copies of the last loop: --copies ${path}`,
    )
  const inside = path === '' ? '' : relative(folder, full)
  if (staysInside(inside)) return inside
  throw new UsageError(
    `--copy is '${path}', expected a path inside the project.`,
    'For example: --copy .env',
  )
}

/** Applies `--copies` to the last step that loops. */
function applyCopies(chain: ChainConfig, input: Input): ChainConfig {
  const text = input.text('copies')
  if (text === undefined) return chain
  const hint = 'For example: --copies 4'
  const copies = readWhole('--copies', text, { least: MIN_COPIES, most: MAX_COPIES }, hint)
  const copied = withCopies(chain, copies)
  if (copied !== undefined) return copied
  throw new UsageError(
    `--copies ${copies} needs an agent that runs in a loop, and the chain has none.`,
    `For example: forkhestra builder:20 --copies ${copies}`,
  )
}
