/** One generated task, the same for every tool. */
export interface Work {
  readonly number: number
  /** Begins with a unique mark, so that tasks can be counted in any output. */
  readonly title: string
  readonly description: string
  readonly criteria: readonly string[]
  readonly labels: readonly string[]
  readonly dependencies: readonly number[]
  readonly isDone: boolean
}

const WORDS =
  'parser reads every line of the given file and reports what it cannot understand with a place so that people and agents find the cause without asking anybody for help'.split(
    ' ',
  )
const LABELS = ['backend', 'frontend', 'docs', 'security', 'tests', 'release', 'speed']

/** Tasks of thirty words with three criteria, two labels and up to two dependencies; the oldest quarter is done. */
export function makeWork(size: number): Work[] {
  return Array.from({ length: size }, (_, index) => makeTask(index + 1, index < size / 4))
}

/** A task that is not among those of `makeWork`. */
export function makeNew(turn: number): Work {
  return { ...makeTask(50_000 + turn, false), dependencies: [] }
}

/** A task that is ready. */
export function makeOnly(): Work {
  return { ...makeTask(1, false), dependencies: [] }
}

function makeTask(number: number, isDone: boolean): Work {
  return {
    number,
    title: `${markOf(number)} ${pick(number, 4).join(' ')}`,
    description: `${wordOf(number)} ${pick(number * 7, 29).join(' ')}`,
    criteria: [1, 2, 3].map((item) => `${pick(number * 11 + item, 7).join(' ')} ${item}`),
    labels: [LABELS[number % 7]!, LABELS[(number + 1 + (number % 5)) % 7]!],
    dependencies: dependenciesOf(number),
    isDone,
  }
}

export function markOf(number: number): string {
  return `W${String(number).padStart(5, '0')}`
}

/** The first word of the description, which only a command that shows the description prints. */
export function wordOf(number: number): string {
  return `D${String(number).padStart(5, '0')}`
}

/** How many distinct tasks a text mentions. */
export function countMarks(text: string): number {
  return new Set(text.match(/W\d{5}/g)).size
}

export function countReady(tasks: readonly Work[]): number {
  const done = new Set(tasks.filter((task) => task.isDone).map((task) => task.number))
  const isReady = (task: Work) => !task.isDone && task.dependencies.every((id) => done.has(id))
  return tasks.filter(isReady).length
}

function dependenciesOf(number: number): number[] {
  const wanted = number < 4 ? 0 : number % 3
  const spread = [number * 7919, number * 104_729].map((seed) => 1 + (seed % (number - 1 || 1)))
  return [...new Set(spread)].slice(0, wanted)
}

function pick(seed: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => WORDS[(seed + index * 3) % WORDS.length]!)
}
