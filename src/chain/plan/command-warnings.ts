import type { Facts } from './facts.ts'
import { stepsOf, type Plan } from './plan.ts'

/** Words that /bin/sh handles without a program. */
const OWN_WORDS = new Set(
  (
    '. : alias bg break case cd command continue declare echo eval exec exit export false fc fg for function getopts ' +
    'hash if jobs kill let local printf pwd read readonly return select set shift source test time times trap true type typeset ' +
    'ulimit umask unalias unset until wait while'
  ).split(' '),
)

/**
 * Warns of commands whose program is missing: otherwise an agent could work for hours before a misspelt check
 * fails. Programs with a path may be created during the run.
 */
export function commandWarnings(plan: Plan, facts: Facts): string[] {
  const commands = [
    ...(plan.when === undefined ? [] : [['when', plan.when] as const]),
    ...stepsOf(plan.root).flatMap(({ policy: { verify, until, when, env } }) =>
      env['PATH'] !== undefined
        ? []
        : [
            ...verify.map((command) => ['verify', command] as const),
            ...(until === undefined ? [] : [['until', until] as const]),
            ...(when === undefined ? [] : [['when', when] as const]),
          ],
    ),
  ]
  const warnings = commands.flatMap(([field, command]) => {
    const word = /^\s*([\w.+-]+)(?=\s|$)/.exec(command)?.[1]
    if (word === undefined || OWN_WORDS.has(word)) return []
    if (facts.programOnPath(word).kind !== 'missing') return []
    return [`${field}: there is no program named '${word}' on PATH`]
  })
  return [...new Set(warnings)]
}
