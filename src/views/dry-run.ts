import type { EventOf } from '../records/events/event.ts'
import { counted } from '../base/amounts.ts'
import { describeSource } from './describe.ts'

/** A labelled detail: `budget: $5.00`. */
interface Line {
  readonly label: string
  readonly words: string
}

type StepPreview = EventOf<'dry_run'>['steps'][number] & { readonly lines: readonly Line[] }

const PROMPT_WIDTH = 100

/** `chain` has the details of the whole chain. */
export function renderDryRun(
  steps: readonly StepPreview[],
  chain: readonly Line[],
  verbose: boolean,
): string {
  return [
    '[forkhestra] Dry run - would execute the following chain:',
    '',
    ...(chain.length === 0 ? [] : ['  The chain as a whole', ...renderLines(chain), '']),
    ...steps.flatMap((step) => renderStep(step, verbose)),
    '',
    '[forkhestra] Dry run complete. No agents were executed.',
  ].join('\n')
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

function describeMode({ maxIterations, isRecovery }: StepPreview): string {
  if (maxIterations !== undefined) return `loop up to ${counted(maxIterations, 'iteration')}`
  return isRecovery === true ? 'run once, only on failure' : 'run once'
}

function renderLines(lines: readonly Line[]): string[] {
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
