import { LIMIT_MS, storedText, targetOf, type Bench } from './tool.ts'
import { countMarks, makeNew } from './work.ts'

/** The result of many concurrent creates. */
export interface Crowd {
  readonly calls: number
  readonly seconds: number
  /** Calls that reported a failure. */
  readonly refused: number
  /** Tasks that exist afterwards, and how many distinct ids they have. */
  readonly kept: number
  readonly ids: number
}

export const AT_ONCE = 8

/** Many creates in an empty project, eight at a time. */
export async function measureCreates(bench: Bench, calls: number): Promise<Crowd> {
  const began = performance.now()
  const codes = await inParallel(
    calls,
    (turn) => bench.tool.argv('create', makeNew(turn), turn),
    bench,
  )
  const seconds = (performance.now() - began) / 1000
  const stored = storedText(bench)
  return {
    calls,
    seconds,
    refused: codes.filter((code) => code !== 0).length,
    kept: countMarks(stored),
    ids: new Set(bench.tool.ids(stored)).size,
  }
}

/** The exit codes of eight agents that claim the same task at the same time. */
export async function measureClaims(bench: Bench): Promise<number[]> {
  const claim = (turn: number) => bench.tool.claim(targetOf(bench), `agent-${turn}`)
  return inParallel(AT_ONCE, claim, bench)
}

async function inParallel(
  calls: number,
  argv: (turn: number) => readonly string[],
  { project, env }: Bench,
): Promise<number[]> {
  const codes: number[] = []
  let next = 0
  const work = async () => {
    while (next < calls) {
      const child = Bun.spawn([...argv(next++)], {
        cwd: project,
        env,
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'ignore',
        timeout: LIMIT_MS,
        killSignal: 'SIGKILL',
      })
      codes.push(await child.exited)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return codes
}
