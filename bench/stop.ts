import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Figure } from './figure.ts'
import { livingWith } from './process.ts'
import { environment, makeProject, type Programs } from './project.ts'

const DESCENDANTS = 50
const ROUNDS = 3
/** How long a child may take to end after a signal before it is killed. */
const GRACE_SECONDS = 10

// Processes that escape the process group, the session or a search of environments.
const FAMILY = `here=$(dirname "$0")
for i in $(seq 20); do "$here/sleep" 1000 & done
for i in $(seq 10); do setsid "$here/sleep" 1000 & done
for i in $(seq 10); do env -i "$here/sleep" 1000 & done
for i in $(seq 10); do env -i setsid "$here/sleep" 1000 & done
`
const AGENTS = {
  obedient: `#!/bin/sh\n${FAMILY}wait\n`,
  // Like a daemon: none of its processes holds the agent's output open.
  silent: `#!/bin/sh\nexec >/dev/null 2>&1\n${FAMILY}wait\n`,
  // Child processes inherit ignored signals.
  deaf: `#!/bin/sh\ntrap '' INT TERM\n${FAMILY}wait\n`,
}

/** How long a run takes to end after Ctrl-C, and how many processes are left. */
export async function measureStop({ forkhestra }: Programs): Promise<Figure[]> {
  const obedient = await stopOften(forkhestra, 'obedient', ROUNDS)
  const silent = await stopOften(forkhestra, 'silent', ROUNDS)
  const deaf = await stopOften(forkhestra, 'deaf', 1)
  const seconds = (name: string, { best }: Stops, limit: number): Figure => {
    return { group: 'stop', name: `Ctrl-C to exit, ${name}`, measured: best, unit: 's', limit }
  }
  return [
    seconds(`${DESCENDANTS} descendants`, obedient, 1),
    seconds(`${DESCENDANTS} descendants without our pipe`, silent, 1),
    seconds(`${DESCENDANTS} deaf descendants`, deaf, GRACE_SECONDS + 3),
    {
      group: 'stop',
      name: 'left alive afterwards',
      measured: obedient.left + silent.left + deaf.left,
      unit: 'processes',
      limit: 0,
    },
  ]
}

interface Stops {
  readonly best: number
  readonly left: number
}

async function stopOften(
  forkhestra: string,
  kind: keyof typeof AGENTS,
  rounds: number,
): Promise<Stops> {
  let best = Infinity
  let left = 0
  for (let round = 0; round < rounds; round++) {
    const cwd = makeProject({ agent: AGENTS[kind] })
    // The path in its arguments identifies a process of this run, even without its environment.
    symlinkSync(Bun.which('sleep')!, join(cwd, 'sleep'))
    best = Math.min(best, await stopOnce(forkhestra, cwd))
    const survivors = livingWith(`${cwd}/`)
    left += survivors.length
    for (const pid of survivors) process.kill(pid, 'SIGKILL')
  }
  return { best, left }
}

async function stopOnce(forkhestra: string, cwd: string): Promise<number> {
  const child = Bun.spawn([forkhestra, './agent:3'], {
    cwd,
    env: environment(cwd),
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  while (livingWith(`${cwd}/sleep`).length < DESCENDANTS) {
    if (child.exitCode !== null) throw new Error(`the run ended too early, with ${child.exitCode}`)
    await Bun.sleep(20)
  }
  const began = performance.now()
  child.kill('SIGINT')
  const code = await child.exited
  if (code !== 130) throw new Error(`the stopped run ended with ${code}, expected 130`)
  return (performance.now() - began) / 1000
}
