/** The arguments of a bundled agent as a program; as an agent of a chain it takes the same ones. */
export function readBundledArgs(args: readonly string[]): {
  readonly task: string | undefined
  /** What is left for the coding CLI. */
  readonly rest: readonly string[]
} {
  const rest: string[] = []
  let task: string | undefined
  for (let at = 0; at < args.length; at++) {
    const word = args[at]!
    if (word === '--task') task = args[++at]
    else if (word.startsWith('--task=')) task = word.slice('--task='.length)
    else if (word !== '--print' && word !== '-p') rest.push(word)
  }
  return { task, rest }
}

/** What a worker is told to do. */
export function taskPrompt(
  task: string | undefined,
  prompt: string | undefined,
): string | undefined {
  const about = task === undefined ? undefined : `Work on the task ${task} and on no other.`
  return [about, prompt].filter((part) => part !== undefined).join('\n\n') || undefined
}
