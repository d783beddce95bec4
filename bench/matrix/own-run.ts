import type { RunEvent } from '../../src/records/events/schema.ts'
import type { Session } from './session.ts'
import { callsIn, standInFiles } from './stand-in.ts'

/** How forkhestra runs the stand-in: as a program that prints text, or as `claude`. */
export const WAYS = { text: './claude', direct: 'direct' } as const
export type Way = keyof typeof WAYS

/** Where and how the program is run. */
export interface Place {
  readonly program: string
  readonly makeProject: (files: Record<string, string>) => string
  readonly environment: (cwd: string) => Record<string, string>
}

export interface OwnRun {
  readonly events: readonly RunEvent[]
  readonly calls: readonly number[]
}

/** Avoids the default delay of ten seconds before a second call. */
const RETRY = { for: '1m', backoff: '200ms' }
const CONFIGURATION = JSON.stringify({
  agents: {
    './claude': { retry: RETRY },
    direct: { systemPromptText: 'A stand-in plays you.', retry: RETRY },
  },
  chains: {},
})
/** No correct run takes longer. */
const DEADLINE_MS = 20_000

/** Runs forkhestra to its end, or stops it after a certain event. */
export async function runOwn(
  place: Place,
  way: Way,
  iterations: number,
  session: Session,
  isLast: (event: RunEvent) => boolean = () => false,
): Promise<OwnRun> {
  const cwd = place.makeProject({
    ...standInFiles(session),
    'forge/orch/chains.json': CONFIGURATION,
  })
  const chain = `${WAYS[way]}:${iterations}`
  const child = Bun.spawn([place.program, chain, '-p', 'Do the next task.', '--json'], {
    cwd,
    // A clock time without a zone is local time.
    env: { ...place.environment(cwd), IS_SANDBOX: '1', TZ: 'UTC' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const deadline = setTimeout(() => child.kill('SIGINT'), DEADLINE_MS)
  const events: RunEvent[] = []
  for await (const event of readEvents(child.stdout)) {
    events.push(event)
    if (isLast(event)) child.kill('SIGINT')
  }
  await child.exited
  clearTimeout(deadline)
  return { events, calls: callsIn(cwd) }
}

async function* readEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<RunEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop()!
    yield* lines.map((line) => JSON.parse(line) as RunEvent)
  }
}
