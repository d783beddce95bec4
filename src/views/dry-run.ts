import type { EventOf } from '../records/events/event.ts'
import type { GroupSummary } from '../records/events/schema.ts'
import { counted } from '../base/amounts.ts'
import type { PolicyLine } from '../chain/plan/policy-lines.ts'
import { describeSource } from './describe.ts'

type StepPreview = EventOf<'dry_run'>['steps'][number] & { readonly lines: readonly PolicyLine[] }

type GroupPreview = GroupSummary & { readonly lines: readonly PolicyLine[] }

const PROMPT_WIDTH = 100

/** `chain` has the details of the whole chain. */
export function renderDryRun(
  steps: readonly StepPreview[],
  chain: readonly PolicyLine[],
  verbose: boolean,
  groups: readonly GroupPreview[] = [],
): string {
  /** The lines of a group, or of the chain itself. */
  const renderList = (id: string | undefined): string[] => {
    const inside = steps.filter((step) => step.within === id && step.isRecovery !== true)
    const items = [
      ...inside.map((step) => ({ first: step.step, lines: renderStep(step, verbose) })),
      ...groups
        .filter(({ within }) => within === id)
        .map((group) => ({ first: group.first, lines: renderGroup(group, renderList(group.id)) })),
    ]
    return items.toSorted((one, other) => one.first - other.first).flatMap(({ lines }) => lines)
  }
  return [
    '[forkhestra] Dry run - would execute the following chain:',
    '',
    ...(chain.length === 0 ? [] : ['  The chain as a whole', ...renderLines(chain), '']),
    ...renderList(undefined),
    ...steps.flatMap((step) => (step.isRecovery === true ? renderStep(step, verbose) : [])),
    '',
    '[forkhestra] Dry run complete. No agents were executed.',
  ].join('\n')
}

function renderGroup(group: GroupPreview, inside: readonly string[]): string[] {
  const lines = [...renderLines(group.lines), ...inside]
  return [`  ${describeGroup(group)}`, ...lines.map((line) => `  ${line}`)]
}

function renderStep(step: StepPreview, verbose: boolean): string[] {
  const { prompt } = step
  const lines = [
    `${step.step}. ${step.agent} - ${describeMode(step)}`,
    ...(step.args.length > 0 ? [`     args: ${JSON.stringify(step.args)}`] : []),
    ...(prompt === undefined ? [] : [`     prompt: ${describePrompt(prompt, verbose)}`]),
  ]
  if (verbose) {
    lines.push(`     prompt from: ${describeSource(prompt?.source)}`)
    lines.push(`     kind: ${step.kind}`, `     command: ${JSON.stringify(step.argv)}`)
  }
  return [...lines.map((line) => `  ${line}`), ...renderLines(step.lines)]
}

/** `Group g1 (build) - repeated up to 3 rounds, until its last step completes`. */
function describeGroup({ id, name, kind, maxRounds, copies }: GroupPreview): string {
  const words = {
    sequence:
      maxRounds === undefined
        ? 'one after another'
        : `repeated up to ${counted(maxRounds, 'round')}, until its last step completes`,
    parallel: 'in parallel',
    fallback: 'one after another, until one completes',
  }
  const called = name === undefined ? '' : ` (${escape(name)})`
  return `Group ${id}${called} - ${words[kind]}${describeCopies(copies)}`
}

function describeMode({ maxIterations, isRecovery, copies }: StepPreview): string {
  if (isRecovery === true) return 'run once, only on failure'
  const loop =
    maxIterations === undefined ? 'run once' : `loop up to ${counted(maxIterations, 'iteration')}`
  return `${loop}${describeCopies(copies)}`
}

function describeCopies(copies: number | undefined): string {
  return copies === undefined ? '' : `, ${copies} copies in parallel`
}

function renderLines(lines: readonly PolicyLine[]): string[] {
  return lines.map(({ label, words }) => `       ${label}: ${escape(words)}`)
}

function describePrompt(
  { text, source }: NonNullable<StepPreview['prompt']>,
  verbose: boolean,
): string {
  return source.level === 'built-in' ? '(built-in)' : renderPrompt(text, verbose)
}

/** On one line, quoted and shortened, with control characters escaped. */
function renderPrompt(text: string, verbose: boolean): string {
  const characters = Array.from(text)
  const isLong = !verbose && characters.length > PROMPT_WIDTH
  const shown = isLong ? `${characters.slice(0, PROMPT_WIDTH).join('')}...` : text
  return `"${escape(shown)}"`
}

function escape(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\0-\x1f\x7f-\x9f]/g, escapeControl)
}

function escapeControl(character: string): string {
  const json = JSON.stringify(character).slice(1, -1)
  return json.startsWith('\\')
    ? json
    : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
