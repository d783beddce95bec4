import type { EventOf } from '../events/event.ts'
import { iterations, sourceWords } from './words.ts'

type StepPreview = EventOf<'dry_run'>['steps'][number]

const PROMPT_WIDTH = 100

export function renderDryRun(steps: readonly StepPreview[], verbose: boolean): string {
  return [
    '[forkhestra] Dry run - would execute the following chain:',
    '',
    ...steps.flatMap((step) => renderStep(step, verbose)),
    '',
    '[forkhestra] Dry run complete. No agents were executed.',
  ].join('\n')
}

function renderStep(step: StepPreview, verbose: boolean): string[] {
  const mode =
    step.maxIterations === undefined ? 'run once' : `loop up to ${iterations(step.maxIterations)}`
  const { prompt } = step
  const lines = [
    `${step.step}. ${step.agent} - ${mode}`,
    ...(step.args.length > 0 ? [`     args: ${JSON.stringify(step.args)}`] : []),
    ...(prompt === undefined ? [] : [`     prompt: ${promptWords(prompt, verbose)}`]),
  ]
  if (verbose) {
    lines.push(`     prompt from: ${sourceWords(prompt?.source)}`)
    lines.push(`     kind: ${step.kind}`, `     command: ${JSON.stringify(step.argv)}`)
  }
  return lines.map((line) => `  ${line}`)
}

function promptWords(
  { text, source }: NonNullable<StepPreview['prompt']>,
  verbose: boolean,
): string {
  return source.level === 'built-in' ? '(built-in)' : renderPrompt(text, verbose)
}

/** On one line, in quotes, shortened; what a terminal would obey is escaped. */
function renderPrompt(text: string, verbose: boolean): string {
  const characters = Array.from(text)
  const isLong = !verbose && characters.length > PROMPT_WIDTH
  const shown = isLong ? `${characters.slice(0, PROMPT_WIDTH).join('')}...` : text
  // oxlint-disable-next-line no-control-regex
  return `"${shown.replaceAll(/[\0-\x1f\x7f-\x9f]/g, escapeControl)}"`
}

function escapeControl(character: string): string {
  const json = JSON.stringify(character).slice(1, -1)
  return json.startsWith('\\')
    ? json
    : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
