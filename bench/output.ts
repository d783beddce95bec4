import type { Figure } from './figure.ts'
import { usageOf } from './process.ts'
import { makeProject, type Programs } from './project.ts'

interface Kind {
  readonly name: string
  readonly command: string
  readonly bytes: number
  readonly rounds: number
  /** Without a limit, it is for information only. */
  readonly limit?: number
}

const GIGABYTE = 1e9
const PEAK_LIMIT_MEGABYTES = 150

// Typical final output of an agent, with a code block every few lines.
const MARKDOWN = `## What changed

The configuration is now read in one pass, and **all** errors of a file are listed at once, each
with its line and column. An unknown key suggests the nearest known one (\`iteration\` gives
\`iterations\`). The new entry point returns the errors in the order of their place in the file:

\`\`\`ts
const { value, errors } = parseFile(text, 'chains.json')
for (const error of errors) print(error)
\`\`\`

- \`parseFile\` never throws; a file that cannot be read is an error like any other
- the old \`parse\` is gone, its two callers use the new one
- messages are tested as a whole, so that a change of wording shows up in review

I ran the tests of the package, and then the whole suite because the loader is used everywhere:

\`\`\`sh
npm test -- src/parse
npm test
\`\`\`

Everything passes. What is left for the next iteration: the same treatment for prompt files, and
a note about the new messages in the documentation.
`
const FENCES = '```sh\nls\n```\n\n~~~\n1\n~~~\n'

// `yes` prints faster than anything reads, and is available everywhere.
const KINDS: readonly Kind[] = [
  {
    name: 'lines of 100 bytes',
    command: `yes "$(printf '%099d' 7)"`,
    bytes: GIGABYTE,
    rounds: 30,
    limit: 4,
  },
  {
    name: 'Markdown with many fences',
    command: 'yes "$(cat markdown)"',
    bytes: GIGABYTE,
    rounds: 30,
    limit: 10,
  },
  {
    name: 'one line without end',
    command: `yes 'word after word' | tr '\\n' ' '`,
    bytes: GIGABYTE,
    rounds: 30,
    limit: 2,
  },
  {
    name: 'hardly anything but fences',
    command: 'yes "$(cat fences)"',
    bytes: GIGABYTE / 5,
    rounds: 5,
  },
]

/** What the search for the marker costs, compared with the same reader without it. */
export async function measureOutput({ forkhestra }: Programs): Promise<Figure[]> {
  const figures: Figure[] = []
  let peak = 0
  for (const kind of KINDS) {
    const { figure, peakBytes } = await measureKind(kind, forkhestra)
    figures.push(figure)
    peak = Math.max(peak, peakBytes)
  }
  figures.push({
    group: 'output',
    name: 'peak memory, the highest of all kinds',
    measured: peak / 1e6,
    unit: 'MB',
    limit: PEAK_LIMIT_MEGABYTES,
  })
  return figures
}

async function measureKind(
  { name, command, bytes, rounds, limit }: Kind,
  forkhestra: string,
): Promise<{ figure: Figure; peakBytes: number }> {
  const cwd = makeProject({
    agent: `#!/bin/sh\n${command} | head -c ${bytes}\n`,
    markdown: MARKDOWN,
    fences: FENCES,
  })
  let reading = Infinity
  let looking = Infinity
  let peakBytes = 0
  for (let round = 0; round < rounds; round++) {
    // A single run does not search for the marker. With -v nothing else processes the bytes, such as
    // the cutting of long lines, which would make the difference look small.
    const once = await usageOf([forkhestra, '-v', './agent'], cwd, 0)
    const loop = await usageOf([forkhestra, '-v', './agent:1'], cwd, 1)
    reading = Math.min(reading, once.cpuSeconds)
    looking = Math.min(looking, loop.cpuSeconds)
    peakBytes = Math.max(peakBytes, loop.peakBytes)
  }
  const figure: Figure = {
    group: 'output',
    name: `CPU, ${name}`,
    measured: (looking / bytes) * GIGABYTE,
    unit: 's/GB',
    base: (reading / bytes) * GIGABYTE,
    ...(limit === undefined ? {} : { limit }),
  }
  return { figure, peakBytes }
}
