import { readFileSync } from 'node:fs'
import type { Figure } from './figure.ts'
import { environment, makeProject, type Programs } from './project.ts'
import { median } from './queue/median.ts'

const ROUNDS = 5
const SECONDS = 5
/** A thousand lines ten times a second, then a moment in which the CPU time is read. */
const AGENT = `#!/bin/sh
i=0
while [ $i -lt ${SECONDS * 10} ]; do
  awk 'BEGIN { for (i = 0; i < 1000; i++) print "a line of output like those of a build or a test run" i }'
  sleep 0.1
  i=$((i+1))
done
echo THE END
sleep 0.5
`

/** What the status line of a run costs while its agent prints fast, in percent of a core. */
export async function measureViews(programs: Programs): Promise<Figure[]> {
  const [live, plain] = [[] as number[], [] as number[]]
  for (let round = 0; round < ROUNDS; round += 1) {
    live.push(await loadOf(programs, {}))
    plain.push(await loadOf(programs, { CI: 'true' }))
  }
  const [withStatus, without] = [median(live), median(plain)]
  return [
    {
      group: 'views',
      name: `status line at 10 000 lines/s: ${withStatus.toFixed(1)} % of a core with it, ${without.toFixed(1)} % without; difference`,
      measured: withStatus - without,
      unit: '%',
      limit: 3,
    },
  ]
}

async function loadOf({ forkhestra }: Programs, env: Record<string, string>): Promise<number> {
  const cwd = makeProject({ agent: AGENT })
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  let tail = ''
  const began = performance.now()
  const child = Bun.spawn([forkhestra, './agent'], {
    cwd,
    env: { ...environment(cwd), TERM: 'xterm-256color', ...env },
    terminal: {
      cols: 120,
      rows: 40,
      data: (_, bytes) => {
        tail = (tail + Buffer.from(bytes).toString('latin1')).slice(-20_000)
        if (tail.includes('THE END')) resolve()
      },
    },
  })
  await ended
  const ms = performance.now() - began
  const load = (cpuMs(child.pid) / ms) * 100
  await child.exited
  return load
}

const [USER_TICKS, SYSTEM_TICKS] = [11, 12]
const MS_PER_TICK = 10

/** CPU time of a process without its children. */
function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])) * MS_PER_TICK
}
