import { shorten } from '../base/shorten.ts'
import type { Ask } from './ask.ts'
import type { Script } from './script.ts'

const LONGEST = 80
const MOST_HEADINGS = 4

/** What was asked, what the script waits for, and a pattern that would match. */
export function explainMiss(ask: Ask, script: Script): string {
  const headings = Array.from(ask.system.matchAll(/^# .+$/gm), ([line]) => line)
  const prompt = ask.prompts.findLast((words) => words.trim() !== '') ?? ''
  const system = headings.slice(-MOST_HEADINGS).join(', ') || oneLine(ask.system)
  const heading = headings.at(-1)
  const pattern =
    heading === undefined ? { prompt: `^${escape(oneLine(prompt))}` } : { system: escape(heading) }
  return [
    `Asked with the system prompt (${system || 'none'}) and the prompt "${oneLine(prompt)}".`,
    `The script has ${script.map(describe).join('; ')}.`,
    `This would match: "when": ${JSON.stringify(pattern)}`,
  ].join('\n')
}

function describe({ place, system, prompt }: Script[number]): string {
  const wanted = [
    ...(system === undefined ? [] : [`system /${system.source}/`]),
    ...(prompt === undefined ? [] : [`prompt /${prompt.source}/`]),
  ]
  return `${place}: ${wanted.join(' and ') || 'any request'}`
}

function oneLine(text: string): string {
  return shorten(text.trim().replaceAll(/\s+/g, ' '), LONGEST)
}

/** Only what has a meaning in a pattern, so that it stays readable. */
function escape(text: string): string {
  return text.replace(/…$/, '').replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
}
