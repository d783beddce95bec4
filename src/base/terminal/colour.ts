import { isTerminal } from '../linux/is-terminal.ts'

export const COLOUR_CHOICES = ['never', 'always', 'auto'] as const

export type ColourChoice = (typeof COLOUR_CHOICES)[number]

/** What the user chose for the whole process. */
let chosen: ColourChoice = 'auto'

export function chooseColour(choice: ColourChoice): void {
  chosen = choice
}

/** Whether our own text on a stream is coloured. */
export function hasColour(
  fd: number,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  if (chosen !== 'auto') return chosen === 'always'
  return isTerminal(fd) && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
}
